"""Pattern mining of one project.

Computes the shapes of the changed files, then the patterns of all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from hunchd.daemon.attempts import Attempts
from hunchd.daemon.models import history_of
from hunchd.domain.errors import RepositoryError
from hunchd.domain.history import Unit, unit_from
from hunchd.domain.work import is_work
from hunchd.ingestion.history import units
from hunchd.ingestion.languages import language_of
from hunchd.ingestion.naming import may_be_named
from hunchd.ingestion.parsing import blob_id
from hunchd.patterns.companions import NEWEST_UNITS, Head, added_by
from hunchd.patterns.identity import with_files_changed, with_known_keys
from hunchd.patterns.mining import Made, mined, with_history
from hunchd.patterns.pattern import Pattern, pattern_from
from hunchd.patterns.queries import QUERIES
from hunchd.patterns.shapes import shape_from, shapes_of
from hunchd.patterns.templates import Template
from hunchd.repository.git import Git
from hunchd.repository.ignore import IgnoreRules
from hunchd.repository.reading import read_file, stamp_of
from hunchd.store.shapes import Kept, ShapeCache

BATCH: Final = 100  # files put into the cache at once
MOST_FILES: Final = 20_000  # per project


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarry:
    """Mining request for one project, as the front sends it."""

    root: Path
    cache: Path
    extra_ignore: tuple[str, ...] = ()


def mine(quarry: Quarry, paths: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield progress by file, then `{"patterns": […]}`.

    Covers the whole tree, or updates the patterns after changes of `paths`.
    """
    with ShapeCache(quarry.cache) as cache:
        touched: set[str] = set()
        for done, total, fresh in _shaped(quarry, cache, paths):
            touched.update(fresh)
            yield {"done": done, "total": total}
        git = history_of(quarry.root)
        head = git.resolve("HEAD") if git is not None and git.exists() else ""
        before = [pattern_from(told) for told in cache.recall("patterns") or ()]
        moved = cache.recall("head") != head
        if not before or moved or (touched and paths is None):
            patterns = _found(quarry, cache, before, git, head)
        elif touched:
            shapes = [shape_from(kept.path, kept.language, row) for kept in cache.some(touched) for row in kept.rows]
            patterns = with_files_changed(before, touched, shapes)
            cache.keep("patterns", [pattern.json() for pattern in patterns])
        else:
            patterns = before
        yield {"patterns": [pattern.json() for pattern in patterns]}


def _found(
    quarry: Quarry, cache: ShapeCache, before: Sequence[Pattern], git: Git | None, head: str
) -> Sequence[Pattern]:
    """Group all shapes from scratch."""
    shapes = (shape_from(kept.path, kept.language, row) for kept in cache.all() for row in kept.rows)
    made = {
        key: Made(tuple(digests), Template(**template)) for key, digests, template in cache.recall("templates") or ()
    }

    def read(path: str) -> bytes | None:
        return read_file(quarry.root, path)

    patterns = with_known_keys(mined(shapes, read, made), before)
    if git is not None and head:
        past = Past(git, cache, head)

        def there(path: str) -> bool:
            return (quarry.root / path).exists()

        # Without old contents (a partial or damaged clone) the current code still shows its repetitions.
        with contextlib.suppress(RepositoryError):
            patterns = with_history(patterns, read, past.added, past.units, there, past.changed())
            past.keep()
    cache.keep("templates", [(key, one.digests, asdict(one.template)) for key, one in made.items()])
    cache.keep("patterns", [pattern.json() for pattern in patterns])
    cache.keep("head", head)
    return patterns


