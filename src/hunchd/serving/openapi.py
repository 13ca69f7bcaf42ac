"""OpenAPI 3.1 document that describes every route.

The descriptions of requests and responses are taken from the declarations of the handlers.
"""

from __future__ import annotations

from typing import Any, Final, get_args, get_origin

from msgspec import Struct

from hunchd import PROTOCOL, __version__
from hunchd.protocol.consolidation_answers import ChangeAnswer
from hunchd.protocol.knowledge_answers import FeedbackAnswer, UnderstoodAnswer
from hunchd.protocol.memories import MemoryBody, MemoryRecord
from hunchd.protocol.requests import ContradictionReport, ResolutionRequest, SearchBody
from hunchd.protocol.responses import ErrorAnswer, ErrorEnvelope, PageAnswer, Rejection
from hunchd.protocol.search_results import ExpandAnswer, SearchAnswer
from hunchd.protocol.session_requests import MessageBody
from hunchd.protocol.signals import BODY_OF_KIND, SignalBody, SignalsBody
from hunchd.protocol.struct_schemas import (
    REF,
    Schema,
    build_component_schemas,
    list_query_parameters,
    page_schema,
)
from hunchd.serving.agent_events import AgentHandlers
from hunchd.serving.consolidation_handlers import ConsolidationHandlers
from hunchd.serving.knowledge_handlers import KnowledgeHandlers
from hunchd.serving.mcp_handler import McpHandler
from hunchd.serving.memory_handlers import MemoryHandlers
from hunchd.serving.page_handlers import PageHandlers
from hunchd.serving.routes import JSON, TEXT, Route, list_routes
from hunchd.serving.server_handlers import ServerHandlers
from hunchd.serving.session_handlers import SessionHandlers
from hunchd.serving.team_handlers import TeamHandlers

HANDLERS: Final = (
    ServerHandlers,
    MemoryHandlers,
    McpHandler,
    AgentHandlers,
    SessionHandlers,
    KnowledgeHandlers,
    ConsolidationHandlers,
    PageHandlers,
    TeamHandlers,
)
OPERATIONS: Final[dict[tuple[str, str], Route]] = {
    (each.method, each.path): each for handlers in HANDLERS for each in list_routes(handlers)
}

# Structs that the document names although no route has them as its body or answer.
_INNER_STRUCTS: Final = (ErrorEnvelope, ErrorAnswer, Rejection, SignalBody, UnderstoodAnswer, MessageBody, ChangeAnswer)
# Names of Structs in the document, where they are not simply the Struct's own name without "Answer".
_NAMES: Final[dict[type[Struct], str]] = {
    ChangeAnswer: "ConsolidationChange",
    ContradictionReport: "Opposition",
    ErrorAnswer: "ErrorBody",
    ErrorEnvelope: "Error",
    ExpandAnswer: "Expanded",
    FeedbackAnswer: "FeedbackCounted",
    MemoryBody: "MemoryDraft",
    MemoryRecord: "Memory",
    MessageBody: "Message",
    ResolutionRequest: "Resolution",
    SearchAnswer: "SearchResults",
    SearchBody: "SearchRequest",
    SignalBody: "Signal",
    SignalsBody: "Signals",
}

_STATUS_DESCRIPTIONS: Final = {
    304: "not modified; the ETag is current",
    400: "the request cannot be parsed, for example because the body is not JSON",
    401: "the token is missing or wrong",
    403: "the Host is not loopback, or the Origin is foreign",
    404: "not found",
    408: "the body did not arrive in time",
    409: "the request conflicts with the current state",
    413: "the body is too large",
    415: "the Content-Type is not supported",
    422: "a field or parameter is unknown or invalid; the error names it",
    429: "too many requests; retry after the number of seconds in Retry-After",
    503: "a component is starting or unavailable; retry later",
    507: "the disk is full; nothing was accepted",
}


