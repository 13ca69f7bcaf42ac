"""OpenAPI operations and schemas of the consolidation routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from hunchd.protocol.consolidation_answers import ChangeAnswer, RunAnswer, UndoneAnswer
from hunchd.protocol.consolidation_requests import ChangesQuery, ConsolidateRequest, UndoRequest
from hunchd.protocol.struct_schemas import list_query_parameters, page_schema
from hunchd.serving.schemas import SLICE_PARAMETERS, schema_reference

_JSON: Final = "application/json"
CONSOLIDATION_STRUCTS: Final[Mapping[str, type[Struct]]] = {
    "ConsolidateRequest": ConsolidateRequest,
    "ConsolidationChange": ChangeAnswer,
    "Run": RunAnswer,
    "Undone": UndoneAnswer,
    "UndoRequest": UndoRequest,
}

# (method, path) → the fields of an Operation
CONSOLIDATION_OPERATIONS: Final[dict[tuple[str, str], Mapping[str, Any]]] = {
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
        "answers": ((_JSON, page_schema("Run", RunAnswer)),),
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
