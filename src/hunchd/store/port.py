"""Interfaces between the rest of hunchd and the store.

Everything above the store depends only on these protocols; `daemon/wiring.py` chooses the implementations. The
owner of memories is a project, given by its id, or the user, given as None. Every implementation must pass
`tests/store/contract`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Protocol, TypeAlias

from msgspec import Struct

from hunchd.domain.filters import Filters
from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import Memory
from hunchd.protocol.decoding import MAX_INTEGER, unknown_cursor
from hunchd.protocol.search_results import SearchResult
from hunchd.store.hits import Hit

Mode = Literal["hybrid", "lexical", "dense"]
Depth = Literal["specific", "shallow", "deep"]
StoredSignal: TypeAlias = Mapping[str, Any]  # `id`, `kind`, `project`, `at` (ISO 8601), `data`, `absorbed`

# How long a query waits for its embedding before it is answered by words alone.
EMBEDDING_WAIT_SECONDS: Final = 0.05  # seconds


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Page of memories, newest first. `next` is the cursor of the next page, or None on the last page."""

    items: tuple[Memory, ...]
    next: str | None
    total: int


class StoreQuery(Struct, frozen=True):
    """Search for the memories that pass `filters`, by words and, if possible, by vector.

    It returns `k` hits, or `k_without_messages` hits if none of these is a message. With the depth `specific`, a memory
    is also found by its id, ref or key; with `deep`, the links of the best hits are followed as well. If
    `is_background` is True, nobody is waiting for the search, so other background work continues in parallel.
    """

    query: str
    filters: Filters
    k: int
    k_without_messages: int | None = None
    mode: Mode = "hybrid"
    depth: Depth = "shallow"
    embedding_wait: float = EMBEDDING_WAIT_SECONDS  # for the vector of the query
    is_background: bool = False


class RankedQuery(StoreQuery, frozen=True, kw_only=True):
    """Search whose hits are ranked, in the form that the API uses.

    It returns `results` results, or some more if chunks of documents are among them. Facts of the main line are left
    out if the branch in `filters` overrides them, either with a fact in the store or with one in `branch_fact_ids`.
    """

    results: int
    branch_fact_ids: tuple[str, ...] = ()
    now: datetime


@dataclass(frozen=True, slots=True)
class SearchHits:
    """Search hits before ranking, best first. `degraded` lists what could not be used for the search."""

    hits: tuple[Hit, ...] = ()
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedResults:
    """Ranked search results, best first. `degraded` lists what could not be used for the search."""

    results: tuple[SearchResult, ...] = ()
    degraded: tuple[str, ...] = ()


class StoreStats(Struct, kw_only=True):
    """Statistics of a store, in total and by owner.

    A process that has just started knows only some of the statistics. The numbers are counts of memories, except for
    `bytes` and `versions`; `degraded` lists problems. The statistics by owner may include more than `rows` and
    `embedded`.
    """

    rows: int | None = None
    embedded: int | None = None
    bytes: int | None = None
    versions: int | None = None
    pending_embeddings: int = 0
    degraded: list[str] = []
    projects: dict[str, dict[str, int]] = {}  # by owner; "user" stands for the user


class MemoryBatch(Struct, frozen=True, kw_only=True):
    """Memories of one owner, with their vectors.

    `memories` are in the form of `memory_to_plain`; `vectors` are keyed by id and have one signed byte per dimension.
    """

    memories: list[JsonObject]
    vectors: dict[str, bytes] = {}


