"""Client for the store process, which implements the store's API over a pipe."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import NoneType
from typing import Any, Final, TypeVar

from msgspec import Raw, Struct, structs

from hunchd.domain.filters import Filters, matches
from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import Memory
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.pipe import decode, encode
from hunchd.protocol.search_results import SearchResult
from hunchd.store.hits import Hit, SearchCandidate
from hunchd.store.memory_codec import memory_from_plain, memory_to_plain, to_microseconds
from hunchd.store.port import (
    MemoryBatch,
    MemoryPage,
    RankedQuery,
    RankedResults,
    SearchHits,
    StoredSignal,
    StoreQuery,
    StoreStats,
    format_cursor,
    parse_cursor,
)

AnswerT = TypeVar("AnswerT")

# Writing waits for the disk, and now and then for a running compaction.
WRITE_TIMEOUT: Final = 120.0  # seconds
# Erasing rewrites every row of a large project.
ERASE_TIMEOUT: Final = 600.0  # seconds
# On a busy machine, the model that compares pairs takes long to load, and then to rate some pairs.
CONTRADICT_TIMEOUT: Final = 120.0  # seconds
# The database's threads and buffers grow with the machine unless limited before it is loaded.
PROCESS_LIMITS: Final[Mapping[str, str]] = {
    # Memory of a query is kept for the next one: returning it to the system costs a third of the processor time.
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": "16777216",
    "MALLOC_MMAP_THRESHOLD_": "4194304",
    "LANCE_IO_THREADS": "4",
    "LANCE_CPU_THREADS": "2",
    "LANCE_DEFAULT_BATCH_SIZE": "512",  # rows that are read together: compaction needs 50 to 75 MB less than with 8,192
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "2",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "RUST_LOG": "error",
    "LANCE_LOG": "error",
}


class StoredPage(Struct, kw_only=True):
    """Page of memories in their stored form.

    `next` is the time and id of the last memory on this page, after which the next page starts. It is None on the last
    page.
    """

    memories: list[JsonObject] = []
    next: tuple[int, str] | None = None
    total: int = 0


class StoredHit(Struct, frozen=True, kw_only=True):
    memory: Raw  # as the table holds it
    lexical: float | None
    similarity: float | None
    why: tuple[str, ...]


class FoundHits(Struct, frozen=True, kw_only=True):
    hits: list[StoredHit]
    degraded: tuple[str, ...]
    pending_embeddings: int


class RankedAnswer(Struct, frozen=True, kw_only=True):
    results: tuple[SearchResult, ...] = ()
    degraded: tuple[str, ...] = ()
    pending_embeddings: int = 0


class PairRating(Struct, frozen=True, kw_only=True):
    probabilities: tuple[float, ...] | None
    degraded: list[str]


class QueryVectorAnswer(Struct, frozen=True, kw_only=True):
    vector: bytes | None
    degraded: tuple[str, ...]


class TextVectors(Struct, frozen=True, kw_only=True):
    vectors: list[bytes] | None


class StoredOwners(Struct, frozen=True):
    owners: list[str | None]


class StoreClient:
    """Client of the store process, which forwards each call to it.

    It implements the interfaces `MemoryStore` and `TextModels`. The memories are in one folder on this machine.
    `last_stats` are the latest statistics received, for callers that must not wait.
    """

    def __init__(self, child: HelperProcess) -> None:
        self._child = child
        self._waiting_queries = 0  # queries that wait for their answer
        self._last_answer_at = float("-inf")
        self.last_stats = StoreStats()
        self.is_stats_outdated = False  # True if anything was stored since the last `fetch_stats`

    async def put(self, memories: Sequence[Memory]) -> None:
        self.is_stats_outdated = True
        params = {"memories": [memory_to_plain(memory) for memory in memories]}
        self._note_pending(await self._child.call("put", params, int, timeout=WRITE_TIMEOUT))

    async def put_signals(self, signals: Sequence[StoredSignal]) -> int:
        return await self._child.call("put_signals", {"signals": signals}, int, timeout=WRITE_TIMEOUT)

    async def get(self, ids: Sequence[str], project: str | None) -> list[Memory]:
        rows = await self._read("get", {"ids": ids, "project": project}, list[JsonObject])
        by_id = {row["id"]: memory_from_plain(row) for row in rows}
        return [by_id[id_] for id_ in dict.fromkeys(ids) if id_ in by_id]

    async def list(self, filters: Filters, limit: int, cursor: str | None = None) -> MemoryPage:
        after = parse_cursor(cursor) if cursor else None
        page = await self._read("list", {"filters": filters, "limit": limit, "after": after}, StoredPage)
        next_cursor = format_cursor(*page.next) if page.next else None
        return MemoryPage(tuple(map(memory_from_plain, page.memories)), next_cursor, page.total)

    async def search(self, request: StoreQuery) -> SearchHits:
        answer = await self._read("search", {"request": request}, FoundHits)
        self._note_pending(answer.pending_embeddings)
        # The store may compare hashes only; here each memory is decoded anyway.
        hits = (hit for hit in map(decode_hit, answer.hits) if matches(hit.memory, request.filters))
        return SearchHits(tuple(hits), answer.degraded)

    async def search_ranked(self, request: RankedQuery, cached_hits: Sequence[Hit]) -> RankedResults:
        params = {"request": request, "cached_hits": [encode_hit(hit) for hit in cached_hits]}
        self._waiting_queries += 1
        try:
            answer = await self._read("answer", params, RankedAnswer)
        finally:
            self._waiting_queries -= 1
            self._last_answer_at = time.monotonic()
        self._note_pending(answer.pending_embeddings)
        return RankedResults(answer.results, answer.degraded)

    @property
    def seconds_since_query(self) -> float:
        return 0.0 if self._waiting_queries else time.monotonic() - self._last_answer_at

    async def rate_pairs(self, pairs: Sequence[tuple[str, str]]) -> tuple[float, ...] | None:
        rating = await self._read("contradict", {"pairs": pairs}, PairRating, timeout=CONTRADICT_TIMEOUT)
        self.last_stats.degraded = rating.degraded
        return rating.probabilities

    async def vector(self, query: str, patience: float) -> tuple[bytes | None, tuple[str, ...]]:
        answer = await self._read("vector", {"query": query, "patience": patience}, QueryVectorAnswer)
        return answer.vector, answer.degraded

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes] | None:
        return (await self._read("embed", {"texts": texts}, TextVectors, timeout=CONTRADICT_TIMEOUT)).vectors

    async def rate_sentences(self, pairs: Sequence[tuple[str, str]]) -> Sequence[bytes] | None:
        return (await self._read("rate_sentences", {"pairs": pairs}, TextVectors, timeout=CONTRADICT_TIMEOUT)).vectors

    async def delete(self, ids: Sequence[str], project: str | None) -> int:
        return await self._child.call("delete", {"ids": ids, "project": project}, int, timeout=WRITE_TIMEOUT)

    async def stream_signals(self, project: str | None) -> AsyncIterator[StoredSignal]:
        async for signals in self._child.stream("signals", {"project": project}, list[JsonObject]):
            for signal in signals:
                yield signal

    async def delete_signals(self, ids: Sequence[str], project: str) -> None:
        await self._write("delete_signals", {"ids": ids, "project": project}, WRITE_TIMEOUT)

    async def delete_signals_before(self, before: datetime) -> None:
        await self._write("forget_signals", {"before": to_microseconds(before)}, WRITE_TIMEOUT)

    async def erase(self, project: str) -> None:
        await self._write("erase", {"project": project})
        self.last_stats.projects.pop(project, None)

    async def purge(self, project: str | None) -> None:
        await self._write("purge", {"project": project})

    async def list_owners(self) -> Sequence[str | None]:
        return (await self._read("owners", {}, StoredOwners)).owners

    async def stream_memories(self, project: str | None) -> AsyncIterator[MemoryBatch]:
        async for batch in self._child.stream("scan", {"project": project}, MemoryBatch):
            yield batch

    @property
    def pending_embeddings(self) -> int:
        stats = self.last_stats
        return 0 if self._child.has_idled_out and not stats.degraded else stats.pending_embeddings

    async def fetch_stats(self) -> StoreStats:
        self.is_stats_outdated = False  # anything stored in the meantime sets it again
        try:
            stats = await self._read("stats", {}, StoreStats)
        except BaseException:  # a caller that did not wait for the answer has not seen it
            self.is_stats_outdated = True
            raise
        self.last_stats = structs.replace(stats, projects={**self.last_stats.projects, **stats.projects})
        return stats

    async def count_tokens(self) -> int:
        return await self._read("count_tokens", {}, int)

    async def optimise(self) -> None:
        await self._write("optimise", {})

    async def snapshot(self, keep: int) -> None:
        await self._write("snapshot", {"keep": keep})

    async def _read(
        self, method: str, params: Mapping[str, Any], answer: type[AnswerT], *, timeout: float = 30.0
    ) -> AnswerT:
        return await self._child.call(method, params, answer, timeout=timeout, retry=True)

    async def _write(self, method: str, params: Mapping[str, Any], timeout: float = ERASE_TIMEOUT) -> None:
        await self._child.call(method, params, NoneType, timeout=timeout)

    def _note_pending(self, count: int) -> None:
        if count != self.pending_embeddings:
            self.is_stats_outdated = True  # rows have received vectors since they were counted
        self.last_stats.pending_embeddings = count


def build_command(
    data: Path, *, idle_after: float, model: str, embedding: bool, model_idle_after: float
) -> tuple[str, ...]:
    """Return the command line that starts the store process. Durations are in seconds."""
    line = [sys.executable, "-m", "hunchd.daemon.store_process", str(data)]
    line += [f"--idle-after={idle_after:g}", f"--model={model}", f"--model-idle-after={model_idle_after:g}"]
    return (*line, *(() if embedding else ("--no-embedding",)))


def build_environment() -> dict[str, str]:
    """Return the environment of the store process; PROCESS_LIMITS must be set before it starts."""
    return {**os.environ, **PROCESS_LIMITS}


def encode_hit(hit: Hit) -> StoredHit:
    memory = encode(memory_to_plain(hit.memory))
    return StoredHit(memory=memory, lexical=hit.lexical, similarity=hit.similarity, why=hit.why)


def encode_candidate(candidate: SearchCandidate, why: Sequence[str]) -> StoredHit:
    """Encode a search candidate as a hit, without parsing its memory.

    `why` contains the reasons why the memory was found.
    """
    memory = Raw(candidate.body.encode("utf-8", "surrogatepass"))
    return StoredHit(memory=memory, lexical=candidate.lexical, similarity=candidate.similarity, why=tuple(why))


def decode_hit(hit: StoredHit) -> Hit:
    memory = memory_from_plain(decode(hit.memory, JsonObject))
    return Hit(memory=memory, lexical=hit.lexical, similarity=hit.similarity, why=hit.why)
