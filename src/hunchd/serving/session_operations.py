"""OpenAPI operations and schemas of the session routes."""

from __future__ import annotations

from typing import Any, Final

from hunchd.protocol.sessions import (
    EVENTS,
    ROLES,
    CompileRequest,
    MessageBody,
    Messages,
    PageRequest,
    SessionEnd,
    SessionsRequest,
)
from hunchd.protocol.struct_schemas import Schema, component_schemas, query_parameters
from hunchd.serving.schemas import (
    COUNT,
    OPEN,
    TEXTS,
    TIME,
    list_of,
    one_of,
    page_of,
    record,
    ref,
    text,
)

_MAYBE_TEXT: Final[Schema] = {"type": ["string", "null"]}

SESSION_SCHEMAS: Final[dict[str, Schema]] = component_schemas(
    {"CompileRequest": CompileRequest, "Message": MessageBody, "Messages": Messages, "SessionEnd": SessionEnd}
) | {
    "MessagesAccepted": record(
        {
            "session": text(),
            "accepted": COUNT,
            "ids": list_of(text(), "in the order sent, including known messages"),
            "rejected": list_of(OPEN),
        },
        required=("session", "accepted", "ids"),
    ),
    "LoggedMessage": record(
        {
            "id": text("of the memory that stores it"),
            "session": text(),
            "number": COUNT,
            "role": one_of(ROLES),
            "event_type": one_of(EVENTS),
            "content": text(),
            "tokens": COUNT,
            "at": TIME,
            "ref": text(),
            "name": text(),
            "event_data": OPEN,
        },
        required=("id", "session", "number", "role", "event_type", "content", "tokens", "at"),
    ),
    "Session": record(
        {
            "id": text(),
            "title": text(),
            "project": _MAYBE_TEXT,
            "state": one_of(("open", "ended")),
            "outcome": _MAYBE_TEXT,
            "began": TIME,
            "last": _MAYBE_TEXT,
            "ended": _MAYBE_TEXT,
            "messages": COUNT,
        },
        required=("id", "title", "state", "began", "messages"),
    ),
    "Prompt": record(
        {
            "messages": list_of(OPEN, "the first holds the system blocks; cache_control marks where caching pays"),
            "tools": list_of(OPEN),
            "token_count": COUNT,
            "sections": {"type": "object", "description": "tokens by section"},
            "prefix_digest": text("of the static prefix; the same for every session and day"),
            "pruned": list_of(text(), "sections dropped to fit the budget"),
            "history": OPEN,
            "retrieved": list_of(OPEN),
            "degraded": TEXTS,
        },
        required=("messages", "token_count", "sections", "prefix_digest"),
    ),
}


def _json(name: str) -> tuple[tuple[str, Schema], ...]:
    return (("application/json", ref(name)),)


# (method, path) → the fields of an Operation
SESSION_OPERATIONS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("GET", "/sessions"): {
        "id": "listSessions",
        "summary": "List all sessions, newest first.",
        "query": query_parameters(SessionsRequest),
        "answers": (("application/json", page_of(ref("Session"))),),
        "errors": (404,),
    },
    ("GET", "/sessions/{id}"): {
        "id": "session",
        "summary": "Return the state of a session.",
        "answers": _json("Session"),
        "errors": (404,),
    },
    ("DELETE", "/sessions/{id}"): {
        "id": "eraseSession",
        "summary": "Erase a session and everything derived from it, from disk too.",
        "errors": (404, 429, 507),
    },
    ("POST", "/sessions/{id}/messages"): {
        "id": "addMessages",
        "summary": "Append to a session's log; durable once answered. Rejected messages are listed, the others stored.",
        "body": ref("Messages"),
        "status": 202,
        "answers": _json("MessagesAccepted"),
        "errors": (404, 409, 429, 507),
    },
    ("GET", "/sessions/{id}/messages"): {
        "id": "listMessages",
        "summary": "List the log, oldest first.",
        "query": query_parameters(PageRequest),
        "answers": (("application/json", page_of(ref("LoggedMessage"))),),
        "errors": (404,),
    },
    ("POST", "/sessions/{id}/compact"): {
        "id": "compactSession",
        "summary": "Condense the history of later prompts now; the log stays as it is.",
        "errors": (404, 507),
    },
    ("POST", "/sessions/{id}/end"): {
        "id": "endSession",
        "summary": "Close a session and store its episodes and facts. The body may be omitted.",
        "body": ref("SessionEnd"),
        "needs_body": False,
        "errors": (404, 507),
    },
    ("POST", "/context/compile"): {
        "id": "compile",
        "summary": "Compile the prompt for a session's next request: stable sections first, within the budget.",
        "body": ref("CompileRequest"),
        "answers": _json("Prompt"),
        "errors": (404,),
    },
}
