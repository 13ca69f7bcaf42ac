"""Lines of an export, and the response to importing them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NamedTuple, get_args

from msgspec import Meta, Struct

from hunchd.domain.errors import InvalidInput
from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import Memory
from hunchd.protocol.memories import memory_to_json
from hunchd.protocol.responses import Answer, Count, Rejection

EXPORT_VERSION: Final = 1
ExportType = Literal["memory", "message", "document", "signal", "contradiction", "feedback", "link", "project", "meta"]
EXPORT_TYPES: Final[tuple[str, ...]] = get_args(ExportType)
# Types of lines that hold a memory. Kinds that readers of an export look for have their own type.
MEMORY_TYPES: Final[tuple[ExportType, ...]] = ("memory", "message", "document", "contradiction")

MAX_LISTED_REJECTIONS: Final = 100  # per import; further ones are only counted


class ExportLine(Answer, frozen=True, kw_only=True):
    type: ExportType
    version: Literal[1] = EXPORT_VERSION
    data: JsonObject


class ImportLine(NamedTuple):
    """Valid line of an import, with its zero-based index."""

    number: int
    type: ExportType
    data: JsonObject


class ImportCounts(Struct, kw_only=True):
    """Number of imported lines for each outcome, and a list of rejected lines."""

    projects: Count
    memories: Count
    signals: Count
    known: Count
    skipped: Count
    rejected: Annotated[list[Rejection], Meta(description=f"the first {MAX_LISTED_REJECTIONS}")]


class ImportedAnswer(ImportCounts, kw_only=True, omit_defaults=True):
    complete: Annotated[bool | None, Meta(description="null: the export did not count its lines")]
    warnings: list[str]
    refused: Annotated[Count, Meta(description="lines that cannot be read")]


def build_export_line(type_: ExportType, data: JsonObject) -> ExportLine:
    return ExportLine(type=type_, data=data)


def build_memory_line(memory: Memory) -> ExportLine:
    type_: ExportType = next((name for name in MEMORY_TYPES if name == memory.kind), "memory")
    return ExportLine(type=type_, data=memory_to_json(memory))


def parse_export_line(raw: Any) -> ExportLine:
    """Parse one line of an export.

    Raises InvalidInput if the line has the wrong form, an unsupported version or an unknown type.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("data"), dict):
        raise InvalidInput('each line of an export must have the form {"type":…,"version":1,"data":{…}}', field="data")
    if isinstance(raw.get("version"), int) and raw["version"] > EXPORT_VERSION:
        raise InvalidInput(
            f"the export was written by a newer hunchd in format {ascii(raw['version'])[:20]}; "
            f"this version reads format {EXPORT_VERSION}",
            field="version",
        )
    if raw.get("version") != EXPORT_VERSION:
        raise InvalidInput(
            f"unsupported export version {ascii(raw.get('version'))[:40]}; expected {EXPORT_VERSION}", field="version"
        )
    if raw.get("type") not in EXPORT_TYPES:
        raise InvalidInput(
            f"unknown line type {ascii(raw.get('type'))[:40]}; allowed: {', '.join(EXPORT_TYPES)}", field="type"
        )
    return ExportLine(type=raw["type"], data=raw["data"])
