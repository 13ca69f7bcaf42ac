"""Past units of work relevant to a focus.

They are similar to its words or wrote its files.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hunchd.domain.context import PredictedUnit
from hunchd.prediction.candidates import Evidence
from hunchd.prediction.packed import Array, Scores, among, nothing, summed
from hunchd.prediction.query import Query
from hunchd.prediction.reasons import ago
from hunchd.prediction.state import State

MOST_UNITS = 8
NEWEST_OF_FILE = 40  # units of a seed that are considered
HALVING = 5.0  # half-life in changes of the file
OF_WORDS = 0.05  # weight of word similarity beside line ownership; more would drown the owners
OF_LINES = 0.6  # weight of the square root of the share of lines with the words
OF_RECENCY = 0.06
SUREST = 0.6
# Confidence by word similarity alone, times its square: of the past units with similarity 1/2 to a title two in five
# touched a file that the titled unit changed, of those with 1/4 one in four (development windows of seven histories).
# Similarity to only two words hardly adds confidence.
SURE_OF_WORDS = 0.8
ENOUGH_WORDS = 5
_FADING = 0.5 ** (np.arange(NEWEST_OF_FILE) / HALVING)


def recalled(
    state: State, query: Query, found: Evidence, now: int, most: int = MOST_UNITS
) -> tuple[PredictedUnit, ...]:
    """Return similar units, and units of the open files.

    The latter wrote or recently touched the files.
    """
    meant = _meant(state, query)
    shares = {seed: _shares(state, seed) for seed in query.seeds}
    nearest, lately = found.nearest, _lately(state, meant)
    spoken = _spoken(state, query, meant)
    in_lines = (spoken[0], OF_LINES * np.sqrt(spoken[1]))
    parts = [(nearest.units, OF_WORDS * nearest.similarity), in_lines, *_parts(shares, meant), *lately]
    units, scores = summed(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))
    best = (-scores).argsort(kind="stable")[:most]
    near = among(nearest.units, np.sort(units[best]))
    likeness = dict(zip(nearest.units[near].tolist(), nearest.similarity[near].tolist(), strict=True))
    owned = _by_unit([(units, share / len(shares)) for units, share in shares.values()])
    counted = all(_is_read(state, seed) for seed in query.seeds)
    sure = SURE_OF_WORDS * min(1.0, len(query.keys) / ENOUGH_WORDS)
    said, touched = set(spoken[0].tolist()), _by_unit(lately)
    return tuple(
        _unit(
            state,
            unit,
            score,
            likeness=likeness.get(unit, 0.0),
            sure=sure,
            owned=owned.get(unit, 0.0),
            counted=counted,
            said=unit in said,
            touched=unit in touched,
            now=now,
        )
        for unit, score in zip(units[best].tolist(), scores[best].tolist(), strict=True)
    )


def _parts(shares: Mapping[int, Scores], seeds: list[int]) -> list[Scores]:
    """Return the weight of each unit in each open file.

    The weight is the square root of its lines, as a change to some of them affects many.
    """
    parts = []
    for seed in seeds:
        units, share = shares[seed]
        roots = np.sqrt(share)
        parts.append((units, roots / (max(float(roots.sum()), 1e-9) * len(seeds))))
    return parts


def _shares(state: State, seed: int) -> Scores:
    """Return units that own lines of a file, with shares.

    They were read, or are estimated.
    """
    page = state.pages.of(seed)
    return page.shares if page is not None and _is_read(state, seed) else state.ownership.shares(seed)


def _is_read(state: State, seed: int) -> bool:
    page = state.pages.of(seed)
    return page is not None and len(page.units) > 0


def _spoken(state: State, query: Query, seeds: list[int]) -> Scores:
    """Return units that wrote lines with words of the query.

    The values are their shares of such lines in the open files.
    """
    pages = [page for seed in seeds if (page := state.pages.of(seed)) is not None]
    if not pages or not query.keys:
        return nothing()
    said = [page.speaking_of(np.array(query.keys, "<u4")) for page in pages]
    return summed(np.concatenate([units for units, _ in said]), np.concatenate([part for _, part in said]) / len(seeds))


def _meant(state: State, query: Query) -> list[int]:
    """Return the open files without hubs, if possible.

    Hubs are change logs and lock files.
    """
    hubs = state.hubs()
    return [seed for seed in query.seeds if not hubs[seed]] or list(query.seeds)


def _lately(state: State, seeds: list[int]) -> list[Scores]:
    """Return the units that touched each open file.

    Their weight halves every HALVING units.
    """
    touching = [state.messages.units_of_file(seed, NEWEST_OF_FILE) for seed in seeds]
    return [(units, (OF_RECENCY / len(touching)) * _FADING[: len(units)]) for units in touching]


def _by_unit(parts: list[Scores]) -> dict[int, float]:
    total: dict[int, float] = {}
    for units, values in parts:
        for unit, value in zip(units.tolist(), values.tolist(), strict=True):
            total[unit] = total.get(unit, 0.0) + value
    return total


def _unit(
    state: State,
    unit: int,
    score: float,
    *,
    likeness: float,
    sure: float,
    owned: float,
    counted: bool,
    said: bool,
    touched: bool,
    now: int,
) -> PredictedUnit:
    """Build the predicted unit with its reasons.

    `sure` is the confidence in a unit of full similarity. `counted` tells that `owned` was read line by line; an
    estimate may be far off where a file was rewritten often.
    """
    messages = state.messages
    at = int(messages.at.view[unit])
    reasons = []
    if likeness > 0.1:
        reasons.append("about the same words")
    if owned > 0.05:
        reasons.append(f"wrote {owned:.0%} of what is open" if counted else "once added much of what is open")
    if said:
        reasons.append("wrote lines about it")
    if touched:
        reasons.append(f"touched the open file {ago(now - at)}")
    return PredictedUnit(
        sha=messages.sha(unit),
        subject=messages.subjects[unit],
        at=at,
        score=float(score),
        confidence=round(min(max(float(score), sure * likeness**2), SUREST), 4),
        reasons=tuple(reasons),
        paths=_paths(state, messages.files_of(unit)),
    )


def _paths(state: State, files: Array) -> tuple[str, ...]:
    paths, alive = state.files.paths, state.files.alive.view
    return tuple(paths[file] for file in files.tolist() if alive[file])
