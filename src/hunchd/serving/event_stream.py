"""GET /events: server-sent events with heartbeats.

A client that does not read its events is disconnected.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from typing import Any

from aiohttp import web

from hunchd.domain.errors import Overloaded
from hunchd.domain.json_values import JsonObject
from hunchd.serving.limits import ServerLimits
from hunchd.serving.responses import encode_json, start_response

logger = logging.getLogger(__name__)


class EventListeners:
    """Clients that are connected to GET /events.

    Three things are limited: the number of clients, the number of bytes buffered for each client (64 KiB), and the
    time that each write may take.
    """

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._tasks: set[asyncio.Task[Any]] = set()
        self.dropped_count = 0

    def __len__(self) -> int:
        return len(self._tasks)

    async def serve(self, request: web.Request, events: AsyncIterator[JsonObject]) -> web.StreamResponse:
        """Send `events` until the client or the daemon stops.

        A client that stops reading is disconnected. Raises Overloaded if too many clients are already connected.
        """
        if len(self._tasks) >= self._limits.listeners:
            raise Overloaded(
                f"{self._limits.listeners} clients are already listening, which is the limit",
                retry_after=self._limits.heartbeat_seconds,
            )
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            response = await _start_stream(request)
            await self._send_events(response, events)
        finally:
            self._tasks.discard(task)
            await _close_events(events)
        return response

    async def _send_events(self, response: web.StreamResponse, events: AsyncIterator[JsonObject]) -> None:
        upcoming: asyncio.Future[JsonObject] = asyncio.ensure_future(anext(events))
        try:
            while True:
                finished_tasks, _ = await asyncio.wait({upcoming}, timeout=self._limits.heartbeat_seconds)
                if not finished_tasks:
                    await self._write_in_time(response.write(b": still here\n\n"))
                    continue
                await self._write_in_time(response.write(encode_event(upcoming.result())))
                upcoming = asyncio.ensure_future(anext(events))
        except StopAsyncIteration:
            return
        except TimeoutError:
            self.dropped_count += 1
            response.force_close()
            logger.info(
                "a client of the event stream has read nothing for %.0f s; disconnecting it", self._limits.write_seconds
            )
        except ConnectionError:
            logger.debug("an event listener disconnected")
        finally:
            upcoming.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
                await upcoming

    async def _write_in_time(self, write: Awaitable[None]) -> None:
        async with asyncio.timeout(self._limits.write_seconds):
            await write

    def close(self) -> None:
        """Disconnect all clients, because the daemon is stopping."""
        for task in self._tasks:
            task.cancel()


def encode_event(event: JsonObject) -> bytes:
    """Encode one event, with its type as the event name.

    JSON contains no unescaped line breaks, so the data fits on one line.
    """
    name = str(event.get("type", "message")).replace("\n", " ").replace("\r", " ")
    return b"event: " + name.encode("utf-8", "replace") + b"\ndata: " + encode_json(event) + b"\n\n"


async def _start_stream(request: web.Request) -> web.StreamResponse:
    response = await start_response(request, "text/event-stream; charset=utf-8")
    await response.write(b": hello\n\n")
    return response


async def _close_events(events: AsyncIterator[JsonObject]) -> None:
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()
