"""Predictions and memories → the pieces a bundle may be made of: pure, and the only place that weighs kinds."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from hunchd.domain.code import FileView
from hunchd.domain.context import Focus, Level, Piece, PredictedFile, PredictedUnit, Prediction
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.engine.ages import ago
from hunchd.engine.project import SeenError
from hunchd.ingestion.episodes import episode_id
from hunchd.ingestion.skeleton import shown

# How much each kind helps when it is the right one, against a file that will certainly be needed (1.0).
ERROR_HERE = 0.95  # a recent error that names the current file
ERROR_ELSEWHERE = 0.6
DECISION_HERE = 0.8  # a decision that speaks of the current file
DECISION_ELSEWHERE = 0.3
TOLD_BY_USER = 0.7  # what the user asked to remember: rarely wrong to repeat
CONVENTION = 0.35
EPISODE = 0.6  # times the confidence that this past work matters now
NARROW = 0.5  # … and half of that if it touched one file only, or
WIDEST = 40  # more than so many
SHORTEST_SUBJECT = 8  # characters; "fix", "wip" and "typo" tell nothing

MOST_CONVENTIONS = 12
MOST_SENTENCES = 4  # of them, in a guide's own words
MOST_DECISIONS = 3  # decisions of the project's own records that are shown; the others are found by asking
_WORD = re.compile(r"[A-Za-z]{4,}")
# Words of paths and sentences that stand for nothing in particular.
_EVERYWHERE = frozenset(
    """
    main master test tests index init file files code core utils docs that this with from have than when what into not
    which should will would only must more does instead because where their them they been were there
    """.split()  # noqa: SIM905 - one word after the other reads best
)
_DECISION_HEAD = re.compile(r"^decision \([^)]*\): ")
_MERGE = re.compile(
    r"merge (?:remote-tracking )?branch|merge tag|merge pull request #\d+ from|revert \"merge", re.IGNORECASE
)
# Work on how the code looks, not on what it does.
_COSMETIC = re.compile(
    r"\b(?:re)?format(?:s|ted|ting)?\b.*\b(?:code|codebase|files|everything|all|with|using)\b"
    r"|\b(?:typos?|whitespace|spelling)\b"
    r"|\b(?:run|ran|apply|applied) "
    r"(?:black|ruff|isort|prettier|gofmt|rustfmt|cargo fmt|clang-format|pyupgrade|pre-commit)\b"
    r"|^(?:style|chore\(deps[^)]*\)|build\(deps[^)]*\))\b|\bpre-commit auto(?:fix|update)|\bend of life\b",
    re.IGNORECASE,
)

TRACE_LINES = 12  # lines of a trace that are shown
FULL_LINES, SUMMARY_LINES = 14, 5  # … and of a file


@dataclass(frozen=True, slots=True)
class Known:
    """What is at hand for one answer."""

    project: str
    focus: Focus
    prediction: Prediction
    views: Mapping[str, FileView]
    used: Collection[str]  # names that the file at hand uses and does not define
    errors: Sequence[SeenError]
    facts: Sequence[Memory]
    found: Sequence[tuple[Memory, float]]  # memories that a query or a file's name found, with relevance 0..1
    now: datetime
    past_units: int  # episodes shown at most


def pieces(known: Known) -> list[Piece]:
    """All candidates, unordered; the assembly chooses among them."""
    return [
        *(_error(error, known) for error in known.errors),
        *(_file(known, file, rank) for rank, file in enumerate(known.prediction.files)),
        *(_episode(unit, known) for unit in telling(known.prediction.units, known.past_units)),
        *_facts(known),
        *(_found(memory, relevance, known) for memory, relevance in known.found),
    ]


def telling(units: Sequence[PredictedUnit], most: int) -> list[PredictedUnit]:
    """The units whose story a reader learns something from: no merges of branches, the wide before the narrow."""
    told = [
        unit
        for unit in units
        if len(unit.subject) >= SHORTEST_SUBJECT and not (_MERGE.match(unit.subject) or _COSMETIC.search(unit.subject))
    ]
    return sorted(told, key=lambda unit: -unit.confidence * _breadth(unit))[:most]


def _breadth(unit: PredictedUnit) -> float:
    """A change of one file mostly mended a detail of it; what went through several is why they belong together; what
    went through everything is about none of it."""
    return 1.0 if 1 < len(unit.paths) <= WIDEST else NARROW


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


def _file(known: Known, file: PredictedFile, rank: int) -> Piece:
    view = known.views.get(file.path)
    forms: list[tuple[Level, str]] = []
    if view is not None and view.lines:
        forms.append(("full", f"{file.path}\n{shown(view, max_lines=FULL_LINES, wanted=known.used)}"))
        forms.append(("summary", f"{file.path}\n{shown(view, max_lines=SUMMARY_LINES, wanted=known.used)}"))
    elif view is not None and view.doc:
        forms.append(("summary", f"{file.path}\n{view.doc}"))
    forms.append(("compressed", file.path))
    return Piece(
        id=f"file:{file.path}",
        kind="file",
        tier=2,
        value=file.confidence,
        forms=tuple(forms),
        reasons=file.reasons,
        source={"type": "file", "path": file.path, "blob": view.blob if view else None},
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


def _facts(known: Known) -> list[Piece]:
    """What the user told, conventions, and of the decisions those that speak of what is at hand."""
    told = [_fact(fact) for fact in known.facts if fact.trust is Trust.USER]
    habits = _most_telling(
        [fact for fact in known.facts if fact.category != "decision" and fact.trust is not Trust.USER]
    )
    at_hand = _words(" ".join((known.focus.file or "", *known.focus.open_files, known.focus.branch, known.focus.query)))
    decisions = [fact for fact in known.facts if fact.category == "decision" and fact.trust is not Trust.USER]
    shared = {fact.id: len(at_hand & _words(f"{fact.title} {fact.content}")) for fact in decisions}
    speaking = sorted((fact for fact in decisions if shared[fact.id]), key=lambda fact: (-shared[fact.id], fact.id))
    return [
        *told,
        *(_fact(fact) for fact in habits),
        *(_decision(fact, shared[fact.id]) for fact in speaking[:MOST_DECISIONS]),
    ]


def _most_telling(facts: Sequence[Memory]) -> list[Memory]:
    """The conventions that are shown unasked: what the tools enforce before what a guide asks for in sentences."""
    best = sorted(facts, key=lambda fact: (-fact.importance * fact.confidence, fact.id))
    asked = [fact for fact in best if _is_sentence(fact)][:MOST_SENTENCES]
    return [fact for fact in best if fact in asked or not _is_sentence(fact)][:MOST_CONVENTIONS]


def _is_sentence(fact: Memory) -> bool:
    return fact.category == "instruction" or not (fact.key and fact.value)


def _fact(fact: Memory) -> Piece:
    told = fact.trust is Trust.USER
    origin = str(fact.source.get("path") or fact.source.get("type") or "")
    forms: list[tuple[Level, str]] = [("summary", _sentence(fact))]
    if fact.levels.compressed:
        forms.append(("compressed", fact.levels.compressed))
    return Piece(
        id=fact.id,
        kind="decision" if fact.category == "decision" else "fact" if told else "convention",
        tier=1 if told else 3,
        value=(TOLD_BY_USER if told else CONVENTION) * (0.5 + fact.importance / 2) * fact.confidence,
        forms=tuple(forms),
        reasons=("you asked to remember it",) if told else ((f"from {origin}",) if origin else ()),
        source=fact.source,
        trust=fact.trust,
    )


def _decision(fact: Memory, shared: int) -> Piece:
    text = _DECISION_HEAD.sub("", fact.levels.summary or fact.content)
    return Piece(
        id=fact.id,
        kind="decision",
        tier=1 if shared > 1 else 3,
        value=(DECISION_HERE if shared > 1 else DECISION_ELSEWHERE) * fact.confidence,
        forms=(("summary", text), ("compressed", fact.title)),
        reasons=(str(fact.source.get("path") or "from the project"),),
        source=fact.source,
        trust=fact.trust,
    )


def _words(text: str) -> frozenset[str]:
    """The words that tell something of a path, a branch or a sentence."""
    return frozenset(word for word in map(str.lower, _WORD.findall(text)) if word not in _EVERYWHERE)


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
