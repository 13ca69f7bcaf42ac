"""OpenAPI operations and schemas of the session routes."""

from __future__ import annotations

from typing import Any, Final

from hunchd.protocol.session_requests import (
    EVENTS,
    ROLES,
    CompileRequest,
    MessageBody,
    Messages,
    PageRequest,
    SessionEnd,
    SessionsRequest,
)
from hunchd.protocol.struct_schemas import Schema, build_component_schemas, list_query_parameters
from hunchd.serving.schemas import (
    ANY_OBJECT,
    COUNT,
    TEXTS,
    TIME,
    enum_schema,
    list_schema,
    object_schema,
    page_schema,
    schema_reference,
    text_schema,
)

_OPTIONAL_TEXT: Final[Schema] = {"type": ["string", "null"]}

SESSION_SCHEMAS: Final[dict[str, Schema]] = build_component_schemas(
    {"CompileRequest": CompileRequest, "Message": MessageBody, "Messages": Messages, "SessionEnd": SessionEnd}
) | {
    "MessagesAccepted": object_schema(
        {
            "session": text_schema(),
            "accepted": COUNT,
            "ids": list_schema(text_schema(), "in the order sent, including known messages"),
            "rejected": list_schema(ANY_OBJECT),
        },
        required_fields=("session", "accepted", "ids"),
    ),
    "LoggedMessage": object_schema(
        {
            "id": text_schema("of the memory that stores it"),
            "session": text_schema(),
            "number": COUNT,
            "role": enum_schema(ROLES),
            "event_type": enum_schema(EVENTS),
            "content": text_schema(),
            "tokens": COUNT,
            "at": TIME,
            "ref": text_schema(),
            "name": text_schema(),
            "event_data": ANY_OBJECT,
        },
        required_fields=("id", "session", "number", "role", "event_type", "content", "tokens", "at"),
    ),
    "Session": object_schema(
        {
            "id": text_schema(),
            "title": text_schema(),
            "project": _OPTIONAL_TEXT,
            "state": enum_schema(("open", "ended")),
            "outcome": _OPTIONAL_TEXT,
            "began": TIME,
            "last": _OPTIONAL_TEXT,
            "ended": _OPTIONAL_TEXT,
            "messages": COUNT,
        },
        required_fields=("id", "title", "state", "began", "messages"),
    ),
    "Prompt": object_schema(
        {
            "messages": list_schema(
                ANY_OBJECT, "the first holds the system blocks; cache_control marks where caching pays"
            ),
            "tools": list_schema(ANY_OBJECT),
            "token_count": COUNT,
            "sections": {"type": "object", "description": "tokens by section"},
            "prefix_digest": text_schema("of the static prefix; the same for every session and day"),
            "pruned": list_schema(text_schema(), "sections dropped to fit the budget"),
            "history": ANY_OBJECT,
            "retrieved": list_schema(ANY_OBJECT),
            "degraded": TEXTS,
        },
        required_fields=("messages", "token_count", "sections", "prefix_digest"),
    ),
}


def _json_answer(name: str) -> tuple[tuple[str, Schema], ...]:
    return (("application/json", schema_reference(name)),)


# (method, path) → the fields of an Operation
SESSION_OPERATIONS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("GET", "/sessions"): {
        "id": "listSessions",
        "summary": "List all sessions, newest first.",
        "query": list_query_parameters(SessionsRequest),
        "answers": (("application/json", page_schema(schema_reference("Session"))),),
        "errors": (404,),
    },
    ("GET", "/sessions/{id}"): {
        "id": "session",
        "summary": "Return the state of a session.",
        "answers": _json_answer("Session"),
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
        "body": schema_reference("Messages"),
        "status": 202,
        "answers": _json_answer("MessagesAccepted"),
        "errors": (404, 409, 429, 507),
    },
    ("GET", "/sessions/{id}/messages"): {
        "id": "listMessages",
        "summary": "List the log, oldest first.",
        "query": list_query_parameters(PageRequest),
        "answers": (("application/json", page_schema(schema_reference("LoggedMessage"))),),
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
        "body": schema_reference("SessionEnd"),
        "needs_body": False,
        "errors": (404, 507),
    },
    ("POST", "/context/compile"): {
        "id": "compile",
        "summary": "Compile the prompt for a session's next request: stable sections first, within the budget.",
        "body": schema_reference("CompileRequest"),
        "answers": _json_answer("Prompt"),
        "errors": (404,),
    },
}
