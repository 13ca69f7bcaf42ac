"""Commits that added instances, and their other changes."""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from hunchd.domain.history import Unit
from hunchd.domain.work import is_work
from hunchd.patterns.pattern import Companion
from hunchd.patterns.shapes import is_test
from hunchd.prediction.words import stem_of
from hunchd.repository.git import Git

# Shorter lines (`else:`, `});`) occur in many places and do not identify an instance.
SHORTEST_LINE: Final = 10  # characters
NEWEST_UNITS: Final = 3_000  # units of history searched
MOST_PATHS: Final = 1_500  # given to git by name
LEAST_UNITS: Final = 2  # minimum units that changed a companion
LEAST_SHARE: Final = 0.3  # of the units that added an instance
MOST_COMPANIONS: Final = 6
# Weight, in units, of general co-changes of the instances' files where few units added an instance.
PRIOR: Final = 8
LEAST_AROUND: Final = 4  # units that changed a companion with the files, where fewer than LEAST_UNITS added one
# Minimum chance of a companion if two or more, one, or none of the units that added an instance changed it.
LEAST_CHANCE: Final = (0.25, 0.3, 0.35)

_LOG: Final = (
    "log",
    "--first-parent",
    "--diff-merges=first-parent",
    "--patch",
    "--unified=0",
    "-M50%",
    "-l400",
    "--no-color",
    "--no-decorate",
    "--no-ext-diff",
    "--no-textconv",
    "--format=%x01%H",
)
_NEW_FILE: Final = re.compile(rb'\+\+\+ "?b/(.*?)"?\t?$')

Head = tuple[str, str]  # path of an instance, and the line it begins with


def added_by(git: Git, heads: Iterable[Head], *, since: str = "") -> dict[Head, str]:
    """Find the commit that added each instance.

    Searched are the newest units, or those after `since`. It is the last commit that added the instance's first
    line without removing it elsewhere; that would be a move.
    """
    waiting: dict[str, set[bytes]] = defaultdict(set)
    for path, line in heads:
        if len(line) >= SHORTEST_LINE:
            waiting[path].add(line.encode())
    if not waiting or not git.exists():
        return {}
    paths = sorted(waiting)[:MOST_PATHS]
    found: dict[Head, str] = {}
    reading = _Reading(waiting, found)
    revisions = ["HEAD", *([f"^{since}"] if since else [])]
    for record in git.stream(*_LOG, f"--max-count={NEWEST_UNITS}", *revisions, "--", *paths, separator=b"\n"):
        reading.take(record)
    reading.finish()
    return found


class _Reading:
    """State of one pass over git's patches."""

    def __init__(self, waiting: Mapping[str, set[bytes]], found: dict[Head, str]) -> None:
        self._waiting = waiting
        self._found = found
        self._sha = ""
        self._path = ""
        self._added: list[tuple[str, bytes]] = []
        self._removed: set[bytes] = set()

    def take(self, line: bytes) -> None:
        mark = line[:1]
        if mark == b"\x01":
            self.finish()
            self._sha = line[1:].decode("ascii", "replace")
        elif mark == b"+":
            if named := _NEW_FILE.match(line):
                self._path = named[1].decode("utf-8", "replace")
            elif (text := line[1:].strip()) in self._waiting.get(self._path, ()):
                self._added.append((self._path, text))
        elif mark == b"-" and not line.startswith(b"--- "):
            self._removed.add(line[1:].strip())

    def finish(self) -> None:
        for path, text in self._added:
            if text not in self._removed:
                self._found.setdefault((path, text.decode("utf-8", "replace")), self._sha)
        self._added, self._removed = [], set()


def companions_of(
    units: Sequence[tuple[Unit, Sequence[str]]],
    there: Callable[[str], bool] = lambda path: True,
    around: Sequence[Collection[str]] = (),
    instances: Collection[str] = (),
) -> tuple[Companion, ...]:
    """Return what changed together with new instances, most confident first.

    `units` are those that added instances, each with the files that contain them; a target must still exist by
    `there`. `around` are the paths changed by each unit that touched one of `instances`, the files of the
    instances.
    """
    telling = [(unit, paths) for unit, paths in units if is_work(unit)]
    counts: Counter[tuple[str, str]] = Counter()
    for unit, own in telling:
        counts.update(set(_touched(unit, own)))
    found = [
        Companion(target, times, len(telling), kind)  # type: ignore[arg-type]
        for (kind, target), times in counts.items()
        if times >= LEAST_UNITS and times >= LEAST_SHARE * len(telling) and there(_seat(kind, target))
    ]
    known = {one.target for one in found if one.kind == "file"}.union(instances)
    added = {target: times for (kind, target), times in counts.items() if kind == "file"}
    found += (one for one in _around(added, len(telling), around) if one.target not in known and there(one.target))
    found.sort(key=lambda one: (-one.confidence, _ORDER.index(one.kind), one.target))
    return tuple(_without_repeats(found))[:MOST_COMPANIONS]


def _around(added: Mapping[str, int], units: int, around: Sequence[Collection[str]]) -> Iterable[Companion]:
    """Yield files that change with those of the instances.

    The chance combines the few units that added an instance with all units around their files.
    """
    changed = Counter(path for paths in around for path in paths)
    for path, times in changed.items():
        tell = min(added.get(path, 0), LEAST_UNITS)
        chance = (added.get(path, 0) + PRIOR * times / (len(around) + 2)) / (units + PRIOR)
        if chance >= LEAST_CHANCE[LEAST_UNITS - tell] and (tell == LEAST_UNITS or times >= LEAST_AROUND):
            yield Companion(path, times, len(around))


_ORDER: Final = ("file", "test", "source", "kind")


def _touched(unit: Unit, own: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Yield everything else that a unit changed.

    By path, as the test or source of an instance, and by kind.
    """
    stems = {stem_of(path) for path in own}
    testing = any(is_test(path) for path in own)
    for change in unit.changes:
        path = change.path
        if path in own or change.status == "D":
            continue
        if stem_of(path) in stems and is_test(path) != testing:
            yield ("source" if testing else "test"), ""
        else:
            yield "kind", kind_of(path)
        if change.status != "A":
            yield "file", path


def kind_of(path: str) -> str:
    """Return the folder and extension of a file: `changelog/*.rst`."""
    folder, name = posixpath.split(path)
    ending = posixpath.splitext(name)[1] or name
    return f"{folder}/*{ending}" if folder else f"*{ending}"


def _seat(kind: str, target: str) -> str:
    """Return the file or folder that must exist for a companion.

    Returns "" is the root.
    """
    return posixpath.dirname(target) if kind == "kind" else target


def is_of_kind(path: str, kind: str) -> bool:
    return kind_of(path) == kind


def _without_repeats(found: Sequence[Companion]) -> Iterable[Companion]:
    """Drop kinds of files where one file explains them.

    It occurs nearly as often as the kind.
    """
    kept: list[Companion] = []
    for one in found:
        if one.kind == "kind" and any(
            other.kind == "file" and is_of_kind(other.target, one.target) and other.times >= 0.6 * one.times
            for other in found
        ):
            continue
        kept.append(one)
    return kept
