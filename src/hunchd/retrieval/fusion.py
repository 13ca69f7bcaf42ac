"""Two ways of looking, one order: scores are made comparable and added. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

Key = TypeVar("Key", bound=Hashable)
Candidate = tuple[Key, float | None, float | None]  # key, lexical score, cosine similarity

# Words find more than a small dense model does alone; together they find more than either.
LEXICAL: Final = 1.0
DENSE: Final = 0.6


def fused(candidates: Collection[Candidate[Key]]) -> list[tuple[Key, float]]:
    """Keys and scores, best first: standard scores of both kinds, added.

    What one way did not find counts as its worst: it is at least as far away as the last one that was found.
    """
    if not candidates:
        return []
    keys, lexical, dense = zip(*candidates, strict=True)
    scores = LEXICAL * _standardised(lexical) + DENSE * _standardised(dense)
    order = np.argsort(-scores, kind="stable")
    return [(keys[place], score) for place, score in zip(order.tolist(), scores[order].tolist(), strict=True)]


def best(k: int) -> Callable[[Collection[Candidate[Key]]], list[Key]]:
    """A choice of the k best, for whoever has candidates and no opinion."""
    return lambda candidates: [key for key, _ in fused(candidates)[:k]]


def _standardised(scores: Sequence[float | None]) -> npt.NDArray[np.float64]:
    """How many standard deviations above the mean each score is; missing ones as the lowest."""
    found = np.array(scores, np.float64)  # None: not a number
    missing = np.isnan(found)
    if missing.all():
        return np.zeros(len(found))
    found[missing] = found[~missing].min()
    deviation = found.std()
    return np.zeros(len(found)) if deviation == 0.0 else (found - found.mean()) / deviation
