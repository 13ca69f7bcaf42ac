"""Learning of fixes from tree snapshots before and after an error.

A background task takes snapshots with git, in a thread, shortly after the signal. Fixes are stored like any other
memory; open failures are kept in the project's cache, so that they survive a restart.
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

from hunchd.domain.errors import HunchError
from hunchd.domain.facts import Change
from hunchd.domain.memory import Memory
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.learning.past_fixing import PastFixing
from hunchd.engine.state.feature import AppliedSignal, Feature
from hunchd.engine.state.parts import Parts, Tasks
from hunchd.engine.state.project import Project
from hunchd.engine.state.runs import Committed, Failed, Happened, Mended, Passed, Runs
from hunchd.ingestion.errors import understood
from hunchd.ingestion.fixes import FIXED_BY, Fix, fix_from, fix_of, helped, in_vain, memory_of
from hunchd.ingestion.redaction import redact
from hunchd.repository import working
from hunchd.repository.working import Picture

logger = logging.getLogger(__name__)

FILE: Final = "runs.json"  # in a project's cache folder
WAITING: Final = 500  # queued events; in a burst of errors the oldest are dropped
# Later snapshots do not show the tree at the time of the error any more.
FRESH: Final = timedelta(seconds=30)
# Later commits do not belong to the fix.
COMMITTED_WITHIN: Final = timedelta(days=14)


class Fixing(Feature):
    """Background task that learns fixes."""

    def __init__(
        self,
        memories: Memories,
        find: Callable[[str | None], Project | None],
        parts: Parts,
    ) -> None:
        self.past = PastFixing(memories, find, parts)  # for errors without a known fix
        self._memories = memories
        self._find = find
        self._ignored = tuple(parts.settings.index.ignore)
        self._now = parts.now
        self._waiting: deque[tuple[str, Happened]] = deque(maxlen=WAITING)
        self._work = asyncio.Event()
        self._runs: dict[str, Runs] = {}
        self._looked: tuple[str, datetime, Picture | None] | None = None  # last snapshot: (root, time, snapshot)

    def start(self, tasks: Tasks) -> None:
        tasks.start("fixes", self.run)
        tasks.start("past fixes", self.past.run)

    def on_signal(self, applied: AppliedSignal) -> None:
        self.note(applied.project, applied.effect.happened)

    def on_memory_changed(self, change: Change, project: Project | None) -> None:
        if project is not None:
            self.past.remember_deleted(project, change)

    async def forget_project(self, project_id: str) -> None:
        self.past.forget_project(project_id)

    def note(self, project: Project, happened: Happened | None) -> None:
        """Queue an event."""
        if happened is not None:
            self._waiting.append((project.id, happened))
            self._work.set()
            self.past.note(project, happened)

    async def run(self) -> None:
        """Process queued events, forever."""
        while True:
            await self._work.wait()
            self._work.clear()
            while self._waiting:
                identifier, happened = self._waiting.popleft()
                project = self._find(identifier)
                if project is None or project.missing:
                    continue
                try:
                    await self._look_into(project, happened)
                except HunchError as error:  # git or disk failure: this fix is not learned
                    logger.warning("%s: learning a fix failed: %s", project.name, error.message)

    async def _look_into(self, project: Project, happened: Happened) -> None:
        if isinstance(happened, Committed):
            await self._committed(project, happened)
            return
        runs = self._runs.get(project.id)
        if runs is None:
            runs = self._runs[project.id] = await asyncio.to_thread(_load, project.cache / FILE)
        if runs.heard(happened):
            return
        if isinstance(happened, Failed):
            await self._failed(project, runs, happened)
        else:
            await self._passed(project, runs, happened)
        if self._find(project.id) is not None:  # removed meanwhile
            await asyncio.to_thread(_keep, project.cache / FILE, runs)

    async def _failed(self, project: Project, runs: Runs, failed: Failed) -> None:
        picture = await self._picture(failed.root, failed.at)
        before = runs.failed(failed, picture)
        known = tuple(project.fixes.of(failed.error))
        if before is None or before.picture is None or picture is None or not known:
            return
        changed = await self._changes(failed.root, before.picture, picture)
        if vain := in_vain(known, [change.path for change in changed]):
            await self._commit(project, vain)

    async def _passed(self, project: Project, runs: Runs, passed: Passed) -> None:
        mended = runs.passed(passed)
        gone = tuple(dict.fromkeys((*passed.errors, *(one.error for one in mended))))
        if not gone:
            return
        errors = await self._memories.known(gone, project.id)
        now = await self._picture(passed.root, passed.at) if mended else None
        fixes: list[Fix] = []
        for one in mended:
            if one.error in errors and now is not None:
                fixes += await self._fixed(project, errors[one.error], one, now, passed)
        await self._commit(project, fixes, gone, cleared=passed.at)

    async def _fixed(
        self, project: Project, error: Memory, mended: Mended, now: Picture, passed: Passed
    ) -> Sequence[Fix]:
        """Return the known fixes of `error`, updated with the change made this time."""
        after = mended.after or now
        changed = await self._changes(passed.root, mended.before, after)
        if not changed and after is not now:
            after, changed = now, await self._changes(passed.root, mended.before, now)
        named = [place.path for place in understood(error.content).places]
        found = fix_of(
            changed,
            error=error.id,
            headline=error.levels.summary or error.title,
            named={change.path for change in changed if any(path.endswith(change.path) for path in named)},
            at=passed.at,
            command=passed.command,
        )
        if found is None:
            return ()
        if not set(found.paths) & now.texts.keys() and mended.before.sha != now.sha:
            told = await asyncio.to_thread(
                working.commit_of, Path(passed.root), mended.before.sha, now.sha, found.paths
            )
            if told is not None:
                found = replace(found, commit=told[0], subject=redact(told[1]).text)
        return helped(await self._known(project, error, found.id), found)

    async def _known(self, project: Project, error: Memory, identifier: str) -> list[Fix]:
        """Return the known fixes of an error.

        Shortly after a start the store knows more than the project.
        """
        linked = [link["ref"] for link in error.links if link.get("type") == FIXED_BY]
        stored = await self._memories.known([identifier, *linked], project.id)
        fixes = {fix.id: fix for memory in stored.values() if (fix := fix_from(memory)) is not None}
        return list((fixes | {fix.id: fix for fix in project.fixes.of(error.id)}).values())

    async def _committed(self, project: Project, committed: Committed) -> None:
        """Record the commit that contains recent fixes."""
        nameless = [
            fix
            for fix in project.fixes.all()
            if fix.commit is None and timedelta() <= committed.at - fix.at <= COMMITTED_WITHIN
        ]
        if not nameless:
            return
        paths, subject = await asyncio.to_thread(working.touched_by, Path(committed.root), committed.sha)
        subject = redact(subject).text
        named = [replace(fix, commit=committed.sha, subject=subject) for fix in nameless if paths >= set(fix.paths)]
        await self._commit(project, named)

    async def _commit(
        self, project: Project, fixes: Sequence[Fix], gone: Sequence[str] = (), *, cleared: datetime | None = None
    ) -> None:
        """Store fixes and mark errors as cleared, atomically.

        What was forgotten while the tree was inspected does not come back.
        """
        async with self._memories.changing:
            now = self._now()
            known = await self._memories.known([*gone, *(fix.id for fix in fixes)], project.id)
            errors = {one: _cleared(known[one], cleared, now) for one in gone if cleared is not None and one in known}
            fixes = [fix for fix in fixes if fix.id in known or (fix.tried == 1 and fix.error in errors)]
            for fix in fixes:
                if (error := errors.get(fix.error)) is not None:
                    links = [link for link in error.links if link.get("ref") != fix.id]
                    errors[fix.error] = replace(error, links=(*links, {"type": FIXED_BY, "ref": fix.id}))
            kept = [memory_of(fix, project.id, now, known.get(fix.id)) for fix in fixes]
            if kept or errors:
                await self._memories.commit([Change((*errors.values(), *kept), project=project.id)])

    async def _picture(self, root: str, at: datetime) -> Picture | None:
        """Take a snapshot of the tree.

        Returns None if `at` is too long ago for it to be valid.
        """
        if self._now() - at > FRESH:
            return None
        if self._looked is not None and self._looked[0] == root and at <= self._looked[1]:
            return self._looked[2]  # one snapshot suffices for a burst of errors
        moment = self._now()
        seen = await asyncio.to_thread(working.picture, Path(root), _clean, self._ignored)
        self._looked = (root, moment, seen)
        return seen

    async def _changes(self, root: str, before: Picture, after: Picture) -> list[working.FileChange]:
        look = partial(working.changes, Path(root), before, after, _clean, self._ignored)
        return await asyncio.to_thread(look)


def _cleared(error: Memory, since: datetime, now: datetime) -> Memory:
    return replace(error, source={**error.source, "cleared": since.isoformat()}, updated=now)


def _clean(text: str) -> str:
    return redact(text).text


def _load(file: Path) -> Runs:
    try:
        return Runs.from_json(json.loads(file.read_bytes()))
    except FileNotFoundError:
        return Runs()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        logger.warning("saved failures are not readable and are dropped: %s", file, exc_info=True)
        return Runs()


def _keep(file: Path, runs: Runs) -> None:
    """Replace the file atomically.

    On an error, the state is lost with the next restart.
    """
    draft = file.with_suffix(".new")
    try:
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(runs.json()), encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        logger.warning("failures could not be saved: %s", error)
