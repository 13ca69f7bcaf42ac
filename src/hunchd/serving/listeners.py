"""Listening sockets: loopback TCP, and a Unix socket for this user only."""

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

from hunchd.config.app_paths import MAX_SOCKET_PATH_BYTES, ensure_private_folder
from hunchd.domain.errors import ConfigError
from hunchd.serving.http import ACCESS, CONNECTIONS, LIMITS
from hunchd.serving.limits import MAX_HEADER_BYTES, MAX_HEADERS, MAX_REQUEST_LINE_BYTES
from hunchd.serving.responses import internal_error_response, malformed_request_response

_FAMILIES: Final = {"127.0.0.1": socket.AF_INET, "localhost": socket.AF_INET, "::1": socket.AF_INET6}
_BACKLOG_CONNECTIONS: Final = 256  # connections queued by the system while the daemon is busy

protocol_logger = logging.getLogger("hunchd.serving.connections")


@asynccontextmanager
async def serve_app(
    app: web.Application,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    socket_path: Path | None = None,
    uid: int | None = None,
    inherited_sockets: Sequence[socket.socket] = (),
) -> AsyncIterator[tuple[str, Path | None]]:
    """Serve `app`; yield its URL and the path of its Unix socket.

    The path is None if there is no Unix socket. If `port` is 0, the operating system chooses a port. Only processes of
    the user `uid` (by default, the user who runs this process) may use the Unix socket. `inherited_sockets` are
    sockets that are already listening; they are used instead of the daemon's own sockets. Raises ConfigError if an
    address is not loopback.
    """
    app[ACCESS].uid = os.getuid() if uid is None and hasattr(os, "getuid") else uid
    protocol_logger.addFilter(_is_loggable)
    async with AsyncExitStack() as stack:
        inherited_by_family = {_classify_socket(each): stack.enter_context(each) for each in inherited_sockets}
        sockets = [inherited_by_family.get("tcp") or stack.enter_context(_bind_tcp(host, port))]
        if (unix := inherited_by_family.get("unix")) is not None:
            socket_path = Path(os.fsdecode(unix.getsockname()))
            sockets.append(unix)
        elif socket_path is not None and hasattr(socket, "AF_UNIX"):
            sockets.append(stack.enter_context(_bind_unix(socket_path)))
            stack.callback(socket_path.unlink, missing_ok=True)
        address = sockets[0].getsockname()
        runner = web.AppRunner(app, shutdown_timeout=app[LIMITS].shutdown_seconds)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        for each in sockets:
            server = await _start_server(runner, each, app)
            stack.callback(server.close)
        name = f"[{address[0]}]" if ":" in address[0] else address[0]
        yield f"http://{name}:{address[1]}", socket_path if len(sockets) > 1 else None


class _Connection(web.RequestHandler):
    """Connection that answers malformed HTTP in the API's error format."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        default_response = super().handle_error(request, status, exc, message)
        response = (
            malformed_request_response(default_response.status)
            if default_response.status < 500
            else internal_error_response()
        )
        response.force_close()
        return response


async def _start_server(runner: web.AppRunner, listener: socket.socket, app: web.Application) -> asyncio.Server:
    server, connections, limits = runner.server, app[CONNECTIONS], app[LIMITS]
    assert server is not None
    loop = asyncio.get_running_loop()

    def create_connection() -> web.RequestHandler:
        connection = _Connection(
            server,
            loop=loop,
            # None: the metrics suffice; a line for each request would wear out the disk.
            access_log=None,  # type: ignore[arg-type] # accepted by aiohttp, despite its annotation
            logger=protocol_logger,
            keepalive_timeout=limits.idle_seconds,
            lingering_time=1.0,
            max_line_size=MAX_REQUEST_LINE_BYTES,
            max_field_size=MAX_HEADER_BYTES,
            max_headers=MAX_HEADERS,
            auto_decompress=False,
        )
        return connections.admit(connection)

    if listener.family == getattr(socket, "AF_UNIX", None):
        # An inherited socket belongs to the service manager and must not be deleted, which Python does from 3.13 on.
        if sys.version_info >= (3, 13):
            return await loop.create_unix_server(
                create_connection, sock=listener, backlog=_BACKLOG_CONNECTIONS, cleanup_socket=False
            )
        return await loop.create_unix_server(create_connection, sock=listener, backlog=_BACKLOG_CONNECTIONS)
    return await loop.create_server(create_connection, sock=listener, backlog=_BACKLOG_CONNECTIONS)


def _classify_socket(listener: socket.socket) -> str:
    """Return the kind of an inherited socket: "tcp" or "unix".

    Raises ConfigError if the socket is neither loopback nor Unix, because other machines could then reach it.
    """
    listener.setblocking(False)
    if listener.type == socket.SOCK_STREAM:
        if listener.family == getattr(socket, "AF_UNIX", None):
            return "unix"
        if listener.family in _FAMILIES.values() and listener.getsockname()[0] in _FAMILIES:
            return "tcp"
    raise ConfigError(f"the service manager passed a socket that is neither loopback nor Unix: {listener!r:.200}")


def _bind_tcp(host: str, port: int) -> socket.socket:
    family = _FAMILIES.get(host)
    if family is None:
        raise ConfigError(f"the daemon listens on loopback only ({', '.join(_FAMILIES)}), not on {ascii(host)[:60]}")
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1" if family == socket.AF_INET else host, port))
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise ConfigError(f"cannot listen on {host}, port {port}: {error.strerror}") from error
    return listener


def _bind_unix(path: Path) -> socket.socket:
    if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
        raise ConfigError(f"the path of the socket is longer than {MAX_SOCKET_PATH_BYTES} bytes: {path}")
    ensure_private_folder(path.parent)
    _remove_stale_socket(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old_umask = os.umask(0o177)  # so that the socket is never open to others, not even for a moment
    try:
        listener.bind(str(path))
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise ConfigError(f"cannot create the socket {path}: {error.strerror}") from error
    finally:
        os.umask(old_umask)
    return listener


def _remove_stale_socket(path: Path) -> None:
    """Delete the socket file that a killed daemon left behind.

    The caller holds the daemon's lock, so no daemon is listening on the socket. Raises ConfigError if `path` is a
    different kind of file.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise ConfigError(f"{path} exists and is not a socket; remove it")
    path.unlink()


def _is_loggable(record: logging.LogRecord) -> bool:
    """Return False for aiohttp's log records of malformed requests.

    These records quote the request line, which may contain a token, and anyone could fill the disk with them.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))
