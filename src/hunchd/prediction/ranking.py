"""From features to scores: a head for each kind of question, made of boosted trees or of plain weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hunchd.prediction.features import FEATURES
from hunchd.prediction.packed import Array


@dataclass(frozen=True, slots=True)
class Linear:
    """Standardised features times weights."""

    mean: Array
    scale: Array
    weights: Array

    def scores(self, matrix: Array) -> Array:
        scored: Array = ((matrix - self.mean) / self.scale) @ self.weights
        return scored


@dataclass(frozen=True, slots=True)
class Trees:
    """Boosted regression trees, each grown out to a full binary tree of the same depth.

    `feature` and `threshold` have one row a tree and 2**depth - 1 inner nodes, breadth first; `value` has 2**depth
    leaves. A value above the threshold goes right.
    """

    feature: Array
    threshold: Array
    value: Array

    def scores(self, matrix: Array) -> Array:
        rows, (trees, inner) = len(matrix), self.feature.shape
        depth = (inner + 1).bit_length() - 1
        flat = np.ascontiguousarray(matrix, "<f4").ravel()
        row = (np.arange(rows) * matrix.shape[1])[:, None]
        tree = (np.arange(trees) * inner)[None, :]
        feature, threshold = self.feature.ravel(), self.threshold.ravel()
        at = np.repeat(tree, rows, axis=0)  # in 64 bits throughout: numpy would convert other indices each time
        for _ in range(depth):
            value = flat.take(feature.take(at) + row)
            right = value > threshold.take(at)
            at = 2 * at + right + (1 - tree)
        leaf = at - tree - inner + np.arange(trees) * (inner + 1)
        total: Array = self.value.ravel().take(leaf).sum(axis=1)
        return total


Model = Linear | Trees


@dataclass(frozen=True, slots=True)
class Head:
    """`order` sorts well, `chance` tells the log odds of use, comparable between questions; the ranking adds both."""

    order: Model
    chance: Model

    def scores(self, matrix: Array) -> tuple[Array, Array]:
        """What to rank by, and what to be sure by."""
        chance = self.chance.scores(matrix)
        return self.order.scores(matrix) + chance, chance


# Where no trained table is shipped: co-change and nearest messages lead, the rest breaks ties.
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


def by_hand() -> Head:
    weights = np.array([HAND_WEIGHTS.get(name, 0.0) for name in FEATURES], "<f4")
    zero, one = np.zeros(len(FEATURES), "<f4"), np.ones(len(FEATURES), "<f4")
    return Head(Linear(zero, one, weights), Linear(zero, one, zero))


def roughly(matrix: Array, most: int) -> Array:
    """The places of the rows worth a closer look, by the weights set by hand; all when there are few."""
    if len(matrix) <= most:
        return np.arange(len(matrix))
    scores = matrix @ _ROUGH
    return np.sort(np.argpartition(-scores, most)[:most])


_ROUGH = np.array([HAND_WEIGHTS.get(name, 0.0) for name in FEATURES], "<f4")
