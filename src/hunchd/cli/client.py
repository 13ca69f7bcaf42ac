"""Client of the daemon: JSON over HTTP.

Uses its Unix socket, or TCP if it has none.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

from hunchd import PROTOCOL
from hunchd.cli import http
from hunchd.cli.errors import CommandError, NoDaemon, Refused
from hunchd.config.places import places
from hunchd.protocol.rendezvous import Rendezvous, read

# A healthy daemon answers /health faster than this.
PING: Final = 2.0  # seconds
# A first answer over a cold store, or an erasure, may take this long.
PATIENCE: Final = 60.0  # seconds
_PAUSE: Final = 0.02  # seconds between two checks of the rendezvous file


class Client:
    """Client of one daemon."""

    def __init__(self, daemon: Rendezvous, *, timeout: float = PATIENCE) -> None:
        self.daemon = daemon
        self._address = address_of(daemon)
        self._timeout = timeout

    def get(self, path: str, **query: object) -> Any:
        """Send GET and return the JSON response.

        Query values of None are omitted.
        """
        return self._answer("GET", path + _query(query))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._answer("POST", path, body=_json(body), kind="application/json")

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._answer("PATCH", path, body=_json(body), kind="application/json")

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._answer("PUT", path, body=_json(body), kind="application/json")

    def delete(self, path: str) -> Any:
        return self._answer("DELETE", path)

    def upload(self, path: str, chunks: Iterable[bytes], *, kind: str) -> Any:
        return self._answer("POST", path, body=chunks, kind=kind)

    def lines(self, path: str, **query: object) -> Iterator[bytes]:
        """Yield the response line by line as it arrives, each with its newline.

        Raises NoDaemon if it is cut short.
        """
        response = self._send("GET", path + _query(query))
        try:
            yield from response.lines()
        except OSError as error:
            raise _gone(error) from error

    def _answer(self, method: str, path: str, *, body: http.Body | None = None, kind: str = "") -> Any:
        response = self._send(method, path, body=body, kind=kind)
        try:
            content = response.read()
        except OSError as error:
            raise _gone(error) from error
        return _parsed(content) if content else None

    def _send(self, method: str, path: str, *, body: http.Body | None = None, kind: str = "") -> http.Response:
        response = self._sent(method, path, body, kind)
        if response.status == 401 and (body is None or isinstance(body, bytes)) and self._found_again():
            response.close()
            response = self._sent(method, path, body, kind)
        if response.status >= 400:
            raise _refusal(response)
        return response

    def _sent(self, method: str, path: str, body: http.Body | None, kind: str) -> http.Response:
        headers = {"Authorization": f"Bearer {self.daemon.token}"} | ({"Content-Type": kind} if kind else {})
        try:
            return http.request(self._address, method, path, headers=headers, body=body, timeout=self._timeout)
        except OSError as error:
            raise _gone(error) from error

    def _found_again(self) -> bool:
        """Return True if a new daemon has replaced this one.

        After a crash it listens on the same socket some milliseconds before its rendezvous file replaces the old one.
        """
        deadline = time.monotonic() + PING
        while time.monotonic() < deadline:
            newer = read(places().rendezvous_file)
            if newer is not None and newer.token != self.daemon.token:
                self.daemon, self._address = newer, address_of(newer)
                return True
            time.sleep(_PAUSE)
        return False


def answers(daemon: Rendezvous, *, within: float = PING) -> bool:
    """Return True if the daemon answers /health within that many seconds."""
    try:
        response = http.request(address_of(daemon), "GET", "/health", headers={}, timeout=within)
        response.read()  # a disconnect before the end would be an error for the daemon
    except OSError:
        return False
    return response.status == 200


def is_connectable(daemon: Rendezvous) -> bool:
    """Return True if anything listens at the daemon's address."""
    try:
        http.connect(address_of(daemon), timeout=PING).close()
    except (TimeoutError, BlockingIOError):
        return True  # its backlog is full
    except OSError:
        return False
    return True


def check_protocol(daemon: Rendezvous) -> None:
    """Raise NoDaemon if the protocol versions differ.

    The message says which side is older.
    """
    if daemon.protocol == PROTOCOL:
        return
    told = f"the running daemon ({daemon.version}) speaks protocol {daemon.protocol}, this command {PROTOCOL}"
    if daemon.protocol < PROTOCOL:
        raise NoDaemon(f"{told}: the daemon is older.", hint="hunch restart starts the installed version.")
    raise NoDaemon(f"{told}: this command is older.", hint="Use the `hunch` that was installed with the daemon.")


def address_of(daemon: Rendezvous) -> http.Address:
    """Return the address for requests to the daemon."""
    url = urlsplit(daemon.url)
    return http.Address(daemon.socket, url.hostname or "127.0.0.1", url.port or 80)


def part(text: str) -> str:
    """Quote user input as one segment of a path.

    A name may contain bytes that are not UTF-8.
    """
    return quote(os.fsencode(text), safe="")


def _query(values: Mapping[str, object]) -> str:
    pairs = [f"{name}={part(str(value))}" for name, value in values.items() if value is not None]
    return "?" + "&".join(pairs) if pairs else ""


# Beginnings of hints that name a route, and the equivalent with a command.
_COMMANDS: Final = {
    "GET /consolidate lists": "hunch consolidate --runs lists",
    "GET /contradictions lists": "hunch contradictions lists",
    "GET /projects lists": "hunch projects lists",
    "GET /sessions lists": "hunch sessions list tells of",
}


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode("ascii")


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise CommandError("the daemon's answer is not JSON.", hint="hunch doctor looks for the cause.") from error


def _refusal(response: http.Response) -> Refused:
    """Convert an error response, with the daemon's own message if it has one."""
    try:
        told = json.loads(response.read())["error"]
        message, reason, hint = str(told["message"]), str(told.get("code", "")), told.get("hint")
    except (ValueError, TypeError, KeyError, OSError):
        message, reason, hint = f"the daemon answered {response.status}.", "", "hunch logs may show the cause."
    return Refused(message, status=response.status, reason=reason, hint=_as_command(hint))


def _as_command(hint: str | None) -> str | None:
    """Replace a route in the daemon's hint, meant for editors, by the equivalent command."""
    route = next((each for each in _COMMANDS if hint and hint.startswith(each)), None)
    return f"{_COMMANDS[route]}{hint.removeprefix(route)}" if hint and route else hint


def _gone(error: OSError) -> NoDaemon:
    if isinstance(error, TimeoutError):
        return NoDaemon("the daemon did not answer in time.", hint="hunch restart replaces one that hangs.")
    return NoDaemon(
        "the daemon ended during the request.", hint="hunch logs shows the cause; the next command restarts it."
    )
