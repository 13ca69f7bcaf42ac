"""OpenAPI 3.1 document that describes every route with its request and responses.

Tests compare it with the router.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from hunchd import PROTOCOL, __version__
from hunchd.protocol.memories import MemoryRecord
from hunchd.protocol.requests import AsOfQuery, ContextQuery, ExportQuery, ImportQuery, MemoriesQuery
from hunchd.protocol.responses import ProjectAnswer
from hunchd.protocol.struct_schemas import Schema, build_component_schemas, list_query_parameters, page_schema
from hunchd.serving.consolidation_openapi import CONSOLIDATION_OPERATIONS, CONSOLIDATION_STRUCTS
from hunchd.serving.knowledge_openapi import KNOWLEDGE_OPERATIONS, KNOWLEDGE_STRUCTS
from hunchd.serving.page_openapi import PAGE_OPERATIONS, PAGE_STRUCTS
from hunchd.serving.schemas import (
    ANY_OBJECT,
    SLICE_PARAMETERS,
    STRUCTS,
    TEXT,
    build_signal_schema,
    schema_reference,
)
from hunchd.serving.session_openapi import SESSION_OPERATIONS, SESSION_STRUCTS
from hunchd.serving.team_openapi import TEAM_OPERATIONS, TEAM_STRUCTS

_PATTERN: Final = re.compile(r":[^}]*")  # of a path parameter, as the router states it: {path:.+}
_JSON: Final = "application/json"
_JSON_LINES: Final = "application/x-ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """OpenAPI operation.

    `errors` are the statuses in addition to those that any route may return.
    """

    id: str
    summary: str
    query: tuple[tuple[str, Schema, bool], ...] = ()  # name, schema, required
    body: Schema | None = None
    needs_body: bool = True  # False: it may be omitted
    takes: tuple[str, ...] = (_JSON,)
    status: int = 200
    answers: tuple[tuple[str, Schema], ...]
    errors: tuple[int, ...] = ()
    open: bool = False  # without the token


def _json_answer(name: str) -> tuple[tuple[str, Schema], ...]:
    return ((_JSON, schema_reference(name)),)


OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/health"): Operation(
        id="health", summary="Check that the daemon is running.", answers=_json_answer("Health"), open=True
    ),
    ("GET", "/status"): Operation(
        id="status", summary="Return projects, queues, sizes, and what is degraded.", answers=_json_answer("Status")
    ),
    ("POST", "/projects"): Operation(
        id="addProject",
        summary="Register a project; idempotent.",
        body=schema_reference("NewProject"),
        answers=_json_answer("Project"),
    ),
    ("GET", "/projects"): Operation(
        id="listProjects",
        summary="List the registered projects.",
        query=SLICE_PARAMETERS,
        answers=((_JSON, page_schema("Project", ProjectAnswer)),),
    ),
    ("DELETE", "/projects/{id}"): Operation(
        id="removeProject",
        summary="Erase everything stored about a project, including all traces on disk.",
        answers=_json_answer("Removed"),
        errors=(404,),
    ),
    ("POST", "/signals"): Operation(
        id="sendSignals",
        summary="Report events. Durable once answered; invalid ones are listed, the others are stored.",
        body=schema_reference("Signals"),
        status=202,
        answers=_json_answer("Accepted"),
        errors=(429, 507),
    ),
    ("GET", "/context"): Operation(
        id="context",
        summary="Return what a developer at this file needs next. Returns 304 if the ETag is current.",
        query=list_query_parameters(ContextQuery),
        answers=((_JSON, schema_reference("Bundle")), ("text/markdown", TEXT)),
        errors=(304, 404),
    ),
    ("POST", "/context/assemble"): Operation(
        id="assemble",
        summary="Return the context for everything that a client has open.",
        body=schema_reference("AssembleRequest"),
        answers=_json_answer("Bundle"),
        errors=(404,),
    ),
    ("POST", "/context/predict"): Operation(
        id="predict",
        summary="Predict files and memories that will be needed, with reasons.",
        body=schema_reference("PredictRequest"),
        answers=_json_answer("Prediction"),
        errors=(404,),
    ),
    ("POST", "/context/review"): Operation(
        id="review",
        summary="Return what the uncommitted change, or base..HEAD, still lacks; nothing if it looks complete.",
        body=schema_reference("ReviewRequest"),
        answers=_json_answer("Review"),
        errors=(404,),
    ),
    ("POST", "/memories"): Operation(
        id="remember",
        summary="Store one or several memories; durable once answered. Rejected ones are listed, the others stored.",
        body={"oneOf": [schema_reference("MemoryDraft"), schema_reference("MemoryDrafts")]},
        status=201,
        answers=_json_answer("Ids"),
        errors=(404, 409, 429, 507),
    ),
    ("GET", "/memories"): Operation(
        id="listMemories",
        summary="List memories by their properties.",
        query=list_query_parameters(MemoriesQuery),
        answers=((_JSON, page_schema("Memory", MemoryRecord)),),
        errors=(404,),
    ),
    ("GET", "/memories/{id}"): Operation(
        id="memory",
        summary="Return one memory, current or as of a past time.",
        query=list_query_parameters(AsOfQuery),
        answers=_json_answer("Memory"),
        errors=(404,),
    ),
    ("PATCH", "/memories/{id}"): Operation(
        id="editMemory",
        summary="Change some fields of a memory.",
        body=schema_reference("MemoryPatch"),
        answers=_json_answer("Memory"),
        errors=(404, 409, 507),
    ),
    ("DELETE", "/memories/{id}"): Operation(
        id="forget", summary="Erase a memory.", answers=_json_answer("Forgotten"), errors=(404, 507)
    ),
    ("GET", "/memories/{id}/history"): Operation(
        id="memoryHistory",
        summary="List the current and earlier versions of a memory, newest first.",
        query=SLICE_PARAMETERS,
        answers=((_JSON, page_schema("Memory", MemoryRecord)),),
        errors=(404,),
    ),
    ("GET", "/memories/{id}/usage"): Operation(
        id="memoryUsage",
        summary="Return how often a memory was shown, used and rated, and its changes by consolidation.",
        answers=_json_answer("MemoryUsage"),
        errors=(404,),
    ),
    ("POST", "/expand"): Operation(
        id="expand",
        summary="Return the full text behind a pointer.",
        body=schema_reference("ExpandRequest"),
        answers=_json_answer("Expanded"),
        errors=(404,),
    ),
    ("POST", "/search"): Operation(
        id="search",
        summary="Search code and memories.",
        body=schema_reference("SearchRequest"),
        answers=_json_answer("SearchResults"),
        errors=(404,),
    ),
    ("POST", "/feedback"): Operation(
        id="feedback",
        summary="Report what helped and what did not.",
        body=schema_reference("Feedback"),
        status=202,
        answers=_json_answer("FeedbackCounted"),
        errors=(404, 507),
    ),
    ("GET", "/export"): Operation(
        id="export",
        summary="Export everything stored, one item per line; the last line has the count.",
        query=list_query_parameters(ExportQuery),
        answers=((_JSON_LINES, schema_reference("ExportLine")),),
        errors=(404,),
    ),
    ("POST", "/import"): Operation(
        id="import",
        summary="Import exported lines; a known line changes nothing. With `colleague` and `project`: as "
        "their statements, beside what is stored about that project; conflicts are reported as contradictions.",
        query=list_query_parameters(ImportQuery),
        body=schema_reference("ExportLine"),
        takes=(_JSON_LINES, "application/jsonl", _JSON),
        answers=_json_answer("Imported"),
        errors=(404, 429, 507),
    ),
    ("GET", "/events"): Operation(
        id="events",
        summary="Stream events as server-sent events; a slow reader is disconnected.",
        answers=(("text/event-stream", TEXT),),
        errors=(429,),
    ),
    ("GET", "/metrics"): Operation(
        id="metrics", summary="Return counters for Prometheus.", answers=(("text/plain", TEXT),)
    ),
    ("POST", "/mcp"): Operation(
        id="mcp",
        summary="Serve the Model Context Protocol: streamable HTTP, with or without a handshake, no sessions.",
        body={"type": "object", "description": "one JSON-RPC 2.0 message"},
        answers=((_JSON, ANY_OBJECT),),
        errors=(404,),
    ),
    ("POST", "/agents/{id}/events"): Operation(
        id="agentEvent",
        summary="Process an agent's hook payload; the response is what the hook prints.",
        body={"type": "object", "description": "in the format of that agent"},
        answers=(("text/plain", TEXT),),
        errors=(404,),
    ),
    ("GET", "/openapi.json"): Operation(id="openapi", summary="Return this document.", answers=((_JSON, ANY_OBJECT),)),
}

_OTHER_OPERATIONS: Final = (
    SESSION_OPERATIONS | KNOWLEDGE_OPERATIONS | CONSOLIDATION_OPERATIONS | PAGE_OPERATIONS | TEAM_OPERATIONS
)
OPERATIONS.update({route: Operation(**fields) for route, fields in _OTHER_OPERATIONS.items()})
ALL_SCHEMAS: Final[dict[str, Schema]] = build_component_schemas(
    {**STRUCTS, **SESSION_STRUCTS, **KNOWLEDGE_STRUCTS, **CONSOLIDATION_STRUCTS, **PAGE_STRUCTS, **TEAM_STRUCTS}
) | {"Signal": build_signal_schema()}

_STATUS_DESCRIPTIONS: Final = {
    304: "not modified: the ETag is current",
    400: "the request cannot be read: not JSON, a query string that is not UTF-8",
    401: "the token is missing or wrong",
    403: "the Host is not loopback, or the Origin is foreign",
    404: "not found",
    408: "the body did not arrive in time",
    409: "the request conflicts with the current state",
    413: "too large",
    415: "unsupported Content-Type",
    422: "a field or parameter is unknown or invalid; the error names it",
    429: "too many requests: retry after Retry-After seconds",
    503: "a component is starting or unavailable: retry",
    507: "the disk is full; nothing was accepted",
}


def takes_query(method: str, path: str) -> bool:
    """Return True if requests to the route may have a query string.

    This is the case if the route has query parameters, is not in the document, or serves the web page. The page's
    views store the selection in
    their address; the daemon does not read it.
    """
    operation = OPERATIONS.get((method, _PATTERN.sub("", path)))
    return operation is None or bool(operation.query) or path.startswith("/ui")


def build_document() -> Schema:
    """Build the whole OpenAPI document."""
    paths: dict[str, Schema] = {}
    for (method, path), operation in OPERATIONS.items():
        paths.setdefault(path, {})[method.lower()] = _build_operation(path, operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hunchd",
            "version": __version__,
            "description": "null equals omission. Unknown fields and parameters are refused by name; only signals "
            "and exported lines may have more fields, unless one is similar to a known one. Texts must be Unicode "
            "without NUL, integers fit 64 bits, JSON nests 64 levels at most. Outside ASCII a text reaches its limit "
            "before its maxLength: bytes of UTF-8 are counted.",
            "summary": f"Protocol {PROTOCOL}. On loopback only; the rendezvous file has the address and the token.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": ALL_SCHEMAS,
            "responses": {
                str(status): _error_schema(meaning) for status, meaning in _STATUS_DESCRIPTIONS.items() if status != 304
            },
        },
    }


def _build_operation(path: str, operation: Operation) -> Schema:
    success = {"description": "done", "content": {type_: {"schema": schema} for type_, schema in operation.answers}}
    operation_schema: Schema = {
        "operationId": operation.id,
        "summary": operation.summary,
        "responses": {str(operation.status): success}
        | {str(status): _response_reference(status) for status in sorted(_error_statuses(path, operation))},
    }
    parameters = [_build_parameter(name, schema, "query", is_required) for name, schema, is_required in operation.query]
    parameters += [
        _build_parameter(name, TEXT, "path", is_required=True) for name in ("id", "path") if f"{{{name}}}" in path
    ]
    if parameters:
        operation_schema["parameters"] = parameters
    if operation.body is not None:
        content = {type_: {"schema": operation.body} for type_ in operation.takes}
        operation_schema["requestBody"] = {"required": operation.needs_body, "content": content}
    if operation.open:
        operation_schema["security"] = []
    return operation_schema


def _error_statuses(path: str, operation: Operation) -> set[int]:
    """Return all error statuses of a route.

    They are its own, those of every route, and those that follow from having a body or needing the token.
    """
    errors = {403, *operation.errors}
    if not operation.open:
        errors |= {401, 415, 503}
    errors |= {400, 422}  # any route refuses unknown parameters
    if operation.body is not None:
        errors |= {408, 413}
    return errors


def _response_reference(status: int) -> Schema:
    return {"description": _STATUS_DESCRIPTIONS[304]} if status == 304 else {"$ref": f"#/components/responses/{status}"}


def _error_schema(description: str) -> Schema:
    return {"description": description, "content": {_JSON: {"schema": schema_reference("Error")}}}


def _build_parameter(name: str, schema: Schema, location: str, is_required: bool) -> Schema:
    parameter_schema = {"name": name, "in": location, "required": is_required, "schema": schema}
    return parameter_schema | ({"explode": False} if schema.get("type") == "array" else {})  # separated by commas
