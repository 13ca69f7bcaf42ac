"""Many may read at once; now and then one must be alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    """Reads pass at once, except while somebody is alone inside."""

    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self._reading = 0
        self._closed = False

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._closed)
            self._reading += 1
        try:
            yield
        finally:
            async with self._changed:
                self._reading -= 1
                self._changed.notify_all()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Keeps new reads out and waits until those under way have ended."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._closed)
            self._closed = True
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: self._reading == 0)
            yield
        finally:
            async with self._changed:
                self._closed = False
                self._changed.notify_all()
