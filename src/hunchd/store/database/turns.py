"""Concurrency control of a store: many readers, one writer, exclusive sections.

An operation that fails is retried once after a repair.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from hunchd.domain.errors import StoreClosed, StoreError
from hunchd.store.database.gate import Gate

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")

# A second failure within this time has a cause that a repair does not fix.
MEND_AGAIN_AFTER: Final = 300.0  # seconds
CLOSE_PATIENCE: Final = 5.0  # seconds: an export runs at the pace of its reader


class Turns:
    """Locks of the store in `folder`.

    `mend` is called with the write lock held. Unless `writable`, nothing is written or repaired.
    """

    def __init__(self, folder: Path, mend: Callable[[], Awaitable[None]], *, writable: bool) -> None:
        self._folder = folder
        self._mend = mend
        self._writable = writable
        self._writing = asyncio.Lock()
        self._gate = Gate()
        self._mended_at = float("-inf")
        self._closed = False

    async def write(self, work: Callable[[], Awaitable[Answer]], *, mending: bool = False) -> Answer:
        """Run `work` with the write lock.

        It runs to its end even if the caller is cancelled. `mending` allows to repeat the work from its beginning
        after the store was repaired.
        """
        if not self._writable:
            raise StoreError("this store was written by a newer hunchd and is read-only")

        async def in_turn() -> Answer:
            async with self._writing:
                self._must_be_open()
                try:
                    return await work()
                except StoreError as error:
                    if not mending or not self.worth_mending(error):
                        raise
                await self._mend()
                return await work()

        return await asyncio.shield(asyncio.ensure_future(in_turn()))

    async def read(self, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Run a read, retried once after a repair."""
        try:
            async with self.reading():
                return await work()
        except StoreError as error:
            if not self.worth_mending(error):
                raise
        await self.mended()
        async with self.reading():
            return await work()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Hold the shared lock. Raises StoreClosed."""
        async with self._gate.reading():
            self._must_be_open()
            yield

    def alone(self) -> AbstractAsyncContextManager[None]:
        """Hold the exclusive lock, which keeps readers out. Requires the write lock."""
        return self._gate.alone()

    async def mended(self) -> None:
        """Repair the tables in the turn of a write."""
        await self.write(self._mend)

    def worth_mending(self, error: StoreError) -> bool:
        """Return True if a repair may help: the first failure within MEND_AGAIN_AFTER."""
        lately = time.monotonic() - self._mended_at < MEND_AGAIN_AFTER
        if not self._writable or isinstance(error, StoreClosed) or lately:
            return False
        self._mended_at = time.monotonic()
        logger.warning("%s is damaged (%s); repairing it", self._folder, error)
        return True

    async def close(self, end: Callable[[], None]) -> None:
        """Call `end` after active writes and reads; later calls raise StoreClosed.

        A read that stalls for CLOSE_PATIENCE seconds is not waited for.
        """
        async with self._writing:
            self._closed = True
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_PATIENCE), self._gate.alone():
                    pass
            end()

    def _must_be_open(self) -> None:
        if self._closed:
            raise StoreClosed(f"{self._folder.name} is closed")
