"""Fake of the sessions port, in memory, with the contract's shapes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hunchd.domain.errors import NotFound
from hunchd.domain.session import Message
from hunchd.protocol.responses import page_to_json
from hunchd.protocol.session_requests import (
    AppendRequest,
    CompileRequest,
    PageRequest,
    SessionsRequest,
    message_to_json,
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

    async def append(self, session: str, request: AppendRequest) -> dict[str, Any]:
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
        answer = {"session": session, "accepted": len(fresh), "ids": [message.id for message in fresh]}
        return answer | ({"rejected": list(request.rejections)} if request.rejections else {})

    async def list_messages(self, session: str, request: PageRequest) -> dict[str, Any]:
        items = [message_to_json(message, session) for message in self._log(session)]
        return page_to_json(items[: request.limit], next_cursor=None, total=len(items))

    async def list_sessions(self, request: SessionsRequest) -> dict[str, Any]:
        return page_to_json(
            [await self.get_session(session) for session in self.logs], next_cursor=None, total=len(self.logs)
        )

    async def get_session(self, session: str) -> dict[str, Any]:
        return {"id": session, "messages": len(self._log(session))}

    async def compact(self, session: str) -> dict[str, Any]:
        return await self.get_session(session)

    async def end(self, session: str, outcome: str | None) -> dict[str, Any]:
        self.outcomes[session] = outcome
        return await self.get_session(session)

    async def erase(self, session: str) -> dict[str, Any]:
        return {"erased": session, "memories": len(self.logs.pop(session, self._log(session)))}

    async def compile(self, request: CompileRequest) -> dict[str, Any]:
        self.asked.append(request)
        return {"messages": [], "token_count": 0, "sections": {}, "prefix_digest": ""}
