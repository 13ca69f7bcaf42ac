"""Search hits from a store, before ranking."""

from __future__ import annotations

from dataclasses import dataclass

from hunchd.domain.memory import Memory
from hunchd.store.ranking_view import RankingView


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Memory found by a search, with its score from each search method.

    A score is None if the method did not find the memory.
    """

    memory: Memory
    lexical: float | None = None  # BM25, larger is better, comparable within one search only
    similarity: float | None = None  # cosine, -1..1
    why: tuple[str, ...] = ()  # how it was found by a method without a score, such as by name or by a link


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingHit:
    """Hit with a partial memory, which has only the fields that ranking needs."""

    memory: RankingView
    lexical: float | None = None
    similarity: float | None = None
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchCandidate:
    """Memory found by a search, as its intact JSON body.

    `lexical` is the BM25 score if the memory was found by words; `similarity` is its cosine similarity if it has a
    vector. Most candidates are passed on unparsed, because parsing a memory costs more than finding it.
    """

    body: str
    digest: bytes
    lexical: float | None = None
    similarity: float | None = None
