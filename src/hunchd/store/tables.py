"""The two tables of a project: their columns, their version, and how a memory becomes a row and back.

A row is a plain dictionary: texts, numbers, lists of texts, and bytes for digests and the vector (little-endian
float32). Times are microseconds since the epoch. Only `store.lance` turns rows into what the database wants.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Final, Literal

from hunchd.domain.filters import paths_of
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust, Usage
from hunchd.store.words import index_text

Row = dict[str, Any]
ColumnType = Literal["text", "texts", "integer", "number", "flag", "bytes", "vector"]

# Raise it with every change of the columns, and say in `migrations` how older tables get there.
SCHEMA_VERSION: Final = 1
DIMENSIONS: Final = 384  # of the vectors
DIGEST_BYTES: Final = 16
# What is embedded: the model reads 256 word pieces, which is less than this many characters of prose or code.
EMBEDDED_CHARACTERS: Final = 1_600


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: ColumnType
    required: bool = False


MEMORIES: Final = "memories"
MEMORY_COLUMNS: Final = (
    Column("id", "text", required=True),
    Column("kind", "text"),
    Column("project", "text"),
    Column("ref", "text"),
    Column("title", "text"),
    Column("content", "text"),
    Column("summary", "text"),
    Column("compressed", "text"),
    Column("pointer", "text"),  # the shortest level; "index" is a word of the database
    Column("category", "text"),
    Column("key", "text"),
    Column("value", "text"),
    Column("scope", "text"),
    Column("branch", "text"),
    Column("confidence", "number"),
    Column("importance", "number"),
    Column("tags", "texts"),
    Column("paths", "text"),  # each after a line break, so that a prefix is found with one comparison
    Column("at", "integer"),
    Column("created", "integer"),
    Column("updated", "integer"),
    Column("valid_from", "integer"),
    Column("valid_to", "integer"),
    Column("supersedes", "text"),
    Column("superseded_by", "text"),
    Column("links", "text"),  # JSON
    Column("artifacts", "text"),  # JSON
    Column("trust", "text"),
    Column("source", "text"),  # JSON
    Column("retrieved", "integer"),
    Column("cited", "integer"),
    Column("ignored", "integer"),
    Column("status", "text"),
    Column("text", "text"),  # what the full-text index reads
    Column("text_digest", "bytes"),  # of what is embedded: the same text is embedded once
    Column("digest", "bytes"),  # of the memory as it was given: a replay changes nothing
    Column("vector", "vector"),
    Column("embedded", "flag"),
    Column("model", "text"),  # that made the vector
    Column("hash", "bytes"),  # of the whole row: damage is noticed before it is served
)

SIGNALS: Final = "signals"
SIGNAL_COLUMNS: Final = (
    Column("id", "text", required=True),
    Column("kind", "text"),
    Column("project", "text"),
    Column("at", "integer"),
    Column("data", "text"),  # JSON, the signal as it was accepted
    Column("absorbed", "flag"),
    Column("digest", "bytes"),
    Column("hash", "bytes"),
)

COLUMNS: Final[Mapping[str, Sequence[Column]]] = {MEMORIES: MEMORY_COLUMNS, SIGNALS: SIGNAL_COLUMNS}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def row_of(memory: Memory) -> Row:
    """The row of a memory whose text has no vector yet."""
    return stored(plain(memory))


def plain(memory: Memory) -> Row:
    """The memory as JSON can carry it: the columns that hold what it says, without what is derived from that."""
    row: Row = {
        "id": memory.id,
        "kind": memory.kind.value,
        "project": memory.project,
        "ref": memory.ref,
        "title": memory.title,
        "content": memory.content,
        "summary": memory.levels.summary,
        "compressed": memory.levels.compressed,
        "pointer": memory.levels.index,
        "category": memory.category,
        "key": memory.key,
        "value": memory.value,
        "scope": memory.scope.value,
        "branch": memory.branch,
        "confidence": float(memory.confidence),
        "importance": float(memory.importance),
        "tags": list(memory.tags),
        "at": microseconds(memory.at),
        "created": microseconds(memory.created),
        "updated": microseconds(memory.updated),
        "valid_from": microseconds(memory.valid_from) if memory.valid_from else None,
        "valid_to": microseconds(memory.valid_to) if memory.valid_to else None,
        "supersedes": memory.supersedes,
        "superseded_by": memory.superseded_by,
        "links": _json([dict(link) for link in memory.links]),
        "artifacts": _json([{"type": artifact.type, "ref": artifact.ref} for artifact in memory.artifacts]),
        "trust": memory.trust.value,
        "source": _json(dict(memory.source)),
        "retrieved": memory.usage.retrieved,
        "cited": memory.usage.cited,
        "ignored": memory.usage.ignored,
        "status": memory.status.value,
    }
    return {name: _storable(value) for name, value in row.items()}


def stored(plain: Mapping[str, Any]) -> Row:
    """The whole row of what `plain` gave."""
    row = dict(plain)
    row["paths"] = joined_paths(paths_of(memory_of(row)))
    row["text"] = index_text(row["title"], row["content"], row["key"], row["value"], " ".join(row["tags"]))
    row["text_digest"] = digest_of([embeddable_text(row["title"], row["content"])])
    row["digest"] = digest_of([plain])
    row |= {"vector": None, "embedded": False, "model": None}
    return sealed(row)


def memory_of(row: Mapping[str, Any]) -> Memory:
    """The memory that a row holds."""
    return Memory(
        id=row["id"],
        kind=Kind(row["kind"]),
        project=row["project"],
        ref=row["ref"],
        title=row["title"],
        content=row["content"],
        levels=Levels(row["summary"], row["compressed"], row["pointer"]),
        category=row["category"],
        key=row["key"],
        value=row["value"],
        scope=Scope(row["scope"]),
        branch=row["branch"],
        confidence=row["confidence"],
        importance=row["importance"],
        tags=tuple(row["tags"]),
        at=moment(row["at"]),
        created=moment(row["created"]),
        updated=moment(row["updated"]),
        valid_from=None if row["valid_from"] is None else moment(row["valid_from"]),
        valid_to=None if row["valid_to"] is None else moment(row["valid_to"]),
        supersedes=row["supersedes"],
        superseded_by=row["superseded_by"],
        links=tuple(json.loads(row["links"])),
        artifacts=tuple(Artifact(found["type"], found["ref"]) for found in json.loads(row["artifacts"])),
        trust=Trust(row["trust"]),
        source=json.loads(row["source"]),
        usage=Usage(row["retrieved"], row["cited"], row["ignored"]),
        status=Status(row["status"]),
    )


def signal_row(signal: Mapping[str, Any]) -> Row:
    """The row of a signal: `id`, `kind`, `project` (its id), `at` (ISO 8601, aware) and `data`."""
    row: Row = {
        "id": str(signal["id"]),
        "kind": str(signal.get("kind", "")),
        "project": signal.get("project"),
        "at": microseconds(datetime.fromisoformat(signal["at"])),
        "data": _json(signal.get("data", {})),
        "absorbed": bool(signal.get("absorbed", False)),
    }
    row = {name: _storable(value) for name, value in row.items()}
    return sealed(row | {"digest": digest_of([row])})


def signal_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The signal that a row holds, in the form that `signal_row` takes."""
    return {
        "id": row["id"],
        "kind": row["kind"],
        "project": row["project"],
        "at": moment(row["at"]).isoformat(),
        "data": json.loads(row["data"]),
        "absorbed": bool(row["absorbed"]),
    }


