"""Ranking models that map features to scores: small networks or linear weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hunchd.prediction.features import FEATURES
from hunchd.prediction.packed_arrays import Array, select_highest


@dataclass(frozen=True, slots=True)
class Linear:
    """Linear model on standardised features."""

    mean: Array
    scale: Array
    weights: Array

    def compute_scores(self, matrix: Array) -> Array:
        """Score each row of a feature matrix."""
        result: Array = ((matrix - self.mean) / self.scale) @ self.weights
        return result


@dataclass(frozen=True, slots=True)
class Network:
    """Average of several small neural networks, plus a linear part.

    The members are multilayer perceptrons. Features are clipped to `low` and `high`, the range of the training
    data, and standardised, so that a project younger or larger than any in the training data is treated like the
    youngest or largest. Two layers of rectified units follow: `first` (members, features, units) with `first_bias`
    (members, 1, units), and `second` likewise. `last` (members, units, 1) combines their outputs; `straight`
    (features,) and `bias` (1,) are the linear part. The networks are trained with a listwise softmax (ListNet, Cao
    et al., 2007) and some logistic loss, so that the scores of different queries can be compared.
    """

    low: Array
    high: Array
    mean: Array
    scale: Array
    first: Array
    first_bias: Array
    second: Array
    second_bias: Array
    last: Array
    straight: Array
    bias: Array

    def compute_scores(self, matrix: Array) -> Array:
        """Score each row of a feature matrix."""
        inputs = (np.clip(matrix, self.low, self.high) - self.mean) / self.scale
        hidden_layer = np.maximum(inputs @ self.first + self.first_bias, 0.0)
        hidden_layer = np.maximum(hidden_layer @ self.second + self.second_bias, 0.0)
        result: Array = (hidden_layer @ self.last).sum(axis=0)[:, 0] + inputs @ self.straight + self.bias
        return result


Model = Linear | Network


# Used if no trained weights are shipped: co-change and the nearest messages dominate, and the rest breaks ties.
HAND_WEIGHTS = {
    "together_long": 4.0,
    "together_short": 1.5,
    "together_confidence": 2.0,
    "together_age": 0.8,
    "second_step": 0.5,
    "same_stem": 1.0,
    "same_folder": 0.3,
    "likeness": 1.0,
    "imports": 0.2,
    "defines": 0.3,
    "uses": 0.3,
    "voted": 3.0,
    "voted_with_seeds": 3.0,
    "path_words": 1.0,
    "content_words": 1.2,
    "name_words": 0.5,
    "lately": 2.0,
    "siblings": 0.5,
    "message_words": 1.0,
    "stem_in_text": 0.7,
    "mentioned": 4.0,
    "recency": 0.8,
    "popularity_long": 0.15,
    "popularity_short": 0.3,
    "author": 0.5,
    "interest": 0.5,
    "opened_next": 2.0,
    "traced": 3.0,
}


def create_linear() -> Linear:
    """Return the linear model with the hand-set weights."""
    weights = np.array([HAND_WEIGHTS.get(name, 0.0) for name in FEATURES], "<f4")
    return Linear(np.zeros(len(FEATURES), "<f4"), np.ones(len(FEATURES), "<f4"), weights)


def preselect_rows(matrix: Array, limit: int) -> Array:
    """Return the indexes of the `limit` best rows, ranked with the hand-set weights."""
    if len(matrix) <= limit:
        return np.arange(len(matrix))
    return np.sort(select_highest(matrix @ _PRESELECTION_WEIGHTS, limit))


_PRESELECTION_WEIGHTS = np.array([HAND_WEIGHTS.get(name, 0.0) for name in FEATURES], "<f4")
