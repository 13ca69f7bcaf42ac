"""OpenAPI operations and schemas of the session routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

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
    MessageBody,
    Messages,
    PageRequest,
    SessionEnd,
    SessionsRequest,
)
from hunchd.protocol.struct_schemas import Schema, list_query_parameters, page_schema
from hunchd.serving.schemas import schema_reference

SESSION_STRUCTS: Final[Mapping[str, type[Struct]]] = {
    "Compacted": CompactedAnswer,
    "CompileRequest": CompileRequest,
    "LoggedMessage": LoggedMessageAnswer,
    "Message": MessageBody,
    "Messages": Messages,
    "MessagesAccepted": MessagesAcceptedAnswer,
    "Prompt": PromptAnswer,
    "Session": SessionAnswer,
    "SessionEnd": SessionEnd,
    "SessionEnded": SessionEndedAnswer,
    "SessionErased": SessionErasedAnswer,
}


def _json_answer(name: str) -> tuple[tuple[str, Schema], ...]:
    return (("application/json", schema_reference(name)),)


# (method, path) → the fields of an Operation
SESSION_OPERATIONS: Final[dict[tuple[str, str], Mapping[str, Any]]] = {
    ("GET", "/sessions"): {
        "id": "listSessions",
        "summary": "List all sessions, newest first.",
        "query": list_query_parameters(SessionsRequest),
        "answers": (("application/json", page_schema("Session", SessionAnswer)),),
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
        "summary": "Erase a session and everything derived from it, including all traces on disk.",
        "answers": _json_answer("SessionErased"),
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
        "answers": (("application/json", page_schema("LoggedMessage", LoggedMessageAnswer)),),
        "errors": (404,),
    },
    ("POST", "/sessions/{id}/compact"): {
        "id": "compactSession",
        "summary": "Condense the history of later prompts now; the log stays as it is.",
        "answers": _json_answer("Compacted"),
        "errors": (404, 507),
    },
    ("POST", "/sessions/{id}/end"): {
        "id": "endSession",
        "summary": "Close a session and store its episodes and facts. The body may be omitted.",
        "body": schema_reference("SessionEnd"),
        "answers": _json_answer("SessionEnded"),
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
