"""Memories to plan with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hunchd.domain.memory import Artifact, Kind, Memory, Trust

NOW = datetime(2026, 6, 1, 3, tzinfo=UTC)


def memory(name: str, *, age: float = 10.0, paths: tuple[str, ...] = (), **fields: Any) -> Memory:
    """An episode that is `age` days old and was not used since."""
    at = NOW - timedelta(days=age)
    given: dict[str, Any] = {
        "id": name,
        "kind": Kind.EPISODE,
        "title": f"work on {name}",
        "content": f"work on {name}",
        "at": at,
        "created": at,
        "updated": at,
        "project": "p",
        "trust": Trust.UNTRUSTED,
        "importance": 0.4,
        "artifacts": tuple(Artifact("file", path) for path in paths),
    }
    return Memory(**given | fields)


def by_id(*memories: Memory) -> dict[str, Memory]:
    return {one.id: one for one in memories}
