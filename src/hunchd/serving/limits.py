"""Limits on what one client may cost: sizes, timeouts, connections."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from aiohttp import web

# Fits a path and a query of 4,096 bytes each, percent-encoded, and the rest.
REQUEST_LINE: Final = 32 * 1024  # bytes
HEADER: Final = 8 * 1024  # bytes of one header
HEADERS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of the HTTP server."""

    body: int = 8 * 1024 * 1024  # bytes; a thousand long memories
    line: int = 4 * 1024 * 1024  # bytes of one imported line: the largest stored memory, escaped
    connections: int = 256  # a quarter of the usual limit of open files
    wait: float = 20.0  # seconds that a connection may take to send a request's head, or stay idle
    read: float = 30.0  # seconds that a body, or the next part of an import, may take to arrive
    listeners: int = 32  # clients of GET /events
    write: float = 10.0  # seconds that a listener may take to read what was sent
    heartbeat: float = 15.0  # seconds between heartbeats on GET /events
    stop: float = 0.5  # seconds that responses in progress get when the daemon stops


class Connections:
    """Open connections, bounded in number.

    When there are too many, the one that has waited longest is closed. A client that opens hundreds and sends
    nothing, or
    one byte at a time, so loses its own first: a connection whose request is being answered is never closed.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[web.RequestHandler, None] = {}  # longest waiting first
        self._busy: set[web.RequestHandler] = set()
        self.closed = 0  # connections closed by the limit

    def admitted(self, connection: web.RequestHandler) -> web.RequestHandler:
        """Register a new connection, before its first byte."""
        if len(self._waiting) + len(self._busy) >= self._most:
            self._forget_closed()
        while self._waiting and len(self._waiting) + len(self._busy) >= self._most:
            self.closed += 1
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.force_close()
        # Its transport is set a moment later: until then it would look closed.
        asyncio.get_running_loop().call_soon(self._waiting.setdefault, connection, None)
        return connection

    def begins(self, connection: web.RequestHandler) -> None:
        """Mark the connection as busy: the head of a request has arrived."""
        self._waiting.pop(connection, None)
        self._busy.add(connection)

    def ends(self, connection: web.RequestHandler) -> None:
        """Mark the connection as waiting: its request is answered."""
        self._busy.discard(connection)
        if connection.transport is not None:
            self._waiting[connection] = None

    def __len__(self) -> int:
        self._forget_closed()
        return len(self._waiting) + len(self._busy)

    def _forget_closed(self) -> None:
        self._waiting = {each: None for each in self._waiting if each.transport is not None}
