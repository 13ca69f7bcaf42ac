"""What the doors to the consolidation take and answer, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from hunchd.consolidation.plan import COUNTS
from hunchd.protocol.consolidation import CHANGES_PAGE
from hunchd.protocol.steps import STEPS
from hunchd.serving.schemas import (
    COUNT,
    FLAG,
    NUMBER,
    OPEN,
    PART,
    PROJECT,
    TIME,
    Schema,
    integer,
    list_of,
    one_of,
    page_of,
    record,
    ref,
    text,
)

_JSON: Final = "application/json"
_STATE: Final[Schema] = {"type": ["object", "null"], "description": "null: there is no such memory then"}

CONSOLIDATION_SCHEMAS: Final[dict[str, Schema]] = {
    "ConsolidateRequest": record(
        {
            "dry_run": FLAG,
            "steps": list_of(one_of(STEPS), "all of them when left out; always in this order"),
            "project": PROJECT,
            "wait": FLAG | {"description": "false: answer at once, and tell of it at GET /consolidate/{id}"},
        }
    ),
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
            "step": text("of a run under way"),
            "project": {"type": ["string", "null"], "description": "of a run under way; null: what is of no project"},
            "gate": list_of(OPEN, "by project: the answers that were checked, and those that were lost"),
            "lost": list_of(OPEN, "of a run that was taken back: which question lost what by which step"),
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
            "project": {"type": ["string", "null"], "description": "its name; null: yours, of no project"},
            "edits": list_of(record({"id": text(), "was": _STATE, "now": _STATE}), "the fields that differ"),
        }
    ),
    "MemoryUsage": record(
        {
            "usage": OPEN,
            "events": list_of(record({"at": TIME, "what": text()}), "what was seen and said lately, the newest first"),
            "changes": list_of(record({"run": text(), "step": one_of(STEPS), "what": text(), "why": text()})),
        },
        required=("usage", "events", "changes"),
    ),
    "UndoRequest": record({"change": COUNT | {"description": "left out: the whole run"}}),
    "Undone": record({"run": text(), "undone": COUNT, "left": COUNT}, required=("run", "undone", "left")),
}

# (method, path) → the fields of an Operation
CONSOLIDATION_OPERATIONS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("POST", "/consolidate"): {
        "id": "consolidate",
        "summary": "Condense, judge and forget what is kept, or tell what that would change.",
        "body": ref("ConsolidateRequest"),
        "answers": ((_JSON, ref("Run")),),
        "errors": (404, 409, 507),
    },
    ("GET", "/consolidate"): {
        "id": "listRuns",
        "summary": "The runs that are kept, the newest first.",
        "query": PART,
        "answers": ((_JSON, page_of(ref("Run"))),),
    },
    ("GET", "/consolidate/{id}"): {
        "id": "run",
        "summary": "One run with its changes, or how far it is.",
        "query": (
            ("after", integer(0, 10_000_000, "number of the first change"), False),
            ("limit", integer(1, CHANGES_PAGE, default=CHANGES_PAGE), False),
        ),
        "answers": ((_JSON, ref("Run")),),
        "errors": (404,),
    },
    ("POST", "/consolidate/{id}/undo"): {
        "id": "undoRun",
        "summary": "Take back a run, or one change of it; what was changed since is left as it is.",
        "body": ref("UndoRequest"),
        "needs_body": False,
        "answers": ((_JSON, ref("Undone")),),
        "errors": (404, 409, 507),
    },
    ("POST", "/consolidate/{id}/stop"): {
        "id": "stopRun",
        "summary": "Have the run under way stop; what it did stays, and can be taken back.",
        "answers": ((_JSON, ref("Run")),),
        "errors": (404,),
    },
}
