"""The steps of a consolidation by name, for those who must start fast."""

from __future__ import annotations

from typing import Final

# In the order in which they run. `consolidation/plan.py` says what each is.
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
