"""Factories of memories for consolidation tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hunchd.domain.memory import Artifact, Kind, Memory, Trust

NOW = datetime(2026, 6, 1, 3, tzinfo=UTC)


def memory(name: str, *, age: float = 10.0, paths: tuple[str, ...] = (), **fields: Any) -> Memory:
    """Return an unused episode that is `age` days old."""
    at = NOW - timedelta(days=age)
    defaults: dict[str, Any] = {
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
    return Memory(**defaults | fields)


def by_id(*memories: Memory) -> dict[str, Memory]:
    return {one.id: one for one in memories}


@dataclass(frozen=True, slots=True)
class ListedGround:
    """Fake code presence: files, each with the names that it defines."""

    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_complete: bool = True

    def has_path(self, path: str) -> bool:
        return path in self.files or any(file.startswith(path.rstrip("/") + "/") for file in self.files)

    def find_definitions(self, name: str) -> tuple[str, ...]:
        return tuple(path for path, names in sorted(self.files.items()) if name in names)
