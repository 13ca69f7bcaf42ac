"""Watching of project files, git state and the hooks' spool, on one thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from hunchd.domain.errors import Overloaded, StorageFull, StoreError, Unavailable
from hunchd.domain.signal import FilesChanged
from hunchd.engine.signal_intake import SignalIntake
from hunchd.engine.state.feature import Feature
from hunchd.engine.state.parts import Parts, Tasks
from hunchd.engine.state.project import Project
from hunchd.repository.ignore import IgnoreRules
from hunchd.signals import spool
from hunchd.signals.feed import Feed
from hunchd.signals.files import FileWatcher, WatchOptions
from hunchd.signals.git import GitWatcher
from hunchd.signals.watching import WatchThread

logger = logging.getLogger(__name__)

AGAIN = 1.0  # seconds before a rejected batch is retried: watchers cannot be told to come back
LETTERS = 200  # messages passed on at once, so that requests are served in between

Kept = TypeVar("Kept")


class Watching(Feature):
    """Feature that observes files, git and the spool, and passes what it finds to the signal intake."""

    def __init__(self, parts: Parts, intake: SignalIntake) -> None:
        settings = parts.settings.signals
        self._parts = parts
        self._intake = intake
        self._options = WatchOptions(
            burst=settings.burst_ms / 1_000,
            bulk_files=settings.bulk_files,
            max_watches=settings.max_watched_directories,
            opens=settings.watch_opens,
        )
        self._feed = Feed(settings.queue)
        self._watchers: dict[str, tuple[FileWatcher | None, GitWatcher | None]] = {}
        self._projects: dict[str, Project] = {}
        self._letters = asyncio.Event()
        self._blind = asyncio.Event()  # set when the thread died
        self._loop = asyncio.get_running_loop()
        self._thread, self._letterbox = self._eyes()

    def _eyes(self) -> tuple[WatchThread, spool.SpoolWatcher]:
        thread = WatchThread("hunchd-watch", failed=lambda: self._on_loop(self._blind.set))
        return thread, spool.SpoolWatcher(self._parts.places.spool, self._news, thread=thread)

    def start(self, tasks: Tasks) -> None:
        spool.prepare(self._parts.places.spool)
        self._thread.start()
        self._letterbox.start()
        tasks.start("eyes", self.keep_watching)
        tasks.start("watching", self.take_in)
        tasks.start("letterbox", self.empty_letterbox)

    def on_project_opened(self, project: Project) -> None:
        """Start watching a project; a large tree is scanned in the background."""
        files, git = None, None
        if self._parts.settings.signals.watch_files:
            rules = IgnoreRules.load(project.root, self._parts.settings.index.ignore)
            files = FileWatcher(project.root, rules, self._feed.put, options=self._options, thread=self._thread)
            files.start()
        if project.main.layout.git_dir is not None:
            git = GitWatcher(project.main.layout, self._feed.put, thread=self._thread, linked=True)
            git.start()
        self._watchers[project.id] = (files, git)
        self._projects[project.id] = project

    def on_project_closed(self, project: Project) -> None:
        """Stop watching a project."""
        self._projects.pop(project.id, None)
        for watcher in self._watchers.pop(project.id, ()):
            if watcher is not None:
                watcher.stop()

    async def keep_watching(self) -> None:
        """Wait for the thread to fail, then raise Unavailable.

        When the supervisor restarts this task, everything is watched anew.
        """
        if self._blind.is_set():
            self._blind.clear()
            self._thread, self._letterbox = self._eyes()
            self._thread.start()
            self._letterbox.start()
            for project in list(self._projects.values()):
                self.on_project_opened(project)
                # What happened meanwhile nobody saw.
                self._feed.put(FilesChanged(project=str(project.root), at=datetime.now(UTC), complete=False))
        await self._blind.wait()
        raise Unavailable("the watch thread ended; see the log for the cause")

    async def take_in(self) -> None:
        """Pass observed signals on, forever."""
        while True:
            batch = await self._feed.batch()
            await self._until_kept(partial(self._intake.accept_observed, batch))
            self._feed.done(len(batch))

    async def empty_letterbox(self) -> None:
        """Pass spool messages on, forever.

        A message is deleted once it is in the journal.
        """
        while True:
            await self._letters.wait()
            self._letters.clear()
            drain = spool.drain(self._parts.places.spool)
            entries = await asyncio.to_thread(list, drain)
            letters = [{"event_id": f"spool:{entry.name}", **entry.raw} for entry in entries if entry.raw is not None]
            for start in range(0, len(letters), LETTERS):
                answer = await self._until_kept(partial(self._intake.accept, letters[start : start + LETTERS]))
                for refused in answer["rejected"]:
                    # Global shell and git hooks report unknown repositories too, which is normal.
                    unknown = refused["error"].get("code") == "not_found"
                    logger.log(logging.DEBUG if unknown else logging.WARNING, "spool message was rejected: %s", refused)
            await asyncio.to_thread(drain.acknowledge)

    async def _until_kept(self, keep: Callable[[], Awaitable[Kept]]) -> Kept:
        """Call `accept` until the journal accepts it.

        A full disk or queue is waited for.
        """
        told = False
        while True:
            try:
                return await keep()
            except (Overloaded, StorageFull, StoreError) as error:
                if not told:
                    logger.warning("observed signals have to wait: %s", error.message)
                told = True
            await asyncio.sleep(AGAIN)

    def project_status(self, project: Project) -> dict[str, Any]:
        """Return how the project is watched."""
        files, git = self._watchers.get(project.id, (None, None))
        return {
            "watching": {
                "files": files.status() if files is not None else None,
                "git": git.status() if git is not None else None,
            }
        }

    def pending_signals(self) -> int:
        return len(self._feed)

    async def stop(self) -> None:
        self._letterbox.stop()
        self._watchers.clear()
        self._thread.stop()

    def _news(self) -> None:
        """Wake the spool task; called on the watching thread."""
        self._on_loop(self._letters.set)

    def _on_loop(self, call: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)
