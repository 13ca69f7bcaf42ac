"""Access for the web page: single-use codes, and the browser sessions that they open.

A session needs two secrets, a cookie and a key. A browser sends a cookie to every port of a host, so another local
server would see it; the key, however, is stored for exactly one origin, so the cookie alone gives no access. Both
secrets become invalid when the daemon ends.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import hdrs, web

CODE_SECONDS: Final = 60.0  # seconds that a code may be used
SESSION_SECONDS: Final = 12 * 3_600.0  # seconds after the last request that end a session
KEY_HEADER: Final = "X-Hunchd-Page"  # no form or link can send it, and scripts of other origins would need CORS
_MAX_CODES: Final = 16
_MAX_SESSIONS: Final = 32

# The page's own files, which hold no data, and the exchange of a code. They need no token.
OPEN_ROUTES: Final = frozenset(
    {("GET", "/"), ("GET", "/ui"), ("GET", "/ui/"), ("GET", "/ui/{path}"), ("POST", "/page/session")}
)
# Routes that only read, although they need a body.
READING_POSTS: Final = frozenset(
    {"/search", "/expand", "/context/predict", "/context/assemble", "/context/review", "/context/compile"}
)
# Routes that change something and that the page needs. A browser may not send signals, import, or issue codes.
_CHANGING_ROUTES: Final = frozenset(
    {
        ("DELETE", "/page/session"),
        ("POST", "/projects"),
        ("PATCH", "/projects/{id}"),
        ("DELETE", "/projects/{id}"),
        ("PATCH", "/settings"),
        ("POST", "/doctor/fix"),
        ("POST", "/feedback"),
        ("POST", "/memories"),
        ("PATCH", "/memories/{id}"),
        ("DELETE", "/memories/{id}"),
        ("POST", "/memories/{id}/undo"),
        ("PUT", "/documents/{path}"),
        ("DELETE", "/documents/{path}"),
        ("POST", "/contradictions"),
        ("POST", "/contradictions/{id}/resolve"),
        ("POST", "/contradictions/{id}/undo"),
        ("POST", "/consolidate"),
        ("POST", "/consolidate/{id}/undo"),
        ("POST", "/consolidate/{id}/stop"),
        ("DELETE", "/sessions/{id}"),
    }
)
_UNREADABLE_ROUTES: Final = frozenset({"/export", "/openapi.json"})


@dataclass(slots=True)
class PageSession:
    """Browser session of the web page.

    `host` is the Host header of the request that opened it.
    """

    key: str
    host: str
    is_read_only: bool
    used_at: float


class PageSessions:
    """Codes and browser sessions issued by one daemon, kept in memory only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: OrderedDict[str, tuple[float, bool]] = OrderedDict()
        self._sessions: OrderedDict[str, PageSession] = OrderedDict()

    def issue_code(self, *, is_read_only: bool) -> str:
        """Return a code that opens one session.

        If there are too many unused codes, the oldest ones become invalid.
        """
        code = secrets.token_urlsafe(32)
        self._codes[code] = self._clock() + CODE_SECONDS, is_read_only
        while len(self._codes) > _MAX_CODES:
            self._codes.popitem(last=False)
        return code

    def open_session(self, code: str, host: str) -> tuple[str, PageSession] | None:
        """Exchange a code for a new session; return its cookie and the session.

        Returns None if the code is unknown, already used or expired.
        """
        expires_at, is_read_only = self._codes.pop(code, (0.0, True))
        if self._clock() >= expires_at:
            return None
        cookie, session = secrets.token_urlsafe(32), PageSession(secrets.token_urlsafe(32), host, is_read_only, 0.0)
        session.used_at = self._clock()
        self._sessions[cookie] = session
        while len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return cookie, session

    def find_session(self, request: web.Request) -> PageSession | None:
        """Return the session of the request's cookie and key.

        Returns None if either is wrong, the session has expired, or it was opened under a different host name.
        """
        cookie = request.cookies.get(get_cookie_name(request), "")
        session = self._sessions.get(cookie)
        key = request.headers.get(KEY_HEADER, "").encode("utf-8", "surrogateescape")
        if session is None or not hmac.compare_digest(key, session.key.encode()):
            return None
        if session.host != request.headers.get(hdrs.HOST) or self._clock() - session.used_at > SESSION_SECONDS:
            return None
        session.used_at = self._clock()
        self._sessions.move_to_end(cookie)
        return session

    def close_session(self, request: web.Request) -> None:
        self._sessions.pop(request.cookies.get(get_cookie_name(request), ""), None)


def get_cookie_name(request: web.Request) -> str:
    """Return the name of the session cookie for the request's port.

    Each port has a different name, because the daemons of several users on one host share the browser's cookies.
    """
    return "hunchd-" + request.headers.get(hdrs.HOST, "").rpartition(":")[2]


def is_open_route(request: web.Request) -> bool:
    return (request.method, get_canonical(request)) in OPEN_ROUTES


def is_allowed(request: web.Request, session: PageSession) -> bool:
    """Return True if the session may use the route that the request matches."""
    route = get_canonical(request)
    if request.method == "GET":
        return route not in _UNREADABLE_ROUTES
    if request.method == "POST" and route in READING_POSTS:
        return True
    return (request.method, route) in _CHANGING_ROUTES and not (session.is_read_only and route != "/page/session")


def get_canonical(request: web.Request) -> str:
    """Return the pattern of the route that the request matches.

    Returns "" if no route matches.
    """
    resource = request.match_info.route.resource
    return "" if resource is None else resource.canonical
