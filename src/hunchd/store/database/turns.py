"""Who may work with a store when: many read, one writes, now and then one is alone; what fails is mended once."""

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

# What fails twice within this time fails for a reason that mending does not mend.
MEND_AGAIN_AFTER: Final = 300.0  # seconds
CLOSE_PATIENCE: Final = 5.0  # seconds: an export goes at the pace of whoever reads it


class Turns:
    """Of the store in `folder`; `mend` is called by who writes. Unless `writable`, nothing is written or mended."""

    def __init__(self, folder: Path, mend: Callable[[], Awaitable[None]], *, writable: bool) -> None:
        self._folder = folder
        self._mend = mend
        self._writable = writable
        self._writing = asyncio.Lock()
        self._gate = Gate()
        self._mended_at = float("-inf")
        self._closed = False

    async def write(self, work: Callable[[], Awaitable[Answer]], *, mending: bool = False) -> Answer:
        """One at a time, and to its end even if nobody waits for it any more.

        `mending`: the work may be done again from its beginning, and is, after the store was mended.
        """
        if not self._writable:
            raise StoreError("this store was written by a newer hunchd and is only read")

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
        """A read that fails is tried once more after the store was mended."""
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
        """Nobody is alone meanwhile. Raises StoreClosed."""
        async with self._gate.reading():
            self._must_be_open()
            yield

    def alone(self) -> AbstractAsyncContextManager[None]:
        """Nobody reads meanwhile. For who has the turn to write."""
        return self._gate.alone()

    async def mended(self) -> None:
        await self.write(self._mend)

    def worth_mending(self, error: StoreError) -> bool:
        """Whether the failure may come from damage on the disk that can be mended: the first one in a while."""
        lately = time.monotonic() - self._mended_at < MEND_AGAIN_AFTER
        if not self._writable or isinstance(error, StoreClosed) or lately:
            return False
        self._mended_at = time.monotonic()
        logger.warning("%s cannot be used as it is (%s); mending it", self._folder, error)
        return True

    async def close(self, end: Callable[[], None]) -> None:
        """`end` it after the writes under way, and the reads unless one stalls; who comes later gets StoreClosed."""
        async with self._writing:
            self._closed = True
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_PATIENCE), self._gate.alone():
                    pass
            end()

    def _must_be_open(self) -> None:
        if self._closed:
            raise StoreClosed(f"{self._folder.name} is closed")
