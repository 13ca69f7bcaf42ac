"""Limits on the resources that a client can use: sizes, timeouts, connections."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from aiohttp import web

# Fits a path and a query of 4,096 bytes each, percent-encoded, and the rest.
MAX_REQUEST_LINE_BYTES: Final = 32 * 1024  # bytes
MAX_HEADER_BYTES: Final = 8 * 1024  # bytes of one header
MAX_HEADERS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Limits of the HTTP server."""

    body_bytes: int = 8 * 1024 * 1024  # bytes; enough for a thousand long memories
    line_bytes: int = 4 * 1024 * 1024  # bytes of one imported line: the largest stored memory, escaped
    connections: int = 256  # a quarter of the usual limit on open files
    idle_seconds: float = 20.0  # seconds that a connection may take to send a request's head, or stay idle
    read_seconds: float = 30.0  # seconds that a body, or the next part of an import, may take to arrive
    listeners: int = 32  # clients of GET /events
    write_seconds: float = 10.0  # seconds that a listener may take to read what was sent
    heartbeat_seconds: float = 15.0  # seconds between heartbeats on GET /events
    shutdown_seconds: float = 0.5  # seconds that responses in progress get when the daemon stops


class ConnectionPool:
    """Limited set of open connections.

    If there are too many, the connection that has been idle longest is closed. A client that opens hundreds of
    connections and sends nothing, or only one byte at a time, therefore loses its own connections first. A connection
    is never closed while its request is being answered.
    """

    def __init__(self, max_connections: int) -> None:
        self._max_connections = max_connections
        self._idle_connections: dict[web.RequestHandler, None] = {}  # longest waiting first
        self._busy_connections: set[web.RequestHandler] = set()
        self.closed_count = 0  # connections closed because of the limit

    def admit(self, connection: web.RequestHandler) -> web.RequestHandler:
        """Register a new connection before its first byte arrives, and return it."""
        if len(self._idle_connections) + len(self._busy_connections) >= self._max_connections:
            self._forget_closed()
        while (
            self._idle_connections
            and len(self._idle_connections) + len(self._busy_connections) >= self._max_connections
        ):
            self.closed_count += 1
            oldest = next(iter(self._idle_connections))
            del self._idle_connections[oldest]
            oldest.force_close()
        # The connection's transport is set a moment later; until then it would look closed.
        asyncio.get_running_loop().call_soon(self._idle_connections.setdefault, connection, None)
        return connection

    def mark_busy(self, connection: web.RequestHandler) -> None:
        """Mark the connection as busy, because the headers of a request have arrived."""
        self._idle_connections.pop(connection, None)
        self._busy_connections.add(connection)

    def mark_idle(self, connection: web.RequestHandler) -> None:
        """Mark the connection as idle, because its request has been answered."""
        self._busy_connections.discard(connection)
        if connection.transport is not None:
            self._idle_connections[connection] = None

    def __len__(self) -> int:
        self._forget_closed()
        return len(self._idle_connections) + len(self._busy_connections)

    def _forget_closed(self) -> None:
        self._idle_connections = {each: None for each in self._idle_connections if each.transport is not None}