def build_document() -> Schema:
    """Build the whole OpenAPI document."""
    paths: dict[str, Schema] = {}
    for (method, path), route in OPERATIONS.items():
        paths.setdefault(path, {})[method.lower()] = _build_operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hunchd",
            "version": __version__,
            "description": "A field that is null counts as omitted. Unknown fields and parameters are rejected by "
            "name; only signals and exported lines may have additional fields, unless the name of one resembles a "
            "known field. Strings must be Unicode without NUL, integers must fit into 64 bits, and JSON may nest at "
            "most 64 levels deep. A string with characters outside ASCII reaches its limit before its maxLength, "
            "because the limit counts bytes of UTF-8.",
            "summary": f"Protocol {PROTOCOL}. Served on loopback only; the rendezvous file contains the address and "
            "the token.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _build_schemas(),
            "responses": {
                str(status): _error_schema(meaning) for status, meaning in _STATUS_DESCRIPTIONS.items() if status != 304
            },
        },
    }


def _build_schemas() -> dict[str, Schema]:
    structs: set[type[Struct]] = {*_INNER_STRUCTS}
    for route in OPERATIONS.values():
        for each in (route.body, *route.answers.values()):
            structs |= {of for of in get_args(each) or (each,) if isinstance(of, type) and issubclass(of, Struct)}
    schemas = build_component_schemas({_name(of): of for of in structs}) | {"Signal": _build_signal_schema()}
    return dict(sorted(schemas.items()))


def _build_signal_schema() -> Schema:
    """Return one schema that covers all kinds of signals.

    It contains the fields of every kind, but lists as required only the fields that every kind requires.
    """
    bodies = {each.__name__: each for each in BODY_OF_KIND.values()}
    common = build_component_schemas({"Signal": SignalBody})["Signal"]
    properties = dict(common["properties"])
    for schema in build_component_schemas(bodies).values():
        for name, each in schema["properties"].items():
            if name not in properties or "description" not in properties[name]:
                properties[name] = each
    return common | {"properties": properties}


def _name(of: type[Struct]) -> str:
    return _NAMES.get(of) or of.__name__.removesuffix("Answer")


def _reference(shape: Any) -> Schema:
    """Return the schema of a request body or a response.

    `shape` is a Struct, a union of Structs, a page of a Struct, or a schema, which is returned unchanged.
    """
    if isinstance(shape, dict):
        return shape
    if get_origin(shape) is PageAnswer:
        [entry] = get_args(shape)
        return page_schema(_name(entry), entry)
    if alternatives := get_args(shape):
        return {"oneOf": [_reference(each) for each in alternatives]}
    return {"$ref": REF + _name(shape)}


def _build_operation(route: Route) -> Schema:
    content = {type_: {"schema": _reference(answer)} for type_, answer in route.answers.items()}
    operation_schema: Schema = {
        "operationId": route.id,
        "summary": route.summary,
        "responses": {str(route.status): {"description": "done", "content": content}}
        | {str(status): _response_reference(status) for status in sorted(_error_statuses(route))},
    }
    query = list_query_parameters(route.query) if route.query is not None else ()
    parameters = [_build_parameter(name, schema, "query", is_required) for name, schema, is_required in query]
    parameters += [
        _build_parameter(name, TEXT, "path", is_required=True) for name in ("id", "path") if f"{{{name}}}" in route.path
    ]
    if parameters:
        operation_schema["parameters"] = parameters
    if route.body is not None:
        taken = {type_: {"schema": _reference(route.body)} for type_ in route.takes}
        operation_schema["requestBody"] = {"required": route.needs_body, "content": taken}
    if route.open:
        operation_schema["security"] = []
    return operation_schema


def _error_statuses(route: Route) -> set[int]:
    """Return all error statuses that a route can return.

    They are the statuses that the route declares, those that every route can return, and those that depend on whether
    the route has a body and needs the token.
    """
    errors = {403, *route.errors}
    if not route.open:
        errors |= {401, 415, 503}
    errors |= {400, 422}  # any route refuses unknown parameters
    if route.body is not None:
        errors |= {408, 413}
    return errors


def _response_reference(status: int) -> Schema:
    return {"description": _STATUS_DESCRIPTIONS[304]} if status == 304 else {"$ref": f"#/components/responses/{status}"}


def _error_schema(description: str) -> Schema:
    return {"description": description, "content": {JSON: {"schema": _reference(ErrorEnvelope)}}}


def _build_parameter(name: str, schema: Schema, location: str, is_required: bool) -> Schema:
    parameter_schema = {"name": name, "in": location, "required": is_required, "schema": schema}
    return parameter_schema | ({"explode": False} if schema.get("type") == "array" else {})  # separated by commas
