"""HTTP handlers for sessions: messages in and out, the end of a session, and the compiled prompt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hunchd.protocol.decoding import reject_unstorable
from hunchd.protocol.session_requests import (
    parse_append_body,
    parse_compile_body,
    parse_outcome_body,
    parse_page_query,
    parse_sessions_query,
    validate_session_id,
)
from hunchd.serving.request_bodies import is_bodiless
from hunchd.serving.responses import json_response

if TYPE_CHECKING:
    from hunchd.features.sessions.session_service import SessionService

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class SessionHandlers:
    """Handlers for sessions, one method per route.

    `body` reads the JSON body of a request within the limits.
    """

    def __init__(self, conversations: SessionService, body: Callable[[web.Request], Awaitable[Any]]) -> None:
        self._conversations = conversations
        self._body = body

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("GET", "/sessions", self.list_sessions),
            ("GET", "/sessions/{id}", self.get_session),
            ("DELETE", "/sessions/{id}", self.erase_session),
            ("POST", "/sessions/{id}/messages", self.append_messages),
            ("GET", "/sessions/{id}/messages", self.list_messages),
            ("POST", "/sessions/{id}/compact", self.compact_session),
            ("POST", "/sessions/{id}/end", self.end_session),
            ("POST", "/context/compile", self.compile_context),
        ]

    async def list_sessions(self, request: web.Request) -> web.Response:
        return json_response(await self._conversations.list_sessions(parse_sessions_query(_get_query(request))))

    async def get_session(self, request: web.Request) -> web.Response:
        return json_response(await self._conversations.get_session(_get_session_id(request)))

    async def erase_session(self, request: web.Request) -> web.Response:
        return json_response(await self._conversations.erase(_get_session_id(request)))

    async def append_messages(self, request: web.Request) -> web.Response:
        session, append_request = _get_session_id(request), parse_append_body(await self._body(request))
        return json_response(await self._conversations.append(session, append_request), status=202)

    async def list_messages(self, request: web.Request) -> web.Response:
        return json_response(
            await self._conversations.list_messages(_get_session_id(request), parse_page_query(_get_query(request)))
        )

    async def compact_session(self, request: web.Request) -> web.Response:
        return json_response(await self._conversations.compact(_get_session_id(request)))

    async def end_session(self, request: web.Request) -> web.Response:
        session = _get_session_id(request)
        outcome = None if is_bodiless(request) else parse_outcome_body(await self._body(request))
        return json_response(await self._conversations.end(session, outcome))

    async def compile_context(self, request: web.Request) -> web.Response:
        return json_response(await self._conversations.compile(parse_compile_body(await self._body(request))))


def _get_query(request: web.Request) -> str:
    return request.raw_path.partition("?")[2]


def _get_session_id(request: web.Request) -> str:
    identifier = request.match_info["id"]
    reject_unstorable(identifier, "id")
    return validate_session_id(identifier)
