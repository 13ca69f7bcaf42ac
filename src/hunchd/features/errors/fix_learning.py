"""Learning of fixes from tree snapshots before and after an error was fixed.

A background task takes the snapshots with git, in a thread, shortly after the signal. Fixes are stored like any
other memory. Failures that have not been fixed yet are kept in the project's cache folder, so that they survive a
restart.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from hunchd.config.app_paths import replace_private_file
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.state.dependencies import Dependencies, TaskSupervisor
from hunchd.core.state.feature import AppliedSignal, Feature
from hunchd.core.state.open_failures import CommitEvent, ErrorEvent, FixedError, FixEvent, OpenFailures, PassEvent
from hunchd.core.state.project import Project
from hunchd.domain.errors import HunchError
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Memory
from hunchd.features.errors.history_fix_search import HistoryFixSearch
from hunchd.ingestion.errors import parse_error
from hunchd.ingestion.fixes import (
    FIXED_BY_LINK,
    Fix,
    build_fix,
    fix_to_memory,
    memory_to_fix,
    record_failures,
    record_success,
)
from hunchd.ingestion.redaction import redact
from hunchd.repository import tree_snapshots
from hunchd.repository.tree_snapshots import TreeSnapshot

logger = logging.getLogger(__name__)

FAILURES_FILE: Final = "runs.json"  # in a project's cache folder
MAX_QUEUE: Final = 500  # queued events; in a burst of errors the oldest are dropped
# Later snapshots no longer show the tree as it was at the time of the error.
SNAPSHOT_MAX_AGE: Final = timedelta(seconds=30)
# Later commits do not belong to the fix.
MAX_COMMIT_DELAY: Final = timedelta(days=14)


class FixLearner(Feature):
    """Background task that learns which changes fixed an error."""

    def __init__(
        self,
        memories: MemoryService,
        find_project: Callable[[str | None], Project | None],
        dependencies: Dependencies,
    ) -> None:
        self.history_search = HistoryFixSearch(memories, find_project, dependencies)  # for errors without a known fix
        self._memories = memories
        self._find_project = find_project
        self._ignore_patterns = tuple(dependencies.settings.index.ignore)
        self._now = dependencies.now
        self._queue: deque[tuple[str, FixEvent]] = deque(maxlen=MAX_QUEUE)
        self._work = asyncio.Event()
        self._failures_by_project: dict[str, OpenFailures] = {}
        self._last_snapshot: tuple[str, datetime, TreeSnapshot | None] | None = (
            None  # last snapshot: (root, time, snapshot)
        )

    def start(self, tasks: TaskSupervisor) -> None:
        tasks.start("fixes", self.run)
        tasks.start("past fixes", self.history_search.run)

    def on_signal(self, applied_signal: AppliedSignal) -> None:
        self.enqueue(applied_signal.project, applied_signal.effect.fix_event)

    def on_memory_changed(self, change: MemoryChange, project: Project | None) -> None:
        if project is not None:
            self.history_search.remember_deleted(project, change)

    async def forget_project(self, project_id: str) -> None:
        self.history_search.forget_project(project_id)

    def enqueue(self, project: Project, event: FixEvent | None) -> None:
        """Queue an event; do nothing if it is None."""
        if event is not None:
            self._queue.append((project.id, event))
            self._work.set()
            self.history_search.enqueue(project, event)

    async def run(self) -> None:
        """Process queued events, until cancelled."""
        while True:
            await self._work.wait()
            self._work.clear()
            while self._queue:
                identifier, event = self._queue.popleft()
                project = self._find_project(identifier)
                if project is None or project.is_missing:
                    continue
                try:
                    await self._process(project, event)
                except HunchError as error:  # git or disk failure: this fix is not learned
                    logger.warning("%s: learning a fix failed: %s", project.name, error.message)

    async def _process(self, project: Project, event: FixEvent) -> None:
        if isinstance(event, CommitEvent):
            await self._record_commit(project, event)
            return
        runs = self._failures_by_project.get(project.id)
        if runs is None:
            runs = self._failures_by_project[project.id] = await asyncio.to_thread(
                _load_failures, project.cache / FAILURES_FILE
            )
        if runs.is_recorded(event):
            return
        if isinstance(event, ErrorEvent):
            await self._record_failure(project, runs, event)
        else:
            await self._record_pass(project, runs, event)
        if self._find_project(project.id) is not None:  # removed meanwhile
            await asyncio.to_thread(_save_failures, project.cache / FAILURES_FILE, runs)

    async def _record_failure(self, project: Project, runs: OpenFailures, event: ErrorEvent) -> None:
        picture = await self._take_snapshot(event.root, event.at)
        before = runs.record_failure(event, picture)
        fixes = tuple(project.fixes.for_error(event.error))
        if before is None or before.picture is None or picture is None or not fixes:
            return
        changes = await self._diff_snapshots(event.root, before.picture, picture)
        if useless_fixes := record_failures(fixes, [change.path for change in changes]):
            await self._store(project, useless_fixes)

    async def _record_pass(self, project: Project, runs: OpenFailures, event: PassEvent) -> None:
        fixed_errors = runs.record_pass(event)
        cleared_ids = tuple(dict.fromkeys((*event.errors, *(one.error for one in fixed_errors))))
        if not cleared_ids:
            return
        errors = await self._memories.find(cleared_ids, project.id)
        now = await self._take_snapshot(event.root, event.at) if fixed_errors else None
        fixes: list[Fix] = []
        for one in fixed_errors:
            if one.error in errors and now is not None:
                fixes += await self._learn_fix(project, errors[one.error], one, now, event)
        await self._store(project, fixes, cleared_ids, cleared_at=event.at)

    async def _learn_fix(
        self, project: Project, error: Memory, fixed_error: FixedError, now: TreeSnapshot, event: PassEvent
    ) -> Sequence[Fix]:
        """Return the known fixes for `error`, updated with the change that just fixed it.

        Returns an empty sequence if no fix can be built from the change.
        """
        after = fixed_error.after or now
        changes = await self._diff_snapshots(event.root, fixed_error.before, after)
        if not changes and after is not now:
            after, changes = now, await self._diff_snapshots(event.root, fixed_error.before, now)
        named_paths = [place.path for place in parse_error(error.content).places]
        fix = build_fix(
            changes,
            error=error.id,
            headline=error.levels.summary or error.title,
            named_paths={change.path for change in changes if any(path.endswith(change.path) for path in named_paths)},
            at=event.at,
            command=event.command,
        )
        if fix is None:
            return ()
        if not set(fix.paths) & now.texts.keys() and fixed_error.before.sha != now.sha:
            commit = await asyncio.to_thread(
                tree_snapshots.find_commit, Path(event.root), fixed_error.before.sha, now.sha, fix.paths
            )
            if commit is not None:
                fix = replace(fix, commit=commit[0], subject=redact(commit[1]).text)
        return record_success(await self._find_fixes(project, error, fix.id), fix)

    async def _find_fixes(self, project: Project, error: Memory, identifier: str) -> list[Fix]:
        """Return the known fixes for an error.

        They come from the store and the project's state. Shortly after a start, the store contains fixes that the
        project has not loaded yet.
        """
        linked_ids = [link["ref"] for link in error.links if link.get("type") == FIXED_BY_LINK]
        memories = await self._memories.find([identifier, *linked_ids], project.id)
        fixes = {fix.id: fix for memory in memories.values() if (fix := memory_to_fix(memory)) is not None}
        return list((fixes | {fix.id: fix for fix in project.fixes.for_error(error.id)}).values())

    async def _record_commit(self, project: Project, event: CommitEvent) -> None:
        """Record a commit in the recent fixes whose changes it contains."""
        nameless = [
            fix
            for fix in project.fixes.iter_all()
            if fix.commit is None and timedelta() <= event.at - fix.at <= MAX_COMMIT_DELAY
        ]
        if not nameless:
            return
        paths, subject = await asyncio.to_thread(tree_snapshots.get_commit_paths, Path(event.root), event.sha)
        subject = redact(subject).text
        named_fixes = [replace(fix, commit=event.sha, subject=subject) for fix in nameless if paths >= set(fix.paths)]
        await self._store(project, named_fixes)

    async def _store(
        self,
        project: Project,
        fixes: Sequence[Fix],
        cleared_ids: Sequence[str] = (),
        *,
        cleared_at: datetime | None = None,
    ) -> None:
        """Store fixes and mark errors as cleared, atomically.

        Memories that were forgotten while the tree was inspected are not stored again.
        """
        ids = [*cleared_ids, *(fix.id for fix in fixes)]
        async with self._memories.lock_changes(ids, project.id) as memories:
            now = self._now()
            errors = {
                one: _mark_cleared(memories[one], cleared_at, now)
                for one in cleared_ids
                if cleared_at is not None and one in memories
            }
            fixes = [fix for fix in fixes if fix.id in memories or (fix.trial_count == 1 and fix.error in errors)]
            for fix in fixes:
                if (error := errors.get(fix.error)) is not None:
                    links = [link for link in error.links if link.get("ref") != fix.id]
                    errors[fix.error] = replace(error, links=(*links, {"type": FIXED_BY_LINK, "ref": fix.id}))
            fix_memories = [fix_to_memory(fix, project.id, now, memories.get(fix.id)) for fix in fixes]
            if fix_memories or errors:
                await self._memories.commit([MemoryChange((*errors.values(), *fix_memories), project=project.id)])

    async def _take_snapshot(self, root: str, at: datetime) -> TreeSnapshot | None:
        """Take a snapshot of the working tree, to show its state at the time `at`.

        Returns None if `at` is so long ago that the tree may have changed since.
        """
        if self._now() - at > SNAPSHOT_MAX_AGE:
            return None
        if self._last_snapshot is not None and self._last_snapshot[0] == root and at <= self._last_snapshot[1]:
            return self._last_snapshot[2]  # one snapshot is enough for a burst of errors
        moment = self._now()
        snapshot = await asyncio.to_thread(
            tree_snapshots.take_snapshot, Path(root), _redact_text, self._ignore_patterns
        )
        self._last_snapshot = (root, moment, snapshot)
        return snapshot

    async def _diff_snapshots(
        self, root: str, before: TreeSnapshot, after: TreeSnapshot
    ) -> list[tree_snapshots.FileChange]:
        look = partial(tree_snapshots.compare_snapshots, Path(root), before, after, _redact_text, self._ignore_patterns)
        return await asyncio.to_thread(look)


def _mark_cleared(error: Memory, since: datetime, now: datetime) -> Memory:
    return replace(error, source={**error.source, "cleared": since.isoformat()}, updated=now)


def _redact_text(text: str) -> str:
    return redact(text).text


def _load_failures(file: Path) -> OpenFailures:
    try:
        return OpenFailures.from_json(json.loads(file.read_bytes()))
    except FileNotFoundError:
        return OpenFailures()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        logger.warning("could not read the saved failures in %s; dropping them", file, exc_info=True)
        return OpenFailures()


def _save_failures(file: Path, runs: OpenFailures) -> None:
    """Replace the file of open failures atomically.

    If writing fails, the open failures are lost at the next restart.
    """
    try:
        replace_private_file(file, json.dumps(runs.to_json()))
    except OSError as error:
        logger.warning("could not save the open failures: %s", error)
