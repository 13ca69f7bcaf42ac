"""Fusion of lexical and dense scores, without I/O.

The scores are standardised and added.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

Key = TypeVar("Key", bound=Hashable)
Candidate = tuple[Key, float | None, float | None]  # key, lexical score, cosine similarity

# Lexical search alone finds more than a small dense model; both together find more than either.
LEXICAL_WEIGHT: Final = 1.0
DENSE_WEIGHT: Final = 0.6


def fuse_scores(candidates: Collection[Candidate[Key]]) -> list[tuple[Key, float]]:
    """Return (key, score) pairs, best first.

    A score is the weighted sum of the standardised lexical and dense scores. A missing score is replaced by the
    lowest one, because a candidate that a search did not find is at best as good as the last one that it found.
    """
    if not candidates:
        return []
    keys, lexical, dense = zip(*candidates, strict=True)
    scores = LEXICAL_WEIGHT * _standardize(lexical) + DENSE_WEIGHT * _standardize(dense)
    order = np.argsort(-scores, kind="stable")
    return [(keys[place], score) for place, score in zip(order.tolist(), scores[order].tolist(), strict=True)]


def make_selector(k: int) -> Callable[[Collection[Candidate[Key]]], list[Key]]:
    """Return a function that selects the `k` best candidates and returns their keys."""
    return lambda candidates: [key for key, _ in fuse_scores(candidates)[:k]]


def _standardize(scores: Sequence[float | None]) -> npt.NDArray[np.float64]:
    """Return by how many standard deviations each score is above the mean.

    Missing scores are replaced by the lowest score.
    """
    values = np.array(scores, np.float64)  # None: not a number
    is_missing = np.isnan(values)
    if is_missing.all():
        return np.zeros(len(values))
    values[is_missing] = values[~is_missing].min()
    deviation = values.std()
    return np.zeros(len(values)) if deviation == 0.0 else (values - values.mean()) / deviation
