"""HTTP client for the daemon's JSON interface.

It connects to the daemon's Unix socket, or over TCP if the daemon has no socket.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

from hunchd import PROTOCOL
from hunchd.cli import http
from hunchd.cli.errors import CommandError, NoDaemon, RequestRejected
from hunchd.config.app_paths import resolve_app_paths
from hunchd.protocol.rendezvous import Rendezvous, read_rendezvous

# A healthy daemon answers /health faster than this.
PING_TIMEOUT_SECONDS: Final = 2.0  # seconds
# The first answer from a store that is not loaded yet, or an erasure, may take this long.
REQUEST_TIMEOUT_SECONDS: Final = 60.0  # seconds
_POLL_INTERVAL_SECONDS: Final = 0.02  # seconds between two checks of the rendezvous file


class Client:
    """HTTP client that sends requests to one daemon."""

    def __init__(self, daemon: Rendezvous, *, timeout: float = REQUEST_TIMEOUT_SECONDS) -> None:
        self.daemon = daemon
        self._address = get_address(daemon)
        self._timeout = timeout

    def get(self, path: str, **query: object) -> Any:
        """Send a GET request and return the JSON response.

        Parameters in `query` whose value is None are omitted.
        """
        return self._request_json("GET", path + _encode_query(query))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._request_json("POST", path, body=_encode_body(body), kind="application/json")

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._request_json("PATCH", path, body=_encode_body(body), kind="application/json")

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._request_json("PUT", path, body=_encode_body(body), kind="application/json")

    def delete(self, path: str) -> Any:
        return self._request_json("DELETE", path)

    def upload(self, path: str, body: http.Body, *, kind: str) -> Any:
        return self._request_json("POST", path, body=body, kind=kind)

    def iterate_lines(self, path: str, **query: object) -> Iterator[bytes]:
        """Yield the lines of a response as they arrive, each with its newline.

        Raises NoDaemon if the connection is lost before the end of the response.
        """
        response = self._send_with_retry("GET", path + _encode_query(query))
        try:
            yield from response.iterate_lines()
        except OSError as error:
            raise _connection_lost(error) from error

    def _request_json(self, method: str, path: str, *, body: http.Body | None = None, kind: str = "") -> Any:
        response = self._send_with_retry(method, path, body=body, kind=kind)
        try:
            content = response.read_body()
        except OSError as error:
            raise _connection_lost(error) from error
        return _parse_response(content) if content else None

    def _send_with_retry(
        self, method: str, path: str, *, body: http.Body | None = None, kind: str = ""
    ) -> http.HttpResponse:
        response = self._send_once(method, path, body, kind)
        if response.status == 401 and (body is None or isinstance(body, bytes)) and self._find_replacement():
            response.close()
            response = self._send_once(method, path, body, kind)
        if response.status >= 400:
            raise _to_request_rejected(response)
        return response

    def _send_once(self, method: str, path: str, body: http.Body | None, kind: str) -> http.HttpResponse:
        headers = {"Authorization": f"Bearer {self.daemon.token}"} | ({"Content-Type": kind} if kind else {})
        try:
            return http.send_request(self._address, method, path, headers=headers, body=body, timeout=self._timeout)
        except OSError as error:
            raise _connection_lost(error) from error

    def _find_replacement(self) -> bool:
        """Switch to the daemon that has replaced this client's daemon.

        Returns True if a replacement was found. After a crash, the new daemon listens on the same socket some
        milliseconds before it replaces the old rendezvous file, so this waits for up to PING_TIMEOUT_SECONDS.
        """
        deadline = time.monotonic() + PING_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            replacement = read_rendezvous(resolve_app_paths().rendezvous_file)
            if replacement is not None and replacement.token != self.daemon.token:
                self.daemon, self._address = replacement, get_address(replacement)
                return True
            time.sleep(_POLL_INTERVAL_SECONDS)
        return False


def is_answering(daemon: Rendezvous) -> bool:
    """Return True if the daemon answers GET /health within PING_TIMEOUT_SECONDS."""
    try:
        response = http.send_request(get_address(daemon), "GET", "/health", headers={}, timeout=PING_TIMEOUT_SECONDS)
        response.read_body()  # a disconnect before the end would be an error for the daemon
    except OSError:
        return False
    return response.status == 200


def is_connectable(daemon: Rendezvous) -> bool:
    """Return True if a process is listening at the daemon's address."""
    try:
        http.connect(get_address(daemon), timeout=PING_TIMEOUT_SECONDS).close()
    except (TimeoutError, BlockingIOError):
        return True  # its backlog is full
    except OSError:
        return False
    return True


