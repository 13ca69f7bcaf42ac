"""Candidates for a bundle, built from predictions and memories, with a value each.

A candidate is an item that the bundle may contain. Only this module decides how the values of different kinds of
candidates compare. All functions are pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hunchd.consolidation.aging import SHOWN_AS
from hunchd.core.state.project import KnownError
from hunchd.core.state.relative_time import format_age
from hunchd.domain.commit_subjects import is_descriptive
from hunchd.domain.context import ContextCandidate, Focus, Level, PredictedUnit, Prediction
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Memory, Trust
from hunchd.features.context.convention_relevance import FileTests
from hunchd.features.context.fact_candidates import build_fact_candidates
from hunchd.features.context.file_candidates import FileLinks, iterate_file_candidates
from hunchd.ingestion.episodes import make_episode_id
from hunchd.ingestion.errors import parse_error
from hunchd.ingestion.fixes import Fix, render_excerpt
from hunchd.prediction.file_table import ALWAYS_HUB, CODE, GENERATED_FILE, classify_path, disambiguate_names
from hunchd.prediction.reasons import TESTS_REASON
from hunchd.protocol.responses import format_iso

# Value of each kind, relative to a file that will certainly be needed (1.0).
ERROR_RELEVANT_VALUE = 0.95  # a recent error that names the current file
ERROR_OTHER_VALUE = 0.6
NEWER_ERROR_PENALTY = 0.01  # subtracted for each newer error: the newest is the current one
MAX_NEWER_ERRORS = 8  # … at most this many times
PRECEDENT_VALUE = 0.15  # the next change needs a third of its files, and often continues this one
EPISODE_VALUE = 0.6  # times the unit's confidence
# How likely it is that the next change touches the other files of a past unit: .45 for units of two or three files,
# .18 for four to eight, .06 for more (226 units in five histories). A unit of one file shows no other files.
BREADTH_FACTORS = ((1, 0.5), (4, 1.0), (9, 0.4))  # (maximum number of files, factor)
MAX_EPISODE_YEARS = 2  # maximum age of a unit shown unprompted; readers considered older ones noise

_TEST_SUMMARY_PATTERN = re.compile(r"# \w+ [\d.]+$|1\.\.\d+$")  # summary line of a test run

MAX_HEADLINES = 3  # newest errors for which facts that quote them are searched
MAX_TRACE_LINES = 12  # lines at the end of a trace that are shown


@dataclass(frozen=True, slots=True)
class CandidateInput:
    """Inputs for building the candidates of one bundle."""

    project: str
    focus: Focus
    prediction: Prediction
    links: Mapping[str, FileLinks]  # definitions that link a file to the current one, by path
    errors: Sequence[KnownError]
    facts: Sequence[Memory]
    matches: Sequence[tuple[Memory, float]]  # memories found by query, with relevance 0..1
    now: datetime
    past_units: int  # maximum of episodes shown
    has_package_tests: bool = False  # whether the folder of the current file has tests
    outline_count: int = 10  # predicted files with a line of their own; the others are only named
    conflicts: Sequence[Memory] = ()  # open contradictions
    profile: Sequence[Memory] = ()  # documents about the user
    fixes: Mapping[str, Fix] = field(default_factory=dict)  # id of an error's memory → best fix
    candidates: Mapping[str, Sequence[str]] = field(default_factory=dict)  # id of an error's memory → errors it may be


def build_candidates(candidate_input: CandidateInput) -> list[ContextCandidate]:
    """Build all candidates for a bundle, in no particular order.

    The assembly of the bundle selects among them.
    """
    return [
        *(
            _build_error_candidate(error, since, candidate_input)
            for since, error in enumerate(_sort_newest_first(candidate_input.errors))
        ),
        *iterate_file_candidates(
            candidate_input.prediction,
            file=candidate_input.focus.file,
            links=candidate_input.links,
            outline_count=candidate_input.outline_count,
        ),
        *(_build_episode_candidate(unit, candidate_input) for unit in _list_current_units(candidate_input)),
        *build_fact_candidates(
            candidate_input.focus,
            candidate_input.facts,
            candidate_input.conflicts,
            candidate_input.profile,
            candidate_input.now,
            _get_headlines(candidate_input),
            FileTests(_find_test(candidate_input.prediction), candidate_input.has_package_tests),
        ),
        *(_build_memory_candidate(memory, relevance, candidate_input) for memory, relevance in candidate_input.matches),
    ]


def _find_test(prediction: Prediction) -> str | None:
    """Return the predicted file that tests the current one, or None."""
    return next((file.path for file in prediction.files if TESTS_REASON in file.reasons), None)


def _get_headlines(candidate_input: CandidateInput) -> list[str]:
    """Return the headlines of the newest errors at hand."""
    headline_by_text = {error.text: error.headline for error in candidate_input.errors}
    return [
        headline_by_text.get(text) or parse_error(text).headline
        for text in candidate_input.focus.errors[:MAX_HEADLINES]
    ]


def _sort_newest_first(errors: Sequence[KnownError]) -> list[KnownError]:
    return sorted(errors, key=lambda error: error.last, reverse=True)


def _list_current_units(candidate_input: CandidateInput) -> list[PredictedUnit]:
    """Return the past units of work that are worth showing, the most informative first.

    Beside a file, without a question or an error, this is only the change that the next one may continue or repeat.
    """
    prediction, focus = candidate_input.prediction, candidate_input.focus
    if focus.query or focus.errors:
        return select_informative_units(prediction.units, candidate_input.past_units)
    if focus.file is not None:
        return [prediction.precedent] if prediction.precedent is not None else []
    oldest = candidate_input.now - timedelta(days=365 * MAX_EPISODE_YEARS)
    recent = [unit for unit in prediction.units if unit.at >= oldest.timestamp() and unit.paths]
    return select_informative_units(recent, candidate_input.past_units)


def select_informative_units(units: Sequence[PredictedUnit], limit: int) -> list[PredictedUnit]:
    """Return at most `limit` past units of work, the most informative first.

    Units whose subject describes nothing, such as merges of branches, are left out, and broad changes are ranked
    below narrow ones.
    """
    informative = [unit for unit in units if is_descriptive(unit.subject)]
    return sorted(informative, key=lambda unit: -get_unit_value(unit))[:limit]


def get_unit_value(unit: PredictedUnit) -> float:
    """Return the value of a past unit of work, relative to a file that is certainly needed (1.0)."""
    breadth = next((factor for count, factor in BREADTH_FACTORS if len(unit.paths) <= count), 0.0)
    return EPISODE_VALUE * unit.confidence * breadth


def _build_error_candidate(error: KnownError, since: int, candidate_input: CandidateInput) -> ContextCandidate:
    """Build the candidate for an error with `since` newer ones."""
    here = error.path is not None and error.path in (candidate_input.focus.file, *candidate_input.focus.open_files)
    spot = f" ({error.path}:{error.line})" if error.path and error.line else f" ({error.path})" if error.path else ""
    line = f"{error.headline}{spot}"
    reasons = [format_age(error.last, candidate_input.now)]
    if error.times > 1:
        reasons.append(f"{error.times} times")
    if here:
        reasons.append("in this file" if error.path == candidate_input.focus.file else "in a file that is open")
    forms: list[tuple[Level, str]] = [("summary", line), ("index", error.headline[:80])]
    details = [text for text in (_get_trace_end(error.text),) if text]
    fix = candidate_input.fixes.get(error.memory)
    if fix is not None:
        reasons.insert(0, fix.summary)
        details.append(
            f"{'a commit that may help' if fix.is_past else 'what mended it before'}:\n{render_excerpt(fix)}"
        )
    may_be = candidate_input.candidates.get(error.memory, ())
    if may_be:
        reasons.append("only its last line is known")
        details.append("\n".join(("may be one that was seen before:", *(f"  {one}" for one in may_be))))
    if details:
        forms.insert(0, ("full", "\n".join((line, *details))))
    return ContextCandidate(
        id=error.memory,
        kind="error",
        tier=1,
        value=(ERROR_RELEVANT_VALUE if here else ERROR_OTHER_VALUE)
        - NEWER_ERROR_PENALTY * min(since, MAX_NEWER_ERRORS),
        forms=tuple(forms),
        reasons=tuple(reasons),
        source={
            "type": "signal",
            "last": format_iso(error.last),
            "path": error.path,
            "line": error.line,
            "command": error.command,
            **(_get_fix_fields(fix) if fix is not None else {}),
            **({"candidates": list(may_be)} if may_be else {}),
        },
        trust=Trust.UNTRUSTED,
    )


def _get_fix_fields(fix: Fix) -> dict[str, Any]:
    """Return the fields about a fix that further requests need."""
    name = "likely_fixed_by" if fix.is_past else "fixed_by"
    return {name: fix.commit or fix.id, "fixed_in": list(fix.paths), "fix": fix.id}


def _get_trace_end(text: str) -> str:
    """Return the last lines of an error with several lines."""
    lines = [line for line in text.splitlines() if line.strip()]
    while lines and _TEST_SUMMARY_PATTERN.match(lines[-1]):
        lines.pop()
    return "\n".join(lines[-MAX_TRACE_LINES:]) if len(lines) > 1 else ""


def _build_episode_candidate(unit: PredictedUnit, candidate_input: CandidateInput) -> ContextCandidate:
    when = datetime.fromtimestamp(unit.at, UTC)
    others = sorted((path for path in unit.paths if path != candidate_input.focus.file), key=_get_path_order)
    display_names = disambiguate_names([*others, *filter(None, (candidate_input.focus.file,))])
    file_list = ", ".join(display_names[path] for path in others[:3])
    files = f" ({file_list}{f' and {len(others) - 3} more' if len(others) > 3 else ''})" if others else ""
    short = f"{when:%Y-%m}: {unit.subject}"
    return ContextCandidate(
        id=make_episode_id(candidate_input.project, unit.sha),
        kind="episode",
        tier=2,
        value=max(get_unit_value(unit), PRECEDENT_VALUE if unit == candidate_input.prediction.precedent else 0.0),
        forms=(("summary", short + files), ("compressed", short), ("index", unit.subject)),
        reasons=unit.reasons,
        source={"type": "commit", "sha": unit.sha, "at": format_iso(when)},
        trust=Trust.UNTRUSTED,
    )


def _get_path_order(path: str) -> int:
    """Return a sort key for a path that puts code first and generated files last."""
    traits = classify_path(path)
    return 2 if traits & (GENERATED_FILE | ALWAYS_HUB) else 0 if traits & CODE else 1


def _build_memory_candidate(memory: Memory, relevance: float, candidate_input: CandidateInput) -> ContextCandidate:
    text = memory.levels.summary or memory.content
    forms: list[tuple[Level, str]] = []
    shown_as = memory.source.get(SHOWN_AS)
    is_hint = describe(memory.kind).is_abridged
    if shown_as is None and len(memory.content) < 2_000 and not is_hint:
        forms.append(("full", memory.content))
    if shown_as != "compressed" or not memory.levels.compressed:
        forms.append(("summary", text[:400]))
    else:
        forms.append(("compressed", memory.levels.compressed))
    forms.append(("index", memory.title))
    return ContextCandidate(
        id=memory.id,
        kind=str(memory.kind),
        tier=2,
        value=relevance,
        forms=tuple(form for form in forms if form[1]),
        reasons=(
            f"matches what you asked, {format_age(memory.at, candidate_input.now)}"
            if describe(memory.kind).is_dated
            else "matches what you asked",
            *((f"hunch show {memory.id}",) if is_hint else ()),
        ),
        source=memory.source,
        trust=memory.trust,
    )
