"""Predictions and memories → the pieces a bundle may be made of: pure, and the only place that weighs kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from hunchd.domain.code import FileOutline
from hunchd.domain.context import Focus, Level, Piece, PredictedFile, PredictedUnit, Prediction
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.engine.ages import ago
from hunchd.engine.project import SeenError
from hunchd.ingestion.episodes import episode_id
from hunchd.ingestion.skeleton import skeleton

# How much each kind helps when it is the right one, against a file that will certainly be needed (1.0).
ERROR_HERE = 0.95  # a recent error that names the current file
ERROR_ELSEWHERE = 0.6
DECISION_HERE = 0.8  # a decision that speaks of the current file
DECISION_ELSEWHERE = 0.3
TOLD_BY_USER = 0.7  # what the user asked to remember: rarely wrong to repeat
CONVENTION = 0.35
EPISODE = 0.6  # times the confidence that this past work matters now
NARROW = 0.5  # … and half of that if it touched one file only
SHORTEST_SUBJECT = 8  # characters; "fix", "wip" and "typo" tell nothing

_MERGE = re.compile(r"merge (?:remote-tracking )?branch|merge tag|revert \"merge", re.IGNORECASE)

TRACE_LINES = 12  # lines of a trace that are shown
FULL_LINES, SUMMARY_LINES = 14, 5  # lines of a skeleton


@dataclass(frozen=True, slots=True)
class Known:
    """What is at hand for one answer."""

    project: str
    focus: Focus
    prediction: Prediction
    outlines: Mapping[str, FileOutline]
    errors: Sequence[SeenError]
    facts: Sequence[Memory]
    found: Sequence[tuple[Memory, float]]  # memories that a query or a file's name found, with relevance 0..1
    now: datetime
    past_units: int  # episodes shown at most


def pieces(known: Known) -> list[Piece]:
    """All candidates, unordered; the assembly chooses among them."""
    return [
        *(_error(error, known) for error in known.errors),
        *(_file(file, rank, known.outlines.get(file.path)) for rank, file in enumerate(known.prediction.files)),
        *(_episode(unit, known) for unit in telling(known.prediction.units, known.past_units)),
        *(_fact(fact, known) for fact in known.facts),
        *(_found(memory, relevance, known) for memory, relevance in known.found),
    ]


def telling(units: Sequence[PredictedUnit], most: int) -> list[PredictedUnit]:
    """The units whose story a reader learns something from: no merges of branches, the wide before the narrow."""
    told = [unit for unit in units if not _MERGE.match(unit.subject) and len(unit.subject) >= SHORTEST_SUBJECT]
    return sorted(told, key=lambda unit: -unit.confidence * _breadth(unit))[:most]


def _breadth(unit: PredictedUnit) -> float:
    """A change of one file mostly mended a detail of it; what went through several is why they belong together."""
    return 1.0 if len(unit.paths) > 1 else NARROW


def _error(error: SeenError, known: Known) -> Piece:
    here = error.path is not None and error.path in (known.focus.file, *known.focus.open_files)
    spot = f" ({error.path}:{error.line})" if error.path and error.line else f" ({error.path})" if error.path else ""
    line = f"{error.headline}{spot}"
    reasons = [ago(error.last, known.now)]
    if error.times > 1:
        reasons.append(f"{error.times} times")
    if here:
        reasons.append("in this file")
    forms: list[tuple[Level, str]] = [("summary", line), ("index", error.headline[:80])]
    if trace := _end_of(error.text):
        forms.insert(0, ("full", f"{line}\n{trace}"))
    return Piece(
        id=error.memory,
        kind="error",
        tier=1,
        value=ERROR_HERE if here else ERROR_ELSEWHERE,
        forms=tuple(forms),
        reasons=tuple(reasons),
        source={
            "type": "signal",
            "last": error.last.isoformat(),
            "path": error.path,
            "line": error.line,
            "command": error.command,
        },
        trust=Trust.UNTRUSTED,
    )


def _end_of(text: str) -> str:
    """The last lines of a trace, where it says what went wrong; nothing if one line is all there is."""
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-TRACE_LINES:]) if len(lines) > 1 else ""


def _file(file: PredictedFile, rank: int, outline: FileOutline | None) -> Piece:
    forms: list[tuple[Level, str]] = []
    if outline is not None and outline.symbols:
        forms.append(("full", f"{file.path}\n{skeleton(outline, max_lines=FULL_LINES)}"))
        forms.append(("summary", f"{file.path}\n{skeleton(outline, max_lines=SUMMARY_LINES)}"))
    elif outline is not None and outline.doc:
        forms.append(("summary", f"{file.path}\n{outline.doc}"))
    forms.append(("compressed", file.path))
    return Piece(
        id=f"file:{file.path}",
        kind="file",
        tier=2,
        value=file.confidence,
        forms=tuple(forms),
        reasons=file.reasons,
        source={"type": "file", "path": file.path, "blob": outline.blob if outline else None},
        trust=Trust.PROJECT,
        about=(file.path,),
        rank=rank,
    )


def _episode(unit: PredictedUnit, known: Known) -> Piece:
    when = datetime.fromtimestamp(unit.at, UTC)
    others = [path.rsplit("/", 1)[-1] for path in unit.paths if path != known.focus.file]
    files = f" ({', '.join(others[:3])}{f' and {len(others) - 3} more' if len(others) > 3 else ''})" if others else ""
    short = f"{when:%Y-%m}: {unit.subject}"
    return Piece(
        id=episode_id(known.project, unit.sha),
        kind="episode",
        tier=2,
        value=EPISODE * unit.confidence * _breadth(unit),
        forms=(("summary", short + files), ("compressed", short), ("index", unit.subject)),
        reasons=unit.reasons,
        source={"type": "commit", "sha": unit.sha, "at": when.isoformat()},
        trust=Trust.UNTRUSTED,
    )


def _fact(fact: Memory, known: Known) -> Piece:
    """Decisions and what the user told come first; conventions are background."""
    here = known.focus.file is not None and any(artifact.ref == known.focus.file for artifact in fact.artifacts)
    told = fact.trust is Trust.USER
    decision = fact.category == "decision"
    value = (
        DECISION_HERE if decision and here else TOLD_BY_USER if told else DECISION_ELSEWHERE if decision else CONVENTION
    )
    origin = str(fact.source.get("path") or fact.source.get("type") or "")
    forms: list[tuple[Level, str]] = [("summary", _sentence(fact))]
    if fact.levels.compressed:
        forms.append(("compressed", fact.levels.compressed))
    return Piece(
        id=fact.id,
        kind="decision" if decision else "convention" if not told else "fact",
        tier=1 if value >= TOLD_BY_USER else 3,
        value=value * (0.5 + fact.importance / 2) * fact.confidence,
        forms=tuple(forms),
        reasons=("you asked to remember it",) if told else ((f"from {origin}",) if origin else ()),
        source=fact.source,
        trust=fact.trust,
    )


def _found(memory: Memory, relevance: float, known: Known) -> Piece:
    text = memory.levels.summary or memory.content
    forms: list[tuple[Level, str]] = [("full", memory.content)] if len(memory.content) < 2_000 else []
    forms += [("summary", text[:400]), ("index", memory.title)]
    return Piece(
        id=memory.id,
        kind=str(memory.kind),
        tier=2,
        value=relevance,
        forms=tuple(form for form in forms if form[1]),
        reasons=(f"matches what you asked, {ago(memory.at, known.now)}",),
        source=memory.source,
        trust=memory.trust,
    )


def _sentence(fact: Memory) -> str:
    if fact.kind is Kind.FACT and fact.key and fact.value and fact.category not in ("decision", "instruction"):
        return f"{fact.key}: {fact.value}"
    return fact.levels.summary or fact.content or fact.title
