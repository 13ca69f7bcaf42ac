"""Fixes from the history: past commits that fixed a similar error.

The search runs only for errors without a known fix. A background task asks git, in a thread, for the commits that
touched the files named in the error. The fixes found are stored like any others, but rank below fixes that have
already helped.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.tombstones import Tombstones
from hunchd.core.state.apply_signal import get_path_inside
from hunchd.core.state.dependencies import Dependencies
from hunchd.core.state.open_failures import ErrorEvent, FixEvent
from hunchd.core.state.project import Project
from hunchd.domain.errors import HunchError
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Memory
from hunchd.ingestion.errors import parse_error
from hunchd.ingestion.fixes import FIXED_BY_LINK, Fix, fix_to_memory
from hunchd.ingestion.past_fixes import (
    GIT_GREP_PATTERN,
    MAX_FILES,
    build_past_fix,
    extract_error_names,
    find_likely_fix,
)
from hunchd.ingestion.redaction import redact
from hunchd.repository import tree_snapshots
from hunchd.repository.commit_search import search_commits
from hunchd.repository.tree_snapshots import TreeSnapshot

logger = logging.getLogger(__name__)

TOMBSTONES_FOLDER: Final = "forgotten-fixes"  # in the data folder
MAX_QUEUE: Final = 20  # queued errors; in a burst the oldest are dropped
MAX_SEARCHED: Final = 500  # errors already searched at the current commit


class HistoryFixSearch:
    """Background task that searches the history for fixes of reported errors."""

    def __init__(
        self, memories: MemoryService, find_project: Callable[[str | None], Project | None], dependencies: Dependencies
    ) -> None:
        self._memories = memories
        self._find_project = find_project
        self._ignore_patterns = tuple(dependencies.settings.index.ignore)
        self._now = dependencies.now
        self._tombstones = Tombstones(dependencies.paths.data / TOMBSTONES_FOLDER)
        self._queue: deque[tuple[str, ErrorEvent]] = deque(maxlen=MAX_QUEUE)
        self._work = asyncio.Event()
        self._searched_commits: OrderedDict[str, str] = OrderedDict()  # error → commit at which history was searched

    def enqueue(self, project: Project, event: FixEvent | None) -> None:
        """Queue the error that an event reports, if no fix is known for it."""
        if isinstance(event, ErrorEvent) and not any(project.fixes.for_error(event.error)):
            self._queue.append((project.id, event))
            self._work.set()

    def remember_deleted(self, project: Project, change: MemoryChange) -> None:
        """Record deleted fixes from the history as tombstones.

        They are then not found again. This must be called before the project drops these fixes.
        """
        past_fix_ids = {fix.id for fix in project.fixes.iter_all() if fix.is_past}
        if gone_ids := past_fix_ids.intersection(change.deletions):
            self._tombstones.add(project.id, gone_ids)

    def forget_project(self, identifier: str) -> None:
        self._tombstones.delete(identifier)

    async def run(self) -> None:
        """Look for fixes for queued errors in the history, until cancelled."""
        while True:
            await self._work.wait()
            self._work.clear()
            while self._queue:
                identifier, event = self._queue.pop()  # newest first
                project = self._find_project(identifier)
                if project is None or project.is_missing:
                    continue
                try:
                    await self._search(project, event)
                except HunchError as error:  # git or disk failure: skip this one
                    logger.warning("%s: searching the history for a fix failed: %s", project.name, error.message)

    async def _search(self, project: Project, event: ErrorEvent) -> None:
        head = project.tree_of(event.root).sha or ""
        if self._searched_commits.get(event.error) == head:
            return
        self._searched_commits[event.error] = head
        while len(self._searched_commits) > MAX_SEARCHED:
            self._searched_commits.popitem(last=False)
        error = (await self._memories.find([event.error], project.id)).get(event.error)
        if error is None:
            return
        fix = await asyncio.to_thread(find_history_fix, Path(event.root), error, self._ignore_patterns)
        if fix is None or fix.id in self._tombstones.load(project.id):
            return
        async with self._memories.lock_changes([event.error, fix.id], project.id) as errors:
            if event.error not in errors or any(project.fixes.for_error(event.error)):
                return  # forgotten or fixed meanwhile
            error = errors[event.error]
            linked_error = replace(error, links=(*error.links, {"type": FIXED_BY_LINK, "ref": fix.id}))
            fix_memory = fix_to_memory(fix, project.id, self._now(), errors.get(fix.id))
            await self._memories.commit([MemoryChange((linked_error, fix_memory), project=project.id)])


def find_history_fix(root: Path, error: Memory, ignored_paths: tuple[str, ...], *, until: str = "HEAD") -> Fix | None:
    """Return the most probable fix from the history for an error.

    The fix is built from a commit before `until` that fixed a similar error. Returns None if no commit is likely
    enough. This runs git, and raises RepositoryError if git fails.
    """
    error_text = parse_error(error.content)
    locations = [
        (path, place)
        for place in error_text.nearest_places
        if (path := get_path_inside(place.path, str(root))) is not None
    ]
    paths = list(dict.fromkeys(path for path, _ in locations))[:MAX_FILES]
    names = extract_error_names(error_text, [place for _, place in locations])
    best = find_likely_fix(names, search_commits(root, paths, GIT_GREP_PATTERN, until=until))
    if best is None:
        return None
    commit, shared_words = best
    changes = tree_snapshots.compare_snapshots(
        root, TreeSnapshot(commit.parent), TreeSnapshot(commit.sha), _redact_text, ignored_paths
    )
    headline = error.levels.summary or error.title
    return build_past_fix(
        changes,
        commit,
        error=error.id,
        headline=headline,
        subject=_redact_text(commit.subject),
        shared_symbols=shared_words,
    )


def _redact_text(text: str) -> str:
    return redact(text).text
