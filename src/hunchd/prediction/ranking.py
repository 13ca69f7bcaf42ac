"""From features to scores: a head for each kind of question, made of boosted trees or of plain weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
        total: Array = self.leaves(matrix).sum(axis=0)
        return total

    def leaves(self, matrix: Array) -> Array:
        """The value of each tree, a row, for each row of the matrix, a column.

        The first two levels are compared for all at once; below, each place is looked up. Buffers are reused, and
        indexes are in numpy's own width throughout, or it would copy and convert them at each step.
        """
        rows, (trees, inner) = len(matrix), self.feature.shape
        depth = (inner + 1).bit_length() - 1
        columns = np.ascontiguousarray(matrix.T, "<f4")
        flat, feature, threshold = columns.ravel(), (self.feature * rows).ravel(), self.threshold.ravel()
        tree, row = (np.arange(trees) * inner)[:, None], np.arange(rows)
        above = columns[self.feature[:, :DENSE].T] > self.threshold[:, :DENSE].T[:, :, None]
        at = tree + 3 + 2 * above[0].astype(np.intp) + np.where(above[0], above[2], above[1])
        place, right = np.empty_like(at), np.empty(at.shape, "?")
        value, limit = np.empty(at.shape, "<f4"), np.empty(at.shape, "<f4")
        for _ in range(depth - 2):
            feature.take(at, out=place, mode="clip")
            place += row
            flat.take(place, out=value, mode="clip")
            threshold.take(at, out=limit, mode="clip")
            np.greater(value, limit, out=right)
            at += at
            at += right
            at += 1 - tree
        at -= tree + inner - np.arange(trees)[:, None] * (inner + 1)
        leaves: Array = self.value.ravel().take(at)
        return leaves


DENSE = 3  # nodes of a tree's first two levels


Model = Linear | Trees


@dataclass(frozen=True)
class Head:
    """`order` sorts well, `chance` tells the log odds of use, comparable between questions; the ranking adds both."""

    order: Model
    chance: Model

    def scores(self, matrix: Array) -> tuple[Array, Array]:
        """What to rank by, and what to be sure by."""
        if self._all_trees is None:
            chance = self.chance.scores(matrix)
            return self.order.scores(matrix) + chance, chance
        leaves = self._all_trees.leaves(matrix)
        chance = leaves[-len(self.chance.value) :].sum(axis=0) if isinstance(self.chance, Trees) else leaves
        return leaves.sum(axis=0), chance

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
    scores = matrix @ _ROUGH
    return np.sort(np.argpartition(-scores, most)[:most])


_ROUGH = np.array([HAND_WEIGHTS.get(name, 0.0) for name in FEATURES], "<f4")
