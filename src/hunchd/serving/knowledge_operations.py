"""What the doors to documents, facts and contradictions take and answer, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from hunchd.protocol.documents import DOCUMENT_LIMIT, ROOTS
from hunchd.protocol.requests import LARGEST_PAGE, MOST_NEAR, NEAR, PAGE, RESOLUTIONS, SCOPES
from hunchd.serving.schemas import (
    COUNT,
    FRACTION,
    OPEN,
    PART,
    TEXTS,
    TIME,
    Schema,
    integer,
    list_of,
    one_of,
    page_of,
    record,
    ref,
    text,
    words,
)

_JSON: Final = "application/json"
_PROJECT: Final = words("the path or the id of a project; left out: the user's own")
_AS_OF: Final = ("as_of", TIME, False)

KNOWLEDGE_SCHEMAS: Final[dict[str, Schema]] = {
    "NewDocument": record(
        {"content": words("plain text or Markdown", most=DOCUMENT_LIMIT), "tags": TEXTS, "metadata": OPEN},
        required=("content",),
    ),
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
            "rejected": list_of(ref("Memory"), "claims that were less certain than what holds"),
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
        meaning="two memories, the second the newer one, that cannot both hold",
    ),
    "Opposition": record(
        {"a": text("id of a memory"), "b": text("id of another one of the same project"), "note": text("why")},
        required=("a", "b"),
    ),
    "NearMemories": record(
        {"items": list_of(ref("Memory"), "the nearest first"), "degraded": TEXTS}, required=("items", "degraded")
    ),
    "Resolution": record(
        {
            "resolution": one_of(RESOLUTIONS),
            "note": text(),
            "value": text("what holds when both are merged"),
        },
        required=("resolution",),
    ),
    "ShareRequest": record(
        {
            "project": text("the path or the id of a project"),
            "names": list_of(text(), "ids of memories or keys of facts; left out: all that may be shared"),
            "by": text("name of who shares it"),
        },
        required=("project",),
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
        "summary": "The value of one key, looked up exactly: what it is, since when, and what it was before.",
        "query": (
            ("key", words(), True),
            ("project", _PROJECT, False),
            ("category", text("left out: any"), False),
            ("scope", one_of(SCOPES, "left out: project-shared in a project, else user-private"), False),
            ("branch", text("left out: the one that is checked out"), False),
            _AS_OF,
        ),
        "answers": ((_JSON, ref("Fact")),),
        "errors": (404,),
    },
    ("POST", "/memories/{id}/undo"): {
        "id": "undoMemory",
        "summary": "Take back the last change of a memory, a document, or how a contradiction was settled.",
        "answers": ((_JSON, ref("Memory")),),
        "errors": (404, 409, 507),
    },
    ("GET", "/documents"): {
        "id": "listDocuments",
        "summary": "The documents below a prefix, without their texts.",
        "query": (
            ("prefix", text("such as /profile/"), False),
            ("limit", integer(1, LARGEST_PAGE, default=PAGE), False),
            ("cursor", text("`next` of the page before"), False),
        ),
        "answers": ((_JSON, page_of(ref("Document"))),),
    },
    ("PUT", "/documents/{path}"): {
        "id": "putDocument",
        "summary": "Keep a text under a path; what was there stays as history.",
        "body": ref("NewDocument"),
        "answers": ((_JSON, ref("Document")),),
        "errors": (409, 507),
    },
    ("GET", "/documents/{path}"): {
        "id": "document",
        "summary": "A document, as it is or as it was.",
        "query": (_AS_OF,),
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
        "summary": "Memories that cannot both hold.",
        "query": (
            ("status", one_of(("open", "resolved", "all"), default="open"), False),
            ("project", text("left out: everywhere"), False),
            *PART,
        ),
        "answers": ((_JSON, page_of(ref("Contradiction"))),),
        "errors": (404,),
    },
    ("POST", "/contradictions"): {
        "id": "openContradiction",
        "summary": "Say that two memories cannot both hold. 200 if that was known, or was settled before.",
        "body": ref("Opposition"),
        "status": 201,
        "answers": ((_JSON, ref("Contradiction")),),
        "errors": (404, 409, 507),
    },
    ("GET", "/memories/{id}/near"): {
        "id": "nearMemories",
        "summary": "Statements about the same, of which only somebody who understands both can tell whether both hold.",
        "query": (("limit", integer(1, MOST_NEAR, default=NEAR), False),),
        "answers": ((_JSON, ref("NearMemories")),),
        "errors": (404,),
    },
    ("POST", "/contradictions/{id}/resolve"): {
        "id": "resolveContradiction",
        "summary": "Say which of the two holds.",
        "body": ref("Resolution"),
        "answers": ((_JSON, ref("Contradiction")),),
        "errors": (404, 409, 507),
    },
    ("POST", "/share"): {
        "id": "share",
        "summary": "Memories as text files for the repository. Nothing is written: the client does that, if it likes.",
        "body": ref("ShareRequest"),
        "answers": ((_JSON, ref("SharedFiles")),),
        "errors": (404,),
    },
    ("POST", "/contradictions/{id}/undo"): {
        "id": "unresolveContradiction",
        "summary": "Take back how it was settled.",
        "answers": ((_JSON, ref("Contradiction")),),
        "errors": (404, 409, 507),
    },
}
