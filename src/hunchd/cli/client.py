"""Speaks with the daemon: HTTP over its Unix socket, or over TCP where it has none."""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

from hunchd import PROTOCOL
from hunchd.cli.errors import CommandError, NoDaemon, Refused
from hunchd.protocol.rendezvous import Rendezvous

# A daemon that takes longer than this to say it is there is not well.
PING: Final = 2.0  # seconds
# A first answer over a cold store, or an erasure, may take this long.
PATIENCE: Final = 60.0  # seconds


class Client:
    """One connection to one daemon. Closed by `close`, or by the end of a `with` block."""

    def __init__(self, daemon: Rendezvous, *, timeout: float = PATIENCE) -> None:
        self.daemon = daemon
        self._connection = _connection(daemon, timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def get(self, path: str, **query: object) -> Any:
        """The JSON answer. A query value of None is left out."""
        return self._answer("GET", path + _query(query))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._answer("POST", path, body=_json(body), kind="application/json")

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._answer("PATCH", path, body=_json(body), kind="application/json")

    def delete(self, path: str) -> Any:
        return self._answer("DELETE", path)

    def lines(self, path: str, **query: object) -> Iterator[bytes]:
        """The answer line by line, as it arrives; each ends with its newline."""
        response = self._send("GET", path + _query(query))
        _refuse(response, response.status)
        try:
            yield from response
        except (http.client.HTTPException, OSError) as error:
            raise _gone(error) from error

    def upload(self, path: str, chunks: Iterable[bytes], *, kind: str) -> Any:
        return self._answer("POST", path, body=chunks, kind=kind)

    def _answer(self, method: str, path: str, *, body: bytes | Iterable[bytes] | None = None, kind: str = "") -> Any:
        response = self._send(method, path, body=body, kind=kind)
        _refuse(response, response.status)
        try:
            content = response.read()
        except (http.client.HTTPException, OSError) as error:
            raise _gone(error) from error
        return _parsed(content) if content else None

    def _send(
        self, method: str, path: str, *, body: bytes | Iterable[bytes] | None = None, kind: str = ""
    ) -> http.client.HTTPResponse:
        headers = {"Authorization": f"Bearer {self.daemon.token}"}
        if kind:
            headers["Content-Type"] = kind
        try:
            self._connection.request(method, path, body=body, headers=headers)
        except BrokenPipeError:
            # The daemon may have refused before it read the whole body: its answer says why.
            pass
        except (http.client.HTTPException, OSError) as error:
            raise _gone(error) from error
        try:
            return self._connection.getresponse()
        except (http.client.HTTPException, OSError) as error:
            raise _gone(error) from error


def answers(daemon: Rendezvous, *, within: float = PING) -> bool:
    """Whether the daemon says within that many seconds that it is there."""
    connection = _connection(daemon, within)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (http.client.HTTPException, OSError):
        return False
    finally:
        connection.close()


def is_connectable(daemon: Rendezvous) -> bool:
    """Whether anybody listens there at all."""
    connection = _connection(daemon, PING)
    try:
        connection.connect()
    except TimeoutError:
        return True
    except OSError:
        return False
    finally:
        connection.close()
    return True


def check_protocol(daemon: Rendezvous) -> None:
    """Raises NoDaemon when the two cannot understand each other, and says which one is older."""
    if daemon.protocol == PROTOCOL:
        return
    told = f"the running daemon ({daemon.version}) speaks protocol {daemon.protocol}, this command {PROTOCOL}"
    if daemon.protocol < PROTOCOL:
        raise NoDaemon(f"{told}: the daemon is older.", hint="hunch restart starts the installed version.")
    raise NoDaemon(f"{told}: this command is older.", hint="Use the `hunch` that was installed with the daemon.")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except BaseException:
            self.sock.close()
            raise


def _connection(daemon: Rendezvous, timeout: float) -> http.client.HTTPConnection:
    if daemon.socket and hasattr(socket, "AF_UNIX"):
        return _UnixConnection(daemon.socket, timeout)
    address = urlsplit(daemon.url)
    return http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=timeout)


def _query(values: Mapping[str, object]) -> str:
    pairs = [f"{name}={quote(os.fsencode(str(value)), safe='')}" for name, value in values.items() if value is not None]
    return "?" + "&".join(pairs) if pairs else ""


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode("ascii")


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise CommandError("the daemon's answer is not JSON.", hint="hunch doctor looks into it.") from error


def _refuse(response: http.client.HTTPResponse, status: int) -> None:
    """Raises Refused, in the daemon's own words, unless the answer is a good one."""
    if status < 400:
        return
    try:
        told = json.loads(response.read())["error"]
        message, reason, hint = str(told["message"]), str(told.get("code", "")), told.get("hint")
    except (ValueError, TypeError, KeyError, http.client.HTTPException, OSError):
        message, reason, hint = f"the daemon answered {status}.", "", "hunch logs may say why."
    raise Refused(message, status=status, reason=reason, hint=hint)


def _gone(error: Exception) -> NoDaemon:
    if isinstance(error, TimeoutError):
        return NoDaemon("the daemon did not answer in time.", hint="hunch status, or hunch restart if it hangs.")
    return NoDaemon("the daemon went away during the request.", hint="hunch logs says why; the next command starts it.")
