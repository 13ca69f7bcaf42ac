"""Which past units of work matter for a focus: those near its words, and those that shaped its files."""

from __future__ import annotations

import numpy as np

from hunchd.domain.context import PredictedUnit
from hunchd.prediction.candidates import Evidence
from hunchd.prediction.packed import Array
from hunchd.prediction.query import Query
from hunchd.prediction.reasons import ago
from hunchd.prediction.state import State

MOST_UNITS = 8
NEWEST_OF_FILE = 40  # units of a seed that are considered
RECENCY_HALF_LIFE = 150.0  # units


def recalled(
    state: State, query: Query, found: Evidence, now: int, most: int = MOST_UNITS
) -> tuple[PredictedUnit, ...]:
    """Scored by likeness of words, by how many of the open files they touched, and by how recent they are."""
    scores: dict[int, float] = {}
    likeness = dict(zip(found.nearest.units.tolist(), found.nearest.similarity.tolist(), strict=True))
    touched = _of_seeds(state, query)
    for unit in {*likeness, *touched}:
        score = 1.5 * likeness.get(unit, 0.0)
        if unit in touched:
            score += touched[unit] * (0.3 + 0.5 * 0.5 ** ((state.now - unit) / RECENCY_HALF_LIFE))
        scores[unit] = score
    best = sorted(scores, key=lambda unit: -scores[unit])[:most]
    return tuple(
        _unit(state, unit, scores[unit], likeness.get(unit, 0.0), touched.get(unit, 0.0), now) for unit in best
    )


def _of_seeds(state: State, query: Query) -> dict[int, float]:
    """Units that touched a seed, with the share of the seeds they touched, small units counting more."""
    touched: dict[int, float] = {}
    for seed in query.seeds:
        for unit in state.messages.units_of_file(seed, NEWEST_OF_FILE).tolist():
            size = len(state.messages.files_of(unit))
            touched[unit] = touched.get(unit, 0.0) + 1.0 / (len(query.seeds) * np.log2(1 + size) ** 0.5)
    return touched


def _unit(state: State, unit: int, score: float, likeness: float, touched: float, now: int) -> PredictedUnit:
    messages = state.messages
    at = int(messages.at.view[unit])
    reasons = []
    if likeness > 0.1:
        reasons.append("about the same words")
    if touched:
        reasons.append(f"touched the open file {ago(now - at)}")
    return PredictedUnit(
        sha=messages.sha(unit),
        subject=messages.subjects[unit],
        at=at,
        score=float(score),
        confidence=round(float(min(score, 1.0)) * 0.6, 4),
        reasons=tuple(reasons),
        paths=_paths(state, messages.files_of(unit)),
    )


def _paths(state: State, files: Array) -> tuple[str, ...]:
    return tuple(state.files.paths[file] for file in files.tolist() if state.files.alive.view[file])
