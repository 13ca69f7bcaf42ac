"""Isotonic calibration of scores to probabilities, and the display threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hunchd.prediction.packed_arrays import Array

# Below this probability nothing is shown unless requested. Chosen on development windows: one in seven units with a
# single file still gets a suggestion, one in three of the others does, and seven in ten of those are right.
DISPLAY_THRESHOLD = 0.45


@dataclass(frozen=True, slots=True)
class Isotonic:
    """Monotonic, piecewise linear map from scores to probabilities; `scores` are strictly increasing."""

    scores: Array
    probabilities: Array

    def __call__(self, scores: Array) -> Array:
        mapped_values: Array = np.interp(scores, self.scores, self.probabilities)
        return mapped_values


def fit_isotonic(scores: Array, used_mask: Array, knots: int = 120) -> Isotonic:
    """Fit a calibration map to quantile bins with the pool-adjacent-violators algorithm.

    `used_mask` is True for the scores of files that were used; at most `knots` bins are formed. See Barlow et al.,
    1972.
    """
    order = np.argsort(scores, kind="stable")
    bins = [part for part in np.array_split(order, min(knots, max(len(order) // 20, 1))) if len(part)]
    blocks: list[list[float]] = []  # mean score, share used, weight
    for part in bins:
        blocks.append([float(scores[part].mean()), float(used_mask[part].mean()), float(len(part))])
        while len(blocks) > 1 and blocks[-2][1] >= blocks[-1][1]:
            last, before = blocks.pop(), blocks.pop()
            weight = last[2] + before[2]
            blocks.append(
                [(a * last[2] + b * before[2]) / weight for a, b in zip(last[:2], before[:2], strict=True)] + [weight]
            )
    return Isotonic(np.array([block[0] for block in blocks]), np.array([block[1] for block in blocks]))


def create_default() -> Isotonic:
    """Return a cautious constant map for use before training."""
    return Isotonic(np.array([-1.0, 1.0]), np.array([0.3, 0.3]))
