"""From features to scores: a head for each kind of question, linear or of boosted trees."""

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
    """Boosted regression trees, all nodes in one run of arrays; a node is a leaf when its feature is below zero.

    `feature`, `threshold`, `left`, `right`, `value` by node; `roots` by tree; `depth`: the longest path.
    """

    feature: Array
    threshold: Array
    left: Array
    right: Array
    value: Array
    roots: Array
    depth: int

    def scores(self, matrix: Array) -> Array:
        rows, trees = len(matrix), len(self.roots)
        flat = np.ascontiguousarray(matrix).ravel()
        offset = np.repeat(np.arange(rows, dtype=np.int32) * matrix.shape[1], trees)
        node = np.tile(self.roots.astype(np.int32), rows)
        for _ in range(self.depth):
            values = flat[offset + self.feature[node]]
            node = np.where(values <= self.threshold[node], self.left[node], self.right[node])
        total: Array = self.value[node].reshape(rows, trees).sum(axis=1)
        return total


Head = Linear | Trees

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


def by_hand() -> Linear:
    weights = np.array([HAND_WEIGHTS.get(name, 0.0) for name in FEATURES], "<f4")
    return Linear(np.zeros(len(FEATURES), "<f4"), np.ones(len(FEATURES), "<f4"), weights)
