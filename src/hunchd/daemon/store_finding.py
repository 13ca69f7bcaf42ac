"""Search in the store process, by words and by vectors.

Searches deeper on request, and ranks the results.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from hunchd.domain.errors import HunchError
from hunchd.domain.filters import Filters, matches
from hunchd.embedding.embedder import LazyEmbedder
from hunchd.retrieval.answering import Readings, answer, lasting, places_on
from hunchd.retrieval.fusion import best
from hunchd.retrieval.wording import expansion
from hunchd.store.client import filters_of, hit_of
from hunchd.store.database.collection import Collection
from hunchd.store.database.collections import Collections
from hunchd.store.database.finding import Found
from hunchd.store.database.hits import Glimpse, Hit
from hunchd.store.database.looking import Vector
from hunchd.store.database.tables import memory_of
from hunchd.store.indexes.words import question

logger = logging.getLogger(__name__)

# Up to this length a query is embedded on the event loop, in at most 5 ms; longer ones in another thread.
QUICK: Final = 200  # characters
DEEP_SEEDS: Final = 5  # best hits whose words and links a deep search follows
LINKED_MOST: Final = 10  # memories


class Finding:
    """Search over the collections. `model` is None if embedding is switched off."""

    def __init__(self, collections: Collections, model: LazyEmbedder | None) -> None:
        self._collections = collections
        self._model = model
        self._model_name = model.name if model is not None else ""
        self._waking: asyncio.Task[object] | None = None

    async def results(self, asked: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
        """Return ranked results, and what could not be used for the search.

        Ranked here because five results are transferred faster than forty memories, and because the lexical hits
        are read while
        the query is being embedded.
        """
        filters, readings = filters_of(asked["filters"]), Readings(asked["query"])
        found, degraded = await self.found(asked, readings.read)
        now = datetime.fromisoformat(asked["now"])
        hits = lasting(readings.glimpses(found), filters.as_of or now)
        at_hand = lasting([hit_of(raw) for raw in asked["at_hand"]], filters.as_of or now)
        everything: list[Hit | Glimpse] = [*hits, *at_hand]
        if places := places_on(filters.branch, everything):
            otherwise = {*asked["said_on_branch"], *(hit.memory.id for hit in everything)}
            if self._collections.has(filters.project):
                rows = await (await self._collections.of(filters.project)).get(list(places.values()))
                otherwise |= {row["id"] for row in rows}
            hits = [hit for hit in hits if places.get(hit.memory.id) not in otherwise]
            at_hand = [hit for hit in at_hand if places.get(hit.memory.id) not in otherwise]
        results = answer(
            asked["query"], hits, at_hand, depth=asked["depth"], k=int(asked["results"]), now=now, readings=readings
        )
        return results, degraded

    async def vector(self, query: str, patience: float) -> tuple[bytes | None, list[str]]:
        """Return the vector of a question and what keeps it from being made; waits `patience` seconds at most."""
        degraded: list[str] = []
        vector = self._vector_of(query, "hybrid", patience, degraded)
        if vector is None or isinstance(vector, bytes):
            return vector, degraded
        return (vector() if callable(vector) else await vector), degraded

    async def found(
        self, asked: dict[str, Any], read: Callable[[Sequence[str]], object] | None = None
    ) -> tuple[list[tuple[Found, Sequence[str]]], list[str]]:
        """Return the hits of a query with reasons.

        The second value lists what could not be used for the search.
        """
        filters, k = filters_of(asked["filters"]), int(asked["k"])
        degraded: list[str] = []
        if not self._collections.has(filters.project):
            return [], degraded
        collection = await self._collections.of(filters.project)
        # A name is searched by its words; no vector is close to it.
        mode = "lexical" if asked["depth"] == "specific" else asked["mode"]
        vector = self._vector_of(asked["query"], mode, float(asked["patience"]), degraded)
        words = question(asked["query"]) if mode != "dense" else ""
        called: list[Found] = []
        if asked["depth"] == "specific":
            name = asked["query"].strip()
            named = await collection.called(name, filters, k)
            called = [Found(row["body"], row["digest"]) for row in named]
            if any(name in (row["id"], memory_of(row).ref) for row in named):
                words = ""  # an exact id or ref: no other memory matches
        few = asked.get("few")
        found = await collection.find(words, vector, self._model_name, filters, k, best(k), few=few, read=read)
        if asked["depth"] == "deep":
            known = self._model.known(asked["query"]) if self._model is not None and vector is not None else None
            found += await self._deeper(collection, asked["query"], known, filters, k, found)
        once: dict[str, Found] = {}
        for one in [*called, *found]:
            once.setdefault(one.body, one)
        hits: list[tuple[Found, Sequence[str]]] = [(one, ()) for one in once.values()]
        if asked["depth"] == "deep":
            hits += await self._linked(collection, filters, [one for one, _ in hits])
        return hits, degraded

    def _vector_of(self, query: str, mode: str, patience: float, degraded: list[str]) -> Vector:
        """Return the query's vector, or a way to get it.

        Returns None if there will be none. The reason why it cannot be made is appended to `degraded`.
        """
        if self._model is None or mode == "lexical":
            return None
        if (known := self._model.known(query)) is not None:
            return known if any(known) else None
        if self._model.loaded and len(query) <= QUICK:
            return lambda: self._embedded(query, degraded)
        return asyncio.ensure_future(self._awaited(query, patience, degraded))

    def _embedded(self, query: str, degraded: list[str]) -> bytes | None:
        assert self._model is not None
        try:
            [vector] = self._model.embed([query])
        except HunchError as error:
            degraded.append(f"searched by words only: {error.message}")
            return None
        return vector if any(vector) else None

    async def _awaited(self, query: str, patience: float, degraded: list[str]) -> bytes | None:
        """Embed the query in another thread, because loading the model takes a second."""
        assert self._model is not None
        if self._waking is not None and not self._waking.done() and not self._model.loaded:
            degraded.append("the embedding model is still loading: searched by words only")
            return None
        self._waking = asyncio.ensure_future(asyncio.to_thread(self._embedded, query, degraded))
        try:
            return await asyncio.wait_for(asyncio.shield(self._waking), patience)
        except TimeoutError:
            self._waking.add_done_callback(_forgiven)
            degraded.append("the embedding model is still loading: searched by words only")
            return None

    async def _deeper(
        self,
        collection: Collection,
        query: str,
        vector: bytes | None,
        filters: Filters,
        k: int,
        found: Sequence[Found],
    ) -> list[Found]:
        """Search again with the words that the best hits share."""
        added = expansion(
            query,
            [f"{memory.title}\n{memory.content}" for memory in (memory_of(one.row) for one in found[:DEEP_SEEDS])],
        )
        if not added:
            return []
        return await collection.find(question(" ".join([query, *added])), vector, self._model_name, filters, k, best(k))

    async def _linked(
        self, collection: Collection, filters: Filters, found: Sequence[Found]
    ) -> list[tuple[Found, Sequence[str]]]:
        """Return memories linked to the best hits, with the reason.

        Follows links one step deep; the hits themselves are left out.
        """
        reasons: dict[str, str] = {}
        known = [one.row for one in found]
        there = {row["id"] for row in known}
        for memory in map(memory_of, known[:DEEP_SEEDS]):
            linked = [link.get("ref") for link in memory.links] + [memory.supersedes, memory.superseded_by]
            reasons.update({id_: f"linked to '{memory.title}'" for id_ in linked if id_ and id_ not in there})
        rows = await collection.get(list(reasons)[:LINKED_MOST])
        return [
            (Found(row["body"], row["digest"]), (reasons[row["id"]],))
            for row in rows
            if matches(memory_of(row), filters)
        ]


def _forgiven(task: asyncio.Task[object]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.warning("the query could not be embedded: %s", error)
