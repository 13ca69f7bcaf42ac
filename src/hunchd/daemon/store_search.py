"""Search in the store process, by words and by vectors.

A deep search, which is made only on request, also searches for the words that the best hits have in common, and
follows links between memories. The results are ranked in this process, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from hunchd.domain.errors import HunchError
from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Memory
from hunchd.embedding.embedder import LazyEmbedder
from hunchd.protocol.search_results import SearchResult
from hunchd.retrieval.answering import QuestionReader, build_answer, drop_expired, map_branch_ids
from hunchd.retrieval.fusion import make_selector
from hunchd.retrieval.question_words import find_expansion_terms
from hunchd.store.database.collection import Collection
from hunchd.store.database.collection_registry import CollectionRegistry
from hunchd.store.database.queries import QueryVector
from hunchd.store.database.tables import get_memory, parse_row
from hunchd.store.hits import Hit, RankingHit, SearchCandidate
from hunchd.store.indexes.tokenizer import build_query_text
from hunchd.store.port import RankedQuery, StoreQuery

logger = logging.getLogger(__name__)

# Up to this length a query is embedded on the event loop, in at most 5 ms; longer ones in another thread.
MAX_INLINE_CHARACTERS: Final = 200  # characters
DEEP_SEEDS: Final = 5  # best hits whose words and links a deep search follows
MAX_LINKED: Final = 10  # memories
_NO_MARKS: Final = str.maketrans("", "", "«»")  # a title cannot end its quotation


class StoreSearch:
    """Search over the stored collections.

    There is one collection for each project, and one for the user. `model` is None if embedding is switched off.
    """

    def __init__(self, collections: CollectionRegistry, model: LazyEmbedder | None) -> None:
        self._collections = collections
        self._model = model
        self._model_name = model.name if model is not None else ""
        self._embedding_task: asyncio.Task[object] | None = None

    async def search_ranked(
        self, request: RankedQuery, cached_hits: Sequence[Hit]
    ) -> tuple[list[SearchResult], list[str]]:
        """Return the ranked results for a query.

        The second value describes the parts of the search that were not available. Ranking takes place in this
        process, because five results are transferred faster than forty memories, and because the hits found by words
        are read while the query is being embedded.
        """
        filters, readings, now = request.filters, QuestionReader(request.query), request.now
        hits_found, degradations = await self.search(request, readings.read)
        hits = drop_expired(readings.build_glimpses(hits_found), filters.as_of or now)
        at_hand = drop_expired(cached_hits, filters.as_of or now)
        everything: list[Hit | RankingHit] = [*hits, *at_hand]
        if places := map_branch_ids(filters.branch, everything):
            overridden = {*request.branch_fact_ids, *(hit.memory.id for hit in everything)}
            if self._collections.has_collection(filters.project):
                rows = await (await self._collections.get_collection(filters.project)).get(list(places.values()))
                overridden |= {row["id"] for row in rows}
            hits = [hit for hit in hits if places.get(hit.memory.id) not in overridden]
            at_hand = [hit for hit in at_hand if places.get(hit.memory.id) not in overridden]
        results = build_answer(
            request.query,
            hits,
            at_hand,
            depth=request.depth,
            k=request.results,
            now=now,
            readings=readings,
        )
        return results, degradations

    async def vector(self, query: str, patience: float) -> tuple[bytes | None, list[str]]:
        """Return the vector of a query, and the reasons if there is none.

        Waits at most `patience` seconds. The vector is None if it cannot be computed in that time.
        """
        degradations: list[str] = []
        vector = self._get_vector(query, "hybrid", patience, degradations)
        if vector is None or isinstance(vector, bytes):
            return vector, degradations
        return (vector() if callable(vector) else await vector), degradations

    async def search(
        self, request: StoreQuery, on_lexical_hits: Callable[[Sequence[str]], object] | None = None
    ) -> tuple[list[tuple[SearchCandidate, Sequence[str]]], list[str]]:
        """Return the hits for a query, each with the reasons why it was found.

        The second value describes the parts of the search that were not available. `on_lexical_hits` is called with
        the texts found by words.
        """
        filters, k = request.filters, request.k
        degradations: list[str] = []
        if not self._collections.has_collection(filters.project):
            return [], degradations
        collection = await self._collections.get_collection(filters.project)
        if not collection.is_word_index_complete:
            degradations.append("the word index is being rebuilt; until then, text search may miss some memories")
        # A name is searched for by its words, because no vector is close to it.
        mode = "lexical" if request.depth == "specific" else request.mode
        vector = self._get_vector(request.query, mode, request.embedding_wait, degradations)
        words = build_query_text(request.query) if mode != "dense" else ""
        exact_hits: list[SearchCandidate] = []
        if request.depth == "specific":
            name = request.query.strip()
            named_rows = await collection.find_by_name(name, filters, k)
            exact_hits = [SearchCandidate(row["body"], row["digest"]) for row in named_rows]
            if any(name in (row["id"], get_memory(row).ref) for row in named_rows):
                words = ""  # an exact id or ref: no other memory matches
        limit = request.k_without_messages
        candidates = await collection.search(
            words,
            vector,
            self._model_name,
            filters,
            k,
            make_selector(k),
            k_without_messages=limit,
            on_bodies=on_lexical_hits,
        )
        if request.depth == "deep":
            cached_vector = (
                self._model.get_cached(request.query) if self._model is not None and vector is not None else None
            )
            candidates += await self._search_with_expansion(
                collection, request.query, cached_vector, filters, k, candidates
            )
        unique: dict[str, SearchCandidate] = {}
        for one in [*exact_hits, *candidates]:
            unique.setdefault(one.body, one)
        hits: list[tuple[SearchCandidate, Sequence[str]]] = [(one, ()) for one in unique.values()]
        if request.depth == "deep":
            hits += await self._find_linked(collection, filters, [one for one, _ in hits])
        return hits, degradations

    def _get_vector(self, query: str, mode: str, timeout: float, degradations: list[str]) -> QueryVector:
        """Return the query's vector, or a function or future that returns it.

        Returns None if the query has no vector. If the vector cannot be computed, the reason is appended to
        `degradations`.
        """
        if self._model is None or mode == "lexical":
            return None
        if (cached_vector := self._model.get_cached(query)) is not None:
            return cached_vector if any(cached_vector) else None
        if self._model.is_loaded and len(query) <= MAX_INLINE_CHARACTERS:
            return lambda: self._embed_query(query, degradations)
        return asyncio.ensure_future(self._embed_in_thread(query, timeout, degradations))

    def _embed_query(self, query: str, degradations: list[str]) -> bytes | None:
        assert self._model is not None
        try:
            [vector] = self._model.embed([query])
        except HunchError as error:
            degradations.append(f"only text search was used: {error.message}")
            return None
        return vector if any(vector) else None

    async def _embed_in_thread(self, query: str, timeout: float, degradations: list[str]) -> bytes | None:
        """Embed the query in another thread, because loading the model takes a second.

        Returns None if the vector is not ready within `timeout` seconds.
        """
        assert self._model is not None
        if self._embedding_task is not None and not self._embedding_task.done() and not self._model.is_loaded:
            degradations.append("the embedding model is still loading; only text search was used")
            return None
        self._embedding_task = asyncio.ensure_future(asyncio.to_thread(self._embed_query, query, degradations))
        try:
            return await asyncio.wait_for(asyncio.shield(self._embedding_task), timeout)
        except TimeoutError:
            self._embedding_task.add_done_callback(_log_embedding_failure)
            degradations.append("the embedding model is still loading; only text search was used")
            return None

    async def _search_with_expansion(
        self,
        collection: Collection,
        query: str,
        vector: bytes | None,
        filters: Filters,
        k: int,
        best_hits: Sequence[SearchCandidate],
    ) -> list[SearchCandidate]:
        """Search again, with the words that the best hits have in common added to the query."""
        expansion_words = find_expansion_terms(
            query,
            [f"{memory.title}\n{memory.content}" for memory in map(_decode, best_hits[:DEEP_SEEDS])],
        )
        if not expansion_words:
            return []
        return await collection.search(
            build_query_text(" ".join([query, *expansion_words])),
            vector,
            self._model_name,
            filters,
            k,
            make_selector(k),
        )

    async def _find_linked(
        self, collection: Collection, filters: Filters, hits: Sequence[SearchCandidate]
    ) -> list[tuple[SearchCandidate, Sequence[str]]]:
        """Return the memories linked to the best hits.

        The reason given for each memory is the link. Only direct links are followed, and the hits themselves are left
        out.
        """
        reasons: dict[str, str] = {}
        memories = [_decode(one) for one in hits]
        hit_ids = {memory.id for memory in memories}
        for memory in memories[:DEEP_SEEDS]:
            linked_ids = [link.get("ref") for link in memory.links] + [memory.supersedes, memory.superseded_by]
            reason = f"linked to «{memory.title.translate(_NO_MARKS)}»"
            reasons.update({id_: reason for id_ in linked_ids if id_ and id_ not in hit_ids})
        rows = await collection.get(list(reasons)[:MAX_LINKED])
        return [
            (SearchCandidate(row["body"], row["digest"]), (reasons[row["id"]],))
            for row in rows
            if matches(get_memory(row), filters)
        ]


def _decode(candidate: SearchCandidate) -> Memory:
    return get_memory(parse_row(candidate.body, candidate.digest))


def _log_embedding_failure(task: asyncio.Task[object]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.warning("the query could not be embedded: %s", error)
