"""Columns and schema version of the tables, and conversion of rows.

A row is a plain dictionary with texts, numbers, lists of texts, and bytes for digests and the vector (little-endian
float32). Times are in microseconds since the epoch. Only `lance` converts rows to the database's format.

A memory is stored as JSON in the column `body`, and fields that can be filtered also have their own columns. Reading
ten rows costs 0.3 ms per column, so a search reads three columns instead of forty.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, Literal

from hunchd.domain.filters import paths_of
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Memory
from hunchd.protocol.responses import format_iso
from hunchd.store.indexes.tokenizer import build_index_text
from hunchd.store.memory_codec import from_microseconds, memory_from_plain, replace_surrogates, to_microseconds

Row = dict[str, Any]
StoredSignal = dict[str, Any]  # id, kind, project (its id), at (ISO 8601, aware), data, absorbed
ColumnType = Literal["text", "texts", "integer", "number", "flag", "bytes", "vector"]

# Increase it with every change of the columns; tables with a later version are only read.
SCHEMA_VERSION: Final = 1
DIMENSIONS: Final = 384  # length of the vectors
DIGEST_BYTES: Final = 16
# A commit of a thousand files says nothing about any of them.
MAX_INDEXED_PATHS: Final = 30
# What is embedded: the model reads 256 word pieces, which is less than this many characters of prose or code.
MAX_EPISODE_CHARACTERS: Final = 120  # characters: a whole message takes ten times as long, and the subject suffices
MAX_EMBEDDED_CHARACTERS: Final = 1_600


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """Name and type of a column."""

    name: str
    type: ColumnType
    is_required: bool = False


MEMORIES: Final = "memories"
MEMORY_COLUMNS: Final = (
    ColumnSpec("id", "text", is_required=True),
    ColumnSpec("kind", "text"),
    ColumnSpec("project", "text"),
    ColumnSpec("ref", "text"),
    ColumnSpec("body", "text"),  # JSON: the whole memory
    ColumnSpec("title", "text"),
    ColumnSpec("category", "text"),
    ColumnSpec("key", "text"),
    ColumnSpec("scope", "text"),
    ColumnSpec("branch", "text"),
    ColumnSpec("confidence", "number"),
    ColumnSpec("importance", "number"),
    ColumnSpec("tags", "texts"),
    ColumnSpec("paths", "text"),  # each after a line break, so that one comparison finds a prefix
    ColumnSpec("at", "integer"),
    ColumnSpec("created", "integer"),
    ColumnSpec("updated", "integer"),
    ColumnSpec("valid_from", "integer"),
    ColumnSpec("valid_to", "integer"),
    ColumnSpec("supersedes", "text"),
    ColumnSpec("superseded_by", "text"),
    ColumnSpec("trust", "text"),
    ColumnSpec("retrieved", "integer"),
    ColumnSpec("cited", "integer"),
    ColumnSpec("ignored", "integer"),
    ColumnSpec("status", "text"),
    ColumnSpec("text", "text"),  # content of the full-text index
    ColumnSpec("text_digest", "bytes"),  # digest of the embedded text: the same text is embedded only once
    ColumnSpec(
        "digest", "bytes"
    ),  # digest of the body: shows that a replay changes nothing, and reveals damage before serving
    ColumnSpec("vector", "vector"),
    ColumnSpec("embedded", "flag"),
    ColumnSpec("model", "text"),  # model that computed the vector
    ColumnSpec("hash", "bytes"),  # hash of the whole row, for readers of all columns
)
# Columns that are read to serve a memory; `digest` verifies `body`.
SERVED_COLUMNS: Final = ("id", "at", "body", "digest")

# Keys that `parse_row` adds to a row; keys that the database adds begin with an underscore too.
PLAIN_KEY: Final = "_plain"
MEMORY_KEY: Final = "_memory"

SIGNALS: Final = "signals"
SIGNAL_COLUMNS: Final = (
    ColumnSpec("id", "text", is_required=True),
    ColumnSpec("kind", "text"),
    ColumnSpec("project", "text"),
    ColumnSpec("at", "integer"),
    ColumnSpec("data", "text"),  # JSON, the signal as it was accepted
    ColumnSpec("absorbed", "flag"),
    ColumnSpec("digest", "bytes"),
    ColumnSpec("hash", "bytes"),
)

COLUMNS: Final[Mapping[str, Sequence[ColumnSpec]]] = {MEMORIES: MEMORY_COLUMNS, SIGNALS: SIGNAL_COLUMNS}


def build_row(memory_data: Mapping[str, Any]) -> Row:
    """Return the complete row for a memory. The memory is given as output of `memory_to_plain`."""
    body = _to_json(memory_data)
    memory = get_memory({"body": body})
    row = {column.name: memory_data[column.name] for column in MEMORY_COLUMNS if column.name in memory_data}
    row["body"] = body
    paths = paths_of(memory)
    row["paths"] = join_paths(paths)
    row["text"] = build_index_text(
        memory.title, memory.content, memory.key, memory.value, memory.ref, *memory.tags, *paths[:MAX_INDEXED_PATHS]
    )
    row["text_digest"] = compute_digest([get_embedded_text(memory)])
    row["digest"] = compute_digest([body])
    row |= {"vector": None, "embedded": False, "model": None}
    return add_hash(row)


def parse_row(body: str, digest: bytes) -> Row:
    """Return the row whose body is given; the body must be intact.

    The row also contains the parsed body, so that the body is parsed only once.
    """
    memory_data: Row = json.loads(body)
    parsed_values = {PLAIN_KEY: memory_data, MEMORY_KEY: memory_from_plain(memory_data)}
    return {"id": memory_data["id"], "at": memory_data["at"], "body": body, "digest": digest} | parsed_values


def get_plain(row: Mapping[str, Any]) -> Row:
    """Return the memory that a row contains, in the form of `memory_to_plain`."""
    memory_data: Row = row[PLAIN_KEY] if PLAIN_KEY in row else json.loads(row["body"])
    return memory_data


def get_memory(row: Mapping[str, Any]) -> Memory:
    """Return the memory that a row contains."""
    memory: Memory = row[MEMORY_KEY] if MEMORY_KEY in row else memory_from_plain(get_plain(row))
    return memory


def signal_to_row(signal: Mapping[str, Any]) -> Row:
    """Return the row for a signal.

    A signal has `id`, `kind`, `project` (project id), `at` (ISO 8601 with timezone) and `data`.
    """
    row: Row = {
        "id": str(signal["id"]),
        "kind": str(signal.get("kind", "")),
        "project": signal.get("project"),
        "at": to_microseconds(datetime.fromisoformat(signal["at"])),
        "data": _to_json(signal.get("data", {})),
        "absorbed": bool(signal.get("absorbed", False)),
    }
    row = {name: replace_surrogates(value) for name, value in row.items()}
    return add_hash(row | {"digest": compute_digest([row])})


def signal_from_row(row: Mapping[str, Any]) -> StoredSignal:
    """Return the signal that a row contains, in the form that `signal_to_row` accepts."""
    return {
        "id": row["id"],
        "kind": row["kind"],
        "project": row["project"],
        "at": format_iso(from_microseconds(row["at"])),
        "data": json.loads(row["data"]),
        "absorbed": bool(row["absorbed"]),
    }


def set_vector(row: Mapping[str, Any], vector: bytes, model: str) -> Row:
    """Return the row with a vector, which `model` computed for the row's text."""
    return add_hash({**row, "vector": vector, "embedded": True, "model": model})


