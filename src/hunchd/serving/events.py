"""GET /events: server-sent events with heartbeats.

A client that does not read is disconnected.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from typing import Any

from aiohttp import web

from hunchd.domain.errors import Overloaded
from hunchd.serving.answering import begun, encoded
from hunchd.serving.limits import Limits

logger = logging.getLogger(__name__)


class Listeners:
    """Clients of GET /events.

    Bounded in number, in buffered bytes (64 KiB each) and in write time.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._tasks: set[asyncio.Task[Any]] = set()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._tasks)

    async def serve(self, request: web.Request, events: AsyncIterator[dict[str, Any]]) -> web.StreamResponse:
        """Send `events` until the client disconnects, stops reading, or the daemon stops.

        Raises Overloaded if there are too many listeners.
        """
        if len(self._tasks) >= self._limits.listeners:
            raise Overloaded(
                f"{self._limits.listeners} clients are listening already", retry_after=self._limits.heartbeat
            )
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            response = await _opened(request)
            await self._tell(response, events)
        finally:
            self._tasks.discard(task)
            await _closed(events)
        return response

    async def _tell(self, response: web.StreamResponse, events: AsyncIterator[dict[str, Any]]) -> None:
        upcoming: asyncio.Future[dict[str, Any]] = asyncio.ensure_future(anext(events))
        try:
            while True:
                done, _ = await asyncio.wait({upcoming}, timeout=self._limits.heartbeat)
                if not done:
                    await self._written(response.write(b": still here\n\n"))
                    continue
                await self._written(response.write(as_event(upcoming.result())))
                upcoming = asyncio.ensure_future(anext(events))
        except StopAsyncIteration:
            return
        except TimeoutError:
            self.dropped += 1
            response.force_close()
            logger.info("a listener did not read for %.0f s; disconnecting it", self._limits.write)
        except ConnectionError:
            logger.debug("a listener disconnected")
        finally:
            upcoming.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
                await upcoming

    async def _written(self, write: Awaitable[None]) -> None:
        async with asyncio.timeout(self._limits.write):
            await write

    def dismiss(self) -> None:
        """Disconnect all clients, because the daemon stops."""
        for task in self._tasks:
            task.cancel()


def as_event(event: dict[str, Any]) -> bytes:
    """Encode one event, named by its type.

    JSON contains no bare line break, so it is one line.
    """
    name = str(event.get("type", "message")).replace("\n", " ").replace("\r", " ")
    return b"event: " + name.encode("utf-8", "replace") + b"\ndata: " + encoded(event) + b"\n\n"


async def _opened(request: web.Request) -> web.StreamResponse:
    response = await begun(request, "text/event-stream; charset=utf-8")
    await response.write(b": hello\n\n")
    return response


async def _closed(events: AsyncIterator[dict[str, Any]]) -> None:
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()
