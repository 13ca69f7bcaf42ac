"""TCP proxy in front of an object store: counts, delays, refuses with 503, drops connections."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.object_stores import free_port


@dataclass
class Proxy:
    """Proxy on a port of its own, as a member reaches the store."""

    target: int
    port: int = field(default_factory=free_port)
    requests: int = 0
    received_bytes: int = 0
    listings: int = 0  # GET with a list of names
    writes: int = 0  # PUT and POST
    delay: float = 0.0  # seconds before each request is passed on
    refused_share: float = 0.0
    is_down: bool = False
    offline_until: float = 0.0  # whatever happens to the others
    _copying: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def is_well(self) -> bool:
        return not (self.is_cut or self.delay or self.refused_share)

    @property
    def is_cut(self) -> bool:
        return self.is_down or time.monotonic() < self.offline_until

    def trouble(self, delay: float, refused_share: float, is_down: bool) -> None:
        self.delay, self.refused_share, self.is_down = delay, refused_share, is_down

    def recover(self) -> None:
        self.trouble(0.0, 0.0, is_down=False)
        self.offline_until = 0.0

    def start(self) -> None:
        started = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(started)), daemon=True).start()
        started.wait()

    async def _serve(self, started: threading.Event) -> None:
        server = await asyncio.start_server(self._handle, "127.0.0.1", self.port)
        started.set()
        async with server:
            await server.serve_forever()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: asyncio.StreamWriter | None = None
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self._count(head)
                if self.is_cut:
                    return
                await asyncio.sleep(self.delay)
                if random.random() < self.refused_share:
                    writer.write(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    await writer.drain()
                    return
                if upstream is None:
                    source, upstream = await asyncio.open_connection("127.0.0.1", self.target)
                    copying = asyncio.create_task(self._copy_back(source, writer))
                    self._copying.add(copying)
                    copying.add_done_callback(self._copying.discard)
                upstream.write(head)
                await self._copy_body(head, reader, upstream)
        except (ConnectionError, asyncio.IncompleteReadError, OSError):
            pass
        finally:
            for each in (writer, upstream):
                if each is not None:
                    each.close()

    def _count(self, head: bytes) -> None:
        line = head.split(b"\r\n", 1)[0]
        self.requests += 1
        self.listings += b"list-type=" in line
        self.writes += line.startswith((b"PUT", b"POST"))

    async def _copy_body(self, head: bytes, reader: asyncio.StreamReader, upstream: asyncio.StreamWriter) -> None:
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])
        }
        length = int(headers.get(b"content-length", 0))
        while length:
            chunk = await reader.read(min(length, 65_536))
            if not chunk:
                raise ConnectionResetError
            length -= len(chunk)
            upstream.write(chunk)
        await upstream.drain()

    async def _copy_back(self, source: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await source.read(65_536):
                if self.is_cut:
                    return
                self.received_bytes += len(chunk)
                writer.write(chunk)
                await writer.drain()
        except (ConnectionError, OSError):
            pass
        finally:
            writer.close()
