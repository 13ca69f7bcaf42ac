"""Merging of code results and memories into one list.

The intent of the question decides how much each kind of result counts. The functions do no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from hunchd.protocol.search_results import SearchResult

# Factors by intent of the question, for scores of code and of each kind of memory. History answers "why" and "when",
# code answers "where" and "how", workflows and facts answer "how do I".
_CODE: Final = "code"
GUIDE: Final = 1.4  # factor of a document that tells how to do a task
_FACTORS: Final[Mapping[str, Mapping[str, float]]] = {
    "code": {_CODE: 1.6, "episode": 0.5, "message": 0.5, "error": 0.7, "pattern": 0.6, "workflow": 0.6},
    "symbol": {_CODE: 2.0, "episode": 0.4, "message": 0.5, "error": 0.6, "pattern": 0.6, "workflow": 0.5},
    "history": {_CODE: 0.5, "episode": 1.2},
    "task": {_CODE: 0.9, "workflow": 1.4, "fact": 1.6, "episode": 0.4, "message": 0.6, "pattern": 0.4},
}


def merge_results(
    code: Sequence[SearchResult], memories: Sequence[SearchResult], intent: str, k: int
) -> list[SearchResult]:
    """Return the `k` best results from both lists, best first.

    The intent of the question decides how much a score counts for code and for each kind of memory.
    """
    factors, guide = _FACTORS[intent], GUIDE if intent == "task" else 1.0

    def weigh(result: SearchResult) -> float:
        return factors.get(result.kind, 1.0) * (guide if result.source.get("role") == "docs" else 1.0)

    weighed_results = [replace(one, score=round(one.score * weigh(one), 4)) for one in (*code, *memories)]
    return sorted(weighed_results, key=lambda result: -result.score)[:k]
