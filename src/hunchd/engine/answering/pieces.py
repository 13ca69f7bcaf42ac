"""Candidates from predictions and memories. Pure; the only module that weighs kinds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hunchd.consolidation.abbreviations import forms_in
from hunchd.consolidation.aging import SHOWN_AS
from hunchd.domain.code import FileView
from hunchd.domain.context import Focus, Level, Piece, PredictedUnit, Prediction
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.domain.subjects import tells
from hunchd.engine.answering.fact_pieces import told_pieces
from hunchd.engine.answering.file_pieces import file_pieces
from hunchd.engine.state.ages import ago
from hunchd.engine.state.project import SeenError
from hunchd.ingestion.episodes import episode_id
from hunchd.ingestion.errors import understood
from hunchd.ingestion.fixes import Fix, excerpt
from hunchd.prediction.files import ALWAYS_HUB, CODE, GENERATED, told_apart, traits_of
from hunchd.protocol.answers import iso

# Value of each kind, relative to a file that will certainly be needed (1.0).
ERROR_HERE = 0.95  # a recent error that names the current file
ERROR_ELSEWHERE = 0.6
OLDER = 0.01  # subtracted for each newer error: the newest is the current one
OLDEST = 8  # … at most this many times
GLOSSARY = 0.2  # abbreviations used in shown memories
EPISODE = 0.6  # times the unit's confidence
NARROW = 0.5  # … factor if it changed only one file, or
WIDEST = 40  # more than this many

_TALLY = re.compile(r"# \w+ [\d.]+$|1\.\.\d+$")  # summary line of a test run

HEADLINES = 3  # errors whose quotes in facts are searched
TRACE_LINES = 12  # lines shown of a trace


@dataclass(frozen=True, slots=True)
class Known:
    """Input for the candidates of one bundle."""

    project: str
    focus: Focus
    prediction: Prediction
    views: Mapping[str, FileView]
    used: Collection[str]  # names that the current file uses and does not define
    errors: Sequence[SeenError]
    facts: Sequence[Memory]
    found: Sequence[tuple[Memory, float]]  # memories found by query, with relevance 0..1
    now: datetime
    past_units: int  # episodes shown at most
    outlined: int = 10  # predicted files shown with their signatures at most; the others are named
    conflicts: Sequence[Memory] = ()  # open contradictions
    profile: Sequence[Memory] = ()  # pages about the user
    fixes: Mapping[str, Fix] = field(default_factory=dict)  # best fix by error memory id
    candidates: Mapping[str, Sequence[str]] = field(default_factory=dict)  # possible errors, by error memory id


def pieces(known: Known) -> list[Piece]:
    """Build all candidates, unordered; the assembly selects among them."""
    return [
        *(_error(error, since, known) for since, error in enumerate(_newest_first(known.errors))),
        *file_pieces(known.prediction, known.views, file=known.focus.file, used=known.used, outlined=known.outlined),
        *(_episode(unit, known) for unit in telling(known.prediction.units, known.past_units)),
        *told_pieces(known.focus, known.facts, known.conflicts, known.profile, known.now, _headlines(known)),
        *(_found(memory, relevance, known) for memory, relevance in known.found),
        *_glossary([memory for memory, _ in known.found]),
    ]


def _headlines(known: Known) -> list[str]:
    """Return the first lines of the newest current errors."""
    read = {error.text: error.headline for error in known.errors}
    return [read.get(text) or understood(text).headline for text in known.focus.errors[:HEADLINES]]


def _newest_first(errors: Sequence[SeenError]) -> list[SeenError]:
    return sorted(errors, key=lambda error: error.last, reverse=True)


def telling(units: Sequence[PredictedUnit], most: int) -> list[PredictedUnit]:
    """Return the most informative past units.

    No merges of branches, broad changes before narrow ones.
    """
    told = [unit for unit in units if tells(unit.subject)]
    return sorted(told, key=lambda unit: -worth_of(unit))[:most]


def worth_of(unit: PredictedUnit) -> float:
    """Return the value of a past unit, relative to a certainly needed file (1.0)."""
    return EPISODE * unit.confidence * _breadth(unit)


def _breadth(unit: PredictedUnit) -> float:
    """Return a weight for the number of files a unit changed.

    A change of one file mostly fixed a detail; one of several shows why they belong together; one of very many is
    about
    none of them.
    """
    return 1.0 if 1 < len(unit.paths) <= WIDEST else NARROW


def _error(error: SeenError, since: int, known: Known) -> Piece:
    """Build the candidate of an error.

    `since` is the number of errors seen after it.
    """
    here = error.path is not None and error.path in (known.focus.file, *known.focus.open_files)
    spot = f" ({error.path}:{error.line})" if error.path and error.line else f" ({error.path})" if error.path else ""
    line = f"{error.headline}{spot}"
    reasons = [ago(error.last, known.now)]
    if error.times > 1:
        reasons.append(f"{error.times} times")
    if here:
        reasons.append("in this file" if error.path == known.focus.file else "in a file that is open")
    forms: list[tuple[Level, str]] = [("summary", line), ("index", error.headline[:80])]
    told = [text for text in (_end_of(error.text),) if text]
    fix = known.fixes.get(error.memory)
    if fix is not None:
        reasons.insert(0, fix.line)
        told.append(f"{'a commit that may help' if fix.is_past else 'what mended it before'}:\n{excerpt(fix)}")
    may_be = known.candidates.get(error.memory, ())
    if may_be:
        reasons.append("only its last line is known")
        told.append("\n".join(("may be one that was seen before:", *(f"  {one}" for one in may_be))))
    if told:
        forms.insert(0, ("full", "\n".join((line, *told))))
    return Piece(
        id=error.memory,
        kind="error",
        tier=1,
        value=(ERROR_HERE if here else ERROR_ELSEWHERE) - OLDER * min(since, OLDEST),
        forms=tuple(forms),
        reasons=tuple(reasons),
        source={
            "type": "signal",
            "last": iso(error.last),
            "path": error.path,
            "line": error.line,
            "command": error.command,
            **(_mended_by(fix) if fix is not None else {}),
            **({"candidates": list(may_be)} if may_be else {}),
        },
        trust=Trust.UNTRUSTED,
    )


def _mended_by(fix: Fix) -> dict[str, Any]:
    """Return the fields of a fix that clients need for further requests.

    `likely_fixed_by` is a commit of the past, which nobody has tried.
    """
    name = "likely_fixed_by" if fix.is_past else "fixed_by"
    return {name: fix.commit or fix.id, "fixed_in": list(fix.paths), "fix": fix.id}


def _end_of(text: str) -> str:
    """Return the last lines of a trace, where the cause is.

    Empty for a single line.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    while lines and _TALLY.match(lines[-1]):
        lines.pop()
    return "\n".join(lines[-TRACE_LINES:]) if len(lines) > 1 else ""


