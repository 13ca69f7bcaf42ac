"""A pattern as it is kept, and what of it answers need at once. No I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust
from hunchd.patterns.pattern import Companion, Pattern, Place

TYPE: Final = "pattern"  # of the source
TOLD: Final = "told"  # source field: a digest of the text as it was mined; another text is its owner's
GONE: Final = "gone"  # source field: when the code no longer had it
SHOWN_SPOTS: Final = 24  # instances in the full text
FILES: Final = 40  # … and as artifacts
COMMITS: Final = 5
SHOWN_COMPANIONS: Final = 3
# Where a score stands among the others: the best of a project is as important as a convention of its tools.
LEAST_IMPORTANCE, MOST_IMPORTANCE = 0.3, 0.7


# Kinds of shapes within definitions; some blocks declare a test.
_PARTS = frozenset({"statement", "block"})


@dataclass(frozen=True, slots=True)
class KnownPattern:
    """What the front holds of a pattern."""

    id: str
    title: str
    count: int
    files: int
    strength: float  # 0..1: how distinctive it is among those of its project
    place: Place
    companions: tuple[Companion, ...]
    paths: frozenset[str]  # of its instances, as far as they are kept
    is_part: bool = False  # a line or a block within a definition: nothing that a file is opened to add

    @property
    def line(self) -> str:
        """The hint, with where a new one goes and what changes with it."""
        told = [f"pattern: {self.title}"]
        if self.place.tells:
            told.append(f"goes in {self.place.text}")
        if companions := [one.text for one in self.companions if one.tells]:
            told.append(f"changes with {', '.join(companions[:SHOWN_COMPANIONS])}")
        return "; ".join(told)

    @property
    def seen(self) -> str:
        """How often there is one, and in how many files."""
        return _seen(self.count, self.files)


def pattern_id(project: str, key: str) -> str:
    return "m" + hashlib.blake2b(f"{project}:pattern:{key}".encode(), digest_size=10).hexdigest()


def memory_of(pattern: Pattern, project: str, now: datetime, *, strength: float = 0.5) -> Memory:
    """`strength` is where its score stands among the project's patterns, 0..1."""
    known = KnownPattern(
        pattern_id(project, pattern.key),
        pattern.title,
        pattern.count,
        pattern.files,
        strength,
        pattern.place,
        pattern.companions,
        frozenset(),
    )
    paths = list(dict.fromkeys(spot.path for spot in pattern.spots))
    memory = Memory(
        id=known.id,
        kind=Kind.PATTERN,
        title=pattern.title,
        content=_full(pattern),
        at=now,
        created=now,
        updated=now,
        project=project,
        ref=f"pattern:{pattern.key}",
        levels=Levels(summary=known.line, compressed=pattern.title, index=pattern.title[:60]),
        scope=Scope.PROJECT,
        confidence=round(min(0.95, pattern.count / (pattern.count + 2)), 4),
        importance=round(LEAST_IMPORTANCE + strength * (MOST_IMPORTANCE - LEAST_IMPORTANCE), 3),
        tags=(TYPE, pattern.language, pattern.kind),
        artifacts=(
            *(Artifact("file", path) for path in paths[:FILES]),
            *(Artifact("commit", sha) for sha in pattern.commits[:COMMITS]),
        ),
        trust=Trust.PROJECT,
        source={
            "type": TYPE,
            "language": pattern.language,
            "instances": pattern.count,
            "files": pattern.files,
            "strength": round(strength, 3),
            "shares": sorted(pattern.core),
            "place": asdict(pattern.place),
            "companions": [asdict(companion) for companion in pattern.companions],
        },
    )
    return replace(memory, source={**memory.source, TOLD: _digest(memory)})


def _seen(count: int, files: int) -> str:
    return f"{count} times in {files} files" if files > 1 else f"{count} times in one file"


def _full(pattern: Pattern) -> str:
    """Everything: what it is, where it goes, what changes with it, the template, its instances."""
    lines = [
        pattern.title,
        "",
        f"{_seen(pattern.count, pattern.files)}; a new one goes in {pattern.place.text}",
    ]
    if pattern.companions:
        lines.append(f"changes with: {', '.join(companion.text for companion in pattern.companions)}")
    lines += ["", *(f"    {line}" for line in pattern.template.splitlines()), ""]
    lines += [f"‹{name}›: {', '.join(texts)}" for name, texts in pattern.holes.items()]
    lines += ["", "instances:"]
    lines += [f"- {spot.path}:{spot.line} {spot.name}".rstrip() for spot in pattern.spots[:SHOWN_SPOTS]]
    if pattern.count > SHOWN_SPOTS:
        lines.append(f"- and {pattern.count - SHOWN_SPOTS} more")
    return "\n".join(lines)


def is_pattern(memory: Memory) -> bool:
    return memory.kind is Kind.PATTERN and memory.source.get("type") == TYPE


def known_from(memory: Memory) -> KnownPattern | None:
    """What answers need of a kept pattern; None of one that no longer holds, or that somebody else wrote."""
    if not is_pattern(memory) or memory.status is not Status.ACTIVE:
        return None
    told: Mapping[str, Any] = memory.source
    try:
        return KnownPattern(
            memory.id,
            memory.title,
            int(told["instances"]),
            int(told["files"]),
            float(told["strength"]),
            Place(**told["place"]),
            tuple(Companion(**companion) for companion in told["companions"]),
            frozenset(artifact.ref for artifact in memory.artifacts if artifact.type == "file"),
            not _PARTS.isdisjoint(memory.tags) and not memory.title.startswith("test"),
        )
    except (KeyError, TypeError, ValueError):  # of a later version of ours, or imported from elsewhere
        return None


def renewed(known: Memory, mined: Memory) -> Memory:
    """The pattern as it was mined now, with what became of the kept one since: its use, its links, how the night judged
    it. What its owner wrote stays, and so does what was archived or merged for other reasons than that it was gone."""
    if known.status is not Status.ACTIVE and GONE not in known.source:
        return known
    source = {name: told for name, told in known.source.items() if name != GONE} | dict(mined.source)
    same_strength = known.source.get("strength") == mined.source["strength"]
    again = replace(
        mined,
        at=known.at,
        created=known.created,
        updated=known.updated,
        usage=known.usage,
        links=known.links,
        importance=known.importance if same_strength else mined.importance,
        source=source,
    )
    if known.source.get(TOLD) != _digest(known):
        again = replace(again, title=known.title, content=known.content, levels=known.levels, trust=known.trust)
    return known if again == known else replace(again, updated=mined.updated)


def gone(known: Memory, now: datetime) -> Memory:
    """The pattern as it is kept when the code has it no more."""
    source = {**known.source, GONE: now.isoformat()}
    return replace(known, status=Status.ARCHIVED, valid_to=now, source=source, updated=now)


def _digest(memory: Memory) -> str:
    told = f"{memory.title}\x1f{memory.content}"
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
