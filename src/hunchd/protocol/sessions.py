"""Sessions on the wire: messages from agents, the session log, the request of /context/compile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal, get_args

from msgspec import Meta

from hunchd.domain.errors import InvalidInput
from hunchd.domain.session import Event, Message
from hunchd.protocol.answers import iso
from hunchd.protocol.fields import Fields, shortened
from hunchd.protocol.requests import LARGEST_BUDGET, PAGE, Cursor, PageSize
from hunchd.protocol.struct_decoding import (
    LongText,
    Name,
    ProjectRef,
    ReadBy,
    Request,
    Time,
    decode,
    decode_batch,
    decode_query,
)

MESSAGES_LIMIT: Final = 1000  # messages a request
# Limit for a person's message; a tool's output is shortened to it instead of being rejected.
MESSAGE_LIMIT: Final = 512 * 1024  # bytes of UTF-8
SESSION_LIMIT: Final = 200  # characters of a session's id
SYSTEM_LIMIT: Final = 256 * 1024  # bytes of the client's own system text
TOOLS_LIMIT: Final = 256  # tools described to the model
# The design's shares: 8k static, 5k profile, 2k background, 10k history, 5k retrieved, 2k message.
COMPILE_BUDGET: Final = 32_000  # tokens
LEAST_BUDGET: Final = 256  # tokens

Role = Literal["user", "assistant", "tool", "system"]
ROLES: Final[tuple[str, ...]] = get_args(Role)
EVENTS: Final = tuple(event.value for event in Event)
_EVENT_OF_ROLE: Final = {
    "user": Event.USER,
    "assistant": Event.ASSISTANT,
    "tool": Event.RESULT,
    "system": Event.SYSTEM,
}
_ROLE_OF_EVENT: Final = {
    Event.USER: "user",
    Event.ASSISTANT: "assistant",
    Event.CALL: "assistant",
    Event.RESULT: "tool",
    Event.SYSTEM: "system",
}


def _event(fields: Fields, name: str) -> Event | None:
    named = fields.choice(name, ("", *EVENTS), "")
    return Event(named) if named else None


def session_id(text: str) -> str:
    """Validate the caller's id of a session: any text of one line."""
    if not text.strip() or len(text) > SESSION_LIMIT or not text.isprintable():
        raise InvalidInput(f"a session's id is a line of at most {SESSION_LIMIT} characters", field="session")
    return text


def _tools(fields: Fields, name: str) -> tuple[Mapping[str, Any], ...]:
    tools = fields.objects(name, most=TOOLS_LIMIT)
    for tool in tools:
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            raise fields.refused(name, 'must hold objects with a "name"')
    return tuple(tools)


def _session_id(fields: Fields, name: str) -> str:
    return session_id(fields.required_text(name))


def _content(fields: Fields, name: str) -> str | None:
    return fields.text(name, limit=2**62)  # a tool's text is shortened, not refused


def _event_data(fields: Fields, name: str) -> Mapping[str, Any]:
    return fields.mapping(name, limit=MESSAGE_LIMIT)


class MessageBody(Request, frozen=True, kw_only=True):
    ref: Annotated[
        Annotated[str, Meta(max_length=512)] | None,
        Meta(description="your own key: a message sent again with it is not stored twice"),
    ] = None
    role: Role
    name: Annotated[Name | None, Meta(description="of the speaker, or of the tool")] = None
    content: Annotated[
        str,
        Meta(max_length=MESSAGE_LIMIT, description="a tool call may use event_data instead; a tool's text is cut"),
        ReadBy(_content),
    ] = ""
    at: Time | None = None
    event_type: Annotated[Event | None, Meta(description="if omitted, derived from the role"), ReadBy(_event)] = None
    event_data: Annotated[
        Mapping[str, Any],
        Meta(description="the arguments of a tool call, its status, …"),
        ReadBy(_event_data),
    ] = {}

    @property
    def event(self) -> Event:
        return self.event_type or _EVENT_OF_ROLE[self.role]

    def check(self, fields: Fields) -> None:
        if self.event not in (Event.CALL, Event.RESULT):
            fields.text("content", limit=MESSAGE_LIMIT)
        if not self.content.strip() and not self.event_data:
            raise fields.refused("content", "is missing or empty; give a text (a tool call may have 'event_data')")


