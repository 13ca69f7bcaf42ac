"""BM25: how well a text answers a query by its words.

A word adds `idf · count · LARGEST_GAIN / (count + norm)`, after Robertson and Zaragoza, "The Probabilistic Relevance
Framework: BM25 and Beyond" (2009). Only the formula is shared: the index of the hot tier is changed by every signal,
that of the store is packed and mapped from a file, that of the predictor counts by file, and passages are few rows.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

SATURATION: Final = 1.2  # k1: the usual value
LENGTH_WEIGHT: Final = 0.75  # b: the usual value; code files differ widely in length, hence not less
LARGEST_GAIN: Final = SATURATION + 1.0  # limit of a word's gain for many occurrences


def compute_idf(documents: int, containing: int) -> float:
    """Return the weight of a word that `containing` of the documents contain."""
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


def compute_idfs(documents: int, containing: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the weights of many words."""
    frequencies: npt.NDArray[np.float64] = np.log1p((documents - containing + 0.5) / (containing + 0.5))
    return frequencies


def compute_length_norm(mean: float) -> tuple[float, float]:
    """Return base and slope of the norm, `base + slope * length`, for this mean length (> 0)."""
    return SATURATION * (1 - LENGTH_WEIGHT), SATURATION * LENGTH_WEIGHT / mean


def compute_length_norms(lengths: npt.NDArray[Any], mean: float, *, saturation: float = SATURATION) -> npt.NDArray[Any]:
    """Return the norms of many lengths, in their precision."""
    norms: npt.NDArray[Any] = saturation * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * lengths / mean)
    return norms
