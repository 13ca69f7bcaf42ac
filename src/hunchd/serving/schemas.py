"""JSON Schemas shared by requests and responses, as the OpenAPI document names them."""

from __future__ import annotations

from typing import Final

from hunchd.protocol.memories import MemoryBody, MemoryDrafts, MemoryPatch, MemoryRecord
from hunchd.protocol.requests import (
    AssembleRequest,
    ContradictionReport,
    ExpandRequest,
    Feedback,
    ListSlice,
    NewProject,
    PredictRequest,
    ResolutionRequest,
    ReviewRequest,
    SearchBody,
    ShareRequest,
)
from hunchd.protocol.responses import (
    EXPORT_TYPES,
    EXPORT_VERSION,
    BundleAnswer,
    ErrorAnswer,
    ErrorEnvelope,
    ProjectAnswer,
    Rejection,
    ReviewAnswer,
)
from hunchd.protocol.signals import BODY_OF_KIND, MAX_SIGNALS, SignalBody
from hunchd.protocol.struct_schemas import Schema, build_component_schemas, list_query_parameters


def text_schema(description: str = "", *, max_length: int | None = None) -> Schema:
    return _with_description(
        description, {"type": "string"} | ({} if max_length is None else {"maxLength": max_length})
    )


def enum_schema(choices: tuple[str, ...], description: str = "", *, default: str | None = None) -> Schema:
    return _with_description(
        description, {"type": "string", "enum": list(choices)} | ({} if default is None else {"default": default})
    )


def integer_schema(low: int, high: int, description: str = "", *, default: int | None = None) -> Schema:
    limits: Schema = {"type": "integer", "minimum": low, "maximum": high}
    return _with_description(description, limits | ({} if default is None else {"default": default}))


def list_schema(entry: Schema, description: str = "", *, max_items: int | None = None) -> Schema:
    return _with_description(
        description, {"type": "array", "items": entry} | ({} if max_items is None else {"maxItems": max_items})
    )


def object_schema(fields: dict[str, Schema], *, required_fields: tuple[str, ...] = (), description: str = "") -> Schema:
    return _with_description(
        description,
        {"type": "object", "properties": fields} | ({"required": list(required_fields)} if required_fields else {}),
    )


def schema_reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def page_schema(entry: Schema) -> Schema:
    fields = {"items": list_schema(entry), "next": {"type": ["string", "null"]}, "total": COUNT}
    return object_schema(fields, required_fields=("items", "next", "total"))


def _with_description(description: str, schema: Schema) -> Schema:
    return schema | ({"description": description} if description else {})


COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
FRACTION: Final[Schema] = {"type": "number", "minimum": 0, "maximum": 1}
NUMBER: Final[Schema] = {"type": "number"}
ANY_OBJECT: Final[Schema] = {"type": "object"}
TIME: Final[Schema] = text_schema("ISO 8601; without a zone it is UTC")
TEXTS: Final[Schema] = list_schema({"type": "string"})
# Parameters for a slice of a complete list.
SLICE_PARAMETERS: Final = list_query_parameters(ListSlice)

_REJECTED_ENTRIES: Final = list_schema(schema_reference("Rejection"))


def _signal_schema() -> Schema:
    """Return one schema for all kinds of signals: the fields of each, required only where all need them."""
    bodies = {each.__name__: each for each in BODY_OF_KIND.values()}
    schemas = build_component_schemas(bodies).values()
    common = build_component_schemas({"Signal": SignalBody})["Signal"]
    properties = dict(common["properties"])
    for schema in schemas:
        for name, each in schema["properties"].items():
            if name not in properties or "description" not in properties[name]:
                properties[name] = each
    return common | {"properties": properties}


_SIGNAL_SCHEMA: Final = _signal_schema()

