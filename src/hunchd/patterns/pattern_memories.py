"""Conversion of patterns to memories and to summaries.

Requests are answered from the summaries. These functions do no I/O.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust
from hunchd.patterns.pattern import CodePattern, Companion, InstanceLocation, UsualLocation

SOURCE_TYPE: Final = "pattern"  # of the source
DIGEST_FIELD: Final = "told"  # source field: digest of the mined text; if the text differs from it, the user edited it
GONE_FIELD: Final = "gone"  # source field: time at which the pattern was no longer found in the code
MAX_LISTED_INSTANCES: Final = 24  # instances in the full text
MAX_FILES: Final = 40  # files listed as artifacts
MAX_COMMITS: Final = 5
MAX_LISTED_COMPANIONS: Final = 2
# Beginnings of titles of patterns whose folder is worth mentioning, and titles that are too vague for advice.
_PLACED: Final = ("subclasses of ", "implementations of ", "functions with ", "classes with ")
_UNSPECIFIC: Final = ("functions", "methods", "classes", "types")
# Range of importance by rank: the best pattern is as important as a tool convention.
MIN_IMPORTANCE, MAX_IMPORTANCE = 0.3, 0.7


@dataclass(frozen=True, slots=True)
class PatternSummary:
    """Summary of a pattern, which the front process keeps loaded."""

    id: str
    title: str
    count: int
    files: int
    strength: float  # 0..1: rank among the project's patterns
    place: UsualLocation
    companions: tuple[Companion, ...]
    paths: frozenset[str]  # paths of the stored instances
    example: InstanceLocation | None = None  # the most typical instance, if it has a name

    @property
    def hint(self) -> str:
        return describe_new_instance(self.title, self.place, self.companions, self.example)

    @property
    def frequency(self) -> str:
        """Text that says how many instances the pattern has, and in how many files."""
        return _format_frequency(self.count, self.files)


def describe_new_instance(
    title: str, place: UsualLocation, companions: Sequence[Companion], example: InstanceLocation | None
) -> str:
    """Return the advice that a maintainer would give about a new instance.

    The advice is a sentence that states what else to change or, for subclasses and the like, into which folder to
    put the instance. Returns "" if there is no advice to give, or if `example` is None.
    """
    if example is None or title in _UNSPECIFIC or title.startswith("tests") or _has_one_name(title):
        return ""
    like = f"like {example.name} ({example.path}:{example.line})"
    if usual := [one for one in companions if one.is_usual][:MAX_LISTED_COMPANIONS]:
        targets = " and ".join(one.text for one in usual)
        share = f"{min(one.times for one in usual)} of {usual[0].of}"
        return f"new {title} also change {targets} ({share}); {like}"
    if title.startswith(_PLACED) and place.is_informative and not place.file:
        return f"new {title} go in {place.text}; {like}"
    return ""


def _has_one_name(title: str) -> bool:
    """Return True for functions that all have the same name: an interface implies them, nobody adds a new one."""
    return title.startswith(("functions", "methods")) and " named " in title and "…" not in title


def has_sentence(pattern: CodePattern) -> bool:
    """Return True if there is advice to give about new instances of the pattern."""
    return bool(describe_new_instance(pattern.title, pattern.place, pattern.companions, _find_example(pattern)))


def _find_example(pattern: CodePattern) -> InstanceLocation | None:
    return next((spot for spot in pattern.spots if len(spot.name) > 1), None)  # `T` is whatever it stands for


def make_pattern_id(project: str, key: str) -> str:
    return "m" + hashlib.blake2b(f"{project}:pattern:{key}".encode(), digest_size=10).hexdigest()


def pattern_to_memory(pattern: CodePattern, project: str, now: datetime, *, strength: float = 0.5) -> Memory:
    """Convert a pattern to a memory.

    `strength` ranks the pattern's score among the patterns of the project, from 0 (lowest) to 1 (best).
    """
    summary = PatternSummary(
        make_pattern_id(project, pattern.key),
        pattern.title,
        pattern.count,
        pattern.files,
        strength,
        pattern.place,
        pattern.companions,
        frozenset(),
        example=_find_example(pattern),
    )
    paths = list(dict.fromkeys(spot.path for spot in pattern.spots))
    memory = Memory(
        id=summary.id,
        kind=Kind.PATTERN,
        title=pattern.title,
        content=_render_full(pattern, summary.hint),
        at=now,
        created=now,
        updated=now,
        project=project,
        ref=f"pattern:{pattern.key}",
        levels=Levels(summary=summary.hint or pattern.title, compressed=pattern.title, index=pattern.title[:60]),
        scope=Scope.PROJECT,
        confidence=round(min(0.95, pattern.count / (pattern.count + 2)), 4),
        importance=round(MIN_IMPORTANCE + strength * (MAX_IMPORTANCE - MIN_IMPORTANCE), 3),
        tags=(SOURCE_TYPE, pattern.language, pattern.kind),
        artifacts=(
            *(Artifact("file", path) for path in paths[:MAX_FILES]),
            *(Artifact("commit", sha) for sha in pattern.commits[:MAX_COMMITS]),
        ),
        trust=Trust.PROJECT,
        source={
            "type": SOURCE_TYPE,
            "language": pattern.language,
            "instances": pattern.count,
            "files": pattern.files,
            "strength": round(strength, 3),
            "shares": sorted(pattern.core),
            "place": asdict(pattern.place),
            "companions": [asdict(companion) for companion in pattern.companions],
            **({"example": asdict(summary.example)} if summary.example else {}),
        },
    )
    return replace(memory, source={**memory.source, DIGEST_FIELD: _hash_text(memory)})


def _format_frequency(count: int, files: int) -> str:
    return f"{count} times in {files} files" if files > 1 else f"{count} times in one file"


def _render_full(pattern: CodePattern, hint: str) -> str:
    """Render the full text: the advice, the location, the companions and the instances."""
    lines = [
        hint or pattern.title,
        "",
        f"{_format_frequency(pattern.count, pattern.files)}; a new one goes in {pattern.place.text}",
    ]
    if pattern.companions:
        companions = (f"{one.text} ({one.times} of {one.of})" for one in pattern.companions)
        lines.append(f"changes with: {', '.join(companions)}")
    lines += ["", "instances:"]
    lines += [f"- {spot.path}:{spot.line} {spot.name}".rstrip() for spot in pattern.spots[:MAX_LISTED_INSTANCES]]
    if pattern.count > MAX_LISTED_INSTANCES:
        lines.append(f"- and {pattern.count - MAX_LISTED_INSTANCES} more")
    return "\n".join(lines)


def is_pattern(memory: Memory) -> bool:
    return memory.kind is Kind.PATTERN and memory.source.get("type") == SOURCE_TYPE


def memory_to_summary(memory: Memory) -> PatternSummary | None:
    """Return the summary of a pattern, read from its memory.

    Returns None if `memory` is not an active pattern, or if it is stored in a different format.
    """
    if not is_pattern(memory) or memory.status is not Status.ACTIVE:
        return None
    source: Mapping[str, Any] = memory.source
    try:
        return PatternSummary(
            memory.id,
            memory.title,
            int(source["instances"]),
            int(source["files"]),
            float(source["strength"]),
            UsualLocation(**source["place"]),
            tuple(Companion(**companion) for companion in source["companions"]),
            frozenset(artifact.ref for artifact in memory.artifacts if artifact.type == "file"),
            InstanceLocation(**source["example"]) if source.get("example") else None,
        )
    except (KeyError, TypeError, ValueError):  # written by a later version, or imported
        return None


def merge_mined(stored_memory: Memory, new_memory: Memory) -> Memory:
    """Return the memory to store for a pattern that was mined again.

    The usage, the links, the importance assigned by consolidation, and any text edited by the user are kept from
    the stored memory. A memory that was merged into another, or archived for a reason other than missing code,
    stays unchanged.
    """
    if stored_memory.status is not Status.ACTIVE and GONE_FIELD not in stored_memory.source:
        return stored_memory
    source = {name: value for name, value in stored_memory.source.items() if name != GONE_FIELD} | dict(
        new_memory.source
    )
    same_strength = stored_memory.source.get("strength") == new_memory.source["strength"]
    merged_memory = replace(
        new_memory,
        at=stored_memory.at,
        created=stored_memory.created,
        updated=stored_memory.updated,
        usage=stored_memory.usage,
        links=stored_memory.links,
        importance=stored_memory.importance if same_strength else new_memory.importance,
        source=source,
    )
    if stored_memory.source.get(DIGEST_FIELD) != _hash_text(stored_memory):
        merged_memory = replace(
            merged_memory,
            title=stored_memory.title,
            content=stored_memory.content,
            levels=stored_memory.levels,
            trust=stored_memory.trust,
        )
    return stored_memory if merged_memory == stored_memory else replace(merged_memory, updated=new_memory.updated)


def archive(stored_memory: Memory, now: datetime) -> Memory:
    """Return the archived memory of a pattern that no longer occurs in the code."""
    source = {**stored_memory.source, GONE_FIELD: now.isoformat()}
    return replace(stored_memory, status=Status.ARCHIVED, valid_to=now, source=source, updated=now)


def _hash_text(memory: Memory) -> str:
    text = f"{memory.title}\x1f{memory.content}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
