"""Ranking metrics with bootstrap confidence intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

METRIC_NAMES = ("hit@1", "hit@3", "hit@5", "hit@10", "recall@5", "recall@10", "MRR", "MAP", "all@10")
NEXT_METRIC_NAMES = ("one of the rest", "the one drawn", "the one drawn at best")
DEPTH = 20  # ranks that are evaluated
RESAMPLES = 1_000
CALIBRATION_BINS = 10


def compute_metrics(ranking: Sequence[str], gold: Iterable[str]) -> tuple[float, ...]:
    """Return the value of each metric in `METRIC_NAMES`.

    `gold` are the files that the ranking should contain.
    """
    gold_set, top_ranked = set(gold), ranking[:DEPTH]
    return (
        *(float(not gold_set.isdisjoint(top_ranked[:depth])) for depth in (1, 3, 5, 10)),
        compute_recall(gold_set, top_ranked, 5),
        compute_recall(gold_set, top_ranked, 10),
        compute_reciprocal_rank(gold_set, top_ranked),
        compute_average_precision(gold_set, top_ranked),
        float(gold_set.issubset(top_ranked[:10])),
    )


def compute_recall(gold: Set[str], ranking: Sequence[str], k: int) -> float:
    """Return the share of `gold` that is among the first `k` files of the ranking."""
    return len(gold & set(ranking[:k])) / len(gold)


def compute_reciprocal_rank(gold: Set[str], ranking: Sequence[str]) -> float:
    """Return the reciprocal of the rank of the first hit, or 0 if there is no hit."""
    return next((1 / place for place, one in enumerate(ranking, start=1) if one in gold), 0.0)


def compute_average_precision(gold: Set[str], ranking: Sequence[str]) -> float:
    """Return the average precision: the mean precision at the ranks of the hits.

    A file in `gold` that is not ranked counts as 0.
    """
    places = [place for place, one in enumerate(ranking, start=1) if one in gold]
    return sum(hit_count / place for hit_count, place in enumerate(places, start=1)) / len(gold)


def compute_next_in_ten(ranking: Sequence[str], rest: Sequence[str], target: str) -> tuple[float, ...]:
    """Return the value of each metric in `NEXT_METRIC_NAMES`.

    These are two versions of "the next file is in the top ten", and an upper bound. The order in which the files in
    `rest` were visited is unknown. The first version counts a hit if any of these files is in the top ten; the second
    counts a hit only if `target`, which was drawn from them at random, is in the top ten. If there are more than ten
    files, even a predictor that knows all of `rest` can miss a random target; the third value is the probability that
    such a predictor hits it.
    """
    first = ranking[:10]
    return float(any(path in first for path in rest)), float(target in first), min(1.0, 10 / len(rest))


def average_by_unit(rows: Sequence[tuple[str, tuple[float, ...]]], names: Sequence[str] = METRIC_NAMES) -> NDArray[Any]:
    """Average the rows of the same unit of work.

    A row is (unit, values), with one value for each of `names`. The result has one row for each unit.
    """
    groups: dict[str, list[tuple[float, ...]]] = {}
    for unit, values in rows:
        groups.setdefault(unit, []).append(values)
    return np.array([np.mean(values, axis=0) for values in groups.values()]).reshape(-1, len(names))


def compute_interval(values: NDArray[Any]) -> tuple[float, float]:
    """Return the bootstrap 95 % confidence interval of the mean.

    `values` contains one value for each unit of work. Both ends are NaN if there are fewer than two values.
    """
    if len(values) < 2:
        return (float("nan"), float("nan"))
    resamples = np.random.default_rng(0).integers(0, len(values), (RESAMPLES, len(values)))
    means = values[resamples].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return (float(low), float(high))


def compare_paired(ours: NDArray[Any], theirs: NDArray[Any]) -> tuple[float, float]:
    """Compare two methods by a bootstrap paired by unit of work.

    Returns the mean difference, and the share of resamples in which `ours` is not better.
    """
    difference = ours - theirs
    resamples = np.random.default_rng(0).integers(0, len(difference), (RESAMPLES, len(difference)))
    return float(difference.mean()), float((difference[resamples].mean(axis=1) <= 0).mean())


def compute_calibration_error(pairs: Sequence[tuple[float, bool]]) -> float:
    """Return the expected calibration error of probabilities, each paired with its outcome.

    The error is computed over CALIBRATION_BINS bins of equal width.
    """
    if not pairs:
        return 0.0
    stated, true = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs], float)
    place = np.minimum((stated * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    gaps = ((abs(stated[place == b].mean() - true[place == b].mean()), (place == b).mean()) for b in np.unique(place))
    return float(sum(gap * share for gap, share in gaps))
