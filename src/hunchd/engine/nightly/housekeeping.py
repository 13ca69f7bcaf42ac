"""Nightly maintenance: usage tracking and consolidation, wired together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from hunchd.consolidation.reverting import reverted_commits, thrown_away
from hunchd.domain.context import Bundle
from hunchd.domain.errors import HunchError
from hunchd.domain.filters import paths_of
from hunchd.domain.history import Unit
from hunchd.domain.memory import Memory
from hunchd.domain.signal import BY_AGENT, CommandFinished, FileOpened, FileSaved, FilesChanged, Signal, Used
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.writing import Writer
from hunchd.engine.learning.claims import side_line
from hunchd.engine.learning.indexing import CODE, Indexing
from hunchd.engine.learning.projects import Projects
from hunchd.engine.nightly.carrying_out import CarryingOut
from hunchd.engine.nightly.consolidating import Consolidation
from hunchd.engine.nightly.making import Making
from hunchd.engine.nightly.usage import Usage, keep
from hunchd.engine.state.activity import ActivityClock
from hunchd.engine.state.events import Events
from hunchd.engine.state.feature import Feature
from hunchd.engine.state.owners import Owner
from hunchd.engine.state.parts import Parts, Tasks
from hunchd.engine.state.project import Project, Tree
from hunchd.protocol.memories import memory_json
from hunchd.protocol.requests import FeedbackItem
from hunchd.store.run_log import RunLog

logger = logging.getLogger(__name__)

USAGE_FILE: Final = "usage.json"
KEPT_EVERY: Final = 600.0  # seconds of data that a crash may lose
IDLE_LOOK: Final = 15.0  # seconds between two idle checks
LONGEST_WAIT: Final = 6 * 3_600.0  # seconds; on a machine that is never idle it runs anyway, at low priority
# Delay after the start before a missed nightly run is caught up with.
CATCH_UP_AFTER: Final = 300.0  # seconds


class Housekeeping(Feature):
    """Service that tracks usage and runs the nightly maintenance."""

    def __init__(
        self,
        parts: Parts,
        projects: Projects,
        memories: Memories,
        writer: Writer,
        events: Events,
        indexing: Indexing,
        activity: ActivityClock,
    ) -> None:
        self._file = parts.places.state / USAGE_FILE
        self._own_cache = parts.places.cache / "user" / CODE  # no code, but the record of compared pairs is beside it
        self._birth = parts.places.data / "secret"  # created at the first start
        self._projects = projects
        self._activity = activity
        self._shown = ""  # etag of the bundle that was noted last
        self._remember = indexing.remember
        self._store = parts.store
        self._hot = parts.hot
        self._kept = parts.settings.store
        self._now = parts.now
        self._settings = parts.settings.consolidation
        self.usage = Usage.load(self._file)
        log = RunLog(parts.places.data / "consolidation")
        making = Making(parts.hot, memories, writer, log)
        work = CarryingOut(
            parts.planner,
            parts.store,
            parts.journal,
            memories,
            making,
            log,
            self.usage,
            self._settings,
            now=parts.now,
            keep_usage=self.keep,
            reads=parts.settings.embedding.reads_pairs,
            verdicts=parts.verdicts_file,
        )
        self.runs = Consolidation(work, making, log, events, self._settings, owners=self._owners, now=parts.now)

    def start(self, tasks: Tasks) -> None:
        """Start the background tasks."""
        tasks.start("consolidation", self.runs.keep_going)
        tasks.start("catching up", self.catch_up)
        tasks.start("usage", self.keep_usage)

    # Events

    def on_bundle_served(self, bundle: Bundle, project_id: str) -> None:
        """Record which memories a requested bundle shows.

        A repeated bundle is skipped by its etag. Items that are not memories have ids with a prefix before a colon,
        possibly followed by a person's name.
        """
        if bundle.etag != self._shown:
            self._shown = bundle.etag
            items = ((item.id, _paths_in(item.source)) for item in bundle.items if ":" not in item.id)
            self.usage.shown(items, self._now(), project_id)

    def found(self, query: str, project: str | None, answer: dict[str, Any]) -> dict[str, Any]:
        """Record the results of a query and return the answer."""
        memories = [result["id"] for result in answer["results"] if result["kind"] != "code"]
        self.usage.asked(query, project, memories, self._now())
        return answer

    def before_signal(self, signal: Signal, project: Project, tree: Tree) -> None:
        """Record the usage that a signal implies."""
        match signal:
            case FileOpened(path=path, source=source):
                self.usage.opened(path, signal.at, by_agent=source == BY_AGENT)
            case FileSaved(path=path):
                self.usage.saved(path)
            case FilesChanged(saved=saved):
                for path in saved:
                    self.usage.saved(path)
            case CommandFinished(command=command, exit_code=0):
                if paths := thrown_away(command):
                    self.usage.thrown_away(paths, signal.at)
            case Used(memory=str(identifier)):
                memory = self._hot.get(identifier)
                self.usage.used(identifier, signal.at, paths_of(memory) if memory is not None else ())

    def on_commits_learned(self, units: Sequence[Unit]) -> None:
        """Record new commits: they contain, or revert, work based on memories."""
        for unit in units:
            for sha in reverted_commits(f"{unit.subject}\n{unit.body}"):
                self.usage.reverted(sha, self._now())
            self.usage.committed(unit.sha, self._now())

    def judged(self, items: Iterable[tuple[FeedbackItem, str | None]]) -> None:
        """Record explicit feedback, each item with its project."""
        for item, project in items:
            self.usage.told(item.id, item.outcome, self._now(), note=item.note, project=project)

    async def told_of(self, memory: Memory) -> dict[str, Any]:
        """Return usage and consolidation history of a memory, for `hunch why`."""
        return {
            "usage": memory_json(memory)["usage"],
            "events": self.usage.events(memory.id),
            "changes": await self.runs.changes_of(memory.id),
        }

    async def forget_memories(self, ids: Sequence[str]) -> None:
        """Remove erased memories from usage data and run logs."""
        self.usage.forget(ids)
        await self.runs.forgotten(ids)
        await self.keep()

    async def leave_project(self, project_id: str) -> None:
        """Prepare the removal of a project."""
        await self.runs.leave(project_id)

    async def forget_project(self, project_id: str) -> None:
        self.usage.forget_project(project_id)
        await self.runs.forgotten((), project_id)
        await self.keep()

    # Storing

    async def keep(self) -> None:
        """Write the usage data to its file."""
        told = self.usage.json()
        if told is not None:
            try:
                await asyncio.to_thread(keep, self._file, told)
            except (OSError, HunchError) as error:
                logger.warning("usage could not be saved: %s", error)

    async def keep_usage(self) -> None:
        """Save the usage data every SAVE_INTERVAL_SECONDS, forever.

        A task of the daemon.
        """
        while True:
            await asyncio.sleep(KEPT_EVERY)
            await self.keep()

    async def stop(self) -> None:
        await self.runs.close()
        await self.keep()

    def status(self) -> dict[str, Any]:
        return {"consolidation": self.runs.status()}

    # At night

    async def nightly(self) -> None:
        """Delete old signals, snapshot the store, save the models, then consolidate."""
        await self._store.forget_signals(self._now() - timedelta(days=self._kept.signals_days))
        await self._store.snapshot(self._kept.snapshots)
        for project in self._projects:
            if not project.indexing:
                await asyncio.to_thread(self._remember, project)
        await self.consolidate_when_idle()

    async def consolidate_when_idle(self) -> None:
        """Wait until the daemon is idle, then consolidate."""
        waited = 0.0
        while self._activity.idle_seconds < self._settings.idle_minutes * 60 and waited < LONGEST_WAIT:
            await asyncio.sleep(IDLE_LOOK)
            waited += IDLE_LOOK
        try:
            await self.runs.nightly()
        except HunchError as error:  # retried automatically, at the latest the next night
            logger.warning("nightly run did not finish: %s", error.message)

    async def catch_up(self) -> None:
        """Run a missed nightly consolidation after the start."""
        await asyncio.sleep(CATCH_UP_AFTER)
        if self._settings.nightly and await self.runs.is_due(self._installed()):
            await self.consolidate_when_idle()

    def _installed(self) -> datetime:
        """Return the time of the first start of this installation."""
        try:
            return datetime.fromtimestamp(self._birth.stat().st_mtime, UTC)
        except OSError:
            return self._now()

    def _owners(self, named: str | None) -> list[Owner]:
        if named is not None:
            return [owner_of(self._projects.find(named)[0])]
        return [Owner(None, cache=str(self._own_cache)), *(owner_of(project) for project in self._projects)]


def owner_of(project: Project) -> Owner:
    settled = project.state == "ready" and not project.index_error and side_line(project) is None
    return Owner(
        project.id,
        project.name,
        str(project.root) if not project.missing else "",
        str(project.cache / CODE) if project.code is not None else "",
        settled,
    )


def _paths_in(source: Any) -> tuple[str, ...]:
    path = source.get("path")
    return (path,) if isinstance(path, str) else ()
