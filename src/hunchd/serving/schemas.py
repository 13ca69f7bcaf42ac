"""JSON Schemas shared by requests and responses, as the OpenAPI document names them."""

from __future__ import annotations

from typing import Final

from hunchd.protocol.answers import (
    EXPORT_TYPES,
    EXPORT_VERSION,
    BundleAnswer,
    ErrorAnswer,
    ErrorEnvelope,
    ProjectAnswer,
    Rejection,
    ReviewAnswer,
)
from hunchd.protocol.memories import MemoryBody, MemoryDrafts, MemoryPatch, MemoryRecord
from hunchd.protocol.messages import BODY_OF_KIND, SIGNALS_LIMIT, SignalBody
from hunchd.protocol.requests import (
    AssembleRequest,
    ExpandRequest,
    Feedback,
    NewProject,
    OpposeRequest,
    Part,
    PredictRequest,
    Resolution,
    ReviewRequest,
    SearchBody,
    ShareRequest,
)
from hunchd.protocol.struct_schemas import Schema, component_schemas, query_parameters


def text(meaning: str = "", *, most: int | None = None) -> Schema:
    return _with(meaning, {"type": "string"} | ({} if most is None else {"maxLength": most}))


def one_of(allowed: tuple[str, ...], meaning: str = "", *, default: str | None = None) -> Schema:
    return _with(meaning, {"type": "string", "enum": list(allowed)} | ({} if default is None else {"default": default}))


def integer(low: int, high: int, meaning: str = "", *, default: int | None = None) -> Schema:
    limits: Schema = {"type": "integer", "minimum": low, "maximum": high}
    return _with(meaning, limits | ({} if default is None else {"default": default}))


def list_of(entry: Schema, meaning: str = "", *, most: int | None = None) -> Schema:
    return _with(meaning, {"type": "array", "items": entry} | ({} if most is None else {"maxItems": most}))


def record(fields: dict[str, Schema], *, required: tuple[str, ...] = (), meaning: str = "") -> Schema:
    return _with(meaning, {"type": "object", "properties": fields} | ({"required": list(required)} if required else {}))


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def page_of(entry: Schema) -> Schema:
    fields = {"items": list_of(entry), "next": {"type": ["string", "null"]}, "total": COUNT}
    return record(fields, required=("items", "next", "total"))


def _with(meaning: str, schema: Schema) -> Schema:
    return schema | ({"description": meaning} if meaning else {})


COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
FRACTION: Final[Schema] = {"type": "number", "minimum": 0, "maximum": 1}
NUMBER: Final[Schema] = {"type": "number"}
OPEN: Final[Schema] = {"type": "object"}
TIME: Final[Schema] = text("ISO 8601; without a zone it is UTC")
TEXTS: Final[Schema] = list_of({"type": "string"})
# Parameters for a slice of a complete list.
PART: Final = query_parameters(Part)

_REJECTED: Final = list_of(ref("Rejection"))


def _signal_schema() -> Schema:
    """Return one schema for all kinds of signals: the fields of each, required only where all need them."""
    bodies = {each.__name__: each for each in BODY_OF_KIND.values()}
    schemas = component_schemas(bodies).values()
    common = component_schemas({"Signal": SignalBody})["Signal"]
    properties = dict(common["properties"])
    for schema in schemas:
        for name, each in schema["properties"].items():
            if name not in properties or "description" not in properties[name]:
                properties[name] = each
    return common | {"properties": properties}


_SIGNAL: Final = _signal_schema()

_PREDICTION: Final = record(
    {
        "predicted_files": list_of(record({"path": text(), "score": NUMBER, "confidence": FRACTION, "reasons": TEXTS})),
        "predicted_memories": list_of(
            record({"id": text(), "kind": text(), "title": text(), "confidence": FRACTION, "reasons": TEXTS})
        ),
        "predicted_commands": list_of(
            record(
                {
                    "command": text("varying parts are placeholders: `git commit -m <msg>`"),
                    "example": text("the command as last used"),
                    "confidence": FRACTION,
                    "reasons": TEXTS,
                    "workflow": text("id of the workflow it is a step of"),
                }
            )
        ),
        "confidence": FRACTION,
        "degraded": TEXTS,
    },
    required=("predicted_files", "predicted_memories", "confidence"),
)

