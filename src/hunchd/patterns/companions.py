"""Commits that added instances of patterns, and their other changes.

An instance is a function, method or class that follows a pattern. A companion is something that usually changes when
an instance is added.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from hunchd.domain.history import Unit
from hunchd.domain.unit_classification import is_work
from hunchd.patterns.pattern import Companion
from hunchd.patterns.shapes import is_test
from hunchd.prediction.words import extract_stem
from hunchd.repository.git import Git

# Shorter lines (`else:`, `});`) occur in many places and do not identify an instance.
MIN_LINE: Final = 10  # characters
MAX_UNITS: Final = 3_000  # units of work in history that are searched
MAX_PATHS: Final = 1_500  # paths given to git
MIN_UNITS: Final = 2  # minimum units of work that changed a companion
MIN_SHARE: Final = 0.3  # minimum share of the units that added an instance
MAX_COMPANIONS: Final = 6

_LOG_COMMAND: Final = (
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

FirstLine = tuple[str, str]  # path of an instance, and the line it begins with


def find_adding_commits(git: Git, heads: Iterable[FirstLine]) -> dict[FirstLine, str]:
    """Find the commit that added each instance.

    An instance is given by its path and its first line; a line shorter than MIN_LINE is not searched for. The
    result maps each instance to the last commit that added this line without removing it elsewhere, which would be
    a move. Only the newest MAX_UNITS units of work are searched.
    """
    lines_by_path: dict[str, set[bytes]] = defaultdict(set)
    for path, line in heads:
        if len(line) >= MIN_LINE:
            lines_by_path[path].add(line.encode())
    if not lines_by_path or not git.exists():
        return {}
    paths = sorted(lines_by_path)[:MAX_PATHS]
    sha_by_line: dict[FirstLine, str] = {}
    reader = _PatchReader(lines_by_path, sha_by_line)
    for record in git.stream(*_LOG_COMMAND, f"--max-count={MAX_UNITS}", "HEAD", "--", *paths, separator=b"\n"):
        reader.read_line(record)
    reader.finish_commit()
    return sha_by_line


class _PatchReader:
    """State of one pass over the patches that `git log` prints."""

    def __init__(self, lines_by_path: Mapping[str, set[bytes]], sha_by_line: dict[FirstLine, str]) -> None:
        self._lines_by_path = lines_by_path
        self._sha_by_line = sha_by_line
        self._sha = ""
        self._path = ""
        self._added_lines: list[tuple[str, bytes]] = []
        self._removed_lines: set[bytes] = set()

    def read_line(self, line: bytes) -> None:
        mark = line[:1]
        if mark == b"\x01":
            self.finish_commit()
            self._sha = line[1:].decode("ascii", "replace")
        elif mark == b"+":
            if file_match := _NEW_FILE.match(line):
                self._path = file_match[1].decode("utf-8", "replace")
            elif (text := line[1:].strip()) in self._lines_by_path.get(self._path, ()):
                self._added_lines.append((self._path, text))
        elif mark == b"-" and not line.startswith(b"--- "):
            self._removed_lines.add(line[1:].strip())

    def finish_commit(self) -> None:
        for path, text in self._added_lines:
            if text not in self._removed_lines:
                self._sha_by_line.setdefault((path, text.decode("utf-8", "replace")), self._sha)
        self._added_lines, self._removed_lines = [], set()


def find_companions(
    units: Sequence[tuple[Unit, Sequence[str]]],
    exists: Callable[[str], bool] = lambda path: True,
) -> tuple[Companion, ...]:
    """Return the usual companions of new instances, most confident first.

    `units` are the units of work that added instances, each with the files that contain these instances. A file, or
    the folder of a kind of file, is returned only if `exists` returns True for it.
    """
    work_units = [(unit, paths) for unit, paths in units if is_work(unit)]
    counts: Counter[tuple[str, str]] = Counter()
    for unit, own_paths in work_units:
        counts.update(set(_iter_touched(unit, own_paths)))
    companions = [
        Companion(target, times, len(work_units), kind)  # type: ignore[arg-type]
        for (kind, target), times in counts.items()
        if times >= MIN_UNITS and times >= MIN_SHARE * len(work_units) and exists(_required_path(kind, target))
    ]
    companions.sort(key=lambda one: (-one.confidence, _KIND_ORDER.index(one.kind), one.target))
    return tuple(_drop_repeats(companions))[:MAX_COMPANIONS]


_KIND_ORDER: Final = ("file", "test", "source", "kind")


def _iter_touched(unit: Unit, own_paths: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Yield the other changes of a unit of work, besides its instances.

    Each item is (kind of companion, target). `own_paths` are the files that contain the instances. Any other file
    is yielded as the test or source file of an instance, or else by the kind of its path. A file that existed
    before is also yielded by its path.
    """
    stems = {extract_stem(path) for path in own_paths}
    own_kinds = {get_path_kind(path) for path in own_paths}  # that others of it change too says nothing
    is_in_tests = any(is_test(path) for path in own_paths)
    for change in unit.changes:
        path = change.path
        if path in own_paths or change.status == "D":
            continue
        if extract_stem(path) in stems and is_test(path) != is_in_tests:
            yield ("source" if is_in_tests else "test"), ""
        # Files of the root folder may have nothing in common but their extension.
        elif "/" in path and (kind := get_path_kind(path)) not in own_kinds:
            yield "kind", kind
        if change.status != "A":
            yield "file", path


def get_path_kind(path: str) -> str:
    """Return the kind of a path: a glob made of its folder and extension.

    An example is `changelog/*.rst`.
    """
    folder, name = posixpath.split(path)
    ending = posixpath.splitext(name)[1] or name
    return f"{folder}/*{ending}" if folder else f"*{ending}"


def _required_path(kind: str, target: str) -> str:
    """Return the file or folder that must exist for a companion to count.

    For a kind of file, this is its folder, or "" for the root folder. For the test or source file of an instance,
    the result is "" as well.
    """
    return posixpath.dirname(target) if kind == "kind" else target


def has_kind(path: str, kind: str) -> bool:
    return get_path_kind(path) == kind


def _drop_repeats(companions: Sequence[Companion]) -> Iterable[Companion]:
    """Yield the companions, without kinds of file that a single file represents.

    A kind of file is left out if one file of that kind occurs nearly as often as the kind itself.
    """
    distinct: list[Companion] = []
    for one in companions:
        if one.kind == "kind" and any(
            other.kind == "file" and has_kind(other.target, one.target) and other.times >= 0.6 * one.times
            for other in companions
        ):
            continue
        distinct.append(one)
    return distinct
