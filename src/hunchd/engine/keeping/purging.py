"""Purging of deleted memories from disk, batched for concurrent callers.

The store rewrites all files of a project for a purge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from hunchd.store.client import StoreClient

# Longer than dozens of deletions take, short enough for the first caller.
GATHERED_WITHIN: Final = 2.0  # seconds


class Purges:
    """Scheduler that shares one purge of a project among callers."""

    def __init__(self, store: StoreClient) -> None:
        self._store = store
        self._coming = 0  # callers that are still deleting
        self._arrived = asyncio.Event()
        self._arrived.set()
        self._gathering: dict[str | None, asyncio.Task[None]] = {}  # by project: purges not begun yet

    @contextmanager
    def coming(self) -> Iterator[None]:
        """Announce a deletion that will request a purge.

        A purge not yet begun waits for it.
        """
        self._coming += 1
        self._arrived.clear()
        try:
            yield
        finally:
            self._coming -= 1
            if not self._coming:
                self._arrived.set()

    async def purge(self, project: str | None) -> None:
        """Purge a project; return when no deleted byte is left on disk.

        Covers what the store had deleted before the call.
        """
        task = self._gathering.get(project)
        if task is None:
            task = self._gathering[project] = asyncio.create_task(self._purge(project), name="purge")
        await asyncio.shield(task)

    async def _purge(self, project: str | None) -> None:
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(GATHERED_WITHIN):
                    await self._arrived.wait()
        finally:
            del self._gathering[project]  # later callers may have deleted more
        await self._store.purge(project)
