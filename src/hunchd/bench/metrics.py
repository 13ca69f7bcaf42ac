"""How good a ranking is, and how sure we are of the mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAMES = ("hit@1", "hit@3", "hit@5", "hit@10", "recall@5", "recall@10", "MRR", "MAP", "all@10")
DEPTH = 20  # places looked at
RESAMPLES = 1_000


def measured(ranked: Sequence[str], gold: Iterable[str]) -> tuple[float, ...]:
    """One value for each of `NAMES`."""
    wanted = set(gold)
    places = [place for place, path in enumerate(ranked[:DEPTH]) if path in wanted]
    first = places[0] if places else DEPTH
    found = [sum(place < depth for place in places) for depth in (5, 10)]
    precision = sum((index + 1) / (place + 1) for index, place in enumerate(places))
    return (
        *(float(first < depth) for depth in (1, 3, 5, 10)),
        found[0] / len(wanted),
        found[1] / len(wanted),
        1.0 / (first + 1) if places else 0.0,
        precision / len(wanted),
        float(found[1] == len(wanted)),
    )


def by_unit(rows: Sequence[tuple[str, tuple[float, ...]]]) -> NDArray[Any]:
    """Rows of (unit, metrics) averaged within each unit: one row a unit."""
    groups: dict[str, list[tuple[float, ...]]] = {}
    for unit, values in rows:
        groups.setdefault(unit, []).append(values)
    return np.array([np.mean(values, axis=0) for values in groups.values()]).reshape(-1, len(NAMES))


def interval(values: NDArray[Any], *, share: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """Bootstrap interval of the mean, over units."""
    if len(values) < 2:
        return (float("nan"), float("nan"))
    drawn = np.random.default_rng(seed).integers(0, len(values), (RESAMPLES, len(values)))
    means = values[drawn].mean(axis=1)
    low, high = np.quantile(means, [(1 - share) / 2, (1 + share) / 2])
    return (float(low), float(high))


def compared(ours: NDArray[Any], theirs: NDArray[Any], *, seed: int = 0) -> tuple[float, float]:
    """Mean difference of paired units, and the share of bootstrap resamples in which ours is not ahead."""
    difference = ours - theirs
    drawn = np.random.default_rng(seed).integers(0, len(difference), (RESAMPLES, len(difference)))
    return float(difference.mean()), float((difference[drawn].mean(axis=1) <= 0).mean())