def check_protocol(daemon: Rendezvous) -> None:
    """Check that the client and the daemon use the same protocol version.

    Raises NoDaemon if the versions differ; the message says which side is older.
    """
    if daemon.protocol == PROTOCOL:
        return
    mismatch = f"the running daemon ({daemon.version}) uses protocol {daemon.protocol}, this command uses {PROTOCOL}"
    if daemon.protocol < PROTOCOL:
        raise NoDaemon(f"{mismatch}: the daemon is older.", hint="Run `hunch restart` to start the installed version.")
    raise NoDaemon(f"{mismatch}: this command is older.", hint="Use the `hunch` that was installed with the daemon.")


def get_address(daemon: Rendezvous) -> http.Address:
    """Return the address where the daemon receives requests."""
    url = urlsplit(daemon.url)
    return http.Address(daemon.socket, url.hostname or "127.0.0.1", url.port or 80)


def quote_segment(text: str) -> str:
    """Percent-encode user input as one segment of a URL path.

    The text may contain bytes that are not valid UTF-8, as file names can.
    """
    return quote(os.fsencode(text), safe="")


def _encode_query(values: Mapping[str, object]) -> str:
    pairs = [f"{name}={quote_segment(str(value))}" for name, value in values.items() if value is not None]
    return "?" + "&".join(pairs) if pairs else ""


# Beginnings of the daemon's hints that name a route, and the equivalents that name a command.
_COMMANDS_FOR_ROUTES: Final = {
    "GET /consolidate lists": "run `hunch consolidate --runs` to list",
    "GET /contradictions lists": "run `hunch contradictions` to list",
    "GET /projects lists": "run `hunch projects` to list",
    "GET /sessions lists": "run `hunch sessions list` to list",
}


def _encode_body(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode("ascii")


def _parse_response(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise CommandError("the daemon's answer is not JSON.", hint="Run `hunch doctor` to find the cause.") from error


def _to_request_rejected(response: http.HttpResponse) -> RequestRejected:
    """Convert an error response from the daemon to an exception.

    The message of the exception is the one in the response. If the response contains none, the message states the HTTP
    status.
    """
    try:
        error = json.loads(response.read_body())["error"]
        message, reason, hint = str(error["message"]), str(error.get("code", "")), error.get("hint")
    except (ValueError, TypeError, KeyError, OSError):
        message, reason, hint = (
            f"the daemon answered with HTTP {response.status}.",
            "",
            "Run `hunch logs` to look for the cause.",
        )
    return RequestRejected(message, status=response.status, reason=reason, hint=_replace_route_by_command(hint))


def _replace_route_by_command(hint: str | None) -> str | None:
    """Replace the HTTP route in a hint with the equivalent command.

    The daemon's hints name routes because they are written for editors. A hint without a known route is returned
    unchanged.
    """
    route = next((each for each in _COMMANDS_FOR_ROUTES if hint and hint.startswith(each)), None)
    return f"{_COMMANDS_FOR_ROUTES[route]}{hint.removeprefix(route)}" if hint and route else hint


def _connection_lost(error: OSError) -> NoDaemon:
    if isinstance(error, TimeoutError):
        return NoDaemon("the daemon did not answer in time.", hint="If it hangs, run `hunch restart`.")
    return NoDaemon(
        "the daemon ended during the request.", hint="Run `hunch logs` to see the cause; the next command restarts it."
    )
