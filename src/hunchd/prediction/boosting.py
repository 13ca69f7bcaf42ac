"""A few small trees that correct a ranking by what a project's own past shows, grown with numpy alone.

Gradient boosting (Friedman, 2001) with histograms of quantile bins and second-order leaves (Chen and Guestrin, 2016),
on the listwise softmax likelihood (ListNet, Cao et al., 2007) of the ranking that they correct.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hunchd.prediction.packed import Array
from hunchd.prediction.ranking import Trees

TREES = 40
DEPTH = 3
RATE = 0.05
BINS = 32
FEATURES_OF_TREE = 0.4  # share, drawn anew for each tree
RIDGE = 5.0  # added to the second derivatives of a leaf: with fewer questions a leaf says less
LEAST = 3.0  # second derivatives on each side of a split, about as many questions


@dataclass(frozen=True, slots=True)
class Lesson:
    """A question of the past: its candidates' features, what they scored, and which were used. One row a candidate."""

    matrix: Array
    scores: Array
    used: Array


def grown(lessons: Sequence[Lesson], *, trees: int = TREES, seed: int = 0) -> Trees:
    """Trees whose sum, added to the scores of the lessons, makes what was used likelier. At least one lesson.

    The same lessons give the same trees. For 700 lessons of 64 candidates some seconds of one core, 30 MB.
    """
    drawn = np.random.default_rng(seed)
    matrix = np.concatenate([lesson.matrix for lesson in lessons])
    scores = np.concatenate([lesson.scores for lesson in lessons]).astype("<f8")
    wanted = np.concatenate([lesson.used / lesson.used.sum() for lesson in lessons])
    sizes = np.array([len(lesson.used) for lesson in lessons])
    edges = [_edges(column) for column in matrix.T]
    binned = np.stack([np.searchsorted(edge, column) for edge, column in zip(edges, matrix.T, strict=True)])
    features = max(1, round(FEATURES_OF_TREE * matrix.shape[1]))
    made = []
    for _ in range(trees):
        likely = _softmax(scores, sizes)
        chosen = np.sort(drawn.choice(matrix.shape[1], features, replace=False))
        split, at, value, leaf = _tree(binned[chosen], likely - wanted, likely * (1 - likely))
        feature = chosen[split]
        threshold = [edges[f][b] if b < len(edges[f]) else np.inf for f, b in zip(feature, at, strict=True)]
        made.append((feature, threshold, value))
        scores += value[leaf]
    columns = list(zip(*made, strict=True))
    return Trees(np.array(columns[0], np.intp), np.array(columns[1], "<f4"), np.array(columns[2], "<f4"))


def _edges(column: Array) -> Array:
    """At most BINS - 1 values that part a column into bins of like size; a value above an edge is beyond it."""
    inner = np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1], method="lower"))
    edges: Array = inner[inner < column.max()].astype("<f4")
    return edges


def _softmax(scores: Array, sizes: Array) -> Array:
    """Within each question, of `sizes` rows."""
    starts = np.cumsum(sizes) - sizes
    likely = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
    share: Array = likely / np.repeat(np.add.reduceat(likely, starts), sizes)
    return share


def _tree(binned: Array, gradient: Array, curvature: Array) -> tuple[Array, Array, Array, Array]:
    """One tree, level by level: for each inner node feature and bin, for each leaf its value, for each row its leaf."""
    features, rows = binned.shape
    split, at = np.zeros(2**DEPTH - 1, np.intp), np.full(2**DEPTH - 1, BINS)
    node = np.zeros(rows, np.intp)
    offsets = (np.arange(features) * BINS)[:, None]
    for level in range(DEPTH):
        nodes = 2**level
        cells = (node * (features * BINS) + offsets + binned).ravel()
        slope, bend = (
            np.bincount(cells, np.broadcast_to(one, (features, rows)).ravel(), nodes * features * BINS)
            .reshape(nodes, features, BINS)
            .cumsum(axis=2)
            for one in (gradient, curvature)
        )
        gain = _worth(slope, bend) + _worth(slope[..., -1:] - slope, bend[..., -1:] - bend)
        gain -= _worth(slope[..., -1:], bend[..., -1:])
        gain[(bend < LEAST) | (bend[..., -1:] - bend < LEAST)] = 0.0
        best = gain.reshape(nodes, -1).argmax(axis=1)
        useful = gain.reshape(nodes, -1)[np.arange(nodes), best] > 0
        first = nodes - 1
        split[first : first + nodes] = best // BINS
        at[first : first + nodes] = np.where(useful, best % BINS, BINS)
        node = 2 * node + (binned[split[first + node], np.arange(rows)] > at[first + node])
    leaves = 2**DEPTH
    slope, bend = (np.bincount(node, one, leaves) for one in (gradient, curvature))
    return split, at, -RATE * slope / (bend + RIDGE), node


def _worth(slope: Array, bend: Array) -> Array:
    worth: Array = slope**2 / (bend + RIDGE)
    return worth
