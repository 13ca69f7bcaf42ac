"""Nightly maintenance, with usage tracking and consolidation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import structs

from hunchd.config.app_paths import replace_private_file
from hunchd.consolidation.usage_feedback import add_tally
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.question_preferences import QuestionPreferences
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.core.projects.project_claims import get_side_branch
from hunchd.core.projects.project_indexer import CODE_FILE, ProjectIndexer
from hunchd.core.state.activity import ActivityClock
from hunchd.core.state.dependencies import Dependencies, TaskSupervisor
from hunchd.core.state.events import EventBus
from hunchd.core.state.feature import Feature, StatusFields
from hunchd.core.state.owners import MemoryOwner
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.context import Bundle
from hunchd.domain.errors import HunchError
from hunchd.domain.memory import Memory
from hunchd.domain.signal import BY_AGENT, ContextUsed, FileOpened, FileSaved, FilesChanged, Signal
from hunchd.features.consolidation.change_applier import ChangeApplier
from hunchd.features.consolidation.plan_executor import PlanExecutor
from hunchd.features.consolidation.run_manager import RunManager
from hunchd.features.consolidation.usage import UsageTracker
from hunchd.protocol.knowledge_answers import MemoryUsageAnswer
from hunchd.protocol.memories import memory_to_record
from hunchd.protocol.requests import FeedbackItem
from hunchd.protocol.search_results import SearchAnswer
from hunchd.store.run_log import RunLog

logger = logging.getLogger(__name__)

USAGE_FILE: Final = "usage.json"
SAVE_INTERVAL_SECONDS: Final = 600.0  # seconds; a crash loses at most the data of this time
IDLE_POLL_SECONDS: Final = 15.0  # seconds between two idle checks
MAX_IDLE_WAIT_SECONDS: Final = 6 * 3_600.0  # seconds; after that the run starts anyway, at low priority
CATCH_UP_DELAY_SECONDS: Final = 300.0  # seconds after the start before a missed nightly run is made up for


class Maintenance(Feature):
    """Feature that tracks how memories are used and runs the nightly maintenance."""

    def __init__(
        self,
        dependencies: Dependencies,
        projects: OpenProjects,
        memories: MemoryService,
        writer: StoreWriter,
        events: EventBus,
        indexer: ProjectIndexer,
        activity: ActivityClock,
        preferences: QuestionPreferences,
    ) -> None:
        self._usage_file = dependencies.paths.state / USAGE_FILE
        self._own_cache = (
            dependencies.paths.cache / "user" / CODE_FILE
        )  # contains no code, but the record of compared pairs is stored next to it
        self._installation_file = dependencies.paths.data / "secret"  # created at the first start
        self._projects = projects
        self._activity = activity
        self._last_etag = ""  # etag of the bundle that was recorded last
        self._save_models = indexer.save
        self._store = dependencies.store
        self._store_settings = dependencies.settings.store
        self._now = dependencies.now
        self._settings = dependencies.settings.consolidation
        self.usage = UsageTracker.load(self._usage_file)
        self._preferences = preferences
        log = RunLog(dependencies.paths.data / "consolidation")
        making = ChangeApplier(dependencies.memory_cache, memories, writer, log)
        work = PlanExecutor(
            dependencies.planner,
            dependencies.store,
            dependencies.journal,
            memories,
            making,
            log,
            self.usage,
            self._settings,
            now=dependencies.now,
            save_usage=self.save_usage,
            models=dependencies.models if dependencies.settings.embedding.judges_pairs else None,
            verdicts=dependencies.verdicts_file,
        )
        self.runs = RunManager(
            work, making, log, events, self._settings, list_owners=self._list_owners, now=dependencies.now
        )

    def start(self, tasks: TaskSupervisor) -> None:
        """Start the background tasks."""
        tasks.start("consolidation", self.runs.run_unfinished)
        tasks.start("catching up", self.catch_up)
        tasks.start("usage", self.run_saving)

    # Events

    def on_bundle_served(self, bundle: Bundle, project_id: str) -> None:
        """Record which memories are shown in a bundle that was requested.

        A repeated bundle, recognised by its etag, is skipped. Items that are not memories have ids with a prefix
        before a colon, possibly followed by a person's name, and are skipped too.
        """
        if bundle.etag != self._last_etag:
            self._last_etag = bundle.etag
            items = ((item.id, _get_paths(item.source)) for item in bundle.items if ":" not in item.id)
            self.usage.record_shown(items, self._now(), project_id)

    def record_search(self, query: str, project: str | None, answer: SearchAnswer) -> SearchAnswer:
        """Record the results of a query, and return them as earlier reactions rank them."""
        answer = structs.replace(answer, results=self._preferences.rerank(query, project, answer.results))
        memories = [result.id for result in answer.results if result.kind != "code"]
        self.usage.record_query(query, project, memories, self._now())
        return answer

    def before_signal(self, signal: Signal, project: Project, tree: WorkingTree) -> None:
        """Record the usage of memories that a signal implies."""
        match signal:
            case FileOpened(path=path, source=source):
                self.usage.record_open(path, signal.at, by_agent=source == BY_AGENT)
            case FileSaved(path=path):
                self.usage.record_save(path)
            case FilesChanged(saved=saved):
                for path in saved:
                    self.usage.record_save(path)
            case ContextUsed(memory=str(identifier)):
                self.usage.record_use(identifier, signal.at)

    def record_feedback(self, items: Iterable[tuple[FeedbackItem, str | None]]) -> None:
        """Record explicit feedback items, each paired with its project or None."""
        for item, project in items:
            self.usage.record_feedback(item.id, item.outcome, self._now(), note=item.note, project=project)

    def add_recent_usage(self, memory: Memory) -> Memory:
        """Return a copy of the memory that includes its recent usage.

        This is the usage since the last run, which the next run stores. The stored memory is not changed.
        """
        return replace(memory, usage=add_tally(memory.usage, self.usage.get_tally(memory.id)))

    async def get_memory_usage(self, memory: Memory) -> MemoryUsageAnswer:
        """Return the usage and consolidation history of a memory, for `hunch why`."""
        return MemoryUsageAnswer(
            usage=memory_to_record(self.add_recent_usage(memory)).usage,
            events=[*self._preferences.list_events(memory.id), *self.usage.list_events(memory.id)],
            changes=await self.runs.list_memory_changes(memory.id),
        )

    async def forget_memories(self, ids: Sequence[str]) -> None:
        """Remove erased memories from usage data and run logs."""
        self.usage.forget(ids)
        self._preferences.forget(ids)
        await self.runs.forget_memories(ids)
        await self.save_usage()

    async def leave_project(self, project_id: str) -> None:
        """Stop the current run from writing to a project that is being removed."""
        await self.runs.exclude_project(project_id)

    async def forget_project(self, project_id: str) -> None:
        self.usage.forget_project(project_id)
        self._preferences.forget_project(project_id)
        await self.runs.forget_memories((), project_id)
        await self.save_usage()

    # Storing

    async def save_usage(self) -> None:
        """Write changed usage data to its file; log a failure."""
        for path, payload in (
            (self._usage_file, self.usage.dump()),
            (self._preferences.path, self._preferences.dump()),
        ):
            if payload is not None:
                try:
                    await asyncio.to_thread(replace_private_file, path, payload)
                except (OSError, HunchError) as error:
                    logger.warning("could not save the usage data: %s", error)

    async def run_saving(self) -> None:
        """Save the usage data every SAVE_INTERVAL_SECONDS, until cancelled."""
        while True:
            await asyncio.sleep(SAVE_INTERVAL_SECONDS)
            await self.save_usage()

    async def stop(self) -> None:
        await self.runs.close()
        await self.save_usage()

    def status(self) -> StatusFields:
        return {"consolidation": self.runs.status()}

    # At night

    async def run_nightly(self) -> None:
        """Delete old signals, snapshot the store, save the models, then consolidate."""
        await self._store.delete_signals_before(self._now() - timedelta(days=self._store_settings.signals_days))
        await self._store.snapshot(self._store_settings.snapshots)
        for project in self._projects:
            if not project.indexing:
                await asyncio.to_thread(self._save_models, project)
        await self.consolidate_when_idle()

    async def consolidate_when_idle(self) -> None:
        """Wait until the daemon is idle, then consolidate.

        After MAX_IDLE_WAIT_SECONDS the run starts even if the daemon is still busy.
        """
        waiting_seconds = 0.0
        while (
            self._activity.idle_seconds < self._settings.idle_minutes * 60 and waiting_seconds < MAX_IDLE_WAIT_SECONDS
        ):
            await asyncio.sleep(IDLE_POLL_SECONDS)
            waiting_seconds += IDLE_POLL_SECONDS
        try:
            await self.runs.run_nightly()
        except HunchError as error:  # retried automatically, at the latest the next night
            logger.warning("the nightly run did not finish and will be retried: %s", error.message)

    async def catch_up(self) -> None:
        """Run a missed nightly consolidation some minutes after the daemon has started."""
        await asyncio.sleep(CATCH_UP_DELAY_SECONDS)
        if self._settings.nightly and await self.runs.is_due(self._get_installation_time()):
            await self.consolidate_when_idle()

    def _get_installation_time(self) -> datetime:
        """Return the time of the first start of this installation.

        If that time is unknown, the current time is returned.
        """
        try:
            return datetime.fromtimestamp(self._installation_file.stat().st_mtime, UTC)
        except OSError:
            return self._now()

    def _list_owners(self, name: str | None) -> list[MemoryOwner]:
        if name is not None:
            return [project_to_owner(self._projects.find(name)[0])]
        return [
            MemoryOwner(None, cache=str(self._own_cache)),
            *(project_to_owner(project) for project in self._projects),
        ]


def project_to_owner(project: Project) -> MemoryOwner:
    is_settled = project.state == "ready" and not project.index_error and get_side_branch(project) is None
    return MemoryOwner(
        project.id,
        project.name,
        str(project.root) if not project.is_missing else "",
        str(project.cache / CODE_FILE) if project.code is not None else "",
        is_settled,
    )


def _get_paths(source: Any) -> tuple[str, ...]:
    path = source.get("path")
    return (path,) if isinstance(path, str) else ()
