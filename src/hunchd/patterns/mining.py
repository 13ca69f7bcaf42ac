"""Mining of a project's code patterns.

The shapes in the code (its functions, methods and classes) are grouped. Each group becomes a pattern with a title,
a location and the commits that added its instances.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hunchd.domain.history import Unit
from hunchd.ingestion.redaction import redact
from hunchd.patterns.companions import FirstLine, find_companions
from hunchd.patterns.descriptions import find_usual_location, make_title
from hunchd.patterns.grouping import ShapeGroup, group_shapes
from hunchd.patterns.pattern import CodePattern, InstanceLocation
from hunchd.patterns.shapes import Shape

MAX_PATTERNS: Final = 96  # patterns mined; those with advice for new instances are stored
MAX_SPOTS: Final = 200  # instances stored per pattern

ReadFile = Callable[[str], bytes | None]


def mine_patterns(shapes: Iterable[Shape], max_patterns: int = MAX_PATTERNS) -> list[CodePattern]:
    """Mine the patterns, best first, without their history.

    `add_history` adds the commits and companions.
    """
    patterns = [_build_pattern(group) for group in group_shapes(shapes, max_patterns)]
    return sorted(patterns, key=lambda pattern: (-pattern.score, pattern.key))


def make_key(group: ShapeGroup) -> str:
    identity = "\x1f".join((group.language, group.kind, *sorted(group.core)))
    return hashlib.blake2b(identity.encode("utf-8", "replace"), digest_size=8).hexdigest()


def add_history(
    patterns: Sequence[CodePattern],
    read: ReadFile,
    find_adding_units: Callable[[set[FirstLine]], Mapping[FirstLine, str]],
    find_units: Callable[[set[str]], Mapping[str, Unit]],
    exists: Callable[[str], bool] = lambda path: True,
) -> list[CodePattern]:
    """Add to each pattern the commits that added its instances, and its companions.

    `read` returns the contents of a file. `find_adding_units` maps first lines of instances to the ids of the units of
    work that added them, `find_units` maps such ids to the units that are known, and `exists` returns True if a file
    or folder still exists.
    """
    lines = FirstLines(read)
    heads = {spot: head for pattern in patterns for spot in pattern.spots if (head := lines.get(spot)) is not None}
    shas = find_adding_units(set(heads.values()))
    unit_by_sha = find_units(set(shas.values()))
    return [_add_pattern_history(pattern, heads, shas, unit_by_sha, exists) for pattern in patterns]


def _add_pattern_history(
    pattern: CodePattern,
    heads: Mapping[InstanceLocation, FirstLine],
    sha_by_line: Mapping[FirstLine, str],
    units: Mapping[str, Unit],
    exists: Callable[[str], bool],
) -> CodePattern:
    by_unit: dict[str, list[str]] = {}
    for spot in pattern.spots:
        head = heads.get(spot)
        sha = sha_by_line.get(head) if head is not None else None
        if sha is not None and sha in units:
            by_unit.setdefault(sha, []).append(spot.path)
    order = sorted(by_unit, key=lambda sha: (-units[sha].at, sha))
    companions = find_companions([(units[sha], by_unit[sha]) for sha in order], exists)
    return replace(pattern, companions=companions, commits=tuple(order))


class FirstLines:
    """Lookup of the first lines of instances, which are used to search git history.

    A line that occurs several times in a file does not identify an instance.
    """

    def __init__(self, read: ReadFile) -> None:
        self._read = read
        self._files: dict[str, tuple[list[str], Counter[str]]] = {}

    def get(self, spot: InstanceLocation) -> FirstLine | None:
        """Return the path and first line of an instance.

        Returns None if the line is not unique in its file.
        """
        if spot.path not in self._files:
            lines = [line.strip() for line in (self._read(spot.path) or b"").decode("utf-8", "replace").split("\n")]
            self._files[spot.path] = lines, Counter(lines)
        lines, counts = self._files[spot.path]
        line = lines[spot.line - 1] if spot.line <= len(lines) else ""
        return (spot.path, line) if counts[line] == 1 else None


def _build_pattern(group: ShapeGroup) -> CodePattern:
    spots = tuple(InstanceLocation(shape.path, shape.line, shape.name) for shape in group.members[:MAX_SPOTS])
    return CodePattern(
        key=make_key(group),
        language=group.language,
        kind=group.kind,
        title=redact(make_title(group)).text,
        score=round(group.score, 3),
        core={name: round(weight, 4) for name, weight in sorted(group.core.items())},
        spots=spots,
        count=len(group.members),
        files=group.file_count,
        place=find_usual_location(group.members),
    )