def add_hash(row: Mapping[str, Any]) -> Row:
    """Return the row with the hash of its columns added to it."""
    return {**row, "hash": compute_row_hash(row)}


def is_intact(row: Mapping[str, Any]) -> bool:
    """Return True if the row matches its checksum.

    If the row does not have all columns, the checksum is the digest of its body.
    """
    if PLAIN_KEY in row:  # it was verified before it was parsed
        return True
    if "hash" in row:
        return bool(row["hash"] == compute_row_hash(row))
    return bool(row["digest"] == compute_digest([row["body"]]) and row["id"] == get_plain(row)["id"])


def compute_row_hash(row: Mapping[str, Any]) -> bytes:
    """Return the hash of all columns that have a value.

    Adding a column later does not invalidate the hash of older rows. Names with a leading underscore are skipped,
    because the database adds such columns to its results.
    """
    values = {name: value for name, value in row.items() if value is not None and not name.startswith("_")}
    values.pop("hash", None)
    return compute_digest([values])


def compute_digest(values: Iterable[Any]) -> bytes:
    """Return a digest that is the same on all machines and in all versions."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    for value in values:
        if isinstance(value, Mapping):
            vector = value.get("vector")
            hashed_fields = {name: part for name, part in value.items() if name != "vector"}
            digest.update(json.dumps(hashed_fields, sort_keys=True, default=bytes.hex).encode())
            digest.update(vector or b"")
        else:
            digest.update(json.dumps(value, default=bytes.hex).encode())
        digest.update(b"\x00")
    return digest.digest()


def get_embedded_text(memory: Memory) -> str:
    """Return the text to embed for a memory.

    Episodes are by far the most numerous kind; only their summary is embedded.
    """
    if describe(memory.kind).embeds_summary and memory.levels.summary:
        return memory.levels.summary[:MAX_EPISODE_CHARACTERS]
    text = memory.content if memory.content.startswith(memory.title) else f"{memory.title}\n{memory.content}"
    return text[:MAX_EMBEDDED_CHARACTERS]


def join_paths(paths: Iterable[str]) -> str:
    """Join paths, each preceded by a line break."""
    return "".join(f"\n{path}" for path in paths)


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=str)
