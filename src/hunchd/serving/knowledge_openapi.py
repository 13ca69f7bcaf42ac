"""OpenAPI operations and schemas of documents, facts, contradictions and sharing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from hunchd.protocol.documents import DocumentAnswer, DocumentsRequest, NewDocument
from hunchd.protocol.knowledge_answers import ContradictionAnswer, FactAnswer, NearMemoriesAnswer, SharedFilesAnswer
from hunchd.protocol.requests import (
    AsOfQuery,
    ContradictionsRequest,
    FactRequest,
    NearQuery,
)
from hunchd.protocol.struct_schemas import list_query_parameters, page_schema
from hunchd.serving.schemas import schema_reference

_JSON: Final = "application/json"

KNOWLEDGE_STRUCTS: Final[Mapping[str, type[Struct]]] = {
    "Contradiction": ContradictionAnswer,
    "Document": DocumentAnswer,
    "Fact": FactAnswer,
    "NearMemories": NearMemoriesAnswer,
    "NewDocument": NewDocument,
    "SharedFiles": SharedFilesAnswer,
}

# (method, path) → the fields of an Operation
KNOWLEDGE_OPERATIONS: Final[dict[tuple[str, str], Mapping[str, Any]]] = {
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
        "answers": ((_JSON, page_schema("Document", DocumentAnswer)),),
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
        "answers": ((_JSON, schema_reference("Forgotten")),),
        "errors": (404, 507),
    },
    ("GET", "/contradictions"): {
        "id": "listContradictions",
        "summary": "List memories that contradict each other.",
        "query": list_query_parameters(ContradictionsRequest),
        "answers": ((_JSON, page_schema("Contradiction", ContradictionAnswer)),),
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
