"""Ranking metrics with bootstrap confidence intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAMES = ("hit@1", "hit@3", "hit@5", "hit@10", "recall@5", "recall@10", "MRR", "MAP", "all@10")
NEXT_NAMES = ("one of the rest", "the one drawn", "the one drawn at best")
DEPTH = 20  # ranks that are evaluated
RESAMPLES = 1_000


def measured(ranked: Sequence[str], gold: Iterable[str]) -> tuple[float, ...]:
    """Return one value for each of `NAMES`."""
    wanted, looked_at = set(gold), ranked[:DEPTH]
    return (
        *(float(not wanted.isdisjoint(looked_at[:depth])) for depth in (1, 3, 5, 10)),
        share_found(wanted, looked_at, 5),
        share_found(wanted, looked_at, 10),
        reciprocal(wanted, looked_at),
        average_precision(wanted, looked_at),
        float(wanted.issubset(looked_at[:10])),
    )


def share_found(gold: Set[str], ranked: Sequence[str], k: int) -> float:
    """Return the recall among the first k."""
    return len(gold & set(ranked[:k])) / len(gold)


def reciprocal(gold: Set[str], ranked: Sequence[str]) -> float:
    """Return the reciprocal rank of the first hit; 0 if there is none."""
    return next((1 / place for place, one in enumerate(ranked, start=1) if one in gold), 0.0)


def average_precision(gold: Set[str], ranked: Sequence[str]) -> float:
    """Return the mean precision at the rank of each hit.

    A missing one counts 0.
    """
    places = [place for place, one in enumerate(ranked, start=1) if one in gold]
    return sum(found / place for found, place in enumerate(places, start=1)) / len(gold)


def next_in_ten(ranked: Sequence[str], rest: Sequence[str], drawn: str) -> tuple[float, ...]:
    """Return one value for each of `NEXT_NAMES`.

    They are two readings of "the next file is in the top ten", and a bound. All files of `rest` are still to come,
    and history does not tell their order. Either each of them may be the next, or one is drawn; as that says
    nothing about the others, even a predictor that knows all of them names it by chance if there are more than ten:
    the third value is that chance.
    """
    first = ranked[:10]
    return float(any(path in first for path in rest)), float(drawn in first), min(1.0, 10 / len(rest))


def by_unit(rows: Sequence[tuple[str, tuple[float, ...]]], names: Sequence[str] = NAMES) -> NDArray[Any]:
    """Average rows within each unit.

    The rows are (unit, a value for each name); the result has one row a unit.
    """
    groups: dict[str, list[tuple[float, ...]]] = {}
    for unit, values in rows:
        groups.setdefault(unit, []).append(values)
    return np.array([np.mean(values, axis=0) for values in groups.values()]).reshape(-1, len(names))


def interval(values: NDArray[Any], *, share: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """Return the bootstrap interval of the mean, over units."""
    if len(values) < 2:
        return (float("nan"), float("nan"))
    drawn = np.random.default_rng(seed).integers(0, len(values), (RESAMPLES, len(values)))
    means = values[drawn].mean(axis=1)
    low, high = np.quantile(means, [(1 - share) / 2, (1 + share) / 2])
    return (float(low), float(high))


def compared(ours: NDArray[Any], theirs: NDArray[Any], *, seed: int = 0) -> tuple[float, float]:
    """Compare paired units by bootstrap.

    Returns the mean difference and the share of resamples without a lead.
    """
    difference = ours - theirs
    drawn = np.random.default_rng(seed).integers(0, len(difference), (RESAMPLES, len(difference)))
    return float(difference.mean()), float((difference[drawn].mean(axis=1) <= 0).mean())
