"""Search over a real store process for benchmarks, with BM25 for comparison."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hunchd.domain.filters import Filters
from hunchd.domain.memory import Memory
from hunchd.features.search.search_service import SearchService
from hunchd.protocol.child import HelperProcess
from hunchd.store.client import StoreClient, build_command, build_environment
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.port import StoreQuery
from hunchd.text.bm25 import LARGEST_GAIN, compute_idf, compute_length_norm
from hunchd.text.words import tokenize

NOW = datetime(2026, 1, 1, tzinfo=UTC)  # long after all data, so that nothing counts as recent
PUT_BATCH = 1_000  # memories


@dataclass(frozen=True, slots=True)
class SearchStore:
    """Store process of a benchmark, with the product's search running on it."""

    store: StoreClient
    memory_cache: MemoryCache
    searching: SearchService

    async def store_memories(
        self, project: str, memories: Sequence[Memory], *, also_cached: bool, on_pending: Callable[[int], object] = int
    ) -> None:
        """Store the memories unless they are stored already, and wait for their vectors.

        If `also_cached` is True, they are put into the cache as well, as if they had just been recorded. `on_pending`
        is called periodically with the number of memories that still lack a vector.
        """
        stored_count = (await self.store.list(Filters(project=project, statuses=()), 1)).total
        if stored_count != len(memories):
            for begin in range(0, len(memories), PUT_BATCH):
                await self.store.put(memories[begin : begin + PUT_BATCH])
        for memory in memories if also_cached else ():
            self.memory_cache.upsert(memory)
            self.memory_cache.mark_committed([memory])
        while pending := (await self.store.fetch_stats()).pending_embeddings:
            on_pending(pending)
            await asyncio.sleep(0.5)
        while (
            await self.store.search(StoreQuery("anything", Filters(project=project), 1))
        ).degraded:  # the model is being loaded
            await asyncio.sleep(0.5)


@asynccontextmanager
async def open_search_store(folder: Path) -> AsyncIterator[SearchStore]:
    """Open a store in `folder`, reusing an earlier run's vectors."""
    line = build_command(folder, idle_after=3_600, model="minilm-int8", embedding=True, model_idle_after=3_600)
    child = HelperProcess(line, name="the store process", env=build_environment())
    store, hot = StoreClient(child), MemoryCache(max_count=100_000, max_bytes=1 << 30)
    try:
        yield SearchStore(store, hot, SearchService(hot, store, now=lambda: NOW))
    finally:
        await child.stop()


class Bm25:
    """Plain BM25 ranking of whole texts, without stemming."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths = []
        for number, text in enumerate(texts):
            counts = Counter(tokenize(text))
            lengths.append(sum(counts.values()))
            for word, times in counts.items():
                self._postings[word].append((number, times))
        base, slope = compute_length_norm(max(sum(lengths) / max(len(lengths), 1), 1.0))
        self._length_norms = [base + slope * length for length in lengths]

    def rank_texts(self, question: str) -> list[int]:
        """Return the indexes of the matching texts, best first."""
        scores: defaultdict[int, float] = defaultdict(float)
        for word in dict.fromkeys(tokenize(question)):
            postings = self._postings.get(word, ())
            rarity = compute_idf(len(self._length_norms), len(postings))
            for number, times in postings:
                scores[number] += rarity * times * LARGEST_GAIN / (times + self._length_norms[number])
        return sorted(scores, key=lambda number: (-scores[number], number))
