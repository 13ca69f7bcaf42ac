"""Minimal HTTP/1.1 client for one local daemon.

Each request has its own connection; bodies have a known length or are sent in chunks. `http.client` is not used,
because it first imports the libraries for mail and TLS, which takes a third of the run time of a short command.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from hunchd.config.app_paths import is_private

_MAX_LINE_BYTES: Final = 65_536  # bytes: longest header line
_MAX_HEADERS: Final = 100  # lines

Body = bytes | Iterable[bytes]


class Address(NamedTuple):
    """Address of the daemon: the path of its Unix socket, or its host and port.

    `path` is None if the daemon has no socket.
    """

    path: str | None
    host: str
    port: int


class MalformedResponse(OSError):
    """Raised if the received data is no complete HTTP response."""


class HttpResponse:
    """HTTP response whose body has not been read yet.

    The caller must close the response or read it to its end.
    """

    def __init__(self, status: int, headers: Mapping[str, str], stream: BinaryIO, connection: socket.socket) -> None:
        self.status = status
        self._headers = headers
        self._stream = stream
        self._connection = connection

    def close(self) -> None:
        self._stream.close()
        self._connection.close()

    def read_body(self) -> bytes:
        """Read the whole body. Raises MalformedResponse if the response ends early."""
        return b"".join(self.iterate_pieces())

    def iterate_lines(self) -> Iterator[bytes]:
        """Yield the lines of the body as they arrive, each with its newline."""
        partial_line = b""
        for piece in self.iterate_pieces():
            *complete, partial_line = (partial_line + piece).split(b"\n")
            for line in complete:
                yield line + b"\n"
        if partial_line:
            yield partial_line

    def iterate_pieces(self) -> Iterator[bytes]:
        """Yield pieces of the body as they arrive, and close the response after the last one."""
        try:
            if self._headers.get("transfer-encoding", "").lower() == "chunked":
                yield from self._iterate_chunks()
            elif "content-length" in self._headers:
                yield self._read_exactly(int(self._headers["content-length"]))
            elif self.status not in (204, 304):
                yield self._stream.read()
        except ValueError as error:
            raise MalformedResponse(f"invalid length in the response: {error}") from error
        finally:
            self.close()

    def _iterate_chunks(self) -> Iterator[bytes]:
        while length := int(self._stream.readline(_MAX_LINE_BYTES).split(b";")[0], 16):
            yield self._read_exactly(length)
            self._stream.readline(_MAX_LINE_BYTES)

    def _read_exactly(self, length: int) -> bytes:
        content = self._stream.read(length)
        if len(content) < length:
            raise MalformedResponse("the response ended early")
        return content


def send_request(
    address: Address,
    method: str,
    target: str,
    *,
    headers: Mapping[str, str],
    body: Body | None = None,
    timeout: float,
) -> HttpResponse:
    """Send a request, and return the response once its headers have arrived.

    `timeout` is in seconds and applies to each single wait, not to the whole exchange. Raises OSError if the
    exchange fails.
    """
    connection = connect(address, timeout=timeout)
    try:
        try:
            _write_request(connection, method, target, headers, body)
        except (BrokenPipeError, ConnectionResetError):
            # A server may reject a request before it has read the whole body; its response has the reason.
            if body is None:
                raise
        stream = connection.makefile("rb")
        status, response_headers = _read_head(stream)
    except BaseException:
        connection.close()
        raise
    return HttpResponse(status, response_headers, stream, connection)


def connect(address: Address, *, timeout: float) -> socket.socket:
    if address.path is None:
        return socket.create_connection((address.host, address.port), timeout)
    if not is_private(Path(address.path).parent):  # anybody could listen there, and would receive the token
        raise PermissionError(errno.EACCES, "the folder of the socket is not private", address.path)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    try:
        connection.connect(address.path)
    except BaseException:
        connection.close()
        raise
    return connection


def _write_request(
    connection: socket.socket,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes | Iterable[bytes] | None,
) -> None:
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if isinstance(body, bytes):
        lines.append(f"Content-Length: {len(body)}")
    elif body is not None:
        lines.append("Transfer-Encoding: chunked")
    head = "\r\n".join((*lines, "", "")).encode("ascii")
    connection.sendall(head + body if isinstance(body, bytes) else head)
    if body is not None and not isinstance(body, bytes):
        for chunk in body:
            if chunk:
                connection.sendall(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        connection.sendall(b"0\r\n\r\n")


def _read_head(stream: BinaryIO) -> tuple[int, dict[str, str]]:
    """Return the status and the headers of a response.

    The names of the headers are in lower case.
    """
    first = stream.readline(_MAX_LINE_BYTES)
    if not first:
        raise MalformedResponse("the connection was closed without a response")
    version, _, rest = first.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        raise MalformedResponse("the response is not HTTP")
    headers: dict[str, str] = {}
    for _ in range(_MAX_HEADERS):
        line = stream.readline(_MAX_LINE_BYTES).strip()
        if not line:
            return int(rest[:3]), headers
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    raise MalformedResponse("the response has too many headers")
