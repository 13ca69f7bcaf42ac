"""Methods of the store process: put, find, list, erase, count and export memories."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

from hunchd.assembly.token_counter import count_tokens
from hunchd.consolidation.aging import SHOWN_AS
from hunchd.daemon.low_priority_pool import create_low_priority_pool
from hunchd.daemon.statement_reader import PairReader
from hunchd.daemon.store_search import StoreSearch
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Status
from hunchd.embedding.embedder import ContradictionModel, LazyEmbedder, LazyModel, ModelUnavailable, StatementModel
from hunchd.protocol.helper import Handler
from hunchd.protocol.malloc_tuning import release_free_memory
from hunchd.store.client import (
    FoundHits,
    PairRating,
    QueryVectorAnswer,
    RankedAnswer,
    StoredHit,
    StoredOwners,
    StoredPage,
    TextVectors,
    decode_hit,
    encode_candidate,
)
from hunchd.store.database.collection import Collection
from hunchd.store.database.collection_registry import CollectionRegistry
from hunchd.store.database.tables import (
    SIGNALS,
    Row,
    StoredSignal,
    build_row,
    get_memory,
    get_plain,
    signal_from_row,
    signal_to_row,
)
from hunchd.store.port import MemoryBatch, RankedQuery, StoreQuery, StoreStats

SIGNAL_BATCH_SIZE: Final = 200  # signals
TOKEN_SAMPLE_SIZE: Final = 2_000  # memories: 30 ms a thousand, and 1 % off
SCAN_BATCH_SIZE: Final = 50  # memories: the front forwards a batch between two responses, in a few milliseconds


class StoreService:
    """Handlers for the calls to the store process.

    The models are None if embedding is switched off.
    """

    def __init__(
        self,
        data: Path,
        session: Any,
        model: LazyEmbedder | None,
        reader: LazyModel[ContradictionModel] | None = None,
        statements: LazyModel[StatementModel] | None = None,
    ) -> None:
        self.collections = CollectionRegistry(data, session, self._count_pending_embeddings)
        self._search_service = StoreSearch(self.collections, model)
        self._model = model
        self._active_requests = 0  # requests in progress
        self.pair_reader = PairReader(reader, lambda: self._active_requests > 0) if reader is not None else None
        self._statements = statements
        self._patient = create_low_priority_pool(1, "embedding texts")
        self.last_request = time.monotonic()
        self.last_question = float("-inf")
        self.pending_embeddings = 0  # memories without a vector, as far as known

    @property
    def handlers(self) -> dict[str, Handler]:
        """Handlers, keyed by the method name that `store.client` uses."""
        request_handlers: dict[str, Callable[..., Awaitable[Any]]] = {
            "put": self._put,
            "put_signals": self._put_signals,
            "get": self._get,
            "list": self._list,
            "search": self._search,
            "answer": self._answer,
            "vector": self._vector,
            "delete": self._delete,
            "delete_signals": self._delete_signals,
            "forget_signals": self._forget_signals,
            "purge": self._purge,
            "erase": self._erase,
            "optimise": self._optimise,
            "snapshot": self._snapshot,
        }
        # These do not count as requests: polling the statistics must not hold off the background work they report.
        background_handlers: dict[str, Handler] = {
            "stats": self._stats,
            "count_tokens": self._count_tokens,
            "owners": self._owners,
            "scan": self._scan,
            "signals": self._stream_signals,
            "contradict": self._contradict,
            "embed": self._embed,
            "rate_sentences": self._rate_sentences,
        }
        return {name: self._track_requests(answer) for name, answer in request_handlers.items()} | background_handlers

    @property
    def model_name(self) -> str:
        return self._model.name if self._model is not None else ""

    async def _count_pending_embeddings(self, collection: Collection) -> None:
        if self._model is not None:
            self.pending_embeddings += len(await collection.load_unembedded(self._model.name, 1))

    async def _put(self, memories: list[Row]) -> int:
        rows: dict[str | None, list[Row]] = {}
        for raw in memories:
            rows.setdefault(raw["project"], []).append(build_row(raw))
        results = [await (await self.collections.get_collection(project)).put(batch) for project, batch in rows.items()]
        if self._model is not None:
            self.pending_embeddings += sum(one.added + one.changed for one in results)
        return self.pending_embeddings

    async def _put_signals(self, signals: list[StoredSignal]) -> int:
        rows: dict[str | None, list[Row]] = {}
        for signal in signals:
            rows.setdefault(signal.get("project"), []).append(signal_to_row(signal))
        results = [
            await (await self.collections.get_collection(project)).put(batch, into=SIGNALS)
            for project, batch in rows.items()
        ]
        return sum(one.added for one in results)

    async def _get(self, ids: list[str], project: str | None) -> list[Row]:
        if not self.collections.has_collection(project):
            return []
        return [get_plain(row) for row in await (await self.collections.get_collection(project)).get(ids)]

    async def _list(self, filters: Filters, limit: int, after: tuple[int, str] | None) -> StoredPage:
        if not self.collections.has_collection(filters.project):
            return StoredPage()
        rows, total = await (await self.collections.get_collection(filters.project)).load_page(filters, limit, after)
        last = rows[-1] if len(rows) == limit else None
        return StoredPage(
            memories=[get_plain(row) for row in rows], next=(last["at"], last["id"]) if last else None, total=total
        )

    async def _search(self, request: StoreQuery) -> FoundHits:
        if not request.is_background:
            self.last_question = time.monotonic()
        hits, degradations = await self._search_service.search(request)
        return FoundHits(
            hits=[encode_candidate(one, why) for one, why in hits],
            degraded=tuple(degradations),
            pending_embeddings=self.pending_embeddings,
        )

    async def _answer(self, request: RankedQuery, cached_hits: list[StoredHit]) -> RankedAnswer:
        self.last_question = time.monotonic()
        results, degradations = await self._search_service.search_ranked(request, list(map(decode_hit, cached_hits)))
        return RankedAnswer(
            results=tuple(results), degraded=tuple(degradations), pending_embeddings=self.pending_embeddings
        )

    async def _vector(self, query: str, patience: float) -> QueryVectorAnswer:
        """Return the vector of a query, or null.

        The vector is null if it cannot be computed within `patience` seconds.
        """
        vector, degradations = await self._search_service.vector(query, patience)
        return QueryVectorAnswer(vector=vector, degraded=tuple(degradations))

    async def _embed(self, texts: list[str]) -> TextVectors:
        """Return the vectors of `texts`, computed at low priority.

        The priority is low because no user is waiting for them. The vectors are null if embedding is switched off or
        the model fails.
        """
        model = self._model
        return await self._compute(None if model is None else lambda: model.get_model().embed(texts))

    async def _rate_sentences(self, pairs: list[tuple[str, str]]) -> TextVectors:
        """Return the logits for each pair of context and sentence.

        They are computed at low priority, and are null if the model is switched off or fails.
        """
        model = self._statements
        return await self._compute(None if model is None else lambda: model.get_model().rate_sentences(pairs))

    async def _compute(self, compute: Callable[[], list[bytes]] | None) -> TextVectors:
        if compute is None:
            return TextVectors(vectors=None)
        try:
            return TextVectors(vectors=await asyncio.get_running_loop().run_in_executor(self._patient, compute))
        except ModelUnavailable:
            return TextVectors(vectors=None)

    def release_idle_models(self) -> None:
        """Unload the models not used for a while.

        The embedding model is not included.
        """
        for model in (self.pair_reader, self._statements):
            if model is not None:
                model.release_if_idle()

    async def _delete(self, ids: list[str], project: str | None) -> int:
        if not self.collections.has_collection(project):
            return 0
        return await (await self.collections.get_collection(project)).delete(ids)

    async def _delete_signals(self, ids: list[str], project: str) -> None:
        if self.collections.has_collection(project):
            await (await self.collections.get_collection(project)).delete_signals(ids)

    async def _stream_signals(self, project: str | None) -> AsyncIterator[list[StoredSignal]]:
        if self.collections.has_collection(project):
            collection = await self.collections.get_collection(project)
            async for rows in _collect_batches(collection.iterate_rows(SIGNALS)):
                yield [signal_from_row(row) for row in rows]

    async def _forget_signals(self, before: int) -> None:
        await self.collections.map_collections(lambda collection: collection.delete_signals_before(before))

    async def _purge(self, project: str | None) -> None:
        if self.collections.has_collection(project):
            await (await self.collections.get_collection(project)).purge()

    async def _erase(self, project: str) -> None:
        await self.collections.erase(project)

    async def _owners(self) -> StoredOwners:
        return StoredOwners(list(self.collections.projects))

    async def _scan(self, project: str | None) -> AsyncIterator[MemoryBatch]:
        """Yield all memories of one owner, with shortened vectors, in batches.

        The owner is the project, or the user if `project` is None.
        """
        if self.collections.has_collection(project):
            collection = await self.collections.get_collection(project)
            async for rows in _collect_batches(collection.iterate_rows(), SCAN_BATCH_SIZE):
                vectors = collection.load_short_vectors([row["id"] for row in rows], self.model_name)
                yield MemoryBatch(memories=[get_plain(row) for row in rows], vectors=dict(vectors))

    async def _stats(self) -> StoreStats:
        states = await self.collections.map_collections(
            lambda collection: collection.load_state(self.model_name), list(self.collections.open_collections)
        )
        if self._model is not None:
            self.pending_embeddings = sum(state["rows"] - state["embedded"] for state in states.values())
        for state in states.values():
            state["to_embed"] = state["rows"] if self._model is not None else 0
        return StoreStats(
            **{
                name: sum(state[name] for state in states.values())
                for name in ("rows", "embedded", "bytes", "versions")
            },
            pending_embeddings=self.pending_embeddings,
            degraded=self._list_problems(),
            projects={project or "user": state for project, state in states.items()},
        )

    async def _count_tokens(self) -> int:
        """Estimate the tokens of all active memories from a sample."""
        samples = await self.collections.map_collections(lambda one: one.sample_rows(TOKEN_SAMPLE_SIZE))
        return await asyncio.to_thread(
            lambda: sum(step * sum(map(_count_shown_tokens, rows)) for step, rows in samples.values())
        )

    async def _optimise(self) -> None:
        await self.collections.map_collections(lambda collection: collection.optimise(force=True))
        release_free_memory()

    async def _snapshot(self, keep: int) -> None:
        await self.collections.map_collections(lambda collection: collection.snapshot(keep=keep))

    async def _contradict(self, pairs: list[tuple[str, str]]) -> PairRating:
        """Return, for each pair, the probability that its statements contradict each other.

        The result is null if no model is available.
        """
        probabilities = await self.pair_reader.rate_pairs(pairs) if self.pair_reader is not None else None
        return PairRating(
            probabilities=tuple(probabilities) if probabilities is not None else None, degraded=self._list_problems()
        )

    def _track_requests(self, handler: Callable[..., Awaitable[Any]]) -> Handler:
        @wraps(handler)
        async def track(*arguments: Any, **params: Any) -> Any:
            request = params.get("request")
            if isinstance(request, StoreQuery) and request.is_background:  # nobody waits for it
                return await handler(*arguments, **params)
            self.last_request = time.monotonic()
            self._active_requests += 1
            try:
                return await handler(*arguments, **params)
            finally:
                self._active_requests -= 1
                self.last_request = time.monotonic()

        return track

    def _list_problems(self) -> list[str]:
        """Return a description of each component that does not work."""
        problems = [
            f"{project or 'user'}: {complaint}"
            for project, collection in self.collections.open_collections.items()
            for complaint in collection.list_problems()
        ]
        if self._model is not None and self._model.failure:
            problems.append(f"only text search is available: {self._model.failure}")
        if self.pair_reader is not None and self.pair_reader.failure:
            problems.append(
                f"contradictions between freely worded statements cannot be found: {self.pair_reader.failure}"
            )
        return problems


def _count_shown_tokens(row: Row) -> int:
    """Return the tokens of a memory at the level at which it is shown; 0 unless it is active."""
    memory = get_memory(row)
    level = getattr(memory.levels, str(memory.source.get(SHOWN_AS)), "")
    return count_tokens(level or memory.content) if memory.status is Status.ACTIVE else 0


async def _collect_batches(rows: AsyncIterator[Row], size: int = SIGNAL_BATCH_SIZE) -> AsyncIterator[list[Row]]:
    batch: list[Row] = []
    async for row in rows:
        batch.append(row)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch
