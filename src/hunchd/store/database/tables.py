"""Columns and schema version of the tables, and row conversion.

A row is a plain dictionary: texts, numbers, lists of texts, and bytes for digests and the vector (little-endian
float32). Times are microseconds since the epoch. Only `store.lance` converts rows for the database.

A memory is stored whole as JSON in `body`, and in columns of its own where it can be filtered: reading ten rows
costs 0.3 ms a column, and a search reads three columns instead of forty.
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
from hunchd.protocol.answers import iso
from hunchd.store.indexes.words import index_text

Row = dict[str, Any]
ColumnType = Literal["text", "texts", "integer", "number", "flag", "bytes", "vector"]

# Increase it with every change of the columns, and add a migration for older tables in `migrations`.
SCHEMA_VERSION: Final = 1
DIMENSIONS: Final = 384  # of the vectors
DIGEST_BYTES: Final = 16
# A commit of a thousand files says nothing about each of them.
INDEXED_PATHS: Final = 30
# What is embedded: the model reads 256 word pieces, which is less than this many characters of prose or code.
EMBEDDED_OF_EPISODE: Final = 120  # characters: a whole message takes ten times as long, and the subject suffices
EMBEDDED_CHARACTERS: Final = 1_600


@dataclass(frozen=True, slots=True)
class Column:
    """Name and type of a column."""

    name: str
    type: ColumnType
    required: bool = False


MEMORIES: Final = "memories"
MEMORY_COLUMNS: Final = (
    Column("id", "text", required=True),
    Column("kind", "text"),
    Column("project", "text"),
    Column("ref", "text"),
    Column("body", "text"),  # JSON: the whole memory
    Column("title", "text"),
    Column("category", "text"),
    Column("key", "text"),
    Column("scope", "text"),
    Column("branch", "text"),
    Column("confidence", "number"),
    Column("importance", "number"),
    Column("tags", "texts"),
    Column("paths", "text"),  # each after a line break, so that one comparison finds a prefix
    Column("at", "integer"),
    Column("created", "integer"),
    Column("updated", "integer"),
    Column("valid_from", "integer"),
    Column("valid_to", "integer"),
    Column("supersedes", "text"),
    Column("superseded_by", "text"),
    Column("trust", "text"),
    Column("retrieved", "integer"),
    Column("cited", "integer"),
    Column("ignored", "integer"),
    Column("status", "text"),
    Column("text", "text"),  # content of the full-text index
    Column("text_digest", "bytes"),  # of the embedded text: the same text is embedded once
    Column("digest", "bytes"),  # of the body: a replay changes nothing, and damage is noticed before serving
    Column("vector", "vector"),
    Column("embedded", "flag"),
    Column("model", "text"),  # that computed the vector
    Column("hash", "bytes"),  # of the whole row, for readers of all columns
)
# Columns that are read to serve a memory; `digest` verifies `body`.
SERVED: Final = ("id", "at", "body", "digest")

# Keys that `parsed` adds to a row; keys that the database adds begin with an underscore too.
PLAIN: Final = "_plain"
MEMORY: Final = "_memory"

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

# Lookup tables: calling an enumeration takes four times as long, and an answer has fifty memories.
_KINDS: Final = {one.value: one for one in Kind}
_SCOPES: Final = {one.value: one for one in Scope}
_TRUST: Final = {one.value: one for one in Trust}
_STATUSES: Final = {one.value: one for one in Status}
_UNJUDGED: Final = (0, 0)  # wrong, missed
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def plain(memory: Memory) -> Row:
    """Encode a memory as a JSON-compatible dictionary.

    Its keys are the column names where there is a column.
    """
    row: Row = {
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
        "at": microseconds(memory.at),
        "created": microseconds(memory.created),
        "updated": microseconds(memory.updated),
        "valid_from": microseconds(memory.valid_from) if memory.valid_from else None,
        "valid_to": microseconds(memory.valid_to) if memory.valid_to else None,
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
        row["last_used"] = microseconds(memory.usage.last)
    return {name: _storable(value) for name, value in row.items()}


def stored(plain: Mapping[str, Any]) -> Row:
    """Return the whole row for what `plain` returned."""
    body = _json(plain)
    memory = memory_of({"body": body})
    row = {column.name: plain[column.name] for column in MEMORY_COLUMNS if column.name in plain}
    row["body"] = body
    paths = paths_of(memory)
    row["paths"] = joined_paths(paths)
    row["text"] = index_text(
        memory.title, memory.content, memory.key, memory.value, memory.ref, *memory.tags, *paths[:INDEXED_PATHS]
    )
    row["text_digest"] = digest_of([embeddable_text(memory)])
    row["digest"] = digest_of([body])
    row |= {"vector": None, "embedded": False, "model": None}
    return sealed(row)


def parsed(body: str, digest: bytes) -> Row:
    """Return a served row with its intact body already parsed."""
    plain: Row = json.loads(body)
    read = {PLAIN: plain, MEMORY: memory_from_plain(plain)}
    return {"id": plain["id"], "at": plain["at"], "body": body, "digest": digest} | read


def plain_of(row: Mapping[str, Any]) -> Row:
    """Return what `plain` returned for the memory in a row."""
    found: Row = row[PLAIN] if PLAIN in row else json.loads(row["body"])
    return found


def memory_of(row: Mapping[str, Any]) -> Memory:
    """Return the memory in a row."""
    found: Memory = row[MEMORY] if MEMORY in row else memory_from_plain(plain_of(row))
    return found


def memory_from_plain(plain: Mapping[str, Any]) -> Memory:
    """Decode what `plain` returned."""
    created, updated = plain["created"], plain["updated"]
    made = moment(created)
    return Memory(
        id=plain["id"],
        kind=_KINDS.get(plain["kind"]) or Kind(plain["kind"]),
        project=plain["project"],
        ref=plain["ref"],
        title=plain["title"],
        content=plain["content"],
        levels=Levels(*plain["levels"]),
        category=plain["category"],
        key=plain["key"],
        value=plain["value"],
        scope=_SCOPES.get(plain["scope"]) or Scope(plain["scope"]),
        branch=plain["branch"],
        confidence=plain["confidence"],
        importance=plain["importance"],
        tags=tuple(plain["tags"]),
        at=moment(plain["at"]),
        created=made,
        updated=made if updated == created else moment(updated),
        valid_from=None if plain["valid_from"] is None else moment(plain["valid_from"]),
        valid_to=None if plain["valid_to"] is None else moment(plain["valid_to"]),
        supersedes=plain["supersedes"],
        superseded_by=plain["superseded_by"],
        links=tuple(plain["links"]),
        artifacts=tuple([Artifact(type_, ref) for type_, ref in plain["artifacts"]]),
        trust=_TRUST.get(plain["trust"]) or Trust(plain["trust"]),
        source=plain["source"],
        usage=_usage_of(plain),
        status=_STATUSES.get(plain["status"]) or Status(plain["status"]),
    )


def _usage_of(plain: Mapping[str, Any]) -> Usage:
    wrong, missed = plain.get("judged", _UNJUDGED)
    last = moment(plain["last_used"]) if "last_used" in plain else None
    return Usage(plain["retrieved"], plain["cited"], plain["ignored"], wrong, missed, last)


def signal_row(signal: Mapping[str, Any]) -> Row:
    """Return the row of a signal.

    A signal has `id`, `kind`, `project` (its id), `at` (ISO 8601, aware) and `data`.
    """
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
    """Return the signal in a row, in the form that `signal_row` takes."""
    return {
        "id": row["id"],
        "kind": row["kind"],
        "project": row["project"],
        "at": iso(moment(row["at"])),
        "data": json.loads(row["data"]),
        "absorbed": bool(row["absorbed"]),
    }


def with_vector(row: Mapping[str, Any], vector: bytes, model: str) -> Row:
    """Return the row with the vector of its text."""
    return sealed({**row, "vector": vector, "embedded": True, "model": model})


def sealed(row: Mapping[str, Any]) -> Row:
    """Return the row with its hash."""
    return {**row, "hash": row_hash(row)}


def is_intact(row: Mapping[str, Any]) -> bool:
    """Return True if the row matches its checksum.

    For a partial row that is the digest of its body.
    """
    if PLAIN in row:  # it was verified before it was parsed
        return True
    if "hash" in row:
        return bool(row["hash"] == row_hash(row))
    return bool(row["digest"] == digest_of([row["body"]]) and row["id"] == plain_of(row)["id"])


def row_hash(row: Mapping[str, Any]) -> bytes:
    """Hash every column that has a value.

    A column that is added later leaves the hash of older rows valid. Names with a leading underscore, which the
    database adds to an answer, are skipped.
    """
    said = {name: value for name, value in row.items() if value is not None and not name.startswith("_")}
    said.pop("hash", None)
    return digest_of([said])


def digest_of(values: Iterable[Any]) -> bytes:
    """Return a digest that is equal on all machines and versions."""
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


def embeddable_text(memory: Memory) -> str:
    """Return the text to embed for a memory.

    Of episodes, by far the most numerous kind, only the summary is embedded.
    """
    if memory.kind is Kind.EPISODE and memory.levels.summary:
        return memory.levels.summary[:EMBEDDED_OF_EPISODE]
    text = memory.content if memory.content.startswith(memory.title) else f"{memory.title}\n{memory.content}"
    return text[:EMBEDDED_CHARACTERS]


def joined_paths(paths: Iterable[str]) -> str:
    """Join paths, each preceded by a line break."""
    return "".join(f"\n{path}" for path in paths)


def microseconds(at: datetime) -> int:
    """Convert a time to microseconds since the epoch, exactly."""
    return (at - _EPOCH) // _MICROSECOND


def moment(at: int) -> datetime:
    """Convert microseconds since the epoch to a time in UTC."""
    return _EPOCH + at * _MICROSECOND


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=str)


def _storable(value: Any) -> Any:
    """Replace lone surrogates, which no UTF-8 column can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_storable(one) for one in value]
    if isinstance(value, dict):
        return {str(_storable(name)): _storable(one) for name, one in value.items()}
    return value
