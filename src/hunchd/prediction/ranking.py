"""From features to scores: a head for each kind of question, made of boosted trees or of plain weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hunchd.prediction.features import FEATURES
from hunchd.prediction.packed import Array, highest


@dataclass(frozen=True, slots=True)
class Linear:
    """Standardised features times weights."""

    mean: Array
    scale: Array
    weights: Array

    def scores(self, matrix: Array) -> Array:
        scored: Array = ((matrix - self.mean) / self.scale) @ self.weights
        return scored


@dataclass(frozen=True)
class Trees:
    """Boosted regression trees, each grown out to a full binary tree of the same depth.

    `feature` and `threshold` have one row a tree and 2**depth - 1 inner nodes, breadth first; `value` has 2**depth
    leaves. A value above the threshold goes right.
    """

    feature: Array
    threshold: Array
    value: Array

    def scores(self, matrix: Array) -> Array:
        total: Array = self.leaves(matrix).sum(axis=0)
        return total

    def leaves(self, matrix: Array) -> Array:
        """The value of each tree, a row, for each row of the matrix, a column.

        Level by level: below place `at` of one lie places `2 * at` and `2 * at + 1` of the next. Buffers are reused,
        and indexes are in numpy's own width throughout, or it would copy and convert them at each step.
        """
        columns = np.ascontiguousarray(matrix.T, "<f4")
        flat, rows = columns.ravel(), len(matrix)
        (feature, threshold), *below = self._levels
        right = columns[feature] > threshold[:, None]
        at = np.arange(0, 2 * len(feature), 2)[:, None] + right
        place, value, limit = np.empty_like(at), np.empty(at.shape, "<f4"), np.empty(at.shape, "<f4")
        for feature, threshold in below:
            (feature * rows).take(at, out=place, mode="clip")
            place += np.arange(rows)
            flat.take(place, out=value, mode="clip")
            threshold.take(at, out=limit, mode="clip")
            np.greater(value, limit, out=right)
            at += at
            at += right
        leaves: Array = self.value.ravel().take(at)
        return leaves

    @cached_property
    def _levels(self) -> list[tuple[Array, Array]]:
        """Features and thresholds of the inner nodes, the roots of all trees first."""
        depth = (self.feature.shape[1] + 1).bit_length() - 1
        levels = [slice((1 << level) - 1, (2 << level) - 1) for level in range(depth)]
        return [(self.feature[:, level].ravel(), self.threshold[:, level].ravel()) for level in levels]


Model = Linear | Trees


@dataclass(frozen=True)
class Head:
    """`order` sorts well, `chance` tells the log odds of use, comparable between questions. Their sum sorts best, and
    tells no worse what will be used than the chance alone."""

    order: Model
    chance: Model

    def scores(self, matrix: Array) -> Array:
        if self._all_trees is None:
            both: Array = self.order.scores(matrix) + self.chance.scores(matrix)
            return both
        return self._all_trees.scores(matrix)

    @cached_property
    def _all_trees(self) -> Trees | None:
        """Both sets in one, where they are of one depth: passed through together."""
        match self.order, self.chance:
            case Trees() as order, Trees() as chance if order.feature.shape[1] == chance.feature.shape[1]:
                return Trees(
                    np.concatenate([order.feature, chance.feature]),
                    np.concatenate([order.threshold, chance.threshold]),
                    np.concatenate([order.value, chance.value]),
                )
        return None


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
    return np.sort(highest(matrix @ _ROUGH, most))


_ROUGH = np.array([HAND_WEIGHTS.get(name, 0.0) for name in FEATURES], "<f4")
