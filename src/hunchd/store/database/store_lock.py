"""Concurrency control of a store: many readers, one writer, exclusive sections.

An operation that fails is retried once, after the store has been repaired.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from hunchd.domain.errors import StoreClosed, StoreError

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

# A second failure within this time has a cause that a repair does not fix.
REPAIR_INTERVAL: Final = 300.0  # seconds
CLOSE_WAIT_SECONDS: Final = 5.0  # seconds: an export runs at the pace of its reader


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


class StoreLock:
    """Locks for the store in `folder`.

    `repair` is called with the write lock held. If `writable` is False, nothing is written or repaired.
    """

    def __init__(self, folder: Path, repair: Callable[[], Awaitable[None]], *, writable: bool) -> None:
        self._folder = folder
        self._repair = repair
        self._writable = writable
        self._write_lock = asyncio.Lock()
        self._rw_lock = ReadWriteLock()
        self._repaired_at = float("-inf")
        self._is_closed = False

    async def run_write(self, work: Callable[[], Awaitable[Result]], *, retry_after_repair: bool = False) -> Result:
        """Run `work` with the write lock held.

        `work` is completed even if the caller is cancelled. With `retry_after_repair`, it is run again from the
        beginning after the store has been repaired.
        """
        if not self._writable:
            raise StoreError("this store was written by a newer hunchd and is read-only")

        async def run_locked() -> Result:
            async with self._write_lock:
                self._check_open()
                try:
                    return await work()
                except StoreError as error:
                    if not retry_after_repair or not self.should_repair(error):
                        raise
                await self._repair()
                return await work()

        return await asyncio.shield(asyncio.ensure_future(run_locked()))

    async def run_read(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Run a read operation; if it fails, repair the store and retry once."""
        try:
            async with self.hold_shared():
                return await work()
        except StoreError as error:
            if not self.should_repair(error):
                raise
        await self.run_repair()
        async with self.hold_shared():
            return await work()

    @asynccontextmanager
    async def hold_shared(self) -> AsyncIterator[None]:
        """Hold the shared lock. Raises StoreClosed if the store has been closed."""
        async with self._rw_lock.hold_shared():
            self._check_open()
            yield

    def hold_exclusive(self) -> AbstractAsyncContextManager[None]:
        """Hold the exclusive lock, which keeps readers out. The caller must hold the write lock."""
        return self._rw_lock.hold_exclusive()

    async def run_repair(self) -> None:
        """Repair the tables, with the write lock held."""
        await self.run_write(self._repair)

    def should_repair(self, error: StoreError) -> bool:
        """Return True if a repair may help against `error`.

        This is the case if the store is writable and open, and if no repair was begun within the last REPAIR_INTERVAL
        seconds. If True is returned, a repair counts as begun.
        """
        is_recent = time.monotonic() - self._repaired_at < REPAIR_INTERVAL
        if not self._writable or isinstance(error, StoreClosed) or is_recent:
            return False
        self._repaired_at = time.monotonic()
        logger.warning("%s is damaged (%s); repairing it", self._folder, error)
        return True

    async def close(self, close_tables: Callable[[], None]) -> None:
        """Call `close_tables` once active writes and reads have ended.

        Later calls raise StoreClosed. If reads take longer than CLOSE_WAIT_SECONDS, the tables are closed without
        waiting for their end.
        """
        async with self._write_lock:
            self._is_closed = True
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_WAIT_SECONDS), self._rw_lock.hold_exclusive():
                    pass
            close_tables()

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreClosed(f"{self._folder.name} is closed")


def under_read_lock(
    method: Callable[Concatenate[Any, Arguments], Awaitable[Result]],
) -> Callable[Concatenate[Any, Arguments], Awaitable[Result]]:
    """Make a method hold the read lock of its object's `lock`.

    If the method fails, it is run again after a repair.
    """

    @wraps(method)
    async def run(self: Any, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        lock: StoreLock = self.lock
        return await lock.run_read(lambda: method(self, *args, **kwargs))

    return run


def under_write_lock(
    *, retry_after_repair: bool
) -> Callable[
    [Callable[Concatenate[Any, Arguments], Awaitable[Result]]], Callable[Concatenate[Any, Arguments], Awaitable[Result]]
]:
    """Make a method hold the write lock of its object's `lock`. See `StoreLock.run_write`."""

    def decorate(
        method: Callable[Concatenate[Any, Arguments], Awaitable[Result]],
    ) -> Callable[Concatenate[Any, Arguments], Awaitable[Result]]:
        @wraps(method)
        async def run(self: Any, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            lock: StoreLock = self.lock
            return await lock.run_write(lambda: method(self, *args, **kwargs), retry_after_repair=retry_after_repair)

        return run

    return decorate
