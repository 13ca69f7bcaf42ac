"""Pattern mining for one project.

A pattern is code that a project repeats with small variations. The structure ("shape") of each definition in the
changed files is computed first, then the patterns among the shapes of all files.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from msgspec import convert

from hunchd.daemon.models import open_repository
from hunchd.daemon.parse_crash_guard import ParseCrashGuard
from hunchd.domain.errors import RepositoryError
from hunchd.domain.history import Unit
from hunchd.ingestion.history import iter_units
from hunchd.ingestion.languages import detect_language
from hunchd.ingestion.parsing import blob_id
from hunchd.ingestion.path_filter import is_reportable_path
from hunchd.patterns.companions import MAX_UNITS, FirstLine, find_adding_commits
from hunchd.patterns.identity import reuse_known_keys, update_changed_files
from hunchd.patterns.mining import add_history, mine_patterns
from hunchd.patterns.pattern import CodePattern, MiningStep
from hunchd.patterns.pattern_memories import has_sentence
from hunchd.patterns.queries import QUERIES
from hunchd.patterns.shapes import extract_shapes, row_to_shape
from hunchd.protocol.indexing_messages import ProjectRequest
from hunchd.protocol.responses import to_json
from hunchd.repository.git import Git
from hunchd.repository.ignore import IgnoreRules
from hunchd.repository.safe_reading import make_stamp, read_file
from hunchd.store.shape_cache import ShapeCache, ShapeEntry

BATCH_SIZE: Final = 100  # files put into the cache at once
MAX_FILES: Final = 20_000  # per project


def mine_project(request: ProjectRequest, paths: Sequence[str] | None = None) -> Iterator[MiningStep]:
    """Yield progress after each batch of files, then the patterns.

    If `paths` is None, all files of the project are mined; otherwise the patterns are updated for the changed `paths`.
    """
    with ShapeCache(request.cache) as cache:
        changed_paths: set[str] = set()
        for done_count, total, changed_batch in _update_cache(request, cache, paths):
            changed_paths.update(changed_batch)
            yield MiningStep(done=done_count, total=total)
        git = open_repository(request.root)
        head = git.resolve("HEAD") if git is not None and git.exists() else ""
        previous = convert(cache.load_value("patterns") or [], list[CodePattern])
        has_new_head = cache.load_value("head") != head
        if not previous or has_new_head or (changed_paths and paths is None):
            patterns = _group_all_shapes(request, cache, previous, git, head)
        elif changed_paths:
            shapes = [
                row_to_shape(cached_entry.path, cached_entry.language, row)
                for cached_entry in cache.load_entries(changed_paths)
                for row in cached_entry.rows
            ]
            patterns = update_changed_files(previous, changed_paths, shapes)
            cache.store_value("patterns", to_json(list(patterns)))
        else:
            patterns = previous
        yield MiningStep(patterns=list(patterns))


def _group_all_shapes(
    request: ProjectRequest, cache: ShapeCache, previous: Sequence[CodePattern], git: Git | None, head: str
) -> Sequence[CodePattern]:
    """Compute the patterns among all cached shapes, and cache them.

    Patterns that also occur in `previous` keep their keys.
    """
    shapes = (
        row_to_shape(cached_entry.path, cached_entry.language, row)
        for cached_entry in cache.iterate_entries()
        for row in cached_entry.rows
    )

    def read_source(path: str) -> bytes | None:
        return read_file(request.root, path)

    patterns = reuse_known_keys(mine_patterns(shapes), previous)
    if git is not None and head:
        history = InstanceHistory(git, cache, head)

        def file_exists(path: str) -> bool:
            return (request.root / path).exists()

        # Without old contents (a partial or damaged clone) the current code still shows its repetitions.
        with contextlib.suppress(RepositoryError):
            patterns = add_history(
                patterns,
                read_source,
                history.find_adding_units,
                history.get_units,
                file_exists,
            )
            history.save()
    patterns = list(filter(has_sentence, patterns))
    cache.store_value("patterns", to_json(list(patterns)))
    cache.store_value("head", head)
    return patterns


class InstanceHistory:
    """Cached history of pattern instances, the places where a pattern occurs.

    For each instance, it records which unit of work (commit or merge) added the first line, and what else that unit
    changed.
    """

    def __init__(self, git: Git, cache: ShapeCache, head: str) -> None:
        self._git = git
        self._cache = cache
        self._head = head
        stored_history = cache.load_value("past") or {"head": "", "added": [], "units": []}
        self._previous_head = str(stored_history["head"])
        self._adding_units: dict[FirstLine, str] = {
            (path, line): sha for path, line, sha in stored_history["added"]
        }  # "": unknown
        self._units = {one.sha: one for one in convert(stored_history["units"], list[Unit])}

    def find_adding_units(self, heads: set[FirstLine]) -> dict[FirstLine, str]:
        """Return the commit that added each of the lines `heads`.

        `heads` are the first lines of pattern instances. A line is left out if its commit cannot be determined.
        """
        if self._previous_head != self._head:
            unknown_heads = {head for head in heads if self._adding_units.get(head) == ""}
            is_known = self._previous_head and self._git.exists(self._previous_head)
            self._adding_units |= find_adding_commits(
                self._git, unknown_heads, since=self._previous_head if is_known else ""
            )
        unresolved_heads = heads - self._adding_units.keys()
        self._adding_units |= dict.fromkeys(unresolved_heads, "") | find_adding_commits(self._git, unresolved_heads)
        self._adding_units = {head: self._adding_units[head] for head in heads}
        return {head: sha for head, sha in self._adding_units.items() if sha}

    def get_units(self, shas: set[str]) -> dict[str, Unit]:
        """Return the units of work whose commit ids are in `shas`.

        The result is keyed by commit id. Only the newest MAX_UNITS units of the history are found; others are left
        out.
        """
        if not shas <= self._units.keys():
            self._units = {unit.sha: unit for unit in iter_units(self._git, newest=MAX_UNITS, newest_first=True)}
        self._units = {sha: unit for sha, unit in self._units.items() if sha in shas}
        return self._units

    def save(self) -> None:
        adding_units = [(path, line, sha) for (path, line), sha in self._adding_units.items()]
        stored_units = [asdict(unit) for unit in self._units.values()]
        self._cache.store_value("past", {"head": self._head, "added": adding_units, "units": stored_units})


def _update_cache(
    request: ProjectRequest, cache: ShapeCache, paths: Sequence[str] | None
) -> Iterator[tuple[int, int, Sequence[str]]]:
    """Parse and cache the files whose content differs from the cached version.

    Yields the number of files done, the total, and the paths that were new, changed or removed: first for the removed
    files, then after each batch of parsed files.
    """
    rules = IgnoreRules.load(request.root, request.extra_ignore)
    blobs, stamps = cache.load_blob_ids(), cache.load_stamps()
    if paths is None:
        candidates = (
            (path, stat) for path, stat in rules.walk() if detect_language(path) in QUERIES and is_reportable_path(path)
        )
        stamps_by_path = {path: make_stamp(stat) for path, stat in candidates}
        stamps_by_path = dict(sorted(stamps_by_path.items())[:MAX_FILES])
        removed_paths = [path for path in blobs if path not in stamps_by_path]
        pending = [path for path, stamp in stamps_by_path.items() if not stamp or stamps.get(path) != stamp]
    else:
        supported_paths = [path for path in paths if detect_language(path) in QUERIES]
        stamps_by_path = {
            path: 0 for path in supported_paths if not rules.get_reason(path) and is_reportable_path(path)
        }
        removed_paths = [path for path in supported_paths if path not in stamps_by_path and path in blobs]
        pending = list(stamps_by_path)
    cache.remove(removed_paths)
    total, done_count = len(stamps_by_path), len(stamps_by_path) - len(pending)
    yield done_count, total, removed_paths
    with ParseCrashGuard(cache.path) as attempts:
        for start in range(0, len(pending), BATCH_SIZE):
            batch = pending[start : start + BATCH_SIZE]
            done_count += len(batch)
            yield done_count, total, _shape_batch(request.root, batch, cache, blobs, stamps_by_path, attempts)


def _shape_batch(
    root: Path,
    batch: Sequence[str],
    cache: ShapeCache,
    blobs: dict[str, str],
    stamps: dict[str, int],
    attempts: ParseCrashGuard,
) -> list[str]:
    """Compute and cache the shapes of a batch of files.

    Returns the paths that were new, changed or removed.
    """
    shape_entries: list[ShapeEntry] = []
    unchanged_stamps: dict[str, int] = {}
    unreadable: list[str] = []
    for path in batch:
        source = read_file(root, path)
        if source is None:
            unreadable.append(path)
        elif blobs.get(path) == (blob := blob_id(source)):
            unchanged_stamps[path] = stamps[path]
        elif blob in attempts.crashing_blobs:
            shape_entries.append(ShapeEntry(path, blob, "", []))
        else:
            with attempts.guard_blob(blob):
                shapes = extract_shapes(path, source)
            shape_entries.append(
                ShapeEntry(path, blob, shapes[0].language if shapes else "", [shape.to_row() for shape in shapes])
            )
    cache.put(shape_entries, stamps)
    cache.update_stamps(unchanged_stamps)
    cache.remove(path for path in unreadable if path in blobs)
    return [*(one.path for one in shape_entries), *(path for path in unreadable if path in blobs)]
