"""Purging of deleted memories from disk.

Concurrent callers share a purge, because each purge rewrites all files of a project.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from hunchd.store.port import MemoryStore

# Longer than dozens of deletions take, but short enough for the first caller to wait.
GATHER_TIMEOUT_SECONDS: Final = 2.0  # seconds


class PurgeScheduler:
    """Scheduler that lets concurrent callers share one purge of a project."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._pending_callers = 0  # callers that are still deleting
        self._all_arrived = asyncio.Event()
        self._all_arrived.set()
        self._gathering_tasks: dict[str | None, asyncio.Task[None]] = {}  # by project: purges that have not begun yet

    @contextmanager
    def announce_deletion(self) -> Iterator[None]:
        """Announce a deletion that will request a purge.

        Purges that have not started yet wait until the `with` block ends.
        """
        self._pending_callers += 1
        self._all_arrived.clear()
        try:
            yield
        finally:
            self._pending_callers -= 1
            if not self._pending_callers:
                self._all_arrived.set()

    async def purge(self, project: str | None) -> None:
        """Purge a project; return when no deleted data is left on disk.

        The purge covers everything that was deleted from the store before the call.
        """
        task = self._gathering_tasks.get(project)
        if task is None:
            task = self._gathering_tasks[project] = asyncio.create_task(self._gather_and_purge(project), name="purge")
        await asyncio.shield(task)

    async def _gather_and_purge(self, project: str | None) -> None:
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(GATHER_TIMEOUT_SECONDS):
                    await self._all_arrived.wait()
        finally:
            del self._gathering_tasks[project]  # later callers may have deleted more
        await self._store.purge(project)