class Messages(Request, frozen=True, kw_only=True):
    """A session belongs to the project of its first request."""

    messages: Annotated[tuple[MessageBody, ...], Meta(max_length=MESSAGES_LIMIT)]
    project: ProjectRef | None = None


class SessionEnd(Request, frozen=True, kw_only=True):
    outcome: Annotated[
        Literal["", "success", "partial", "interrupted"], Meta(description="if omitted, derived from the last turns")
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDraft:
    """Message before it has its position in the log."""

    event: Event
    text: str
    name: str | None = None
    ref: str | None = None
    at: datetime | None = None  # None: now
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRequest:
    """Request to append messages.

    `project` is a path or an id as sent; a session belongs to one or none.
    """

    messages: tuple[MessageDraft, ...]
    rejected: tuple[dict[str, Any], ...] = ()
    project: str | None = None


class CompileRequest(Request, frozen=True, kw_only=True):
    """Request for the prompt of a session's next turn."""

    session: Annotated[str, Meta(min_length=1, max_length=SESSION_LIMIT), ReadBy(_session_id)]
    message: Annotated[
        str, Meta(max_length=MESSAGE_LIMIT, description="the user's new message; it is not added to the log")
    ] = ""
    budget: Annotated[int, Meta(ge=LEAST_BUDGET, le=LARGEST_BUDGET, description="tokens, never exceeded")] = (
        COMPILE_BUDGET
    )
    project: ProjectRef | None = None  # of a session that has no message yet
    system: Annotated[
        str,
        Meta(
            max_length=SYSTEM_LIMIT,
            description="your own instructions, the same in every request: part of the static prefix",
        ),
    ] = ""
    tools: Annotated[
        tuple[Mapping[str, Any], ...],
        Meta(max_length=TOOLS_LIMIT, description="tool definitions, sorted by name into the static prefix"),
        ReadBy(_tools),
    ] = ()
    task: Annotated[
        LongText, Meta(description="state of the task; the first section dropped when the budget is short")
    ] = ""


class PageRequest(Request, frozen=True, kw_only=True):
    limit: PageSize = PAGE
    cursor: Cursor = None


class SessionsRequest(PageRequest, frozen=True, kw_only=True):
    project: ProjectRef | None = None


def append_of_body(raw: Any) -> AppendRequest:
    """Parse the messages.

    Returns the valid ones, and the rejected ones with their index. Raises InvalidInput if none is valid.
    """
    good, rejected = decode_batch(raw, Messages, "messages", MessageBody)
    project = decode({**raw, "messages": []}, Messages).project
    return AppendRequest(messages=tuple(map(_draft_of, good)), rejected=tuple(rejected), project=project)


def compile_of_body(raw: Any) -> CompileRequest:
    return decode(raw, CompileRequest)


def outcome_of_body(raw: Any) -> str | None:
    """Parse the outcome of the session; None if the body is empty."""
    return decode(raw or {}, SessionEnd).outcome or None


def page_of_query(query: str) -> PageRequest:
    return decode_query(query, PageRequest)


def sessions_of_query(query: str) -> SessionsRequest:
    return decode_query(query, SessionsRequest)


def message_json(message: Message, session: str) -> dict[str, Any]:
    """Convert a log entry to the client's shape; empty fields are omitted."""
    optional = {"ref": message.ref, "name": message.name, "event_data": dict(message.data) or None}
    return {
        "id": message.id,
        "session": session,
        "number": message.number,
        "role": _ROLE_OF_EVENT[message.event],
        "event_type": message.event.value,
        "content": message.text,
        "tokens": message.tokens,
        "at": iso(message.at),
        **{name: value for name, value in optional.items() if value is not None},
    }


def text_of_data(data: Mapping[str, Any]) -> str:
    """Return the text of a message from its data.

    A tool call, for example, has its content in its arguments.
    """
    told = next((data[name] for name in ("input", "arguments", "args", "command", "output") if data.get(name)), data)
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False, sort_keys=True)


def _draft_of(message: MessageBody) -> MessageDraft:
    text = message.content if message.content.strip() else text_of_data(message.event_data)
    return MessageDraft(
        event=message.event,
        text=shortened(text, MESSAGE_LIMIT),
        name=message.name or _tool_name(message.event_data),
        ref=message.ref,
        at=message.at,
        data=message.event_data,
    )


def _tool_name(data: Mapping[str, Any]) -> str | None:
    name = data.get("tool") or data.get("tool_name") or data.get("name")
    return name[:200] if isinstance(name, str) and name.strip() else None
