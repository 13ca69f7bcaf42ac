"""Fake of the sessions port, in memory, with the contract's shapes."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import asdict

from hunchd.domain.errors import NotFound
from hunchd.domain.session import Message
from hunchd.protocol.responses import PageAnswer
from hunchd.protocol.session_answers import (
    CompactedAnswer,
    LoggedMessageAnswer,
    MessagesAcceptedAnswer,
    PromptAnswer,
    PromptHistoryAnswer,
    SessionAnswer,
    SessionEndedAnswer,
    SessionErasedAnswer,
    message_answer,
)
from hunchd.protocol.session_requests import (
    AppendRequest,
    CompileRequest,
    PageRequest,
    SessionsRequest,
)

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


class FakeConversations:
    def __init__(self) -> None:
        self.logs: dict[str, list[Message]] = {}
        self.outcomes: dict[str, str | None] = {}
        self.asked: list[CompileRequest] = []

    def _log(self, session: str) -> list[Message]:
        if session not in self.logs:
            raise NotFound(f"there is no session {session!a}")
        return self.logs[session]

    async def append(self, session: str, request: AppendRequest) -> MessagesAcceptedAnswer:
        log = self.logs.setdefault(session, [])
        fresh = [
            Message(
                number=number,
                id=f"{session}-{number}",
                event=draft.event,
                text=draft.text,
                at=draft.at or NOW,
                tokens=1,
            )
            for number, draft in enumerate(request.messages, start=len(log) + 1)
        ]
        log += fresh
        ids = [message.id for message in fresh]
        return MessagesAcceptedAnswer(session=session, accepted=len(fresh), ids=ids, rejected=list(request.rejections))

    async def list_messages(self, session: str, request: PageRequest) -> PageAnswer[LoggedMessageAnswer]:
        items = [message_answer(message, session) for message in self._log(session)]
        return PageAnswer(items=items[: request.limit], next=None, total=len(items))

    async def list_sessions(self, request: SessionsRequest) -> PageAnswer[SessionAnswer]:
        items = [await self.get_session(session) for session in self.logs]
        return PageAnswer(items=items, next=None, total=len(items))

    async def get_session(self, session: str) -> SessionAnswer:
        return SessionAnswer(
            id=session, title="", project=None, state="open", outcome=None, began="", last=None, ended=None,
            messages=len(self._log(session)),
        )  # fmt: skip

    async def compact(self, session: str) -> CompactedAnswer:
        self._log(session)
        return CompactedAnswer(session=session, tokens_before=1, tokens_after=1, compactions=1, condensed_until=0)

    async def end(self, session: str, outcome: str | None) -> SessionEndedAnswer:
        self.outcomes[session] = outcome
        return SessionEndedAnswer(**asdict(await self.get_session(session)), episodes=[], facts=[], summary="")

    async def erase(self, session: str) -> SessionErasedAnswer:
        return SessionErasedAnswer(erased=session, memories=len(self.logs.pop(session, self._log(session))))

    async def compile(self, request: CompileRequest) -> PromptAnswer:
        self.asked.append(request)
        return PromptAnswer(
            messages=[], token_count=0, sections={}, prefix_digest="", pruned=[], retrieved=[], degraded=[],
            history=PromptHistoryAnswer(messages=0, compactions=0, condensed_until=0),
        )  # fmt: skip
