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


# Of the files that the ranker gives a probability of .27, .35 were needed (46,000 files beside 835 past changes of
# fifteen histories that no table was trained on). Where a single file is open, this map is applied to what is shown.
BESIDE_FILE = Isotonic(
    np.array([0.0, 0.012, 0.02, 0.038, 0.061, 0.096, 0.153, 0.265, 0.46, 0.64, 1.0]),
    np.array([0.0, 0.011, 0.026, 0.039, 0.0725, 0.113, 0.203, 0.35, 0.64, 0.85, 0.95]),
)


def create_default() -> Isotonic:
    """Return a map that gives every score the same cautious probability.

    It is used before training.
    """
    return Isotonic(np.array([-1.0, 1.0]), np.array([0.3, 0.3]))
