"""HTTP handlers for sessions, their messages, and the compiled prompt."""

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

    @route("GET /sessions", "listSessions", errors=(404,))
    async def list_sessions(self, query: SessionsRequest) -> PageAnswer[SessionAnswer]:
        """List all sessions, newest first."""
        return await self._sessions.list_sessions(query)

    @route("GET /sessions/{id}", "session", errors=(404,))
    async def get_session(self, session: str) -> SessionAnswer:
        """Return the state of a session, such as its title and number of messages."""
        return await self._sessions.get_session(session)

    @route("DELETE /sessions/{id}", "eraseSession", errors=(404, 429, 507))
    async def erase_session(self, session: str) -> SessionErasedAnswer:
        """Erase a session and everything derived from it, including all traces on disk."""
        return await self._sessions.erase(session)

    @route("POST /sessions/{id}/messages", "addMessages", body=Messages, status=202, errors=(404, 409, 429, 507))
    async def append_messages(self, session: str, raw: Any) -> MessagesAcceptedAnswer:
        """Append messages to a session's log.

        They are durable once the response arrives. Invalid ones are listed as rejected, and the others are stored.
        """
        return await self._sessions.append(session, parse_append_body(raw))

    @route("GET /sessions/{id}/messages", "listMessages", errors=(404,))
    async def list_messages(self, session: str, query: PageRequest) -> PageAnswer[LoggedMessageAnswer]:
        """List the messages in a session's log, oldest first."""
        return await self._sessions.list_messages(session, query)

    @route("POST /sessions/{id}/compact", "compactSession", errors=(404, 507))
    async def compact_session(self, session: str) -> CompactedAnswer:
        """Condense the history that later prompts contain; the log remains unchanged."""
        return await self._sessions.compact(session)

    @route("POST /sessions/{id}/end", "endSession", errors=(404, 507))
    async def end_session(self, session: str, body: SessionEnd | None) -> SessionEndedAnswer:
        """Close a session and store its episodes and facts.

        The body may be omitted.
        """
        return await self._sessions.end(session, (body and body.outcome) or None)

    @route("POST /context/compile", "compile", errors=(404,))
    async def compile_context(self, body: CompileRequest) -> PromptAnswer:
        """Compile the prompt for a session's next request.

        Stable sections come first, and the prompt stays within the budget.
        """
        return await self._sessions.compile(body)
