"""OpenAPI operations and schemas of documents, facts, contradictions and sharing."""

from __future__ import annotations

from typing import Any, Final

from hunchd.protocol.documents import ROOTS, DocumentsRequest, NewDocument
from hunchd.protocol.requests import (
    RESOLUTIONS,
    AsOfQuery,
    ContradictionsRequest,
    FactRequest,
    NearQuery,
)
from hunchd.protocol.struct_schemas import Schema, build_component_schemas, list_query_parameters
from hunchd.serving.schemas import (
    ANY_OBJECT,
    COUNT,
    FRACTION,
    TEXTS,
    TIME,
    enum_schema,
    list_schema,
    object_schema,
    page_schema,
    schema_reference,
    text_schema,
)

_JSON: Final = "application/json"

KNOWLEDGE_SCHEMAS: Final[dict[str, Schema]] = build_component_schemas({"NewDocument": NewDocument}) | {
    "Document": object_schema(
        {
            "path": text_schema(f"below one of: {', '.join('/' + root for root in ROOTS)}"),
            "id": text_schema("for /memories/{id}/history and /memories/{id}/undo"),
            "title": text_schema(),
            "content": text_schema("not in lists"),
            "tags": TEXTS,
            "metadata": ANY_OBJECT,
            "updated_at": TIME,
            "valid_from": TIME,
            "size": COUNT,
            "trust": text_schema(),
        },
        required_fields=("path", "id", "tags", "updated_at", "trust"),
    ),
    "Fact": object_schema(
        {
            "fact": {"oneOf": [schema_reference("Memory"), {"type": "null"}]},
            "changes": list_schema(
                object_schema(
                    {
                        "at": TIME,
                        "from": {"type": ["string", "null"]},
                        "to": {"type": ["string", "null"]},
                        "source": ANY_OBJECT,
                        "id": text_schema(),
                    },
                    required_fields=("at", "from", "to"),
                ),
                "the oldest first",
            ),
            "rejected": list_schema(schema_reference("Memory"), "claims that were less certain than the current value"),
        },
        required_fields=("fact", "changes", "rejected"),
    ),
    "Contradiction": object_schema(
        {
            "id": text_schema(),
            "status": enum_schema(("open", "resolved")),
            "a": schema_reference("Memory"),
            "b": schema_reference("Memory"),
            "reason": text_schema(),
            "confidence": FRACTION,
            "detected_at": TIME,
            "resolved_at": TIME,
            "resolution": enum_schema(RESOLUTIONS),
            "note": text_schema(),
            "project": {"type": ["string", "null"]},
        },
        required_fields=("id", "status", "a", "b", "reason", "confidence", "detected_at"),
        description="two memories, the second newer, that cannot both be true",
    ),
    "NearMemories": object_schema(
        {"items": list_schema(schema_reference("Memory"), "the nearest first"), "degraded": TEXTS},
        required_fields=("items", "degraded"),
    ),
    "SharedFiles": object_schema(
        {
            "files": list_schema(
                object_schema(
                    {
                        "id": text_schema("of the memory"),
                        "path": text_schema("below the root of the repository"),
                        "title": text_schema(),
                        "content": text_schema("of the file"),
                        "trust": enum_schema(("user", "project", "derived"), "user: in the user's own words"),
                    },
                    required_fields=("id", "path", "title", "content", "trust"),
                )
            ),
            "refused": list_schema(
                object_schema({"name": text_schema(), "reason": text_schema()}, required_fields=("name", "reason"))
            ),
        },
        required_fields=("files", "refused"),
    ),
}

# (method, path) → the fields of an Operation
KNOWLEDGE_OPERATIONS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("GET", "/facts"): {
        "id": "fact",
        "summary": "Look up the value of one key exactly: its value, since when, and earlier values.",
        "query": list_query_parameters(FactRequest),
        "answers": ((_JSON, schema_reference("Fact")),),
        "errors": (404,),
    },
    ("POST", "/memories/{id}/undo"): {
        "id": "undoMemory",
        "summary": "Undo the last change of a memory or a document, or the resolution of a contradiction.",
        "answers": ((_JSON, schema_reference("Memory")),),
        "errors": (404, 409, 507),
    },
    ("GET", "/documents"): {
        "id": "listDocuments",
        "summary": "List the documents below a prefix, without their texts.",
        "query": list_query_parameters(DocumentsRequest),
        "answers": ((_JSON, page_schema(schema_reference("Document"))),),
    },
    ("PUT", "/documents/{path}"): {
        "id": "putDocument",
        "summary": "Store a text under a path; the previous text stays in the history.",
        "body": schema_reference("NewDocument"),
        "answers": ((_JSON, schema_reference("Document")),),
        "errors": (409, 507),
    },
    ("GET", "/documents/{path}"): {
        "id": "document",
        "summary": "Return a document, current or as of a past time.",
        "query": list_query_parameters(AsOfQuery),
        "answers": ((_JSON, schema_reference("Document")),),
        "errors": (404,),
    },
    ("DELETE", "/documents/{path}"): {
        "id": "forgetDocument",
        "summary": "Erase a document with its history.",
        "errors": (404, 507),
    },
    ("GET", "/contradictions"): {
        "id": "listContradictions",
        "summary": "List memories that contradict each other.",
        "query": list_query_parameters(ContradictionsRequest),
        "answers": ((_JSON, page_schema(schema_reference("Contradiction"))),),
        "errors": (404,),
    },
    ("POST", "/contradictions"): {
        "id": "openContradiction",
        "summary": "Report that two memories contradict each other. 200 if that is known or was resolved before.",
        "body": schema_reference("Opposition"),
        "status": 201,
        "answers": ((_JSON, schema_reference("Contradiction")),),
        "errors": (404, 409, 507),
    },
    ("GET", "/memories/{id}/near"): {
        "id": "nearMemories",
        "summary": "List statements on the same subject, so that the caller can judge whether all of them hold.",
        "query": list_query_parameters(NearQuery),
        "answers": ((_JSON, schema_reference("NearMemories")),),
        "errors": (404,),
    },
    ("POST", "/contradictions/{id}/resolve"): {
        "id": "resolveContradiction",
        "summary": "Resolve a contradiction in favour of one memory, both, or a merged value.",
        "body": schema_reference("Resolution"),
        "answers": ((_JSON, schema_reference("Contradiction")),),
        "errors": (404, 409, 507),
    },
    ("POST", "/share"): {
        "id": "share",
        "summary": "Render memories as text files for the repository. Writing them is left to the client.",
        "body": schema_reference("ShareRequest"),
        "answers": ((_JSON, schema_reference("SharedFiles")),),
        "errors": (404,),
    },
    ("POST", "/contradictions/{id}/undo"): {
        "id": "unresolveContradiction",
        "summary": "Undo the resolution of a contradiction.",
        "answers": ((_JSON, schema_reference("Contradiction")),),
        "errors": (404, 409, 507),
    },
}
