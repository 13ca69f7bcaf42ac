"""BM25, which scores how well the words of a text match a query.

A word adds `idf · count · LARGEST_GAIN / (count + norm)`, after Robertson and Zaragoza, "The Probabilistic Relevance
Framework: BM25 and Beyond" (2009). Only the formula is shared, because the indexes differ: the one in the hot tier
changes with every signal, the one in the store is packed and mapped from a file, the one in the predictor counts by
file, and a set of passages has only a few rows.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

SATURATION: Final = 1.2  # k1: the usual value
LENGTH_WEIGHT: Final = 0.75  # b: the usual value, not lowered because code files differ widely in length
LARGEST_GAIN: Final = SATURATION + 1.0  # limit of a word's gain for many occurrences


def compute_idf(documents: int, containing: int) -> float:
    """Return the inverse document frequency of a word.

    `containing` is the number of documents that contain the word.
    """
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


def compute_idfs(documents: int, containing: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the inverse document frequencies of many words."""
    frequencies: npt.NDArray[np.float64] = np.log1p((documents - containing + 0.5) / (containing + 0.5))
    return frequencies


def compute_length_norm(mean: float) -> tuple[float, float]:
    """Return (base, slope) of the length norm, given the mean text length.

    The norm of a document is `base + slope * length`; `mean` must be > 0.
    """
    return SATURATION * (1 - LENGTH_WEIGHT), SATURATION * LENGTH_WEIGHT / mean


def compute_length_norms(lengths: npt.NDArray[Any], mean: float, *, saturation: float = SATURATION) -> npt.NDArray[Any]:
    """Return the length norms of many documents, as an array.

    They have the floating-point precision of `lengths`.
    """
    norms: npt.NDArray[Any] = saturation * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * lengths / mean)
    return norms
