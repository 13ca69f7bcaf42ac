"""Access checks for HTTP requests.

A request must have a loopback Host header and no foreign Origin, and either the token or a session of the web page.
For /health and the page's own files, neither a token nor a session is needed.
"""

from __future__ import annotations

import hmac
import re
import socket
import struct
import sys
from functools import lru_cache
from typing import Final

from aiohttp import hdrs, web

from hunchd.domain.errors import HunchError
from hunchd.serving.page_access import PageSessions, is_allowed, is_open_route

JSON: Final = "application/json"
JSON_LINES: Final = ("application/x-ndjson", "application/jsonl")
UNAUTHENTICATED_PATH: Final = "/health"  # the one route without a token
IMPORT_PATH: Final = "/import"  # the one route that takes JSON Lines

_LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
_LOOPBACK_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
_ALLOWED_FETCH_SITES: Final = ("same-origin", "none")
_BODY_METHODS: Final = frozenset({"POST", "PUT", "PATCH"})
_BODILESS_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class AccessDenied(HunchError):
    """Raised for a request that may not be processed.

    `status` is the HTTP status: 401, 403, 408 or 415.
    """

    def __init__(self, status: int, code: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code


class AccessControl:
    """Access check that uses only the headers of a request.

    It runs before the body is read and the route is resolved.
    """

    def __init__(self, token: str, pages: PageSessions) -> None:
        self._pages = pages
        self._expected_authorization = f"bearer {token}".encode()
        self.uid: int | None = None  # owner of processes that may use the Unix socket; None: unchecked

    def check(self, request: web.Request) -> None:
        """Raise AccessDenied if the request is not allowed.

        Only the first reason found is reported. The token is checked after Host and Origin, so that the response tells
        another site's page nothing about the token.
        """
        headers = request.headers
        hosts = headers.getall(hdrs.HOST, ())
        if len(hosts) != 1 or not self._is_local_host(request, hosts[0]) or request.raw_path[:1] != "/":
            raise AccessDenied(
                403, "forbidden_host", "the Host header must name a loopback host, such as 127.0.0.1, and the port"
            )
        origin = headers.get(hdrs.ORIGIN)
        if origin is not None and origin.lower() != f"http://{hosts[0].lower()}":
            raise AccessDenied(403, "forbidden_origin", "pages of other origins may not use this daemon")
        site = headers.get("Sec-Fetch-Site")
        if site is not None and site not in _ALLOWED_FETCH_SITES and not _is_visit(request):
            raise AccessDenied(403, "forbidden_origin", "pages of other sites may not use this daemon")
        if request.path != UNAUTHENTICATED_PATH and not is_open_route(request):
            self._check_credentials(request)
        if request.method not in _BODILESS_METHODS and request.match_info.http_exception is None:
            _check_content_type(request)

    def _is_local_host(self, request: web.Request, host: str) -> bool:
        own_address = request.protocol.sockname
        if isinstance(own_address, tuple):
            return host in _loopback_hosts(own_address[1])
        if self.uid is not None and get_peer_uid(request.get_extra_info("socket")) not in (self.uid, None):
            raise AccessDenied(403, "forbidden_user", "this socket belongs to another user")
        return _LOOPBACK_HOST.fullmatch(host) is not None

    def _check_credentials(self, request: web.Request) -> None:
        """Check the token or, if there is none, the web page's browser session."""
        authorization = request.headers.get(hdrs.AUTHORIZATION)
        session = (
            self._pages.find_session(request) if authorization is None and hdrs.COOKIE in request.headers else None
        )
        if session is None:
            self._check_token(authorization)
        elif request.method != "GET" and hdrs.ORIGIN not in request.headers:
            raise AccessDenied(403, "forbidden_origin", "a page must send an Origin header to change something")
        elif not is_allowed(request, session):
            raise AccessDenied(
                403,
                "forbidden_route",
                "this page was opened read-only" if session.is_read_only else "a page may not use this route",
                hint="run `hunch ui` without --read-only" if session.is_read_only else None,
            )

    def _check_token(self, authorization: str | None) -> None:
        if authorization is None:
            raise AccessDenied(
                401,
                "unauthorized",
                "the header 'Authorization: Bearer TOKEN' is missing",
                hint="the token is in the rendezvous file, daemon.json",
            )
        scheme, _, token = authorization.partition(" ")
        received_token = f"{scheme.lower()} {token}".encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(received_token, self._expected_authorization):
            raise AccessDenied(
                401,
                "unauthorized",
                "the token does not belong to this daemon",
                hint="the token changes at each start; read the rendezvous file, daemon.json, again",
            )


def get_peer_uid(peer: socket.socket | None) -> int | None:
    """Return the user ID of the process that connected to a Unix socket.

    Returns None if the operating system does not provide it.
    """
    if peer is None:
        return None
    if hasattr(socket, "SO_PEERCRED"):  # Linux: struct ucred: pid, uid, gid
        return int(struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
    if sys.platform == "darwin":  # sys/un.h: LOCAL_PEERCRED gives a struct xucred: version, uid, …
        return int(struct.unpack_from("2I", peer.getsockopt(0, 1, 128))[1])
    return None


def _is_visit(request: web.Request) -> bool:
    """Return True if the user is following a link to the page itself.

    The page contains no data. `hunch ui` opens it from a local file, which a browser regards as a different site.
    """
    headers = request.headers
    return (
        request.method == "GET"
        and is_open_route(request)
        and headers.get("Sec-Fetch-Mode") == "navigate"
        and headers.get("Sec-Fetch-Dest") == "document"
    )


@lru_cache(maxsize=8)
def _loopback_hosts(port: int) -> frozenset[str]:
    return frozenset(name + suffix for name in _LOOPBACK_NAMES for suffix in ("", f":{port}"))


def _check_content_type(request: web.Request) -> None:
    """Reject any body other than uncompressed JSON, or JSON Lines for an import.

    Forms and plain text are rejected because a web page can send them without a preflight request. A request without a
    body needs no Content-Type.
    """
    headers = request.headers
    content_type = headers.get(hdrs.CONTENT_TYPE)
    if content_type is None and (request.method not in _BODY_METHODS or not request.body_exists):
        return
    media = (content_type or "").partition(";")[0].strip().lower()
    if media != JSON and not (request.path == IMPORT_PATH and media in JSON_LINES):
        allowed_types = f"{JSON} or {JSON_LINES[0]}" if request.path == IMPORT_PATH else JSON
        raise AccessDenied(415, "unsupported_media_type", f"the Content-Type must be {allowed_types}")
    if headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
        raise AccessDenied(415, "unsupported_media_type", "compressed bodies are not supported")
