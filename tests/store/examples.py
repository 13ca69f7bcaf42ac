"""Sample memories, rows and vectors for the store tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

import numpy as np

from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Usage
from hunchd.store.database.tables import DIMENSIONS, Row, build_row, parse_row, set_vector
from hunchd.store.hits import SearchCandidate
from hunchd.store.memory_codec import memory_to_plain

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODEL = "words"


def memory(number: int = 0, content: str = "", **fields: Any) -> Memory:
    """Return a small memory of project p, newer the larger its number."""
    at = NOON + timedelta(minutes=number)
    given: dict[str, Any] = {
        "id": f"m{number}",
        "kind": Kind.EPISODE,
        "title": f"episode {number}",
        "content": content or f"what happened in episode {number}",
        "at": at,
        "created": at,
        "updated": at,
        "project": "p",
    }
    return Memory(**given | fields)


def full_memory() -> Memory:
    """Return a memory with a value in every field."""
    return memory(
        7,
        "We use Postgres because of JSON support.",
        kind=Kind.FACT,
        ref="adr-7",
        levels=Levels("uses Postgres", "db:postgres(json)", "db:pg"),
        category="decision",
        key="database",
        value="postgres",
        scope=Scope.USER,
        branch="main",
        confidence=0.1 + 0.2,
        importance=0.9,
        tags=("db", "storage 'quoted'"),
        valid_from=NOON,
        valid_to=NOON + timedelta(days=3, microseconds=1),
        supersedes="m1",
        superseded_by="m9",
        links=({"type": "about", "ref": "src/db.py"},),
        artifacts=(Artifact("file", "docs/adr/7.md"), Artifact("commit", "abc")),
        source={"file": "docs/adr/7.md", "nested": {"line": 3}},
        usage=Usage(3, 2, 1),
    )


def vector_of(text: str) -> bytes:
    """Return a vector that is near those of texts with common words."""
    values = np.zeros(DIMENSIONS)
    for word in text.lower().split():
        seed = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
        for step in range(8):
            values[(seed >> (step * 7)) % DIMENSIONS] += 1.0 if (seed >> (step + 56)) & 1 else -1.0
    return (values / (np.linalg.norm(values) or 1.0)).astype("<f4").tobytes()


def row_of(memory: Memory) -> Row:
    """Return the row of a memory whose text has no vector yet."""
    return build_row(memory_to_plain(memory))


def embedded(memory: Memory) -> Row:
    """Return the row of a memory with the vector of its content."""
    return set_vector(row_of(memory), vector_of(memory.content), MODEL)


def found_row(candidate: SearchCandidate) -> Row:
    """Return the row of a memory that a search found."""
    return parse_row(candidate.body, candidate.digest)