def _episode(unit: PredictedUnit, known: Known) -> Piece:
    when = datetime.fromtimestamp(unit.at, UTC)
    others = sorted((path for path in unit.paths if path != known.focus.file), key=_aside)
    called = told_apart([*others[:WIDEST], *filter(None, (known.focus.file,))])
    named = ", ".join(called[path] for path in others[:3])
    files = f" ({named}{f' and {len(others) - 3} more' if len(others) > 3 else ''})" if others else ""
    short = f"{when:%Y-%m}: {unit.subject}"
    return Piece(
        id=episode_id(known.project, unit.sha),
        kind="episode",
        tier=2,
        value=worth_of(unit),
        forms=(("summary", short + files), ("compressed", short), ("index", unit.subject)),
        reasons=unit.reasons,
        source={"type": "commit", "sha": unit.sha, "at": iso(when)},
        trust=Trust.UNTRUSTED,
    )


def _aside(path: str) -> int:
    """Return a sort key: code first, then other files, then generated ones."""
    traits = traits_of(path)
    return 2 if traits & (GENERATED | ALWAYS_HUB) else 0 if traits & CODE else 1


def _found(memory: Memory, relevance: float, known: Known) -> Piece:
    text = memory.levels.summary or memory.content
    forms: list[tuple[Level, str]] = []
    shown_as = memory.source.get(SHOWN_AS)
    is_hint = memory.kind is Kind.PATTERN  # its template can be requested
    if shown_as is None and len(memory.content) < 2_000 and not is_hint:
        forms.append(("full", memory.content))
    if shown_as != "compressed" or not memory.levels.compressed:
        forms.append(("summary", text[:400]))
    else:
        forms.append(("compressed", memory.levels.compressed))
    forms.append(("index", memory.title))
    dated = memory.kind in (Kind.DOCUMENT, Kind.EPISODE)  # others are as old as their last indexing
    return Piece(
        id=memory.id,
        kind=str(memory.kind),
        tier=2,
        value=relevance,
        forms=tuple(form for form in forms if form[1]),
        reasons=(
            f"matches what you asked, {ago(memory.at, known.now)}" if dated else "matches what you asked",
            *((f"hunch show {memory.id}",) if is_hint else ()),
        ),
        source=memory.source,
        trust=memory.trust,
    )


def _glossary(memories: Sequence[Memory]) -> Iterator[Piece]:
    """Yield a glossary of the abbreviations in compressed memories."""
    used: dict[str, str] = {}
    for memory in memories:
        if memory.source.get(SHOWN_AS) == "compressed":
            used |= forms_in(memory.levels.compressed, f"{memory.title}\n{memory.content}")
    if used:
        yield Piece(
            id="glossary",
            kind="glossary",
            tier=4,
            value=GLOSSARY,
            forms=(("index", " · ".join(f"{form} = {word}" for form, word in used.items())),),
            source={"type": "glossary"},
        )