class MemoryStore(Protocol):
    """Durable store for the memories and signals of all owners.

    Several processes may read and write the same store. Callers must not assume that they are the only ones or that
    the data is stored in a certain place, nor rely on anything except ids, filters and times. Each method may wait;
    none is called on a hot path. When `put` and `delete` return, their effect is durable and visible to every later
    call. Calls with an unknown owner find nothing and create nothing. If the store cannot answer, methods raise a
    HunchError.
    """

    # Memories

    async def put(self, memories: Sequence[Memory]) -> None:
        """Add memories, or overwrite those with the same id.

        Storing the same memories again changes nothing. Raises StoreClosed if their project was erased.
        """

    async def get(self, ids: Sequence[str], project: str | None) -> list[Memory]:
        """Return the memories that exist, each of them once, in the order of `ids`."""

    async def list(self, filters: Filters, limit: int, cursor: str | None = None) -> MemoryPage:
        """Return a page of the memories that pass `filters`, newest first, then by id.

        Raises InvalidInput for a cursor that was not created by `format_cursor`.
        """

    async def search(self, request: StoreQuery) -> SearchHits:
        """Search memories."""

    async def search_ranked(self, request: RankedQuery, cached_hits: Sequence[Hit]) -> RankedResults:
        """Search, and rank the hits together with `cached_hits`."""

    async def delete(self, ids: Sequence[str], project: str | None) -> int:
        """Delete memories; return how many of them existed.

        Their data is removed within a time defined by the store; `purge` returns only when that has been done.
        """

    def stream_memories(self, project: str | None) -> AsyncIterator[MemoryBatch]:
        """Yield all memories of one owner, in batches.

        Memories without a vector do not appear in the batch's `vectors`.
        """

    # Signals

    async def put_signals(self, signals: Sequence[StoredSignal]) -> int:
        """Store signals that are not stored yet; return how many were new."""

    def stream_signals(self, project: str | None) -> AsyncIterator[StoredSignal]:
        """Yield the stored signals of an owner."""

    async def delete_signals(self, ids: Sequence[str], project: str) -> None:
        """Delete signals; their data leaves the store with the next purge."""

    async def delete_signals_before(self, before: datetime) -> None:
        """Delete the signals of all owners that are older than `before`."""

    # Owners

    async def list_owners(self) -> Sequence[str | None]:
        """Return the owners that have stored data."""

    async def erase(self, project: str) -> None:
        """Permanently remove everything stored for a project; its id is never used again."""

    async def purge(self, project: str | None) -> None:
        """Remove the data of deleted memories and signals from the disk."""

    # Upkeep

    async def optimise(self) -> None:
        """Merge the data written since the last call."""

    async def snapshot(self, keep: int) -> None:
        """Back up the data of every owner and keep the newest `keep` backups.

        If a store makes its own backups, this does nothing.
        """

    async def fetch_stats(self) -> StoreStats:
        """Return the statistics of the store."""

    async def count_tokens(self) -> int:
        """Estimate the tokens of the active memories, as shown."""

    @property
    def last_stats(self) -> StoreStats:
        """Latest statistics, available without waiting."""

    @property
    def is_stats_outdated(self) -> bool:
        """True if anything was stored since `fetch_stats`."""

    @property
    def pending_embeddings(self) -> int:
        """Number of memories without a vector, as last reported."""


class TextModels(Protocol):
    """Models for texts, which run in the process that has loaded them."""

    async def rate_pairs(self, pairs: Sequence[tuple[str, str]]) -> tuple[float, ...] | None:
        """Return, for each pair, the probability that its statements contradict each other.

        Returns None if there is no model.
        """

    async def vector(self, query: str, patience: float) -> tuple[bytes | None, tuple[str, ...]]:
        """Return the vector of a query, and the reasons if there is none.

        Waits at most `patience` seconds. The vector is None if it cannot be computed in that time.
        """

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes] | None:
        """Return the vectors of texts, computed with low priority. Returns None if there is no model."""

    async def rate_sentences(self, pairs: Sequence[tuple[str, str]]) -> Sequence[bytes] | None:
        """Return the logits, as float32, for each pair of context and sentence.

        Returns None if there is no model. The labels are those of `ingestion.statement_classifier`.
        """

    @property
    def seconds_since_query(self) -> float:
        """Seconds since a caller last waited for the answer to a query. The value is 0 while a caller is waiting."""


def format_cursor(at: int, identifier: str) -> str:
    """Return the cursor of a page that starts after a memory.

    `at` is the memory's time in microseconds since the epoch.
    """
    return json.dumps([at, identifier])


def parse_cursor(cursor: str) -> tuple[int, str]:
    """Return the time and the id that a cursor encodes. Raises InvalidInput if the cursor is malformed."""
    try:
        match json.loads(cursor):
            case [int(at), str(identifier)] if not isinstance(at, bool) and abs(at) <= MAX_INTEGER:
                return at, identifier
    except (ValueError, RecursionError):
        pass
    raise unknown_cursor()