SCHEMAS: Final[dict[str, Schema]] = component_schemas(
    {
        "AssembleRequest": AssembleRequest,
        "Bundle": BundleAnswer,
        "Error": ErrorEnvelope,
        "ErrorBody": ErrorAnswer,
        "ExpandRequest": ExpandRequest,
        "Feedback": Feedback,
        "MemoryDraft": MemoryBody,
        "MemoryDrafts": MemoryDrafts,
        "MemoryPatch": MemoryPatch,
        "NewProject": NewProject,
        "Opposition": OpposeRequest,
        "PredictRequest": PredictRequest,
        "Project": ProjectAnswer,
        "Rejection": Rejection,
        "Resolution": Resolution,
        "Review": ReviewAnswer,
        "ReviewRequest": ReviewRequest,
        "SearchRequest": SearchBody,
        "ShareRequest": ShareRequest,
    }
) | {
    "Memory": component_schemas({"Memory": MemoryRecord})["Memory"]
    | {"required": ["id", "kind", "title", "content", "scope", "at", "trust", "usage", "status"]},
    "Health": record(
        {"status": text(), "protocol": COUNT, "version": text()}, required=("status", "protocol", "version")
    ),
    "Signal": _SIGNAL,
    "Signals": record({"signals": list_of(ref("Signal"), most=SIGNALS_LIMIT)}, required=("signals",)),
    "Accepted": record({"accepted": COUNT, "rejected": _REJECTED}, required=("accepted", "rejected")),
    "Prediction": _PREDICTION,
    "Ids": record(
        {
            "ids": list_of(text(), "in the order of the stored entries"),
            "understood": list_of(ref("Understood"), "how each was stored, in the same order"),
            "rejected": _REJECTED,
        },
        required=("ids",),
    ),
    "Understood": record(
        {
            "id": text(),
            "verdict": one_of(("new", "same", "confirmed", "replaced", "rejected", "earlier")),
            "category": text(),
            "key": text(),
            "value": text(),
            "branch": text(),
            "instead_of": text(),
            "reason": text(),
            "replaced": record(
                {"id": text(), "value": text(), "since": TIME}, meaning="the value that was valid before"
            ),
            "rejected_for": record({"id": text(), "value": text(), "since": TIME}, meaning="the more certain value"),
            "contradiction": text("id of the contradiction that this created"),
            "redacted": list_of(text(), "the kinds of secrets that were removed"),
        },
        required=("id", "verdict"),
    ),
    "SearchResults": record(
        {
            "results": list_of(
                record(
                    {
                        "id": text(),
                        "ref": {"type": ["string", "null"]},
                        "kind": text(),
                        "title": text(),
                        "snippet": text(),
                        "at": text("when it happened or was said, if it has such a time"),
                        "score": NUMBER,
                        "reasons": TEXTS,
                        "source": OPEN,
                    }
                )
            ),
            "status": text(),
            "took_ms": NUMBER,
        },
        required=("results", "status", "took_ms"),
    ),
    "ExportLine": record(
        {"type": one_of(EXPORT_TYPES), "version": {"const": EXPORT_VERSION}, "data": OPEN},
        required=("type", "version", "data"),
    ),
    "Imported": record(
        {
            "refused": COUNT,
            "rejected": _REJECTED,
            "complete": {"type": ["boolean", "null"], "description": "null: the export did not count its lines"},
            "warnings": TEXTS,
        },
        required=("refused", "rejected", "complete", "warnings"),
    ),
    "Status": OPEN,
    "Answer": OPEN,
}
