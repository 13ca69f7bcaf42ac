"""Requests about sessions: messages, the session log, and POST /context/compile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal, get_args

from msgspec import Meta

from hunchd.domain.errors import InvalidInput
from hunchd.domain.session import MessageType
from hunchd.protocol.fields import Fields, shorten_middle
from hunchd.protocol.requests import DEFAULT_PAGE_SIZE, MAX_BUDGET, Cursor, PageSize
from hunchd.protocol.responses import Rejection
from hunchd.protocol.struct_decoding import (
    CustomReader,
    LongText,
    Name,
    ProjectRef,
    Request,
    Time,
    decode,
    decode_batch,
)

MAX_MESSAGES: Final = 1000  # messages per request
# Limit for a person's message; a tool's output is shortened to it instead of being rejected.
MAX_MESSAGE_BYTES: Final = 512 * 1024  # bytes of UTF-8
MAX_SESSION_ID_CHARACTERS: Final = 200  # characters of a session's id
MAX_SYSTEM_BYTES: Final = 256 * 1024  # bytes of the client's own system text
MAX_TOOLS: Final = 256  # tools described to the model
# The design's shares: 8k static, 5k profile, 2k background, 10k history, 5k retrieved, 2k message.
DEFAULT_COMPILE_BUDGET: Final = 32_000  # tokens
MIN_BUDGET: Final = 256  # tokens

Role = Literal["user", "assistant", "tool", "system"]
ROLES: Final[tuple[str, ...]] = get_args(Role)
EVENTS: Final = tuple(event.value for event in MessageType)
_EVENT_OF_ROLE: Final[Mapping[Role, MessageType]] = {
    "user": MessageType.USER,
    "assistant": MessageType.ASSISTANT,
    "tool": MessageType.RESULT,
    "system": MessageType.SYSTEM,
}
_ROLE_OF_EVENT: Final[Mapping[MessageType, Role]] = {
    MessageType.USER: "user",
    MessageType.ASSISTANT: "assistant",
    MessageType.CALL: "assistant",
    MessageType.RESULT: "tool",
    MessageType.SYSTEM: "system",
}


def _event(fields: Fields, name: str) -> MessageType | None:
    event_name = fields.get_choice(name, ("", *EVENTS), "")
    return MessageType(event_name) if event_name else None


def validate_session_id(text: str) -> str:
    """Return the session id if it is valid; otherwise raise InvalidInput.

    A client may choose any text that fits on one line and is not too long.
    """
    if not text.strip() or len(text) > MAX_SESSION_ID_CHARACTERS or not text.isprintable():
        raise InvalidInput(
            f"a session id must be one line of at most {MAX_SESSION_ID_CHARACTERS} characters", field="session"
        )
    return text


def _parse_tools(fields: Fields, name: str) -> tuple[Mapping[str, Any], ...]:
    tools = fields.get_objects(name, max_entries=MAX_TOOLS)
    for tool in tools:
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            raise fields.error(name, 'must contain objects with a "name"')
    return tuple(tools)


def _session_id(fields: Fields, name: str) -> str:
    return validate_session_id(fields.get_required_text(name))


def _content(fields: Fields, name: str) -> str | None:
    return fields.get_text(name, limit=2**62)  # a tool's text is shortened, not refused


def _event_data(fields: Fields, name: str) -> Mapping[str, Any]:
    return fields.get_mapping(name, limit=MAX_MESSAGE_BYTES)


class MessageBody(Request, frozen=True, kw_only=True):
    ref: Annotated[
        Annotated[str, Meta(max_length=512)] | None,
        Meta(description="your own key: a message sent again with it is not stored twice"),
    ] = None
    role: Role
    name: Annotated[Name | None, Meta(description="name of the speaker or of the tool")] = None
    content: Annotated[
        str,
        Meta(
            max_length=MAX_MESSAGE_BYTES,
            description="a tool call may use event_data instead; the text of a tool is shortened",
        ),
        CustomReader(_content),
    ] = ""
    at: Time | None = None
    event_type: Annotated[
        MessageType | None, Meta(description="if omitted, derived from the role"), CustomReader(_event)
    ] = None
    event_data: Annotated[
        Mapping[str, Any],
        Meta(description="the arguments of a tool call, its status, …"),
        CustomReader(_event_data),
    ] = {}

    @property
    def event(self) -> MessageType:
        return self.event_type or _EVENT_OF_ROLE[self.role]

    def check(self, fields: Fields) -> None:
        if self.event not in (MessageType.CALL, MessageType.RESULT):
            fields.get_text("content", limit=MAX_MESSAGE_BYTES)
        if not self.content.strip() and not self.event_data:
            raise fields.error("content", "must be a non-empty string (a tool call may have 'event_data' instead)")


class Messages(Request, frozen=True, kw_only=True):
    """Messages to append to a session.

    The session belongs to the project named in its first request.
    """

    messages: Annotated[tuple[MessageBody, ...], Meta(max_length=MAX_MESSAGES)]
    project: ProjectRef | None = None


class SessionEnd(Request, frozen=True, kw_only=True):
    outcome: Annotated[
        Literal["", "success", "partial", "interrupted"], Meta(description="if omitted, derived from the last turns")
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDraft:
    """Message that has not been given a position in the log yet."""

    event: MessageType
    text: str
    name: str | None = None
    ref: str | None = None
    at: datetime | None = None  # None: now
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRequest:
    """Request to append messages to a session.

    `project` is a path or an id, as sent by the client; a session belongs to at most one project.
    """

    messages: tuple[MessageDraft, ...]
    rejections: tuple[Rejection, ...] = ()
    project: str | None = None


class CompileRequest(Request, frozen=True, kw_only=True):
    """Request for the prompt of a session's next turn."""

    session: Annotated[str, Meta(min_length=1, max_length=MAX_SESSION_ID_CHARACTERS), CustomReader(_session_id)]
    message: Annotated[
        str, Meta(max_length=MAX_MESSAGE_BYTES, description="the user's new message; it is not added to the log")
    ] = ""
    budget: Annotated[int, Meta(ge=MIN_BUDGET, le=MAX_BUDGET, description="tokens, never exceeded")] = (
        DEFAULT_COMPILE_BUDGET
    )
    project: ProjectRef | None = None  # for a session that has no message yet
    system: Annotated[
        str,
        Meta(
            max_length=MAX_SYSTEM_BYTES,
            description="your own instructions, the same in every request: part of the static prefix",
        ),
    ] = ""
    tools: Annotated[
        tuple[Mapping[str, Any], ...],
        Meta(max_length=MAX_TOOLS, description="tool definitions, sorted by name into the static prefix"),
        CustomReader(_parse_tools),
    ] = ()
    task: Annotated[
        LongText, Meta(description="state of the task; the first section dropped when the budget is short")
    ] = ""


