"""HTTP server on loopback and on a Unix socket, with a client that has the token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientResponse, ClientSession, TCPConnector, web
from fake_engine import FakeEngine

from hunchd.serving.http import make_app
from hunchd.serving.limits import ServerLimits
from hunchd.serving.listeners import serve_app

TOKEN = "t0ken-" + "x" * 37


@dataclass
class Daemon:
    engine: FakeEngine
    app: web.Application
    url: str
    socket: Path | None
    client: ClientSession

    async def get(self, path: str, **options: Any) -> ClientResponse:
        return await self.client.get(self.url + path, **options)

    async def post(self, path: str, body: Any) -> ClientResponse:
        return await self.client.post(self.url + path, json=body)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def raw(self, request: bytes) -> bytes:
        """Send these bytes; return everything that is received until the connection closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        try:
            return await asyncio.wait_for(reader.read(), 5)
        finally:
            writer.close()


@asynccontextmanager
async def daemon_at(home: Path, limits: ServerLimits | None = None) -> AsyncIterator[Daemon]:
    engine = FakeEngine()
    app = make_app(engine, TOKEN, limits=limits)
    socket = home / "run" / "daemon.sock"
    # The doors close first, so that they are seen to close while clients are connected.
    async with (
        ClientSession(headers={"Authorization": f"Bearer {TOKEN}"}, connector=TCPConnector(limit=0)) as client,
        serve_app(app, socket_path=socket) as (url, path),
    ):
        yield Daemon(engine, app, url, path, client)
