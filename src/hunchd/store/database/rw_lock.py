"""Asynchronous reader-writer lock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ReadWriteLock:
    """Lock that is either shared by many readers or held exclusively by one task."""

    def __init__(self) -> None:
        self._condition = asyncio.Condition()
        self._reader_count = 0
        self._is_exclusive = False

    @asynccontextmanager
    async def hold_shared(self) -> AsyncIterator[None]:
        """Hold the lock together with other readers, waiting while it is held exclusively."""
        async with self._condition:
            await self._condition.wait_for(lambda: not self._is_exclusive)
            self._reader_count += 1
        try:
            yield
        finally:
            async with self._condition:
                self._reader_count -= 1
                self._condition.notify_all()

    @asynccontextmanager
    async def hold_exclusive(self) -> AsyncIterator[None]:
        """Hold the lock exclusively.

        New readers are blocked at once; the lock is acquired as soon as the active readers have ended.
        """
        async with self._condition:
            await self._condition.wait_for(lambda: not self._is_exclusive)
            self._is_exclusive = True
        try:
            async with self._condition:
                await self._condition.wait_for(lambda: self._reader_count == 0)
            yield
        finally:
            async with self._condition:
                self._is_exclusive = False
                self._condition.notify_all()
