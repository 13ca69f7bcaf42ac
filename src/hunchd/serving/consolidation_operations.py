"""OpenAPI operations and schemas of the consolidation routes."""

from __future__ import annotations

from typing import Any, Final

from hunchd.consolidation.plan import COUNTS
from hunchd.protocol.consolidation import ChangesQuery, ConsolidateRequest, UndoRequest
from hunchd.protocol.steps import STEPS
from hunchd.protocol.struct_schemas import Schema, component_schemas, query_parameters
from hunchd.serving.schemas import (
    COUNT,
    NUMBER,
    OPEN,
    PART,
    TIME,
    list_of,
    one_of,
    page_of,
    record,
    ref,
    text,
)

_JSON: Final = "application/json"
_STATE: Final[Schema] = {"type": ["object", "null"], "description": "null: no such memory at that time"}

CONSOLIDATION_SCHEMAS: Final[dict[str, Schema]] = component_schemas(
    {"ConsolidateRequest": ConsolidateRequest, "UndoRequest": UndoRequest}
) | {
    "Run": record(
        {
            "run": text("its id"),
            "status": one_of(("dry_run", "running", "done", "rolled_back", "stopped", "interrupted", "undone")),
            **dict.fromkeys(COUNTS, COUNT),
            "changes": list_of(ref("ConsolidationChange"), "the first of them"),
            "more": COUNT,
            "total": COUNT,
            "trigger": text(),
            "began": TIME,
            "ended": TIME,
            "seconds": NUMBER,
            "step": text("of a run in progress"),
            "project": {
                "type": ["string", "null"],
                "description": "of a run in progress; null: memories without a project",
            },
            "gate": list_of(OPEN, "by project: the queries that were checked, and those that got worse"),
            "lost": list_of(OPEN, "of a run that was rolled back: which query lost what by which step"),
        },
        required=("run", "status"),
    ),
    "ConsolidationChange": record(
        {
            "change": COUNT,
            "step": one_of(STEPS),
            "what": text(),
            "why": text(),
            "counts": one_of(COUNTS),
            "project": {
                "type": ["string", "null"],
                "description": "its name; null: your own memories, without a project",
            },
            "edits": list_of(record({"id": text(), "was": _STATE, "now": _STATE}), "the fields that differ"),
        }
    ),
    "MemoryUsage": record(
        {
            "usage": OPEN,
            "events": list_of(record({"at": TIME, "what": text()}), "recent events, newest first"),
            "changes": list_of(record({"run": text(), "step": one_of(STEPS), "what": text(), "why": text()})),
        },
        required=("usage", "events", "changes"),
    ),
    "Undone": record({"run": text(), "undone": COUNT, "left": COUNT}, required=("run", "undone", "left")),
}

# (method, path) → the fields of an Operation
CONSOLIDATION_OPERATIONS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("POST", "/consolidate"): {
        "id": "consolidate",
        "summary": "Condense, assess and forget stored memories, or report what that would change.",
        "body": ref("ConsolidateRequest"),
        "answers": ((_JSON, ref("Run")),),
        "errors": (404, 409, 507),
    },
    ("GET", "/consolidate"): {
        "id": "listRuns",
        "summary": "List the recorded runs, newest first.",
        "query": PART,
        "answers": ((_JSON, page_of(ref("Run"))),),
    },
    ("GET", "/consolidate/{id}"): {
        "id": "run",
        "summary": "Return one run with its changes, or its progress.",
        "query": query_parameters(ChangesQuery),
        "answers": ((_JSON, ref("Run")),),
        "errors": (404,),
    },
    ("POST", "/consolidate/{id}/undo"): {
        "id": "undoRun",
        "summary": "Undo a run, or one change of it; memories changed since then are not touched.",
        "body": ref("UndoRequest"),
        "needs_body": False,
        "answers": ((_JSON, ref("Undone")),),
        "errors": (404, 409, 507),
    },
    ("POST", "/consolidate/{id}/stop"): {
        "id": "stopRun",
        "summary": "Stop the run in progress; its changes stay and can be undone.",
        "answers": ((_JSON, ref("Run")),),
        "errors": (404,),
    },
}
