"""Fake daemon with configurable responses: real HTTP on a real Unix socket, found through a real rendezvous file."""

from __future__ import annotations

import json
import os
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from hunchd import PROTOCOL
from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths
from hunchd.protocol import rendezvous
from hunchd.protocol.rendezvous import Rendezvous

Answer = tuple[int, Any]
TOKEN = "t" * 43
ANOTHERS = {"error": {"code": "unauthorized", "message": "the token does not belong to this daemon"}}


@dataclass
class FakeDaemon:
    """Fake with responses by "METHOD /path"; a function gets the query or the body. Records its requests."""

    told: Rendezvous
    routes: dict[str, Answer | Callable[[Any], Answer]] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    on_token: Callable[[], None] | None = None  # called before a token is looked at

    def bodies(self, route: str) -> list[Any]:
        return [given for name, given in self.asked if name == route]

    def publish(self, **changes: Any) -> None:
        """Write the rendezvous file, with some of its values replaced."""
        rendezvous.write_rendezvous(resolve_app_paths().rendezvous_file, self.told._replace(**changes))


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    fake: FakeDaemon


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: object) -> None:
        """Silence: a test that fails says enough."""

    def _any(self) -> None:
        fake = self.server.fake
        address = urlsplit(self.path)
        route = f"{self.command} {unquote(address.path)}"
        given: Any = dict(parse_qsl(address.query)) if self.command == "GET" else self._body()
        if route != "GET /health":
            if fake.on_token is not None:
                fake.on_token()
            if self.headers["Authorization"] == f"Bearer {TOKEN}":
                fake.asked.append((route, given))
            else:
                route = "another's token"
        missing = {"error": {"code": "not_found", "message": f"there is no {route}"}}
        found = fake.routes.get(route, (404, missing) if route != "another's token" else (401, ANOTHERS))
        status, answer = found(given) if callable(found) else found
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any

    def _body(self) -> Any:
        if self.headers.get("Transfer-Encoding") == "chunked":
            content = b""
            while length := int(self.rfile.readline(), 16):
                content += self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
            return content
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return json.loads(content) if content else None


@contextmanager
def running() -> Iterator[FakeDaemon]:
    """Run a fake that listens and has written its rendezvous file, until the block ends."""
    where = resolve_app_paths()
    ensure_private_folder(where.runtime)
    server = _Server(str(where.socket_file), _Handler)
    server.fake = FakeDaemon(
        Rendezvous(PROTOCOL, "http://127.0.0.1:9", str(where.socket_file), TOKEN, os.getpid(), "0.1.0"),
        {"GET /health": (200, {"status": "ok", "protocol": PROTOCOL, "version": "0.1.0"})},
    )
    server.fake.publish()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def project_at(root: Path, **changes: Any) -> dict[str, Any]:
    done = {"done": 12, "total": 12}
    progress = {"commits": done, "files": done, "embeddings": done}
    return {
        "id": "p1",
        "path": str(root),
        "name": root.name,
        "branch": "main",
        "state": "ready",
        "progress": progress,
    } | changes


def bundle(**changes: Any) -> dict[str, Any]:
    item = {
        "id": "m1",
        "kind": "file",
        "tier": 2,
        "level": "summary",
        "tokens": 12,
        "score": 0.61,
        "reasons": ["changed together 9 of 11 times"],
        "source": {"path": "src/tax.py"},
        "trust": "project",
    }
    return {
        "status": "ok",
        "degraded": [],
        "context": "# src/cart.py\n\n- src/tax.py\n",
        "token_count": 12,
        "budget": 8000,
        "tiers": {"tier1": 0, "tier2": 12, "tier3": 0, "tier4": 0},
        "items": [item],
        "prefetched": False,
        "etag": "e",
    } | changes
