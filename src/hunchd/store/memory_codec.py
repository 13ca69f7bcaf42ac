"""Conversion of memories to and from JSON-compatible dictionaries.

In this form, memories are stored and sent between processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust, Usage

# Lookup tables: calling an enumeration takes four times as long, and an answer has fifty memories.
_KINDS: Final = {one.value: one for one in Kind}
_SCOPES: Final = {one.value: one for one in Scope}
_TRUST: Final = {one.value: one for one in Trust}
_STATUSES: Final = {one.value: one for one in Status}
_NO_JUDGEMENTS: Final = (0, 0)  # wrong, missed
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def memory_to_plain(memory: Memory) -> JsonObject:
    """Encode a memory as a JSON-compatible dictionary.

    If a field has a table column, its key is the name of that column.
    """
    row: JsonObject = {
        "id": memory.id,
        "kind": memory.kind.value,
        "project": memory.project,
        "ref": memory.ref,
        "title": memory.title,
        "content": memory.content,
        "levels": [memory.levels.summary, memory.levels.compressed, memory.levels.index],
        "category": memory.category,
        "key": memory.key,
        "value": memory.value,
        "scope": memory.scope.value,
        "branch": memory.branch,
        "confidence": float(memory.confidence),
        "importance": float(memory.importance),
        "tags": list(memory.tags),
        "at": to_microseconds(memory.at),
        "created": to_microseconds(memory.created),
        "updated": to_microseconds(memory.updated),
        "valid_from": to_microseconds(memory.valid_from) if memory.valid_from else None,
        "valid_to": to_microseconds(memory.valid_to) if memory.valid_to else None,
        "supersedes": memory.supersedes,
        "superseded_by": memory.superseded_by,
        "links": [dict(link) for link in memory.links],
        "artifacts": [[artifact.type, artifact.ref] for artifact in memory.artifacts],
        "trust": memory.trust.value,
        "source": dict(memory.source),
        "retrieved": memory.usage.retrieved,
        "cited": memory.usage.cited,
        "ignored": memory.usage.ignored,
        "status": memory.status.value,
    }
    if memory.usage.wrong or memory.usage.missed:
        row["judged"] = [memory.usage.wrong, memory.usage.missed]
    if memory.usage.last is not None:
        row["last_used"] = to_microseconds(memory.usage.last)
    return {name: replace_surrogates(value) for name, value in row.items()}


def memory_from_plain(memory_data: Mapping[str, Any]) -> Memory:
    """Decode the output of `memory_to_plain`."""
    creation_time, update_time = memory_data["created"], memory_data["updated"]
    created_at = from_microseconds(creation_time)
    return Memory(
        id=memory_data["id"],
        kind=_KINDS.get(memory_data["kind"]) or Kind(memory_data["kind"]),
        project=memory_data["project"],
        ref=memory_data["ref"],
        title=memory_data["title"],
        content=memory_data["content"],
        levels=Levels(*memory_data["levels"]),
        category=memory_data["category"],
        key=memory_data["key"],
        value=memory_data["value"],
        scope=_SCOPES.get(memory_data["scope"]) or Scope(memory_data["scope"]),
        branch=memory_data["branch"],
        confidence=memory_data["confidence"],
        importance=memory_data["importance"],
        tags=tuple(memory_data["tags"]),
        at=from_microseconds(memory_data["at"]),
        created=created_at,
        updated=created_at if update_time == creation_time else from_microseconds(update_time),
        valid_from=None if memory_data["valid_from"] is None else from_microseconds(memory_data["valid_from"]),
        valid_to=None if memory_data["valid_to"] is None else from_microseconds(memory_data["valid_to"]),
        supersedes=memory_data["supersedes"],
        superseded_by=memory_data["superseded_by"],
        links=tuple(memory_data["links"]),
        artifacts=tuple([Artifact(type_, ref) for type_, ref in memory_data["artifacts"]]),
        trust=_TRUST.get(memory_data["trust"]) or Trust(memory_data["trust"]),
        source=memory_data["source"],
        usage=_build_usage(memory_data),
        status=_STATUSES.get(memory_data["status"]) or Status(memory_data["status"]),
    )


def _build_usage(memory_data: Mapping[str, Any]) -> Usage:
    wrong, missed_count = memory_data.get("judged", _NO_JUDGEMENTS)
    last = from_microseconds(memory_data["last_used"]) if "last_used" in memory_data else None
    return Usage(memory_data["retrieved"], memory_data["cited"], memory_data["ignored"], wrong, missed_count, last)


def to_microseconds(at: datetime) -> int:
    """Convert a time to microseconds since the epoch, without rounding errors."""
    return (at - _EPOCH) // _MICROSECOND


def from_microseconds(at: int) -> datetime:
    """Convert microseconds since the epoch to a time in UTC."""
    return _EPOCH + at * _MICROSECOND


def replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which a UTF-8 column cannot store."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [replace_surrogates(one) for one in value]
    if isinstance(value, dict):
        return {str(replace_surrogates(name)): replace_surrogates(one) for name, one in value.items()}
    return value
