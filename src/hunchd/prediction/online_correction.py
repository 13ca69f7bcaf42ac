"""Linear correction of the ranker for one project, learned online.

The correction is applied only while it improves the ranking. In replays of a project's history it does not beat the
shipped ranker (docs/measurements/prediction.md), so it has to prove itself on the files that the user opens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hunchd.prediction.features import FEATURES
from hunchd.prediction.packed_arrays import Array, Arrays

HEADS = ("seed", "text", "both")
LEARNING_RATE = 0.05  # Adagrad's step, in standardised features
MAX_WEIGHT = 0.6  # maximum weight of a feature in the correction, which adjusts the ranking but does not overrule it
WEIGHT_DECAY = 0.002  # decay of the correction with each lesson, back towards the shipped weights
RANK_DECAY = 0.98  # decay of the rolling reciprocal ranks
MIN_LESSONS = 40
MIN_ADVANTAGE = 0.01  # advantage in rolling reciprocal rank that the correction must show


@dataclass(slots=True)
class HeadCorrection:
    """Correction of one ranker, with rolling scores.

    The scores measure the ranking with and without the correction. `weights` apply to standardised features;
    `squared_gradients` are the accumulators of Adagrad.
    """

    weights: Array
    squared_gradients: Array
    lessons: int = 0
    rank_with: float = 0.0  # rolling mean reciprocal rank with the correction
    rank_without: float = 0.0

    @property
    def is_trusted(self) -> bool:
        """True if the correction is well trained and improves the ranking."""
        return self.lessons >= MIN_LESSONS and self.rank_with >= self.rank_without + MIN_ADVANTAGE


class OnlineCorrection:
    """Corrections of the rankers, keyed by head.

    A head is the name of the ranker for one kind of query: "seed", "text" or "both".
    """

    def __init__(self) -> None:
        self.corrections = {
            head: HeadCorrection(np.zeros(len(FEATURES), "<f4"), np.full(len(FEATURES), 0.1, "<f4")) for head in HEADS
        }

    def correct_scores(self, head: str, matrix: Array, scores: Array) -> Array:
        """Return the scores, corrected if the correction for `head` is trusted."""
        correction = self.corrections[head]
        if not correction.is_trusted or len(matrix) < 2:
            return scores
        adjusted_scores: Array = scores + _standardise(matrix) @ correction.weights
        return adjusted_scores

    def learn_from_query(
        self, head: str, matrix: Array, scores: Array, used_mask: Array, *, weight: float = 1.0
    ) -> None:
        """Learn from the outcome of one query.

        `used_mask` is True for the candidates that were used; `scores` are uncorrected. The update is an Adagrad
        step along the gradient of the listwise softmax likelihood (ListNet, Cao et al., 2007).
        """
        if not used_mask.any() or used_mask.all():
            return
        correction = self.corrections[head]
        standard = _standardise(matrix)
        adjusted_scores = scores + standard @ correction.weights
        correction.rank_with = _update_rolling_rank(
            correction.rank_with, adjusted_scores, used_mask, correction.lessons
        )
        correction.rank_without = _update_rolling_rank(correction.rank_without, scores, used_mask, correction.lessons)
        likelihood = np.exp(adjusted_scores - adjusted_scores.max())
        likelihood /= likelihood.sum()
        gradient = (
            weight * (standard.T @ (used_mask / used_mask.sum() - likelihood)) - WEIGHT_DECAY * correction.weights
        )
        correction.squared_gradients += gradient**2
        correction.weights += LEARNING_RATE * gradient / np.sqrt(correction.squared_gradients)
        np.clip(correction.weights, -MAX_WEIGHT, MAX_WEIGHT, out=correction.weights)
        correction.lessons += 1

    def to_arrays(self) -> Arrays:
        arrays: Arrays = {}
        for head, correction in self.corrections.items():
            arrays[f"{head}.weights"] = correction.weights
            arrays[f"{head}.squared"] = correction.squared_gradients
            arrays[f"{head}.ranks"] = np.array(
                [correction.lessons, correction.rank_with, correction.rank_without], "<f8"
            )
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> OnlineCorrection:
        adaptation = cls()
        for head in HEADS:
            weights = arrays.get(f"{head}.weights")
            if weights is None or len(weights) != len(FEATURES):  # learned for other features: start over
                continue
            lessons, rank_with, rank_without = arrays[f"{head}.ranks"].tolist()
            adaptation.corrections[head] = HeadCorrection(
                weights, arrays[f"{head}.squared"], int(lessons), rank_with, rank_without
            )
        return adaptation


def _standardise(matrix: Array) -> Array:
    """Standardise features within one query.

    A feature that has the same value for all candidates becomes 0, because it cannot tell them apart.
    """
    centred_matrix = matrix - matrix.mean(axis=0)
    deviation = centred_matrix.std(axis=0)
    standard: Array = centred_matrix / np.where(deviation > 1e-6, deviation, 1.0)
    return standard


def _update_rolling_rank(before: float, scores: Array, used_mask: Array, lessons: int) -> float:
    order = np.argsort(-scores, kind="stable")
    reciprocal = 1.0 / (1 + int(np.argmax(used_mask[order])))
    share = min(RANK_DECAY, lessons / (lessons + 1))
    return share * before + (1 - share) * reciprocal
