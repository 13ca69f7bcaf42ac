"""Each project's files and git state, watched on one thread; what it sees is handed to the loop in order."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hunchd.domain.errors import Overloaded
from hunchd.domain.signal import BranchCheckout, Signal
from hunchd.engine.parts import Parts
from hunchd.engine.project import Project, Tree
from hunchd.repository.ignore import IgnoreRules
from hunchd.signals.files import FileWatcher, WatchOptions
from hunchd.signals.git import GitWatcher
from hunchd.signals.watching import WatchThread

logger = logging.getLogger(__name__)

Seen = tuple[Signal, Project, Tree]
BATCH = 500  # signals handed on at once


class Watching:
    def __init__(self, parts: Parts, take: Callable[[Sequence[Seen]], Awaitable[None]]) -> None:
        settings = parts.settings.signals
        self._parts = parts
        self._take = take
        self._enabled = settings.watch_files
        self._most = settings.queue
        self._options = WatchOptions(
            burst=settings.burst_ms / 1_000,
            bulk_files=settings.bulk_files,
            max_watches=settings.max_watched_directories,
            opens=settings.watch_opens,
        )
        self._thread: WatchThread | None = None
        self._watchers: dict[str, tuple[FileWatcher | None, GitWatcher | None]] = {}
        self._queue: deque[Seen] = deque()
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def watch(self, project: Project) -> None:
        """Begin to watch a project; in the background, since a large tree takes a while."""
        if self._thread is None:
            self._thread = WatchThread("hunchd-watch")
            self._thread.start()

        def emit(signal: Signal) -> None:
            self._seen((signal, project, project.tree_of(signal.project)))

        files = None
        if self._enabled:
            rules = IgnoreRules.load(project.root, self._parts.settings.index.ignore)
            files = FileWatcher(project.root, rules, emit, options=self._options, thread=self._thread)
            files.start()
        git = None
        if project.main.layout.git_dir is not None:
            git = GitWatcher(project.main.layout, emit, thread=self._thread, linked=True)
            git.start()
        self._watchers[project.id] = (files, git)

    def unwatch(self, project: Project) -> None:
        for watcher in self._watchers.pop(project.id, ()):
            if watcher is not None:
                watcher.stop()

    async def run(self) -> None:
        """Hand on what the watchers see, for ever."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                batch = [self._queue[index] for index in range(min(BATCH, len(self._queue)))]
                for signal, project, tree in batch:
                    _look(signal, project, tree)
                await self._take(batch)
                for _ in batch:
                    self._queue.popleft()

    def status(self, project: Project) -> dict[str, Any]:
        """How the project is watched, in figures."""
        files, git = self._watchers.get(project.id, (None, None))
        return {
            "files": files.status() if files is not None else None,
            "git": git.status() if git is not None else None,
        }

    @property
    def pending(self) -> int:
        return len(self._queue)

    def close(self) -> None:
        for watchers in self._watchers.values():
            for watcher in watchers:
                if watcher is not None:
                    watcher.stop()
        self._watchers.clear()
        if self._thread is not None:
            self._thread.stop()

    def _seen(self, seen: Seen) -> None:
        """Called on the watching thread."""
        if len(self._queue) >= self._most:
            raise Overloaded(f"{self._most} signals of watchers wait", retry_after=1.0)
        self._queue.append(seen)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake.set)


def _look(signal: Signal, project: Project, tree: Tree) -> None:
    """HEAD may have moved: the tree must know before anybody asks."""
    if not isinstance(signal, BranchCheckout) and tree.look():
        project.touch()
