"""Past units of work that are relevant to a focus.

A unit is relevant if it is similar to the text of the focus, or if it wrote lines in the files of the focus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hunchd.domain.context import PredictedUnit
from hunchd.prediction.candidates import QueryEvidence
from hunchd.prediction.packed_arrays import Array, Scores, create_empty_scores, mask_members, sum_by_number
from hunchd.prediction.query import PredictionQuery
from hunchd.prediction.reasons import format_age
from hunchd.prediction.state import PredictorState

MAX_UNITS = 8
MAX_UNITS_PER_FILE = 40  # units of a seed that are considered
HALF_LIFE = 5.0  # half-life in changes to the file
WORD_WEIGHT = 0.05  # weight of word similarity relative to line ownership; with more, the owners would hardly count
LINE_WEIGHT = 0.6  # weight of the square root of the share of lines with the words
RECENCY_WEIGHT = 0.06
MAX_CONFIDENCE = 0.6
# Confidence from word similarity alone, times its square: of the past units with similarity 1/2 to a title, two in five
# touched a file that the titled unit changed; of those with 1/4, one in four (development windows of seven histories).
# Similarity in only two words hardly adds confidence.
WORD_CONFIDENCE = 0.8
ENOUGH_WORDS = 5
_DECAY = 0.5 ** (np.arange(MAX_UNITS_PER_FILE) / HALF_LIFE)


def recall_units(
    state: PredictorState, query: PredictionQuery, query_evidence: QueryEvidence, now: int, limit: int = MAX_UNITS
) -> tuple[PredictedUnit, ...]:
    """Return past units that are relevant to a query.

    A unit is relevant if it is similar to the query, or if it wrote lines in the open files or recently touched them.
    """
    focus_seeds = _exclude_hubs(state, query)
    shares = {seed: _load_shares(state, seed) for seed in query.seeds}
    nearest, recent_scores = query_evidence.nearest, _score_recent_units(state, focus_seeds)
    word_authors = _find_word_authors(state, query, focus_seeds)
    in_lines = (word_authors[0], LINE_WEIGHT * np.sqrt(word_authors[1]))
    parts = [
        (nearest.units, WORD_WEIGHT * nearest.similarity),
        in_lines,
        *_weigh_owners(shares, focus_seeds),
        *recent_scores,
    ]
    units, scores = sum_by_number(
        np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    )
    best = (-scores).argsort(kind="stable")[:limit]
    near = mask_members(nearest.units, np.sort(units[best]))
    likeness = dict(zip(nearest.units[near].tolist(), nearest.similarity[near].tolist(), strict=True))
    owned_shares = _sum_by_unit([(units, share / len(shares)) for units, share in shares.values()])
    is_exact = all(_has_blame(state, seed) for seed in query.seeds)
    confidence_scale = WORD_CONFIDENCE * min(1.0, len(query.keys) / ENOUGH_WORDS)
    word_units, recent_units = set(word_authors[0].tolist()), _sum_by_unit(recent_scores)
    return tuple(
        _build_unit(
            state,
            unit,
            score,
            similarity=likeness.get(unit, 0.0),
            confidence_scale=confidence_scale,
            owned_share=owned_shares.get(unit, 0.0),
            is_exact=is_exact,
            has_matching_lines=unit in word_units,
            touched_recently=unit in recent_units,
            now=now,
        )
        for unit, score in zip(units[best].tolist(), scores[best].tolist(), strict=True)
    )


def _weigh_owners(shares: Mapping[int, Scores], seeds: list[int]) -> list[Scores]:
    """Return the units that own each open file's lines, with weights.

    A weight is the square root of the unit's share of the lines, because even a change to a few lines can affect
    many other lines.
    """
    parts = []
    for seed in seeds:
        units, share = shares[seed]
        roots = np.sqrt(share)
        parts.append((units, roots / (max(float(roots.sum()), 1e-9) * len(seeds))))
    return parts


def _load_shares(state: PredictorState, seed: int) -> Scores:
    """Return the units that own lines of a file, with shares.

    The shares come from git blame if its result is cached, and otherwise from the estimate in `LineOwnership`.
    """
    page = state.pages.get_blame(seed)
    return page.unit_shares if page is not None and _has_blame(state, seed) else state.ownership.compute_shares(seed)


def _has_blame(state: PredictorState, seed: int) -> bool:
    page = state.pages.get_blame(seed)
    return page is not None and len(page.units) > 0


def _find_word_authors(state: PredictorState, query: PredictionQuery, seeds: list[int]) -> Scores:
    """Return the units that wrote lines containing words from the query.

    The values are the units' shares of these lines in the open files.
    """
    pages = [page for seed in seeds if (page := state.pages.get_blame(seed)) is not None]
    if not pages or not query.keys:
        return create_empty_scores()
    unit_scores = [page.score_units_by_words(np.array(query.keys, "<u4")) for page in pages]
    return sum_by_number(
        np.concatenate([units for units, _ in unit_scores]),
        np.concatenate([part for _, part in unit_scores]) / len(seeds),
    )


def _exclude_hubs(state: PredictorState, query: PredictionQuery) -> list[int]:
    """Return the open files that are not hubs.

    If all are hubs, all are returned.
    """
    hubs = state.mask_hubs()
    return [seed for seed in query.seeds if not hubs[seed]] or list(query.seeds)


def _score_recent_units(state: PredictorState, seeds: list[int]) -> list[Scores]:
    """Score the units that recently touched each open file.

    The score halves with every HALF_LIFE units that touched the file.
    """
    touching = [state.messages.list_units_of_file(seed, MAX_UNITS_PER_FILE) for seed in seeds]
    return [(units, (RECENCY_WEIGHT / len(touching)) * _DECAY[: len(units)]) for units in touching]


def _sum_by_unit(parts: list[Scores]) -> dict[int, float]:
    total: dict[int, float] = {}
    for units, values in parts:
        for unit, value in zip(units.tolist(), values.tolist(), strict=True):
            total[unit] = total.get(unit, 0.0) + value
    return total


def _build_unit(
    state: PredictorState,
    unit: int,
    score: float,
    *,
    similarity: float,
    confidence_scale: float,
    owned_share: float,
    is_exact: bool,
    has_matching_lines: bool,
    touched_recently: bool,
    now: int,
) -> PredictedUnit:
    """Build the predicted unit with its reasons.

    `confidence_scale` is the confidence for a unit with a similarity of 1. `is_exact` is True if `owned_share`
    comes from git blame; an estimated share is not given as a reason, because it may be far off if a file was
    rewritten often.
    """
    messages = state.messages
    at = int(messages.at.view[unit])
    reasons = []
    if similarity > 0.1:
        reasons.append("about the same words")
    if is_exact and owned_share > 0.05:
        reasons.append(f"wrote {owned_share:.0%} of the open file")
    if has_matching_lines:
        reasons.append("wrote lines about it")
    if touched_recently:
        reasons.append(f"touched the open file {format_age(now - at)}")
    confidence = round(min(max(float(score), confidence_scale * similarity**2), MAX_CONFIDENCE), 4)
    return replace(build_unit(state, unit), score=float(score), confidence=confidence, reasons=tuple(reasons))


def build_unit(state: PredictorState, unit: int) -> PredictedUnit:
    """Return a past unit without a score or reasons."""
    messages = state.messages
    return PredictedUnit(
        sha=messages.get_unit_id(unit),
        subject=messages.subjects[unit],
        at=int(messages.at.view[unit]),
        score=0.0,
        confidence=0.0,
        paths=_list_paths(state, messages.get_files(unit)),
    )


def _list_paths(state: PredictorState, files: Array) -> tuple[str, ...]:
    paths, alive = state.files.paths, state.files.alive.view
    return tuple(paths[file] for file in files.tolist() if alive[file])
