"""OpenAPI operations and schemas of documents, facts, contradictions and sharing."""

from __future__ import annotations

from typing import Any, Final

from hunchd.protocol.documents import ROOTS, DocumentsRequest, NewDocument
from hunchd.protocol.requests import (
    RESOLUTIONS,
    AsOfQuery,
    ConflictsRequest,
    FactRequest,
    NearQuery,
)
from hunchd.protocol.struct_schemas import Schema, component_schemas, query_parameters
from hunchd.serving.schemas import (
    COUNT,
    FRACTION,
    OPEN,
    TEXTS,
    TIME,
    list_of,
    one_of,
    page_of,
    record,
    ref,
    text,
)

_JSON: Final = "application/json"

KNOWLEDGE_SCHEMAS: Final[dict[str, Schema]] = component_schemas({"NewDocument": NewDocument}) | {
    "Document": record(
        {
            "path": text(f"below one of: {', '.join('/' + root for root in ROOTS)}"),
            "id": text("for /memories/{id}/history and /memories/{id}/undo"),
            "title": text(),
            "content": text("not in lists"),
            "tags": TEXTS,
            "metadata": OPEN,
            "updated_at": TIME,
            "valid_from": TIME,
            "size": COUNT,
            "trust": text(),
        },
        required=("path", "id", "tags", "updated_at", "trust"),
    ),
    "Fact": record(
        {
            "fact": {"oneOf": [ref("Memory"), {"type": "null"}]},
            "changes": list_of(
                record(
                    {
                        "at": TIME,
                        "from": {"type": ["string", "null"]},
                        "to": {"type": ["string", "null"]},
                        "source": OPEN,
                        "id": text(),
                    },
                    required=("at", "from", "to"),
                ),
                "the oldest first",
            ),
            "rejected": list_of(ref("Memory"), "claims that were less certain than the current value"),
        },
        required=("fact", "changes", "rejected"),
    ),
    "Contradiction": record(
        {
            "id": text(),
            "status": one_of(("open", "resolved")),
            "a": ref("Memory"),
            "b": ref("Memory"),
            "reason": text(),
            "confidence": FRACTION,
            "detected_at": TIME,
            "resolved_at": TIME,
            "resolution": one_of(RESOLUTIONS),
            "note": text(),
            "project": {"type": ["string", "null"]},
        },
        required=("id", "status", "a", "b", "reason", "confidence", "detected_at"),
        meaning="two memories, the second newer, that cannot both be true",
    ),
    "NearMemories": record(
        {"items": list_of(ref("Memory"), "the nearest first"), "degraded": TEXTS}, required=("items", "degraded")
    ),
    "SharedFiles": record(
        {
            "files": list_of(
                record(
                    {
                        "id": text("of the memory"),
                        "path": text("below the root of the repository"),
                        "title": text(),
                        "content": text("of the file"),
                        "trust": one_of(("user", "project", "derived"), "user: in the user's own words"),
                    },
                    required=("id", "path", "title", "content", "trust"),
                )
            ),
            "refused": list_of(record({"name": text(), "reason": text()}, required=("name", "reason"))),
        },
        required=("files", "refused"),
    ),
}

# (method, path) → the fields of an Operation
KNOWLEDGE_OPERATIONS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("GET", "/facts"): {
        "id": "fact",
        "summary": "Look up the value of one key exactly: its value, since when, and earlier values.",
        "query": query_parameters(FactRequest),
        "answers": ((_JSON, ref("Fact")),),
        "errors": (404,),
    },
    ("POST", "/memories/{id}/undo"): {
        "id": "undoMemory",
        "summary": "Undo the last change of a memory or a document, or the resolution of a contradiction.",
        "answers": ((_JSON, ref("Memory")),),
        "errors": (404, 409, 507),
    },
    ("GET", "/documents"): {
        "id": "listDocuments",
        "summary": "List the documents below a prefix, without their texts.",
        "query": query_parameters(DocumentsRequest),
        "answers": ((_JSON, page_of(ref("Document"))),),
    },
    ("PUT", "/documents/{path}"): {
        "id": "putDocument",
        "summary": "Store a text under a path; the previous text stays in the history.",
        "body": ref("NewDocument"),
        "answers": ((_JSON, ref("Document")),),
        "errors": (409, 507),
    },
    ("GET", "/documents/{path}"): {
        "id": "document",
        "summary": "Return a document, current or as of a past time.",
        "query": query_parameters(AsOfQuery),
        "answers": ((_JSON, ref("Document")),),
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
        "query": query_parameters(ConflictsRequest),
        "answers": ((_JSON, page_of(ref("Contradiction"))),),
        "errors": (404,),
    },
    ("POST", "/contradictions"): {
        "id": "openContradiction",
        "summary": "Report that two memories contradict each other. 200 if that is known or was resolved before.",
        "body": ref("Opposition"),
        "status": 201,
        "answers": ((_JSON, ref("Contradiction")),),
        "errors": (404, 409, 507),
    },
    ("GET", "/memories/{id}/near"): {
        "id": "nearMemories",
        "summary": "List statements on the same subject, so that the caller can judge whether all of them hold.",
        "query": query_parameters(NearQuery),
        "answers": ((_JSON, ref("NearMemories")),),
        "errors": (404,),
    },
    ("POST", "/contradictions/{id}/resolve"): {
        "id": "resolveContradiction",
        "summary": "Resolve a contradiction in favour of one memory, both, or a merged value.",
        "body": ref("Resolution"),
        "answers": ((_JSON, ref("Contradiction")),),
        "errors": (404, 409, 507),
    },
    ("POST", "/share"): {
        "id": "share",
        "summary": "Render memories as text files for the repository. Writing them is left to the client.",
        "body": ref("ShareRequest"),
        "answers": ((_JSON, ref("SharedFiles")),),
        "errors": (404,),
    },
    ("POST", "/contradictions/{id}/undo"): {
        "id": "unresolveContradiction",
        "summary": "Undo the resolution of a contradiction.",
        "answers": ((_JSON, ref("Contradiction")),),
        "errors": (404, 409, 507),
    },
}
