"""HTTP handlers for sessions: messages in and out, the end of a session, and the compiled prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hunchd.protocol.responses import PageAnswer
from hunchd.protocol.session_answers import (
    CompactedAnswer,
    LoggedMessageAnswer,
    MessagesAcceptedAnswer,
    PromptAnswer,
    SessionAnswer,
    SessionEndedAnswer,
    SessionErasedAnswer,
)
from hunchd.protocol.session_requests import (
    CompileRequest,
    Messages,
    PageRequest,
    SessionEnd,
    SessionsRequest,
    parse_append_body,
)
from hunchd.serving.routes import route

if TYPE_CHECKING:
    from hunchd.features.sessions.session_service import SessionService


class SessionHandlers:
    """Handlers for sessions, one method per route."""

    def __init__(self, sessions: SessionService) -> None:
        self._sessions = sessions

    @route("GET /sessions", "listSessions", "List all sessions, newest first.", errors=(404,))
    async def list_sessions(self, query: SessionsRequest) -> PageAnswer[SessionAnswer]:
        return await self._sessions.list_sessions(query)

    @route("GET /sessions/{id}", "session", "Return the state of a session.", errors=(404,))
    async def get_session(self, session: str) -> SessionAnswer:
        return await self._sessions.get_session(session)

    @route(
        "DELETE /sessions/{id}",
        "eraseSession",
        "Erase a session and everything derived from it, including all traces on disk.",
        errors=(404, 429, 507),
    )
    async def erase_session(self, session: str) -> SessionErasedAnswer:
        return await self._sessions.erase(session)

    @route(
        "POST /sessions/{id}/messages",
        "addMessages",
        "Append to a session's log; durable once answered. Rejected messages are listed, the others stored.",
        body=Messages,
        status=202,
        errors=(404, 409, 429, 507),
    )
    async def append_messages(self, session: str, raw: Any) -> MessagesAcceptedAnswer:
        return await self._sessions.append(session, parse_append_body(raw))

    @route("GET /sessions/{id}/messages", "listMessages", "List the log, oldest first.", errors=(404,))
    async def list_messages(self, session: str, query: PageRequest) -> PageAnswer[LoggedMessageAnswer]:
        return await self._sessions.list_messages(session, query)

    @route(
        "POST /sessions/{id}/compact",
        "compactSession",
        "Condense the history of later prompts now; the log stays as it is.",
        errors=(404, 507),
    )
    async def compact_session(self, session: str) -> CompactedAnswer:
        return await self._sessions.compact(session)

    @route(
        "POST /sessions/{id}/end",
        "endSession",
        "Close a session and store its episodes and facts. The body may be omitted.",
        errors=(404, 507),
    )
    async def end_session(self, session: str, body: SessionEnd | None) -> SessionEndedAnswer:
        return await self._sessions.end(session, (body and body.outcome) or None)

    @route(
        "POST /context/compile",
        "compile",
        "Compile the prompt for a session's next request: stable sections first, within the budget.",
        errors=(404,),
    )
    async def compile_context(self, body: CompileRequest) -> PromptAnswer:
        return await self._sessions.compile(body)
