"""Names of the consolidation steps, in a module that loads quickly."""

from __future__ import annotations

from typing import Final, Literal, get_args

# In the order in which they run. `consolidation/plan.py` describes each.
StepName = Literal[
    "use",
    "duplicates",
    "contradictions",
    "retire",
    "cascade",
    "summarise",
    "compress",
    "history",
    "links",
    "forget",
    "erase",
    "reembed",
    "compact",
]
STEPS: Final[tuple[str, ...]] = get_args(StepName)
