"""Asynchronous reader-writer lock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    """Lock that many readers share, or one holder has exclusively."""

    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self._reading = 0
        self._closed = False

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Hold the gate with other readers while no writer has it."""
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
        """Block new reads and wait until the active ones have ended."""
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
