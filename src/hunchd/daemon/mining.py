"""Pattern mining for one project.

A pattern is code that a project repeats with small variations. The structure ("shape") of each definition is computed
first, then the patterns among the shapes of all files.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import decode, encode

from hunchd.config.app_paths import replace_private_file
from hunchd.daemon.models import open_repository
from hunchd.daemon.parse_crash_guard import ParseCrashGuard
from hunchd.domain.errors import RepositoryError
from hunchd.domain.history import Unit
from hunchd.ingestion.history import iter_units
from hunchd.ingestion.languages import detect_language
from hunchd.ingestion.parsing import blob_id
from hunchd.ingestion.path_filter import is_reportable_path
from hunchd.patterns.companions import MAX_UNITS, find_adding_commits
from hunchd.patterns.identity import reuse_known_keys
from hunchd.patterns.mining import add_history, mine_patterns
from hunchd.patterns.pattern import CodePattern, MiningStep
from hunchd.patterns.pattern_memories import has_sentence
from hunchd.patterns.queries import QUERIES
from hunchd.patterns.shapes import Shape, extract_shapes
from hunchd.protocol.indexing_messages import ProjectRequest
from hunchd.repository.git import Git
from hunchd.repository.ignore import IgnoreRules
from hunchd.repository.safe_reading import read_file

VERSION: Final = 1  # of the cache; a different one is ignored
BATCH_SIZE: Final = 100  # files between two reports of progress
MAX_FILES: Final = 20_000  # per project


class MinedPatterns(Struct):
    """Result of the last mining, as cached; `head` is the commit that was checked out."""

    head: str = ""
    patterns: list[CodePattern] = []
    version: int = VERSION


def mine_project(request: ProjectRequest) -> Iterator[MiningStep]:
    """Yield progress after each batch of files, then the patterns.

    If no other commit has been checked out since the last mining, the patterns found then are yielded.
    """
    git = open_repository(request.root)
    head = git.resolve("HEAD") if git is not None and git.exists() else ""
    cached = _load_cache(request)
    if not head or cached.head != head:
        shapes: list[Shape] = []
        paths = _list_files(request)
        with ParseCrashGuard(request.cache) as crash_guard:
            for done_count, path in enumerate(paths):
                if done_count % BATCH_SIZE == 0:
                    yield MiningStep(done=done_count, total=len(paths))
                shapes += _read_shapes(request, path, crash_guard)
        patterns = reuse_known_keys(mine_patterns(shapes), cached.patterns)
        if git is not None and head:
            # Without old contents (a partial or damaged clone) the current code still shows its repetitions.
            with contextlib.suppress(RepositoryError):
                patterns = _add_history(request, git, patterns)
        cached = MinedPatterns(head, list(filter(has_sentence, patterns)))
        replace_private_file(request.cache, encode(cached).decode())
    yield MiningStep(patterns=cached.patterns)


def _load_cache(request: ProjectRequest) -> MinedPatterns:
    try:
        cached = decode(request.cache.read_bytes(), type=MinedPatterns)
    except (FileNotFoundError, DecodeError, ValidationError):
        return MinedPatterns()
    return cached if cached.version == VERSION else MinedPatterns()


def _list_files(request: ProjectRequest) -> list[str]:
    """Return the files that may contain patterns."""
    paths = (path for path, _ in IgnoreRules.load(request.root, request.extra_ignore).walk())
    return sorted(path for path in paths if detect_language(path) in QUERIES and is_reportable_path(path))[:MAX_FILES]


def _read_shapes(request: ProjectRequest, path: str, crash_guard: ParseCrashGuard) -> tuple[Shape, ...]:
    source = read_file(request.root, path)
    if source is None or (blob := blob_id(source)) in crash_guard.crashing_blobs:
        return ()
    with crash_guard.guard_blob(blob):
        return extract_shapes(path, source)


def _add_history(request: ProjectRequest, git: Git, patterns: list[CodePattern]) -> list[CodePattern]:
    def find_units(shas: set[str]) -> dict[str, Unit]:
        units = iter_units(git, newest=MAX_UNITS, newest_first=True) if shas else ()
        return {unit.sha: unit for unit in units if unit.sha in shas}

    return add_history(
        patterns,
        lambda path: read_file(request.root, path),
        lambda heads: find_adding_commits(git, heads),
        find_units,
        lambda path: (request.root / path).exists(),
    )