def with_vector(row: Mapping[str, Any], vector: bytes, model: str) -> Row:
    """The same row with the vector of its text."""
    return sealed({**row, "vector": vector, "embedded": True, "model": model})


def sealed(row: Mapping[str, Any]) -> Row:
    """The row with its hash."""
    return {**row, "hash": row_hash(row)}


def is_intact(row: Mapping[str, Any]) -> bool:
    """Whether the row is as it was sealed."""
    return bool(row["hash"] == row_hash(row))


def row_hash(row: Mapping[str, Any]) -> bytes:
    """Over every column that has a value, so that a column added later leaves the hash of older rows right."""
    return digest_of([{name: value for name, value in row.items() if name != "hash" and value is not None}])


def digest_of(values: Iterable[Any]) -> bytes:
    """A digest that is the same on every machine and Python."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    for value in values:
        if isinstance(value, Mapping):
            vector = value.get("vector")
            plain = {name: kept for name, kept in value.items() if name != "vector"}
            digest.update(json.dumps(plain, sort_keys=True, default=bytes.hex).encode())
            digest.update(vector or b"")
        else:
            digest.update(json.dumps(value, default=bytes.hex).encode())
        digest.update(b"\x00")
    return digest.digest()


def embeddable_text(title: str, content: str) -> str:
    """What the vector of a memory stands for."""
    return f"{title}\n{content}"[:EMBEDDED_CHARACTERS] if content != title else title[:EMBEDDED_CHARACTERS]


def joined_paths(paths: Iterable[str]) -> str:
    """Each path on a line of its own, the first one too."""
    return "".join(f"\n{path}" for path in paths)


def microseconds(at: datetime) -> int:
    """Since the epoch, exactly."""
    return (at - _EPOCH) // _MICROSECOND


def moment(at: int) -> datetime:
    """The time, in UTC, of this many microseconds since the epoch."""
    return _EPOCH + at * _MICROSECOND


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _storable(value: Any) -> Any:
    """Without what no UTF-8 column can hold: half a surrogate pair."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_storable(one) for one in value]
    return value
