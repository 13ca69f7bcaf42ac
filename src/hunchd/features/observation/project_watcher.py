"""Watcher for project files, git state and the spool folder, which runs on one thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from hunchd.core.signal_intake import SignalIntake
from hunchd.core.state.dependencies import Dependencies, TaskSupervisor
from hunchd.core.state.feature import Feature, StatusFields
from hunchd.core.state.project import Project
from hunchd.domain.errors import Conflict, NotFound, Overloaded, StorageFull, StoreError, Unavailable
from hunchd.domain.signal import FilesChanged
from hunchd.protocol.status_answers import WatchingAnswer
from hunchd.repository.ignore import IgnoreRules
from hunchd.signals import spool
from hunchd.signals.file_watcher import FileWatcher, WatchOptions
from hunchd.signals.git_watcher import GitWatcher
from hunchd.signals.signal_queue import SignalQueue
from hunchd.signals.watcher_thread import WatcherThread

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0  # seconds before a rejected batch is retried, since watchers cannot send it again
SPOOL_BATCH_SIZE = 200  # messages passed on at once, so that requests are served in between

ResultT = TypeVar("ResultT")


class ProjectWatcher(Feature):
    """Feature that watches files, git and the spool folder, and passes signals to the intake."""

    def __init__(self, dependencies: Dependencies, intake: SignalIntake) -> None:
        settings = dependencies.settings.signals
        self._dependencies = dependencies
        self._intake = intake
        self._options = WatchOptions(opens=settings.watch_opens)
        self._feed = SignalQueue(settings.queue)
        self._watchers: dict[str, tuple[FileWatcher | None, GitWatcher | None]] = {}
        self._projects: dict[str, Project] = {}
        self._spool_changed = asyncio.Event()
        self._thread_failed = asyncio.Event()  # set when the thread has ended
        self._loop = asyncio.get_running_loop()
        self._thread, self._spool_watcher = self._create_thread()

    def _create_thread(self) -> tuple[WatcherThread, spool.SpoolWatcher]:
        thread = WatcherThread("hunchd-watch", on_failure=lambda: self._call_on_loop(self._thread_failed.set))
        return thread, spool.SpoolWatcher(self._dependencies.paths.spool, self._on_spool_changed, thread=thread)

    def start(self, tasks: TaskSupervisor) -> None:
        spool.create_spool_folders(self._dependencies.paths.spool)
        self._thread.start()
        self._spool_watcher.start()
        tasks.start("watch thread", self.run_supervision)
        tasks.start("signal feed", self.run_feed)
        tasks.start("spool", self.run_spool)

    def on_project_opened(self, project: Project) -> None:
        """Start watching a project; a large tree is scanned in the background."""
        files, git = None, None
        if self._dependencies.settings.signals.watch_files:
            rules = IgnoreRules.load(project.root, self._dependencies.settings.index.ignore)
            files = FileWatcher(project.root, rules, self._feed.put, options=self._options, thread=self._thread)
            files.start()
        if project.main.layout.git_dir is not None:
            git = GitWatcher(project.main.layout, self._feed.put, thread=self._thread, is_linked=True)
            git.start()
        self._watchers[project.id] = (files, git)
        self._projects[project.id] = project

    def on_project_closed(self, project: Project) -> None:
        """Stop watching a project."""
        self._projects.pop(project.id, None)
        for watcher in self._watchers.pop(project.id, ()):
            if watcher is not None:
                watcher.stop()

    async def run_supervision(self) -> None:
        """Wait for the watching thread to fail, then raise Unavailable.

        When the supervisor restarts this task, a new thread is started that watches all projects again.
        """
        if self._thread_failed.is_set():
            self._thread_failed.clear()
            self._thread, self._spool_watcher = self._create_thread()
            self._thread.start()
            self._spool_watcher.start()
            for project in list(self._projects.values()):
                self.on_project_opened(project)
                # Changes made in the meantime were not observed.
                self._feed.put(FilesChanged(project=str(project.root), at=datetime.now(UTC), complete=False))
        await self._thread_failed.wait()
        raise Unavailable("the watching thread has ended; see the log for the cause")

    async def run_feed(self) -> None:
        """Pass signals from the watchers to the signal intake, until cancelled."""
        while True:
            batch = await self._feed.read_batch()
            await self._retry_until_accepted(partial(self._intake.accept_observed, batch))
            self._feed.mark_done(len(batch))

    async def run_spool(self) -> None:
        """Pass messages from the spool to the signal intake, until cancelled.

        A message is deleted once it is in the journal.
        """
        while True:
            await self._spool_changed.wait()
            self._spool_changed.clear()
            drain = spool.open_spool(self._dependencies.paths.spool)
            entries = await asyncio.to_thread(list, drain)
            letters = [{"event_id": f"spool:{entry.name}", **entry.raw} for entry in entries if entry.raw is not None]
            for start in range(0, len(letters), SPOOL_BATCH_SIZE):
                answer = await self._retry_until_accepted(
                    partial(self._intake.accept, letters[start : start + SPOOL_BATCH_SIZE])
                )
                for rejection in answer.rejected:
                    # Global shell and git hooks report unknown repositories too, which is normal.
                    unknown = rejection.error.code in (NotFound.code, Conflict.code)  # a paused project raises Conflict
                    logger.log(
                        logging.DEBUG if unknown else logging.WARNING,
                        "rejected a message from the spool: %s",
                        rejection,
                    )
            await asyncio.to_thread(drain.acknowledge)

    async def _retry_until_accepted(self, accept: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Call `accept` until it succeeds, and return its result.

        If the disk or the queue is full, or the store fails, the call is repeated after a pause. Other errors are
        raised.
        """
        is_reported = False
        while True:
            try:
                return await accept()
            except (Overloaded, StorageFull, StoreError) as error:
                if not is_reported:
                    logger.warning("observed signals cannot be stored yet: %s; retrying", error.message)
                is_reported = True
            await asyncio.sleep(RETRY_SECONDS)

    def project_status(self, project: Project) -> StatusFields:
        """Return how a project's files and git state are being watched."""
        files, git = self._watchers.get(project.id, (None, None))
        return {
            "watching": WatchingAnswer(
                files=files.status() if files is not None else None, git=git.status() if git is not None else None
            )
        }

    def pending_signals(self) -> int:
        return len(self._feed)

    async def stop(self) -> None:
        self._spool_watcher.stop()
        self._watchers.clear()
        self._thread.stop()

    def _on_spool_changed(self) -> None:
        """Wake the task that reads the spool.

        This method is called on the watching thread.
        """
        self._call_on_loop(self._spool_changed.set)

    def _call_on_loop(self, call: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)
