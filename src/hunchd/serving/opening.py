"""Listening sockets: loopback TCP and a Unix socket for this user only."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from hunchd.config.places import LONGEST_SOCKET_PATH, make_private
from hunchd.domain.errors import ConfigError
from hunchd.serving.answering import unexpected_answer, unreadable_answer
from hunchd.serving.http import ACCESS, CONNECTIONS, LIMITS
from hunchd.serving.limits import HEADER, HEADERS, REQUEST_LINE

_FAMILIES: Final = {"127.0.0.1": socket.AF_INET, "localhost": socket.AF_INET, "::1": socket.AF_INET6}
_BACKLOG: Final = 256  # connections queued by the system while the daemon is busy

protocol_logger = logging.getLogger("hunchd.serving.connections")


@asynccontextmanager
async def open_doors(
    app: web.Application,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    socket_path: Path | None = None,
    uid: int | None = None,
    inherited: Sequence[socket.socket] = (),
) -> AsyncIterator[tuple[str, Path | None]]:
    """Serve `app`; yield its URL and its Unix socket, None if there is none.

    `port` 0 lets the system choose. Only processes of `uid`, by default this process's user, may use the Unix socket.
    `inherited` sockets are listening already, replace our own, and are left for the next daemon. Raises ConfigError
    for an
    address that is not loopback.
    """
    app[ACCESS].uid = os.getuid() if uid is None and hasattr(os, "getuid") else uid
    protocol_logger.addFilter(_unreadable_requests_are_no_errors)
    async with AsyncExitStack() as opened:
        given = {_family(each): opened.enter_context(each) for each in inherited}
        listening = [given.get("tcp") or opened.enter_context(_tcp(host, port))]
        if (unix := given.get("unix")) is not None:
            socket_path = Path(os.fsdecode(unix.getsockname()))
            listening.append(unix)
        elif socket_path is not None and hasattr(socket, "AF_UNIX"):
            listening.append(opened.enter_context(_unix(socket_path)))
            opened.callback(socket_path.unlink, missing_ok=True)
        address = listening[0].getsockname()
        runner = web.AppRunner(app, shutdown_timeout=app[LIMITS].stop)
        await runner.setup()
        opened.push_async_callback(runner.cleanup)
        for each in listening:
            server = await _serving(runner, each, app)
            opened.callback(server.close)
        name = f"[{address[0]}]" if ":" in address[0] else address[0]
        yield f"http://{name}:{address[1]}", socket_path if len(listening) > 1 else None


class _Connection(web.RequestHandler):
    """Connection that answers malformed HTTP with the contract's error shape."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        refused = super().handle_error(request, status, exc, message)
        told = unreadable_answer(refused.status) if refused.status < 500 else unexpected_answer()
        told.force_close()
        return told


async def _serving(runner: web.AppRunner, listening: socket.socket, app: web.Application) -> asyncio.Server:
    server, connections, limits = runner.server, app[CONNECTIONS], app[LIMITS]
    assert server is not None
    loop = asyncio.get_running_loop()

    def factory() -> web.RequestHandler:
        connection = _Connection(
            server,
            loop=loop,
            # None: the metrics suffice; a line for each request would wear out the disk.
            access_log=None,  # type: ignore[arg-type] # accepted by aiohttp, despite its annotation
            logger=protocol_logger,
            keepalive_timeout=limits.wait,
            lingering_time=1.0,
            max_line_size=REQUEST_LINE,
            max_field_size=HEADER,
            max_headers=HEADERS,
            auto_decompress=False,
        )
        return connections.admitted(connection)

    if listening.family == getattr(socket, "AF_UNIX", None):
        # An inherited socket belongs to the service manager and must not be deleted, which Python does from 3.13 on.
        if sys.version_info >= (3, 13):
            return await loop.create_unix_server(factory, sock=listening, backlog=_BACKLOG, cleanup_socket=False)
        return await loop.create_unix_server(factory, sock=listening, backlog=_BACKLOG)
    return await loop.create_server(factory, sock=listening, backlog=_BACKLOG)


def _family(listening: socket.socket) -> str:
    """Return the kind of an inherited socket, "tcp" or "unix".

    Raises ConfigError if others could reach it.
    """
    listening.setblocking(False)
    if listening.type == socket.SOCK_STREAM:
        if listening.family == getattr(socket, "AF_UNIX", None):
            return "unix"
        if listening.family in _FAMILIES.values() and listening.getsockname()[0] in _FAMILIES:
            return "tcp"
    raise ConfigError(f"the service manager passed a socket that is neither loopback nor Unix:  {listening!r:.200}")


def _tcp(host: str, port: int) -> socket.socket:
    family = _FAMILIES.get(host)
    if family is None:
        raise ConfigError(f"the daemon listens on loopback only ({', '.join(_FAMILIES)}), not on {ascii(host)[:60]}")
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1" if family == socket.AF_INET else host, port))
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise ConfigError(f"cannot listen on {host}, port {port}: {error.strerror}") from error
    return listening


def _unix(path: Path) -> socket.socket:
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        raise ConfigError(f"the socket's path is longer than {LONGEST_SOCKET_PATH} bytes: {path}")
    make_private(path.parent)
    _remove_stale(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # so that it is never open to others, not even for a moment
    try:
        listening.bind(str(path))
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise ConfigError(f"cannot create the socket {path}: {error.strerror}") from error
    finally:
        os.umask(before)
    return listening


def _remove_stale(path: Path) -> None:
    """Delete the socket of a killed daemon.

    The caller holds the daemon's lock, so nobody listens there.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise ConfigError(f"{path} exists and is not a socket; remove it")
    path.unlink()


def _unreadable_requests_are_no_errors(record: logging.LogRecord) -> bool:
    """Filter out aiohttp's log records of malformed requests.

    They quote the line: a token may be in it, and anyone could fill the disk.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))
