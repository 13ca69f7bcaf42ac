"""Tests of the BM25 formula."""

from __future__ import annotations

import numpy as np
import pytest

from hunchd.text.bm25 import (
    LENGTH_WEIGHT,
    SATURATION,
    compute_idf,
    compute_idfs,
    compute_length_norm,
)


def test_idf_falls_with_frequency() -> None:
    weights = [compute_idf(100, containing) for containing in (0, 1, 50, 100)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0
    assert compute_idfs(100, np.array([0, 1, 50, 100])) == pytest.approx(weights)


def test_length_norm_of_mean_is_saturation() -> None:
    base, slope = compute_length_norm(20.0)
    assert base + slope * 20.0 == pytest.approx(SATURATION)
    assert base + slope * 40.0 == pytest.approx(SATURATION * (1 + LENGTH_WEIGHT))
