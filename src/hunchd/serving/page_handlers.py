"""HTTP handlers for the web page's files and for opening a browser session."""

from __future__ import annotations

import asyncio
import re
from hashlib import blake2b
from pathlib import Path
from typing import Final

from aiohttp import hdrs, web

import hunchd
from hunchd import __version__
from hunchd.domain.errors import NotFound
from hunchd.protocol.requests import PageCodeRequest, PageSessionRequest
from hunchd.protocol.responses import PageClosedAnswer, PageCodeAnswer, PageSessionAnswer
from hunchd.serving.access import AccessDenied
from hunchd.serving.page_access import CODE_SECONDS, PageSession, PageSessions, get_cookie_name
from hunchd.serving.responses import build_response, json_response
from hunchd.serving.routes import JSON, TEXT, route

STATIC_FOLDER: Final = Path(hunchd.__file__).parent / "page" / "static"
FIRST_VIEW: Final = "/ui/now"

_ASSET: Final = re.compile(r"assets/(?P<name>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.(?P<suffix>js|css|svg))")
_TYPES: Final = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "html": "text/html"}
_IMMUTABLE: Final = "public, max-age=31536000, immutable"  # the name of an asset has a hash of its content
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_PAGE_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

_HTML: Final = {"text/html": TEXT}


class PageHandlers:
    """Handlers for the web page, one method per route."""

    def __init__(self) -> None:
        self.sessions = PageSessions()

    @route("GET /", "root", status=302, answers=_HTML, open=True)
    @route("GET /ui", "ui", status=302, answers=_HTML, open=True, any_query=True)
    @route("GET /ui/", "uiFolder", status=302, answers=_HTML, open=True, any_query=True)
    async def redirect_to_page(self) -> web.Response:
        """Redirect to the web page."""
        response = build_response(b"", status=302)
        response.headers[hdrs.LOCATION] = FIRST_VIEW
        return _protect(response)

    @route("GET /ui/{path:.+}", "page", answers=_HTML, any_query=True, errors=(304, 404), open=True)
    async def get_file(self, request: web.Request) -> web.Response:
        """Return the page, which contains no data, or one of its files."""
        path = request.match_info["path"]
        if not path.startswith("assets/"):
            return await self._get_document(request)
        asset = _ASSET.fullmatch(path)
        content = await asyncio.to_thread(_read_file, f"assets/{asset['name']}") if asset else None
        if asset is None or content is None:
            raise NotFound(f"the page has no file {path[:80]!a}", hint="reload the page; hunchd may have been updated")
        response = build_response(content, type_=f"{_TYPES[asset['suffix']]}; charset=utf-8")
        response.headers[hdrs.CACHE_CONTROL] = _IMMUTABLE
        return _protect(response)

    async def _get_document(self, request: web.Request) -> web.Response:
        content = await asyncio.to_thread(_read_file, "index.html")
        if content is None:
            raise NotFound(
                "this installation does not include the web page",
                hint="in a source checkout, run `./dev page` to build it",
            )
        etag = f'"{blake2b(content, digest_size=12).hexdigest()}"'
        is_current = request.headers.get(hdrs.IF_NONE_MATCH) == etag
        return _protect(
            build_response(
                b"" if is_current else content,
                status=304 if is_current else 200,
                type_="text/html; charset=utf-8",
                etag=etag,
            )
        )

    @route("POST /page/codes", "issuePageCode", status=201)
    async def issue_code(self, body: PageCodeRequest) -> PageCodeAnswer:
        """Return a single-use code that opens the page in a browser."""
        code = self.sessions.issue_code(is_read_only=body.read_only)
        return PageCodeAnswer(code=code, path=FIRST_VIEW, seconds=CODE_SECONDS)

    @route(
        "POST /page/session",
        "openPageSession",
        status=201,
        answers={JSON: PageSessionAnswer},
        errors=(401, 415),
        open=True,
    )
    async def open_session(self, body: PageSessionRequest, request: web.Request) -> web.Response:
        """Exchange a code for the cookie and the key of a browser session."""
        if hdrs.ORIGIN not in request.headers:
            raise AccessDenied(403, "forbidden_origin", "only the page itself may open its session")
        opened = self.sessions.open_session(body.code, request.headers[hdrs.HOST])
        if opened is None:
            raise AccessDenied(
                401, "unauthorized", "the code has already been used or has expired", hint="run `hunch ui` again"
            )
        cookie, session = opened
        response = json_response(_describe_session(session, key=session.key), status=201)
        response.set_cookie(get_cookie_name(request), cookie, httponly=True, samesite="Strict", path="/")
        return response

    @route("GET /page/session", "pageSession")
    async def get_session(self, request: web.Request) -> PageSessionAnswer:
        """Return the permissions of the current browser session."""
        return _describe_session(self.sessions.find_session(request))

    @route("DELETE /page/session", "closePageSession", answers={JSON: PageClosedAnswer})
    async def close_session(self, request: web.Request) -> web.Response:
        """End the current browser session."""
        self.sessions.close_session(request)
        response = json_response(PageClosedAnswer(closed=True))
        response.del_cookie(get_cookie_name(request), httponly=True, samesite="Strict", path="/")
        return response


def _describe_session(session: PageSession | None, *, key: str = "") -> PageSessionAnswer:
    """Describe the permissions of a session.

    `session` is None for a client that authenticates with the token, which has full access.
    """
    return PageSessionAnswer(read_only=session is not None and session.is_read_only, version=__version__, key=key)


def _protect(response: web.Response) -> web.Response:
    response.headers.update(_PAGE_HEADERS)
    return response


def _read_file(name: str) -> bytes | None:
    """Return a file of the built page, or None if it is missing.

    The caller must have checked that `name` contains no `..`.
    """
    try:
        return (STATIC_FOLDER / name).read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