_PREDICTION_SCHEMA: Final = object_schema(
    {
        "predicted_files": list_schema(
            object_schema({"path": text_schema(), "score": NUMBER, "confidence": FRACTION, "reasons": TEXTS})
        ),
        "predicted_memories": list_schema(
            object_schema(
                {
                    "id": text_schema(),
                    "kind": text_schema(),
                    "title": text_schema(),
                    "confidence": FRACTION,
                    "reasons": TEXTS,
                }
            )
        ),
        "predicted_commands": list_schema(
            object_schema(
                {
                    "command": text_schema("varying parts are placeholders: `git commit -m <msg>`"),
                    "example": text_schema("the command as last used"),
                    "confidence": FRACTION,
                    "reasons": TEXTS,
                    "workflow": text_schema("id of the workflow it is a step of"),
                }
            )
        ),
        "confidence": FRACTION,
        "degraded": TEXTS,
    },
    required_fields=("predicted_files", "predicted_memories", "confidence"),
)

SCHEMAS: Final[dict[str, Schema]] = build_component_schemas(
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
        "Opposition": ContradictionReport,
        "PredictRequest": PredictRequest,
        "Project": ProjectAnswer,
        "Rejection": Rejection,
        "Resolution": ResolutionRequest,
        "Review": ReviewAnswer,
        "ReviewRequest": ReviewRequest,
        "SearchRequest": SearchBody,
        "ShareRequest": ShareRequest,
    }
) | {
    "Memory": build_component_schemas({"Memory": MemoryRecord})["Memory"]
    | {"required": ["id", "kind", "title", "content", "scope", "at", "trust", "usage", "status"]},
    "Health": object_schema(
        {"status": text_schema(), "protocol": COUNT, "version": text_schema()},
        required_fields=("status", "protocol", "version"),
    ),
    "Signal": _SIGNAL_SCHEMA,
    "Signals": object_schema(
        {"signals": list_schema(schema_reference("Signal"), max_items=MAX_SIGNALS)}, required_fields=("signals",)
    ),
    "Accepted": object_schema(
        {"accepted": COUNT, "rejected": _REJECTED_ENTRIES}, required_fields=("accepted", "rejected")
    ),
    "Prediction": _PREDICTION_SCHEMA,
    "Ids": object_schema(
        {
            "ids": list_schema(text_schema(), "in the order of the stored entries"),
            "understood": list_schema(schema_reference("Understood"), "how each was stored, in the same order"),
            "rejected": _REJECTED_ENTRIES,
        },
        required_fields=("ids",),
    ),
    "Understood": object_schema(
        {
            "id": text_schema(),
            "verdict": enum_schema(("new", "same", "confirmed", "replaced", "rejected", "earlier")),
            "category": text_schema(),
            "key": text_schema(),
            "value": text_schema(),
            "branch": text_schema(),
            "instead_of": text_schema(),
            "reason": text_schema(),
            "replaced": object_schema(
                {"id": text_schema(), "value": text_schema(), "since": TIME},
                description="the value that was valid before",
            ),
            "rejected_for": object_schema(
                {"id": text_schema(), "value": text_schema(), "since": TIME}, description="the more certain value"
            ),
            "contradiction": text_schema("id of the contradiction that this created"),
            "redacted": list_schema(text_schema(), "the kinds of secrets that were removed"),
        },
        required_fields=("id", "verdict"),
    ),
    "SearchResults": object_schema(
        {
            "results": list_schema(
                object_schema(
                    {
                        "id": text_schema(),
                        "ref": {"type": ["string", "null"]},
                        "kind": text_schema(),
                        "title": text_schema(),
                        "snippet": text_schema(),
                        "at": text_schema("when it happened or was said, if it has such a time"),
                        "score": NUMBER,
                        "reasons": TEXTS,
                        "source": ANY_OBJECT,
                    }
                )
            ),
            "status": text_schema(),
            "took_ms": NUMBER,
        },
        required_fields=("results", "status", "took_ms"),
    ),
    "ExportLine": object_schema(
        {"type": enum_schema(EXPORT_TYPES), "version": {"const": EXPORT_VERSION}, "data": ANY_OBJECT},
        required_fields=("type", "version", "data"),
    ),
    "Imported": object_schema(
        {
            "refused": COUNT,
            "rejected": _REJECTED_ENTRIES,
            "complete": {"type": ["boolean", "null"], "description": "null: the export did not count its lines"},
            "warnings": TEXTS,
        },
        required_fields=("refused", "rejected", "complete", "warnings"),
    ),
    "Status": ANY_OBJECT,
    "Answer": ANY_OBJECT,
}
