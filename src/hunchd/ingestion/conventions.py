"""Facts on project work: manifests, decision records, contributor pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hunchd.domain.facts import place_of
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust
from hunchd.ingestion.decisions import Decision, Instruction, decision_in, instructions_in, is_record
from hunchd.ingestion.guides import LINKED, Found, Guide, Place, guides, link_inside, may_guide
from hunchd.ingestion.manifests.reading import reader_of, statements
from hunchd.ingestion.manifests.tools import CI, MOST_TRIED, Statement, by_version, languages_of
from hunchd.ingestion.screening import screened
from hunchd.protocol.shared import is_shared_path
from hunchd.repository.reading import link_of, read_file

MAX_BYTES = 128_000  # per manifest or record; longer files are lock files and books
MAX_RECORDS = 200  # the newest ones; a project with a thousand RFCs has other tools
MAX_WORKFLOWS = 12
TERSE = 60  # characters; shorter instructions are shown with their heading
DEPTH = 2  # folders below the root in which manifests are read

# Importance by key.
_IMPORTANCE = {
    "tests": 0.6,
    "commands": 0.6,
    "run everything": 0.55,
    "lint": 0.5,
    "format": 0.5,
    "types": 0.5,
    "release": 0.5,
    "package manager": 0.5,
    "changelog": 0.5,
    "before a commit": 0.45,
    "line length": 0.4,
}
_OTHER = 0.35
# Search terms by key.
_ASKED_AS = {
    "tests": ("run tests",),
    "commands": ("run", "build", "how to"),
    "run everything": ("run tests",),
    "lint": ("linter", "code style"),
    "format": ("formatter", "coding style"),
    "indent": ("coding style",),
    "line length": ("coding style",),
    "types": ("type checker",),
    "package manager": ("install dependencies",),
    "release": ("publish a new version",),
    "before a commit": ("hooks",),
}
_VERSIONS = ("version", "supported versions")
_LANGUAGES = frozenset({"python", "node", "go", "java", "ruby", "php", "rust", "dotnet", "typescript", "terraform"})
_USUAL_SYSTEM = "ubuntu"
_FOR_ALL = frozenset({"docker", "deploy"})  # folders with deployment files of the whole project
_WORKFLOWS = ".github/workflows/"
MOST_GLOBS = 100  # merged over all guides with the same instruction
LONGEST_ABOUT = 600  # characters, likewise
WHERE = ("path", "part", "globs", "on_demand")  # source fields: the stating file and its scope
_EVERYWHERE = Place()
HINT = 0.6  # confidence of a command in a workflow, which may have any purpose

_Said = tuple[Statement, str]  # with the file that states it
_Place = tuple[str, str, str]  # part of the project, key, language unless it is the first one

_CHECKS = re.compile(r"/(?:[\w-]*[-_])?(?:ci|tests?|main|build|check|lint|publish|release)\b[^/]*$")


def conventions(root: Path, files: Iterable[str], *, project: str, now: datetime) -> Iterator[Memory]:
    """Yield facts with their source file: conventions, decisions and instructions.

    There is one value per key. `files` are the wanted paths below `root`.
    """
    paths = sorted(files, key=lambda path: (path.count("/"), path))
    yield from _facts(root, paths, project, now)
    known = frozenset(paths)
    for path in sorted(filter(is_record, paths), reverse=True)[:MAX_RECORDS]:
        found = decision_in(path, _text(root, path), known)
        if found:
            yield _decision(found, project, now)
    for asked, guide, place in _asked(guides_of(root, paths).guides):
        yield _instruction(asked, guide, place, project, now)


def guides_of(root: Path, paths: Sequence[str]) -> Found:
    """Collect the contributor and agent pages with the files that they import.

    Includes pages that are symbolic links to another page.
    """
    said = ((link, link_of(root, link)) for link in LINKED if link not in paths)
    links = {link: path for link, target in said if target and (path := link_inside(link, target))}
    return guides(paths, lambda path: _text(root, path), links)


def speaks(path: str) -> bool:
    """Return True if a file may state conventions.

    That is a manifest, a decision record, a contributor or agent page, or a memory shared by a colleague.
    """
    return reader_of(path) is not None or is_record(path) or may_guide(path) or is_shared_path(path)


def _facts(root: Path, paths: list[str], project: str, now: datetime) -> Iterator[Memory]:
    """Yield the most certain statement of each key.

    Separate values are kept for the project, for each part that differs, and for each further language of the project.
    """
    best: dict[_Place, _Said] = {}
    tried: dict[str, list[_Said]] = {}  # by key, values tested in the workflows of one CI
    workflows = [path for path in paths if path.startswith(_WORKFLOWS)]
    workflows = sorted(workflows, key=lambda path: not _CHECKS.search(path))[:MAX_WORKFLOWS]
    shallow = [
        path for path in paths if path.count("/") <= DEPTH and not path.startswith(".github/") and reader_of(path)
    ]
    nearest = _nearest(shallow)
    for path in [*nearest, *workflows]:
        for statement in statements(path, _text(root, path)):
            if statement.key.startswith(CI) and path.startswith(_WORKFLOWS):
                tried.setdefault(statement.key, []).append((statement, path))
            else:
                _weigh(statement, path, best)
    for key, said in tried.items():
        best.setdefault(("", key, ""), _together(said))
    said_of_all = {key: statement.value for (part, key, _), (statement, _) in best.items() if not part}
    for (part, key, language), (statement, path) in best.items():
        if _tells(statement, said_of_all) and (not part or said_of_all.get(key) != statement.value):
            yield _fact(statement, path, part, language, project, now)


def _weigh(statement: Statement, path: str, best: dict[_Place, _Said]) -> None:
    """Store a statement if it outranks the known one.

    A statement about another language is stored beside the known one. The most certain statement of all languages
    is stored without a language name.
    """
    part = _part(path)
    place: _Place = (part, statement.key, "")
    if place in best and (language := _other_language(best[place][0], statement)):
        if statement.confidence > best[place][0].confidence:
            first = best.pop(place)
            best[part, statement.key, languages_of(first[0].value)[0]] = first
        else:
            place = (part, statement.key, language)
    known = best.get(place)
    if known is None or _beats(statement, known[0]):
        best[place] = (statement, path)
    elif statement.key == "build" and statement.value not in known[0].value.split(", "):
        best[place] = (replace(known[0], value=f"{known[0].value}, {statement.value}"), known[1])


def _other_language(known: Statement, statement: Statement) -> str:
    """Return the language of `statement` if the known tools serve others.

    Returns "" otherwise.
    """
    own, others = languages_of(statement.value), languages_of(known.value)
    return own[0] if own and others and not set(own) & set(others) else ""


def _beats(statement: Statement, known: Statement) -> bool:
    """Return True if `statement` replaces `known`.

    The more certain one wins, unless the other is more than a hint and names the same tools and more.
    """
    own, others = {*statement.value.split(", ")}, {*known.value.split(", ")}
    if own > others and statement.confidence > HINT:
        return True
    return statement.confidence > known.confidence and not (others > own and known.confidence > HINT)


def _tells(statement: Statement, said: Mapping[str, str]) -> bool:
    """Return False for CI facts that add nothing.

    These are the usual runner system and the single version that the project itself names.
    """
    if not statement.key.startswith(CI) or ", " in statement.value:
        return True
    own = said.get(statement.key.removeprefix(CI), "")
    return statement.value != _USUAL_SYSTEM and not re.search(rf"(?<![\d.]){re.escape(statement.value)}(?![\d.])", own)


def _together(said: Sequence[_Said]) -> _Said:
    """Merge the values that all workflows of one CI try.

    The source is the workflow that tries all of them, else the workflows folder.
    """
    values = sorted({value for statement, _ in said for value in statement.value.split(", ")}, key=by_version)
    fullest, path = max(said, key=lambda one: one[0].value.count(","))
    from_one = fullest.value.count(",") + 1 == len(values)
    return replace(fullest, value=", ".join(values[-MOST_TRIED:])), path if from_one else _WORKFLOWS.rstrip("/")


def part_of(fact: Memory) -> str:
    """Return the folder to which a convention or instruction applies.

    Returns "" for the whole project.
    """
    return str(fact.source.get("part") or "")


def globs_of(fact: Memory) -> tuple[str, ...]:
    """Return the globs of the files to which an instruction applies.

    Empty for all of its part.
    """
    return tuple(map(str, fact.source.get("globs") or ()))


def is_on_demand(fact: Memory) -> bool:
    """Return True if an instruction is shown only on request."""
    return bool(fact.source.get("on_demand"))


def holds_everywhere(fact: Memory) -> bool:
    """Return True unless the fact is a limited instruction.

    Such an instruction applies to some files only, or is shown only on request. Limited instructions are not listed
    for the project.
    """
    return fact.category != "instruction" or not (part_of(fact) or globs_of(fact) or is_on_demand(fact))


def key_in(part: str, key: str) -> str:
    """Return the key for one part or language of the project."""
    return f"{key} in {part}" if part else key


def _part(path: str) -> str:
    """Return the folder that a manifest applies to.

    Returns "" for CI, git hooks and deployment folders.
    """
    part = path.rpartition("/")[0]
    return "" if part.startswith(".") or part in _FOR_ALL else part


def _nearest(paths: list[str]) -> list[str]:
    """Keep the path nearest to the root for each file name.

    The manifest of a part does not speak for the whole project.
    """
    nearest: dict[str, str] = {}
    for path in paths:
        nearest.setdefault(path.rpartition("/")[2], path)
    return list(nearest.values())


def _fact(statement: Statement, path: str, part: str, language: str, project: str, now: datetime) -> Memory:
    key = key_in(part, key_in(language, statement.key))
    line = f"{key}: {statement.value}"
    return _memory(
        f"convention:{key}",
        project,
        now,
        title=line,
        content=line,
        path=path,
        place=Place(part),
        category="convention",
        key=key,
        value=statement.value,
        confidence=statement.confidence,
        importance=_IMPORTANCE.get(statement.key, _OTHER),
        trust=Trust.PROJECT,
        levels=Levels(summary=line, compressed=line, index=key),
        tags=_VERSIONS if statement.key.removeprefix(CI) in _LANGUAGES else _ASKED_AS.get(statement.key, ()),
    )


def _decision(found: Decision, project: str, now: datetime) -> Memory:
    status = "" if found.standing else f" [{found.status}]"
    origin = ", ".join(part for part in (found.path.rpartition(".")[0], found.date) if part)
    says = found.decision if found.decision.lower() != found.title.lower() else ""
    line = f"decision ({origin}){status}: {found.title}" + (f": {says}" if says else "")
    when = _moment(found.date) or now
    return _memory(
        f"decision:{found.path}",
        project,
        now,
        title=found.title,
        content=line,
        path=found.path,
        category="decision",
        key=f"decision/{found.path.rpartition('/')[2].rpartition('.')[0]}",
        value=found.title,
        at=when,
        valid_from=when if found.date else None,
        confidence=0.9 if found.status in ("accepted", "approved", "implemented") else 0.7,
        importance=0.6 if found.standing else 0.2,
        trust=Trust.UNTRUSTED,
        status=Status.ACTIVE if found.standing else Status.SUPERSEDED,
        levels=Levels(summary=line, compressed=f"{found.title}{status}", index=found.title[:60]),
        artifacts=(Artifact("adr", found.path), *(Artifact("file", path) for path in found.files)),
        tags=("decision", found.status) if found.status else ("decision",),
    )


def _asked(pages: Sequence[Guide]) -> Iterator[tuple[Instruction, Guide, Place]]:
    """Yield each instruction of the guides once per place where it applies.

    Of several guides that state the same instruction, the one with the widest scope is the source.
    """
    told: dict[str, list[tuple[Instruction, Guide]]] = {}
    for guide in pages:
        for asked in instructions_in(guide.text, strong=not guide.for_agents):
            told.setdefault(_plainly(asked.sentence), []).append((asked, guide))
    for said in told.values():
        kept: list[Place] = []
        for asked, guide in sorted(said, key=_width):
            if not any(_covers(place, guide.place) for place in kept):
                place = _joined([one.place for _, one in said if one.place.part == guide.place.part], guide.place)
                kept.append(place)
                yield asked, guide, place


def _width(said: tuple[Instruction, Guide]) -> tuple[bool, bool, int]:
    """Sort key that puts the widest scope first."""
    place = said[1].place
    return not place.whole, place.on_demand, len(place.part)


def _plainly(sentence: str) -> str:
    """Normalize a sentence: markup, punctuation, case and spacing are ignored."""
    return " ".join(re.sub(r"[`*_\"'.!]", "", sentence).casefold().split())


def _covers(one: Place, other: Place) -> bool:
    """Return True if an instruction at `one` already applies at `other`."""
    if not one.whole:
        return other.on_demand or (not other.whole and one.part == other.part)
    return not one.part or f"{other.part}/".startswith(f"{one.part}/")


def _joined(places: Sequence[Place], first: Place) -> Place:
    """Merge the places in one part where the same instruction applies.

    The result has the kind of `first`.
    """
    alike = [place for place in places if (place.whole, place.on_demand) == (first.whole, first.on_demand)]
    named = dict.fromkeys(glob for place in alike for glob in place.globs)
    about = dict.fromkeys(place.about for place in alike if place.about)
    return replace(first, globs=tuple(named)[:MOST_GLOBS], about="; ".join(about)[:LONGEST_ABOUT])


def _instruction(asked: Instruction, guide: Guide, place: Place, project: str, now: datetime) -> Memory:
    sentence = asked.sentence
    # Short sentences often need their heading as context.
    line = f"{asked.section} › {sentence}" if asked.section and len(sentence) < TERSE else sentence
    return _memory(
        f"instruction:{guide.path}:{sentence}",
        project,
        now,
        title=sentence,
        content=sentence,
        path=guide.path,
        category="instruction",
        key=key_in(place.part, f"instruction/{blake2b(sentence.encode(), digest_size=5).hexdigest()}"),
        place=place,
        value=sentence,
        confidence=0.8 if guide.for_agents else 0.6,
        importance=0.5 if guide.for_agents else 0.3,
        trust=Trust.UNTRUSTED,
        levels=Levels(summary=line, compressed=line[:120], index=sentence[:60]),
        tags=(place.about,) if place.about else (),  # search terms
    )


def _memory(ref: str, project: str, now: datetime, *, path: str, place: Place = _EVERYWHERE, **told: Any) -> Memory:
    fields: dict[str, Any] = {"at": now, "artifacts": (Artifact("file", path),), **told}
    where = {"part": place.part, "globs": list(place.globs), "on_demand": place.on_demand}
    memory = Memory(
        id="",
        kind=Kind.FACT,
        created=now,
        updated=now,
        project=project,
        ref=ref[:200],
        scope=Scope.PROJECT,
        source={"type": "convention", "path": path} | {name: said for name, said in where.items() if said},
        **fields,
    )
    return replace(memory, id=place_of(memory) or "")


def _text(root: Path, path: str) -> str:
    text = (read_file(root, path, limit=MAX_BYTES) or b"").decode("utf-8", "replace").removeprefix("\ufeff")
    return screened(text)


def _moment(date: str) -> datetime | None:
    try:
        return datetime.strptime(date if len(date) > 7 else f"{date}-01", "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
