"""Documents of the knowledge base on the wire: paths, requests and responses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from hunchd.domain.errors import InvalidInput, NotFound
from hunchd.domain.memory import Memory
from hunchd.protocol.answers import iso
from hunchd.protocol.fields import TEXT_LIMIT, Fields
from hunchd.protocol.requests import LARGEST_PAGE, PAGE

ROOTS: Final = ("profile", "projects", "reference", "insights", "conversations")
DOCUMENT_LIMIT: Final = 512 * 1024  # bytes of UTF-8; four copies fit a record of the journal
PATH_LENGTH: Final = 512  # characters
DEPTH: Final = 12  # folders
# Segments are readable names: letters of any script, digits, and punctuation common in file names.
_SEGMENT: Final = re.compile(r"[^\W_](?:[\w .,+@()=~#-]*[\w)+#])?|_[\w-]+", re.UNICODE)
_ALLOWED: Final = f"a path such as /profile/preferences, below one of: {', '.join('/' + root for root in ROOTS)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDraft:
    path: str
    content: str
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentsRequest:
    prefix: str = "/"
    limit: int = PAGE
    offset: int = 0


def document_path(raw: str) -> str:
    """Normalize a document path: absolute, NFC, without empty or dotted segments.

    Raises InvalidInput if it cannot be the path of a document.
    """
    path = unicodedata.normalize("NFC", raw)
    segments = path.strip("/").split("/")
    if len(path) > PATH_LENGTH or len(segments) > DEPTH:
        raise InvalidInput(f"the path is too long; at most {PATH_LENGTH} characters in {DEPTH} segments", field="path")
    if segments[0] not in ROOTS or len(segments) < 2:
        raise InvalidInput(f"{path[:80]!a} is not a document path; allowed: {_ALLOWED}", field="path")
    for segment in segments:
        if not _SEGMENT.fullmatch(segment) or not segment.isprintable():
            raise InvalidInput(f"{segment[:40]!a} is not a valid path segment; allowed: {_ALLOWED}", field="path")
    return "/" + "/".join(segments)


def known_path(raw: str) -> str:
    """Normalize the path of a document to look up.

    Raises NotFound, rather than InvalidInput, for a path that no document can have.
    """
    try:
        return document_path(raw)
    except InvalidInput as error:
        raise NotFound(f"there is no document {raw[:80]!a}", field="path", hint=error.message) from error


def document_of_body(path: str, raw: Any) -> DocumentDraft:
    fields = Fields(raw, ("content", "tags", "metadata"))
    content = fields.text("content", limit=DOCUMENT_LIMIT)
    if content is None or not content.strip():
        raise fields.refused("content", "is missing or empty; give a text, or DELETE the document")
    return DocumentDraft(
        path=document_path(path),
        content=content,
        tags=fields.texts("tags"),
        metadata=fields.mapping("metadata", limit=TEXT_LIMIT),
    )


def documents_of_query(query: str) -> DocumentsRequest:
    """Parse the query of GET /documents.

    The cursor is an offset in path order.
    """
    fields = Fields.of_query(query, ("prefix", "limit", "cursor"))
    prefix = "/" + unicodedata.normalize("NFC", fields.text("prefix") or "").strip().lstrip("/")
    return DocumentsRequest(
        prefix=prefix,
        limit=fields.integer("limit", PAGE, low=1, high=LARGEST_PAGE),
        offset=fields.integer("cursor", 0, low=0, high=2**31),
    )


def document_json(memory: Memory, *, content: bool = True) -> dict[str, Any]:
    """Convert a document to the contract's shape; lists omit the content."""
    told: dict[str, Any] = {"path": memory.key, "id": memory.id, "title": memory.title}
    if content:
        told["content"] = memory.content
    return told | {
        "tags": list(memory.tags),
        "metadata": dict(memory.source.get("metadata", {})),
        "updated_at": iso(memory.updated),
        "valid_from": iso(_since(memory)),
        "size": len(memory.content.encode("utf-8", "replace")),
        "trust": str(memory.trust),
    }


def _since(memory: Memory) -> datetime:
    return memory.valid_from or memory.at