class PageRequest(Request, frozen=True, kw_only=True):
    limit: PageSize = DEFAULT_PAGE_SIZE
    cursor: Cursor = None


class SessionsRequest(PageRequest, frozen=True, kw_only=True):
    project: ProjectRef | None = None


def parse_append_body(raw: Any) -> AppendRequest:
    """Parse a request body with messages to append.

    Returns the valid messages, and the rejected ones with their index. Raises InvalidInput if no message is valid.
    """
    drafts, rejections = decode_batch(raw, Messages, "messages", MessageBody)
    project = decode({**raw, "messages": []}, Messages).project
    return AppendRequest(messages=tuple(map(_draft_of, drafts)), rejections=tuple(rejections), project=project)


def get_role(event: MessageType) -> Role:
    return _ROLE_OF_EVENT[event]


def extract_data_text(data: Mapping[str, Any]) -> str:
    """Return the text that a message's data contains.

    In the data of a tool call, for example, the text is in the arguments.
    """
    content = next((data[name] for name in ("input", "arguments", "args", "command", "output") if data.get(name)), data)
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, sort_keys=True)


def _draft_of(message: MessageBody) -> MessageDraft:
    text = message.content if message.content.strip() else extract_data_text(message.event_data)
    return MessageDraft(
        event=message.event,
        text=shorten_middle(text, MAX_MESSAGE_BYTES),
        name=message.name or _get_tool_name(message.event_data),
        ref=message.ref,
        at=message.at,
        data=message.event_data,
    )


def _get_tool_name(data: Mapping[str, Any]) -> str | None:
    name = data.get("tool") or data.get("tool_name") or data.get("name")
    return name[:200] if isinstance(name, str) and name.strip() else None
