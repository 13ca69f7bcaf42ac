"""Documents of the knowledge base: paths, requests and responses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hunchd.domain.errors import InvalidInput, NotFound
from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import Memory, Trust
from hunchd.protocol.fields import Fields
from hunchd.protocol.requests import DEFAULT_PAGE_SIZE, ListSlice, PageSize
from hunchd.protocol.responses import Count, TimeText, format_iso
from hunchd.protocol.struct_decoding import CustomReader, Name, Names, Request

ROOTS: Final = ("profile", "projects", "reference", "insights", "conversations")
MAX_DOCUMENT_BYTES: Final = 512 * 1024  # bytes of UTF-8; four copies fit a record of the journal
MAX_PATH_CHARACTERS: Final = 512  # characters
MAX_PATH_SEGMENTS: Final = 12  # folders
# Segments are readable names: letters of any script, digits, and punctuation common in file names.
_SEGMENT: Final = re.compile(r"[^\W_](?:[\w .,+@()=~#-]*[\w)+#])?|_[\w-]+", re.UNICODE)
_ALLOWED_PATHS: Final = f"a path such as /profile/preferences, below one of: {', '.join('/' + root for root in ROOTS)}"


def _content(fields: Fields, name: str) -> str:
    content = fields.get_text(name, limit=MAX_DOCUMENT_BYTES)
    if content is None or not content.strip():
        raise fields.error(name, "must be a non-empty string; to remove the document, use DELETE")
    return content


def _prefix(fields: Fields, name: str) -> str:
    return "/" + unicodedata.normalize("NFC", fields.get_text(name) or "").strip().lstrip("/")


class NewDocument(Request, frozen=True, kw_only=True):
    """Document to store at a path."""

    content: Annotated[
        str,
        Meta(min_length=1, max_length=MAX_DOCUMENT_BYTES, description="plain text or Markdown"),
        CustomReader(_content),
    ]
    tags: Names = ()
    metadata: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDraft:
    path: str
    content: str
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


class DocumentAnswer(Struct, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description=f"below one of: {', '.join('/' + root for root in ROOTS)}")]
    id: Annotated[str, Meta(description="for /memories/{id}/history and /memories/{id}/undo")]
    title: str
    content: Annotated[str | UnsetType, Meta(description="left out in lists")] = UNSET
    tags: list[str]
    metadata: JsonObject
    updated_at: TimeText
    valid_from: TimeText
    size: Count
    trust: Trust


class DocumentsRequest(ListSlice, frozen=True, kw_only=True):
    """Query parameters for GET /documents.

    The documents are sorted by path, and the cursor is an offset into that list.
    """

    prefix: Annotated[Name, Meta(description="such as /profile/"), CustomReader(_prefix)] = "/"
    limit: PageSize = DEFAULT_PAGE_SIZE


def normalize_document_path(raw: str) -> str:
    """Return the normalized path of a document.

    The result is absolute and in Unicode form NFC. Raises InvalidInput if no document can have this path, for example
    because a segment is empty or starts with a dot.
    """
    path = unicodedata.normalize("NFC", raw)
    segments = path.strip("/").split("/")
    if len(path) > MAX_PATH_CHARACTERS or len(segments) > MAX_PATH_SEGMENTS:
        raise InvalidInput(
            f"the path is too long; it may have at most {MAX_PATH_CHARACTERS} characters "
            f"in {MAX_PATH_SEGMENTS} segments",
            field="path",
        )
    if segments[0] not in ROOTS or len(segments) < 2:
        raise InvalidInput(f"{path[:80]!a} is not a document path; allowed: {_ALLOWED_PATHS}", field="path")
    for segment in segments:
        if not _SEGMENT.fullmatch(segment) or not segment.isprintable():
            raise InvalidInput(f"{segment[:40]!a} is not a valid path segment; allowed: {_ALLOWED_PATHS}", field="path")
    return "/" + "/".join(segments)


def normalize_lookup_path(raw: str) -> str:
    """Return the normalized path of a document to look up.

    Raises NotFound, rather than InvalidInput, if no document can have this path.
    """
    try:
        return normalize_document_path(raw)
    except InvalidInput as error:
        raise NotFound(f"there is no document {raw[:80]!a}", field="path", hint=error.message) from error


def document_answer(memory: Memory, *, content: bool = True) -> DocumentAnswer:
    """Convert a document to the form that responses use.

    Without `content`, the document's text is left out, as in lists.
    """
    return DocumentAnswer(
        path=memory.key or "",
        id=memory.id,
        title=memory.title,
        content=memory.content if content else UNSET,
        tags=list(memory.tags),
        metadata=dict(memory.source.get("metadata", {})),
        updated_at=format_iso(memory.updated),
        valid_from=format_iso(memory.valid_from or memory.at),
        size=len(memory.content.encode("utf-8", "replace")),
        trust=memory.trust,
    )
