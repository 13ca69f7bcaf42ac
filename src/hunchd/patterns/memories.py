"""Conversion of patterns to memories, and the summary that answers need.

No I/O.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust
from hunchd.patterns.pattern import Companion, Pattern, Place

TYPE: Final = "pattern"  # of the source
TOLD: Final = "told"  # source field: digest of the mined text; a different text was edited by the owner
GONE: Final = "gone"  # source field: time when the code no longer had it
SHOWN_SPOTS: Final = 24  # instances in the full text
FILES: Final = 40  # … and as artifacts
COMMITS: Final = 5
SHOWN_COMPANIONS: Final = 3
# Range of importance by rank: the best pattern is as important as a tool convention.
LEAST_IMPORTANCE, MOST_IMPORTANCE = 0.3, 0.7


# Kinds of shapes within definitions; some blocks declare a test.
_PARTS = frozenset({"statement", "block"})


@dataclass(frozen=True, slots=True)
class KnownPattern:
    """Summary of a pattern held in the front process."""

    id: str
    title: str
    count: int
    files: int
    strength: float  # 0..1: rank among the project's patterns
    place: Place
    companions: tuple[Companion, ...]
    paths: frozenset[str]  # paths of the stored instances
    is_part: bool = False  # a part of a definition, which nobody opens a file to add

    @property
    def line(self) -> str:
        """Return the hint with usual place and companions."""
        told = [f"pattern: {self.title}"]
        if self.place.tells:
            told.append(f"goes in {self.place.text}")
        if companions := [one.text for one in self.companions if one.tells]:
            told.append(f"changes with {', '.join(companions[:SHOWN_COMPANIONS])}")
        return "; ".join(told)

    @property
    def seen(self) -> str:
        """Return the number of instances and files as text."""
        return _seen(self.count, self.files)


def pattern_id(project: str, key: str) -> str:
    return "m" + hashlib.blake2b(f"{project}:pattern:{key}".encode(), digest_size=10).hexdigest()


def memory_of(pattern: Pattern, project: str, now: datetime, *, strength: float = 0.5) -> Memory:
    """Convert a pattern to a memory.

    `strength` is the rank of its score among the project's patterns, 0..1.
    """
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
    """Render the full text: title, place, companions, template, instances."""
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
    """Return the summary of a stored pattern.

    Returns None if inactive or of another format.
    """
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
    except (KeyError, TypeError, ValueError):  # written by a later version or imported
        return None


def renewed(known: Memory, mined: Memory) -> Memory:
    """Merge a newly mined pattern into the stored memory.

    Usage, links and the importance that consolidation assigned are kept, and so is text edited by the owner. A
    memory that was archived or merged for another reason than missing code stays unchanged.
    """
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
    """Archive the memory of a pattern that the code no longer has."""
    source = {**known.source, GONE: now.isoformat()}
    return replace(known, status=Status.ARCHIVED, valid_to=now, source=source, updated=now)


def _digest(memory: Memory) -> str:
    told = f"{memory.title}\x1f{memory.content}"
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
