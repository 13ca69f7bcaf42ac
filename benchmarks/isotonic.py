"""Fit of the maps that turn a ranker's scores into probabilities, for the scripts that train rankers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hunchd.prediction.calibration import Isotonic

Array = NDArray[np.float32]


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
