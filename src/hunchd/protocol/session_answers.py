"""JSON responses about sessions: messages, session state and the compiled prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from hunchd.domain.json_values import JsonObject
from hunchd.domain.session import Message, MessageType
from hunchd.protocol.responses import Count, Rejection, TimeText, format_iso
from hunchd.protocol.session_requests import Role, get_role


class MessagesAcceptedAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    session: str
    accepted: Count
    ids: Annotated[list[str], Meta(description="ids of the messages in the order sent, including those already known")]
    rejected: list[Rejection] = []


class LoggedMessageAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: Annotated[str, Meta(description="id of the memory that stores the message")]
    session: str
    number: Count
    role: Role
    event_type: MessageType
    content: str
    tokens: Count
    at: TimeText
    ref: str | None = None
    name: str | None = None
    event_data: JsonObject = {}


class SessionAnswer(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    project: str | None
    state: Literal["open", "ended"]
    outcome: str | None
    began: TimeText
    last: TimeText | None
    ended: TimeText | None
    messages: Count


class SessionEndedAnswer(SessionAnswer, frozen=True, kw_only=True):
    episodes: Annotated[list[str], Meta(description="ids of memories")]
    facts: Annotated[list[str], Meta(description="ids of memories")]
    summary: str


class SessionErasedAnswer(Struct, frozen=True, kw_only=True):
    erased: Annotated[str, Meta(description="id of the session")]
    memories: Count


class CompactedAnswer(Struct, frozen=True, kw_only=True):
    session: str
    tokens_before: Count
    tokens_after: Count
    compactions: Count
    condensed_until: Annotated[Count, Meta(description="number of the last condensed turn")]


class PromptHistoryAnswer(Struct, frozen=True, kw_only=True):
    messages: Count
    compactions: Count
    condensed_until: Annotated[Count, Meta(description="number of the last condensed turn")]


class RetrievedAnswer(Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    title: str
    score: float
    reasons: list[str]


class PromptAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    messages: Annotated[
        list[Mapping[str, Any]],
        Meta(description="the first contains the system blocks; cache_control marks where caching is worthwhile"),
    ]
    token_count: Count
    sections: Annotated[Mapping[str, Count], Meta(description="tokens by section")]
    prefix_digest: Annotated[str, Meta(description="digest of the static prefix; the same for every session and day")]
    pruned: Annotated[list[str], Meta(description="sections dropped to fit the budget")]
    history: PromptHistoryAnswer
    retrieved: list[RetrievedAnswer]
    degraded: list[str]
    tools: list[Mapping[str, Any]] = []


def message_answer(message: Message, session: str) -> LoggedMessageAnswer:
    """Convert a message in the log to its form in responses.

    Empty optional fields are omitted.
    """
    return LoggedMessageAnswer(
        id=message.id,
        session=session,
        number=message.number,
        role=get_role(message.event),
        event_type=message.event,
        content=message.text,
        tokens=message.tokens,
        at=format_iso(message.at),
        ref=message.ref,
        name=message.name,
        event_data=dict(message.data),
    )