class Past:
    """Cached history of instances.

    Says which unit added a line, and what else that unit changed.
    """

    def __init__(self, git: Git, cache: ShapeCache, head: str) -> None:
        self._git = git
        self._cache = cache
        self._head = head
        told = cache.recall("past") or {"head": "", "added": [], "units": []}
        self._before = str(told["head"])
        self._changed: list[list[str]] = told.get("changed") or []
        self._changed_until = self._before if "changed" in told else ""  # a commit
        self._added: dict[Head, str] = {(path, line): sha for path, line, sha in told["added"]}  # "": unknown
        self._units = {one["sha"]: unit_from(one) for one in told["units"]}

    def added(self, heads: set[Head]) -> dict[Head, str]:
        """Return the unit that added each line, where known."""
        if self._before != self._head:
            open_ones = {head for head in heads if self._added.get(head) == ""}
            known = self._before and self._git.exists(self._before)
            self._added |= added_by(self._git, open_ones, since=self._before if known else "")
        unasked = heads - self._added.keys()
        self._added |= dict.fromkeys(unasked, "") | added_by(self._git, unasked)
        self._added = {head: self._added[head] for head in heads}
        return {head: sha for head, sha in self._added.items() if sha}

    def units(self, shas: set[str]) -> dict[str, Unit]:
        """Return those of the units that are among the newest."""
        if not shas <= self._units.keys():
            self._read()
        self._units = {sha: unit for sha, unit in self._units.items() if sha in shas}
        return self._units

    def changed(self) -> list[list[str]]:
        """Return the paths changed by each of the newest units.

        Only units of work, newest first; deleted files are left out.
        """
        if self._changed_until != self._head:
            if self._changed_until and self._git.exists(self._changed_until):
                fresh = units(self._git, newest=NEWEST_UNITS, since=self._changed_until, newest_first=True)
                self._changed = [*_paths(fresh), *self._changed][:NEWEST_UNITS]
                self._changed_until = self._head
            else:
                self._read()
        return self._changed

    def _read(self) -> None:
        found = list(units(self._git, newest=NEWEST_UNITS, newest_first=True))
        self._units = {unit.sha: unit for unit in found}
        self._changed, self._changed_until = _paths(found), self._head

    def keep(self) -> None:
        added = [(path, line, sha) for (path, line), sha in self._added.items()]
        told = [asdict(unit) for unit in self._units.values()]
        self._cache.keep("past", {"head": self._head, "added": added, "units": told, "changed": self._changed})


def _paths(found: Iterable[Unit]) -> list[list[str]]:
    return [[change.path for change in unit.changes if change.status != "D"] for unit in found if is_work(unit)]


def _shaped(quarry: Quarry, cache: ShapeCache, paths: Sequence[str] | None) -> Iterator[tuple[int, int, Sequence[str]]]:
    """Parse and cache the files that differ between cache and working tree.

    Yields the number of files done, the total, and the paths that were new, changed or removed.
    """
    rules = IgnoreRules.load(quarry.root, quarry.extra_ignore)
    blobs, stamps = cache.blobs(), cache.stamps()
    if paths is None:
        found = ((path, stat) for path, stat in rules.walk() if language_of(path) in QUERIES and may_be_named(path))
        wanted = {path: stamp_of(stat) for path, stat in found}
        wanted = dict(sorted(wanted.items())[:MOST_FILES])
        gone = [path for path in blobs if path not in wanted]
        waiting = [path for path, stamp in wanted.items() if not stamp or stamps.get(path) != stamp]
    else:
        fitting = [path for path in paths if language_of(path) in QUERIES]
        wanted = {path: 0 for path in fitting if not rules.reason(path) and may_be_named(path)}
        gone = [path for path in fitting if path not in wanted and path in blobs]
        waiting = list(wanted)
    cache.remove(gone)
    total, done = len(wanted), len(wanted) - len(waiting)
    yield done, total, gone
    with Attempts(cache.path) as attempts:
        for start in range(0, len(waiting), BATCH):
            batch = waiting[start : start + BATCH]
            done += len(batch)
            yield done, total, _kept(quarry.root, batch, cache, blobs, wanted, attempts)


def _kept(
    root: Path,
    batch: Sequence[str],
    cache: ShapeCache,
    blobs: dict[str, str],
    stamps: dict[str, int],
    attempts: Attempts,
) -> list[str]:
    """Cache the shapes of a batch.

    Returns the paths that were new, changed or removed.
    """
    fresh: list[Kept] = []
    same: dict[str, int] = {}
    lost: list[str] = []
    for path in batch:
        source = read_file(root, path)
        if source is None:
            lost.append(path)
        elif blobs.get(path) == (blob := blob_id(source)):
            same[path] = stamps[path]
        elif blob in attempts.fatal:
            fresh.append(Kept(path, blob, "", []))
        else:
            with attempts.at(blob):
                shapes = shapes_of(path, source)
            fresh.append(Kept(path, blob, shapes[0].language if shapes else "", [shape.row() for shape in shapes]))
    cache.put(fresh, stamps)
    cache.restamp(same)
    cache.remove(path for path in lost if path in blobs)
    return [*(one.path for one in fresh), *(path for path in lost if path in blobs)]
