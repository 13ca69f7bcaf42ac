"""OpenAPI operations and schemas of the consolidation routes."""

from __future__ import annotations

from typing import Any, Final

from hunchd.consolidation.plan import COUNTERS
from hunchd.protocol.consolidation_requests import ChangesQuery, ConsolidateRequest, UndoRequest
from hunchd.protocol.steps import STEPS
from hunchd.protocol.struct_schemas import Schema, build_component_schemas, list_query_parameters
from hunchd.serving.schemas import (
    ANY_OBJECT,
    COUNT,
    NUMBER,
    SLICE_PARAMETERS,
    TIME,
    enum_schema,
    list_schema,
    object_schema,
    page_schema,
    schema_reference,
    text_schema,
)

_JSON: Final = "application/json"
_STATE: Final[Schema] = {"type": ["object", "null"], "description": "null: no such memory at that time"}

CONSOLIDATION_SCHEMAS: Final[dict[str, Schema]] = build_component_schemas(
    {"ConsolidateRequest": ConsolidateRequest, "UndoRequest": UndoRequest}
) | {
    "Run": object_schema(
        {
            "run": text_schema("its id"),
            "status": enum_schema(("dry_run", "running", "done", "rolled_back", "stopped", "interrupted", "undone")),
            **dict.fromkeys(COUNTERS, COUNT),
            "changes": list_schema(schema_reference("ConsolidationChange"), "the first of them"),
            "more": COUNT,
            "total": COUNT,
            "trigger": text_schema(),
            "began": TIME,
            "ended": TIME,
            "seconds": NUMBER,
            "step": text_schema("of a run in progress"),
            "project": {
                "type": ["string", "null"],
                "description": "of a run in progress; null: memories without a project",
            },
            "gate": list_schema(ANY_OBJECT, "by project: the queries that were checked, and those that got worse"),
            "lost": list_schema(ANY_OBJECT, "of a run that was rolled back: which query lost what by which step"),
        },
        required_fields=("run", "status"),
    ),
    "ConsolidationChange": object_schema(
        {
            "change": COUNT,
            "step": enum_schema(STEPS),
            "what": text_schema(),
            "why": text_schema(),
            "counts": enum_schema(COUNTERS),
            "project": {
                "type": ["string", "null"],
                "description": "its name; null: your own memories, without a project",
            },
            "edits": list_schema(
                object_schema({"id": text_schema(), "was": _STATE, "now": _STATE}), "the fields that differ"
            ),
        }
    ),
    "MemoryUsage": object_schema(
        {
            "usage": ANY_OBJECT,
            "events": list_schema(object_schema({"at": TIME, "what": text_schema()}), "recent events, newest first"),
            "changes": list_schema(
                object_schema(
                    {"run": text_schema(), "step": enum_schema(STEPS), "what": text_schema(), "why": text_schema()}
                )
            ),
        },
        required_fields=("usage", "events", "changes"),
    ),
    "Undone": object_schema(
        {"run": text_schema(), "undone": COUNT, "left": COUNT}, required_fields=("run", "undone", "left")
    ),
}

# (method, path) → the fields of an Operation
CONSOLIDATION_OPERATIONS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("POST", "/consolidate"): {
        "id": "consolidate",
        "summary": "Condense, assess and forget stored memories, or report what that would change.",
        "body": schema_reference("ConsolidateRequest"),
        "answers": ((_JSON, schema_reference("Run")),),
        "errors": (404, 409, 507),
    },
    ("GET", "/consolidate"): {
        "id": "listRuns",
        "summary": "List the recorded runs, newest first.",
        "query": SLICE_PARAMETERS,
        "answers": ((_JSON, page_schema(schema_reference("Run"))),),
    },
    ("GET", "/consolidate/{id}"): {
        "id": "run",
        "summary": "Return one run with its changes, or its progress.",
        "query": list_query_parameters(ChangesQuery),
        "answers": ((_JSON, schema_reference("Run")),),
        "errors": (404,),
    },
    ("POST", "/consolidate/{id}/undo"): {
        "id": "undoRun",
        "summary": "Undo a run, or one change of it; memories changed since then are not touched.",
        "body": schema_reference("UndoRequest"),
        "needs_body": False,
        "answers": ((_JSON, schema_reference("Undone")),),
        "errors": (404, 409, 507),
    },
    ("POST", "/consolidate/{id}/stop"): {
        "id": "stopRun",
        "summary": "Stop the run in progress; its changes stay and can be undone.",
        "answers": ((_JSON, schema_reference("Run")),),
        "errors": (404,),
    },
}
