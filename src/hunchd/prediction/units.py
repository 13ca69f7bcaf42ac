"""Which past units of work matter for a focus: those near its words, and those that shaped its files."""

from __future__ import annotations

from hunchd.domain.context import PredictedUnit
from hunchd.prediction.candidates import Evidence
from hunchd.prediction.packed import Array
from hunchd.prediction.query import Query
from hunchd.prediction.reasons import ago
from hunchd.prediction.state import State

MOST_UNITS = 8
NEWEST_OF_FILE = 40  # units of a seed that are considered
HALVING = 5.0  # changes of the file
OF_WORDS = 0.2  # weight of likeness of words beside the share of lines written
OF_RECENCY = 0.1


def recalled(
    state: State, query: Query, found: Evidence, now: int, most: int = MOST_UNITS
) -> tuple[PredictedUnit, ...]:
    """Units whose words are near, and units that wrote what the open files consist of or touched them lately."""
    likeness = dict(zip(found.nearest.units.tolist(), found.nearest.similarity.tolist(), strict=True))
    owned, lately = _owned(state, query), _lately(state, query)
    scores = {
        unit: OF_WORDS * likeness.get(unit, 0.0) + owned.get(unit, 0.0) + OF_RECENCY * lately.get(unit, 0.0)
        for unit in {*likeness, *owned, *lately}
    }
    best = sorted(scores, key=lambda unit: -scores[unit])[:most]
    return tuple(
        _unit(state, unit, scores[unit], likeness.get(unit, 0.0), owned.get(unit, 0.0), unit in lately, now)
        for unit in best
    )


def _owned(state: State, query: Query) -> dict[int, float]:
    """Share of the lines of the open files that each unit wrote."""
    owned: dict[int, float] = {}
    for seed in query.seeds:
        for unit, share in zip(*state.ownership.shares(seed), strict=True):
            owned[int(unit)] = owned.get(int(unit), 0.0) + float(share) / len(query.seeds)
    return owned


def _lately(state: State, query: Query) -> dict[int, float]:
    """Units that touched an open file: 1 for its newest, half for each HALVING further back."""
    lately: dict[int, float] = {}
    for seed in query.seeds:
        for place, unit in enumerate(state.messages.units_of_file(seed, NEWEST_OF_FILE).tolist()):
            lately[unit] = lately.get(unit, 0.0) + 0.5 ** (place / HALVING) / len(query.seeds)
    return lately


def _unit(
    state: State, unit: int, score: float, likeness: float, owned: float, touched: bool, now: int
) -> PredictedUnit:
    messages = state.messages
    at = int(messages.at.view[unit])
    reasons = []
    if likeness > 0.1:
        reasons.append("about the same words")
    if owned > 0.05:
        reasons.append(f"wrote {owned:.0%} of what is open")
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
