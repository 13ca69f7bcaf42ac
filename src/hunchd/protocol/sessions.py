"""Sessions on the wire: messages from agents, the session log, the request of /context/compile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from hunchd.domain.errors import InvalidInput
from hunchd.domain.session import Event, Message
from hunchd.protocol.answers import iso
from hunchd.protocol.fields import TEXT_LIMIT, Fields, batch_of, each_good, shortened
from hunchd.protocol.requests import LARGEST_BUDGET, LARGEST_PAGE, PAGE

MESSAGES_LIMIT: Final = 1000  # messages a request
# Limit for a person's message; a tool's output is shortened to it instead of being rejected.
MESSAGE_LIMIT: Final = 512 * 1024  # bytes of UTF-8
SESSION_LIMIT: Final = 200  # characters of a session's id
SYSTEM_LIMIT: Final = 256 * 1024  # bytes of the client's own system text
TOOLS_LIMIT: Final = 256  # tools described to the model
# The design's shares: 8k static, 5k profile, 2k background, 10k history, 5k retrieved, 2k message.
COMPILE_BUDGET: Final = 32_000  # tokens
LEAST_BUDGET: Final = 256  # tokens

ROLES: Final = ("user", "assistant", "tool", "system")
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

MESSAGE_FIELDS: Final = ("ref", "role", "name", "content", "at", "event_type", "event_data")
APPEND_FIELDS: Final = ("messages", "project")
END_FIELDS: Final = ("outcome",)
OUTCOMES: Final = ("success", "partial", "interrupted")
PAGE_FIELDS: Final = ("limit", "cursor")
SESSIONS_FIELDS: Final = ("project", "limit", "cursor")
COMPILE_FIELDS: Final = ("session", "message", "budget", "project", "system", "tools", "task")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileRequest:
    session: str
    message: str = ""
    budget: int = COMPILE_BUDGET  # tokens
    project: str | None = None  # of a session that has no message yet
    system: str = ""  # the client's own instructions: must not change between requests
    tools: tuple[Mapping[str, Any], ...] = ()
    task: str = ""  # state of the work; dropped first when the budget is short


@dataclass(frozen=True, slots=True)
class PageRequest:
    limit: int
    cursor: str | None
    project: str | None = None


def append_of_body(raw: Any) -> AppendRequest:
    """Parse the messages.

    Returns the valid ones, and the rejected ones with their index. Raises InvalidInput if none is valid.
    """
    entries = batch_of(raw, "messages", most=MESSAGES_LIMIT)
    good, rejected = each_good(entries, lambda entry, index: _message_draft(entry, f"messages[{index}]."))
    fields = Fields({name: value for name, value in raw.items() if name != "messages"}, APPEND_FIELDS)
    return AppendRequest(messages=tuple(good), rejected=tuple(rejected), project=fields.project())


def compile_of_body(raw: Any) -> CompileRequest:
    fields = Fields(raw, COMPILE_FIELDS)
    return CompileRequest(
        session=session_id(fields.required_text("session")),
        message=fields.text("message", limit=MESSAGE_LIMIT) or "",
        budget=fields.integer("budget", COMPILE_BUDGET, low=LEAST_BUDGET, high=LARGEST_BUDGET),
        project=fields.project(),
        system=fields.text("system", limit=SYSTEM_LIMIT) or "",
        tools=_tools(fields),
        task=fields.text("task", limit=TEXT_LIMIT) or "",
    )


def outcome_of_body(raw: Any) -> str | None:
    """Parse the outcome of the session; None if the body is empty."""
    return Fields(raw or {}, END_FIELDS).choice("outcome", ("", *OUTCOMES), "") or None


def page_of_query(query: str) -> PageRequest:
    fields = Fields.of_query(query, PAGE_FIELDS)
    return PageRequest(fields.integer("limit", PAGE, low=1, high=LARGEST_PAGE), fields.text("cursor"))


def sessions_of_query(query: str) -> PageRequest:
    fields = Fields.of_query(query, SESSIONS_FIELDS)
    return PageRequest(
        fields.integer("limit", PAGE, low=1, high=LARGEST_PAGE),
        fields.text("cursor"),
        fields.project(),
    )


def session_id(text: str) -> str:
    """Validate the caller's id of a session: any text of one line."""
    if not text.strip() or len(text) > SESSION_LIMIT or not text.isprintable():
        raise InvalidInput(f"a session's id is a line of at most {SESSION_LIMIT} characters", field="session")
    return text


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


def _message_draft(raw: Any, where: str) -> MessageDraft:
    fields = Fields(raw, MESSAGE_FIELDS, where=where)
    role = fields.choice("role", ROLES)
    named = fields.choice("event_type", ("", *EVENTS), "")
    event = Event(named) if named else _EVENT_OF_ROLE[role]
    is_tools = event in (Event.CALL, Event.RESULT)
    text = fields.text("content", limit=2**62 if is_tools else MESSAGE_LIMIT) or ""
    data = fields.mapping("event_data", limit=MESSAGE_LIMIT)
    if not text.strip():
        if not data:
            raise fields.refused("content", "is missing or empty; give a text (a tool call may have 'event_data')")
        text = text_of_data(data)
    return MessageDraft(
        event=event,
        text=shortened(text, MESSAGE_LIMIT),
        name=fields.text("name") or _tool_name(data),
        ref=fields.text("ref", limit=512) or None,
        at=fields.time("at"),
        data=data,
    )


def _tool_name(data: Mapping[str, Any]) -> str | None:
    name = data.get("tool") or data.get("tool_name") or data.get("name")
    return name[:200] if isinstance(name, str) and name.strip() else None


def _tools(fields: Fields) -> tuple[Mapping[str, Any], ...]:
    tools = fields.objects("tools", most=TOOLS_LIMIT)
    for tool in tools:
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            raise fields.refused("tools", 'must hold objects with a "name"')
    return tuple(tools)
