"""Names of the consolidation steps, for code that must start fast."""

from __future__ import annotations

from typing import Final

# In the order in which they run. `consolidation/plan.py` describes each.
STEPS: Final = (
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
)
