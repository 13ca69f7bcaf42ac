"""HTTP handlers for sessions: messages in and out, the end, and the compiled prompt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from hunchd.protocol.decoding import refuse_unstorable
from hunchd.protocol.sessions import (
    append_of_body,
    compile_of_body,
    outcome_of_body,
    page_of_query,
    session_id,
    sessions_of_query,
)
from hunchd.serving.answering import json_answer
from hunchd.serving.asking import AskedConversations
from hunchd.serving.bodies import is_bodiless

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class SessionDoors:
    """Handlers, one method per route.

    `body` reads the JSON of a request within the limits.
    """

    def __init__(self, conversations: AskedConversations, body: Callable[[web.Request], Awaitable[Any]]) -> None:
        self._conversations = conversations
        self._body = body

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("GET", "/sessions", self.known),
            ("GET", "/sessions/{id}", self.session),
            ("DELETE", "/sessions/{id}", self.erase),
            ("POST", "/sessions/{id}/messages", self.append),
            ("GET", "/sessions/{id}/messages", self.page),
            ("POST", "/sessions/{id}/compact", self.compact),
            ("POST", "/sessions/{id}/end", self.end),
            ("POST", "/context/compile", self.compile),
        ]

    async def known(self, request: web.Request) -> web.Response:
        return json_answer(await self._conversations.known(sessions_of_query(_query(request))))

    async def session(self, request: web.Request) -> web.Response:
        return json_answer(await self._conversations.session(_session(request)))

    async def erase(self, request: web.Request) -> web.Response:
        return json_answer(await self._conversations.erase(_session(request)))

    async def append(self, request: web.Request) -> web.Response:
        session, asked = _session(request), append_of_body(await self._body(request))
        return json_answer(await self._conversations.append(session, asked), status=202)

    async def page(self, request: web.Request) -> web.Response:
        return json_answer(await self._conversations.page(_session(request), page_of_query(_query(request))))

    async def compact(self, request: web.Request) -> web.Response:
        return json_answer(await self._conversations.compact(_session(request)))

    async def end(self, request: web.Request) -> web.Response:
        session = _session(request)
        outcome = None if is_bodiless(request) else outcome_of_body(await self._body(request))
        return json_answer(await self._conversations.end(session, outcome))

    async def compile(self, request: web.Request) -> web.Response:
        return json_answer(await self._conversations.compile(compile_of_body(await self._body(request))))


def _query(request: web.Request) -> str:
    return request.raw_path.partition("?")[2]


def _session(request: web.Request) -> str:
    identifier = request.match_info["id"]
    refuse_unstorable(identifier, "id")
    return session_id(identifier)
