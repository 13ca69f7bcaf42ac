"""What a search in the store found, before it is ranked."""

from __future__ import annotations

from dataclasses import dataclass

from hunchd.domain.memory import Memory
from hunchd.store.database.gist import Gist


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory and how well it answers, each way of looking for itself. None: not found that way."""

    memory: Memory
    lexical: float | None = None  # BM25, larger is better, comparable within one search only
    similarity: float | None = None  # cosine, -1..1
    why: tuple[str, ...] = ()  # ways of finding it that have no score: by name, by a link


@dataclass(frozen=True, slots=True, kw_only=True)
class Glimpse:
    """The same of a memory that was read no further than ranking looks."""

    memory: Gist
    lexical: float | None = None
    similarity: float | None = None
    why: tuple[str, ...] = ()
