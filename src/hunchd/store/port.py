"""The port between the product and where memories lie.

Everything above the store knows these protocols only; `daemon/wiring.py` chooses who implements them. An owner is the
id of a project, or None for the user's own memories. `tests/store/contract` is what an implementation must pass.
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
    """Page of memories, newest first.

    `next` is the cursor that continues behind the last item; None on the last page.
    """

    items: tuple[Memory, ...]
    next: str | None
    total: int


@dataclass(frozen=True, slots=True)
class SearchHits:
    """Search hits, best first, before ranking.

    `degraded` lists what could not be used for the search.
    """

    hits: tuple[Hit, ...] = ()
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedResults:
    """Ranked search results, best first.

    `degraded` lists what could not be used for the search.
    """

    results: tuple[SearchResult, ...] = ()
    degraded: tuple[str, ...] = ()


class StoreStats(Struct, kw_only=True):
    """Figures of a store, in all and by owner; of a process that has just started, only some are known.

    Counts are of memories; `degraded` lists problems; there may be more counts by owner than `rows` and `embedded`.
    """

    rows: int | None = None
    embedded: int | None = None
    bytes: int | None = None
    versions: int | None = None
    pending_embeddings: int = 0
    degraded: list[str] = []
    projects: dict[str, dict[str, int]] = {}  # by owner; "user": the user's own


class MemoryBatch(Struct, frozen=True, kw_only=True):
    """Memories of one owner as `memory_to_plain` writes them, and vectors by id: one signed byte a dimension."""

    memories: list[JsonObject]
    vectors: dict[str, bytes] = {}


class MemoryStore(Protocol):
    """Durable memories and signals of all owners.

    Several processes may read and write the same store: nobody may rely on being the only one, on where the bytes lie,
    or on anything but ids, filters and times. Each method may wait; none is called on a hot path. What `put` and
    `delete` did is durable, and visible to every later call, when they return. Calls about an unknown owner find
    nothing and create nothing. Raises a HunchError if the store cannot answer.
    """

    # Memories

    async def put(self, memories: Sequence[Memory]) -> None:
        """Add or overwrite memories by id. Idempotent. Raises StoreClosed if their project was erased."""

    async def get(self, ids: Sequence[str], project: str | None) -> list[Memory]:
        """Return the memories that exist, each once, in the order of `ids`."""

    async def list(self, filters: Filters, limit: int, cursor: str | None = None) -> MemoryPage:
        """Return a page of the memories that pass `filters`, by falling time and then by id.

        Cursors are those of `format_cursor`. Raises InvalidInput for another one.
        """

    async def search(
        self,
        query: str,
        filters: Filters,
        k: int,
        *,
        k_without_messages: int | None = None,
        mode: Mode = "hybrid",
        depth: Depth = "shallow",
        embedding_wait: float = EMBEDDING_WAIT_SECONDS,
        is_background: bool = False,
    ) -> SearchHits:
        """Search by words and, if it has vectors, by vector among the memories that pass `filters`.

        Returns `k` hits, or `k_without_messages` if no message is among them. `specific` also finds an id, a caller's
        key or a key; `deep` also follows the links of the best hits. Waits `embedding_wait` seconds for the vector of
        the query. Nobody waits for a search in the background, so other such work goes on beside it.
        """

    async def search_ranked(
        self,
        query: str,
        filters: Filters,
        k: int,
        cached_hits: Sequence[Hit],
        *,
        k_without_messages: int | None,
        depth: Depth,
        results: int,
        branch_fact_ids: Sequence[str],
        now: datetime,
        embedding_wait: float,
    ) -> RankedResults:
        """Search and rank together with the hits `cached_hits`; return API results.

        Returns `results` results, some more if parts of documents are among them. Facts of the main line are left out
        if the branch of the filters overrides them, in the store or in one of the facts named in
        `branch_fact_ids`.
        """

    async def delete(self, ids: Sequence[str], project: str | None) -> int:
        """Delete memories; return how many there were.

        Their bytes are removed within a time that the store states; `purge` does not return before.
        """

    def stream_memories(self, project: str | None) -> AsyncIterator[MemoryBatch]:
        """Yield all memories of one owner in batches; those without a vector are missing among the vectors."""

    # Signals

    async def put_signals(self, signals: Sequence[StoredSignal]) -> int:
        """Store signals, each once; return how many were new."""

    def stream_signals(self, project: str | None) -> AsyncIterator[StoredSignal]:
        """Yield the stored signals of an owner."""

    async def delete_signals(self, ids: Sequence[str], project: str) -> None:
        """Delete signals; their bytes leave the store with the next purge."""

    async def delete_signals_before(self, before: datetime) -> None:
        """Delete the signals of all owners that are older than `before`."""

    # Owners

    async def list_owners(self) -> Sequence[str | None]:
        """Return the owners of which something is stored."""

    async def erase(self, project: str) -> None:
        """Remove everything that is stored for a project, for good: its id is never used again."""

    async def purge(self, project: str | None) -> None:
        """Remove the bytes of what was deleted."""

    # Upkeep

    async def optimise(self) -> None:
        """Merge what was written since the last time."""

    async def snapshot(self, keep: int) -> None:
        """Back up every owner and keep the newest `keep` backups; a store with backups of its own does nothing."""

    async def fetch_stats(self) -> StoreStats:
        """Return the figures of the store."""

    @property
    def last_stats(self) -> StoreStats:
        """The newest figures that are known without waiting."""

    @property
    def is_stats_outdated(self) -> bool:
        """True if something was put since `fetch_stats`."""

    @property
    def pending_embeddings(self) -> int:
        """Number of memories that wait for their vector, as last reported."""


class TextModels(Protocol):
    """The models that read texts, where they are loaded."""

    async def rate_pairs(self, pairs: Sequence[tuple[str, str]]) -> tuple[float, ...] | None:
        """Return the probability that each pair of statements contradicts itself; None without a model."""

    async def vector(self, query: str, patience: float) -> tuple[bytes | None, tuple[str, ...]]:
        """Return the vector of a question, and what keeps it from being made within `patience` seconds."""

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes] | None:
        """Return the vectors of texts for which nobody waits; None where no model makes any."""

    @property
    def seconds_since_query(self) -> float:
        """Seconds since somebody last waited for the answer to a query."""


def format_cursor(at: int, identifier: str) -> str:
    """Return the cursor behind a memory; `at` is its time in microseconds since the epoch."""
    return json.dumps([at, identifier])


def parse_cursor(cursor: str) -> tuple[int, str]:
    """Return the time and id in a cursor. Raises InvalidInput."""
    try:
        match json.loads(cursor):
            case [int(at), str(identifier)] if not isinstance(at, bool) and abs(at) <= MAX_INTEGER:
                return at, identifier
    except (ValueError, RecursionError):
        pass
    raise unknown_cursor()
