"""Two ways of looking, one order: scores are made comparable and added. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Final, TypeVar

Key = TypeVar("Key", bound=Hashable)
Candidate = tuple[Key, float | None, float | None]  # key, lexical score, cosine similarity

# Words find more than a small dense model does alone; together they find more than either.
LEXICAL: Final = 1.0
DENSE: Final = 0.6


def fused(candidates: Collection[Candidate[Key]]) -> list[tuple[Key, float]]:
    """Keys and scores, best first: standard scores of both kinds, added.

    What one way did not find counts as its worst: it is at least as far away as the last one that was found.
    """
    lexical = _standardised([found for _, found, _ in candidates])
    dense = _standardised([found for _, _, found in candidates])
    scored = [
        (key, LEXICAL * words + DENSE * meaning)
        for (key, _, _), words, meaning in zip(candidates, lexical, dense, strict=True)
    ]
    return sorted(scored, key=lambda one: -one[1])


def best(k: int) -> Callable[[Collection[Candidate[Key]]], list[Key]]:
    """A choice of the k best, for whoever has candidates and no opinion."""
    return lambda candidates: [key for key, _ in fused(candidates)[:k]]


def _standardised(scores: Sequence[float | None]) -> list[float]:
    """How many standard deviations above the mean each score is; missing ones as the lowest."""
    there = [score for score in scores if score is not None]
    if not there:
        return [0.0] * len(scores)
    lowest = min(there)
    filled = [lowest if score is None else score for score in scores]
    mean = sum(filled) / len(filled)
    deviation = math.sqrt(sum((score - mean) ** 2 for score in filled) / len(filled))
    return [0.0 if deviation == 0.0 else (score - mean) / deviation for score in filled]
