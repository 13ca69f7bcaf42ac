"""What a search in the store found, before it is ranked."""

from __future__ import annotations

from dataclasses import dataclass

from hunchd.domain.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory and how well it answers, each way of looking for itself. None: not found that way."""

    memory: Memory
    lexical: float | None = None  # BM25, larger is better, comparable within one search only
    similarity: float | None = None  # cosine, -1..1
    why: tuple[str, ...] = ()  # ways of finding it that have no score: by name, by a link
