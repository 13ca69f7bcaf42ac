"""Fusion of lexical and dense scores: both are standardized and added.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

Key = TypeVar("Key", bound=Hashable)
Candidate = tuple[Key, float | None, float | None]  # key, lexical score, cosine similarity

# Lexical search alone finds more than a small dense model; both together find more than either.
LEXICAL: Final = 1.0
DENSE: Final = 0.6


def fused(candidates: Collection[Candidate[Key]]) -> list[tuple[Key, float]]:
    """Return (key, score) pairs, best first.

    A score is the weighted sum of both standard scores. A missing score counts as the lowest one: the candidate is
    at least as far away as the last that was found.
    """
    if not candidates:
        return []
    keys, lexical, dense = zip(*candidates, strict=True)
    scores = LEXICAL * _standardised(lexical) + DENSE * _standardised(dense)
    order = np.argsort(-scores, kind="stable")
    return [(keys[place], score) for place, score in zip(order.tolist(), scores[order].tolist(), strict=True)]


def best(k: int) -> Callable[[Collection[Candidate[Key]]], list[Key]]:
    """Return a function that selects the k best candidates."""
    return lambda candidates: [key for key, _ in fused(candidates)[:k]]


def _standardised(scores: Sequence[float | None]) -> npt.NDArray[np.float64]:
    """Return how many standard deviations above the mean each score is.

    Missing ones as the lowest.
    """
    found = np.array(scores, np.float64)  # None: not a number
    missing = np.isnan(found)
    if missing.all():
        return np.zeros(len(found))
    found[missing] = found[~missing].min()
    deviation = found.std()
    return np.zeros(len(found)) if deviation == 0.0 else (found - found.mean()) / deviation
