"""Questions in words: what is held in memory and what is in the store, found together and ranked as one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from hunchd.domain.errors import HunchError
from hunchd.domain.facts import place_of
from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Memory, Status
from hunchd.domain.session import refs_beside
from hunchd.engine.documents import CHUNK
from hunchd.engine.session_log import session_tag
from hunchd.protocol.requests import SearchRequest
from hunchd.retrieval.ranking import ranked
from hunchd.retrieval.wording import cleaned
from hunchd.store.client import StoreClient
from hunchd.store.hits import Hit
from hunchd.store.hot import HotTier

PATIENCE = 6.0  # seconds to wait for a store process that has just been started; afterwards memory alone answers
FINALISTS = 40  # memories that the store finds, at least, and that are compared by what they say
# Of what has no neighbours so many more than are asked for will do: each costs a fifth of a millisecond. Of messages
# forty are worth it: with thirty the right one is missed by one question in eighty (five results, LoCoMo 0 to 2).
FEW = 12
AT_HAND = 20  # the same of memory
BESIDE = 2  # messages on either side of one that is compared
PARTS_OF_ONE = 3  # chunks of one document among the best results, about
MODEL_PATIENCE = 4.0  # seconds of that for a model that is being loaded; afterwards words alone are searched


class Searching:
    def __init__(self, hot: HotTier, store: StoreClient, *, now: Callable[[], datetime]) -> None:
        self._hot = hot
        self._store = store
        self._now = now

    async def search(self, request: SearchRequest, project: str | None, branch: str | None = None) -> dict[str, Any]:
        """The contract's answer: results, "ok" | "empty" | "degraded", and how long it took. What was learnt on
        another branch than `branch` is not true here and not found."""
        began = time.perf_counter()
        filters = Filters(
            project=project,
            kinds=request.kinds,
            path_prefix=request.path_prefix,
            tags=(*request.tags, *((session_tag(request.session),) if request.session else ())),
            as_of=request.as_of,
            branch=branch,
            statuses=(Status.ACTIVE, Status.SUPERSEDED) if request.as_of else (Status.ACTIVE, Status.SUSPECT),
        )
        query = cleaned(request.query)
        waiting = self._at_hand(query, filters, waiting=True)  # asked first: what the store takes in now is seen twice
        degraded: list[str] = []
        hits: list[Hit] = []
        try:
            async with asyncio.timeout(PATIENCE):
                found = await self._store.search(
                    query,
                    filters,
                    max(request.k, FINALISTS),
                    few=None if request.depth == "deep" else request.k + FEW,
                    depth=request.depth,
                    patience=MODEL_PATIENCE,
                )
                hits, degraded = list(found.hits), list(found.degraded)
        except TimeoutError:
            degraded.append("the store is still starting: only recent memories were searched")
            waiting = self._at_hand(query, filters, waiting=False)
        except HunchError as error:
            degraded.append(f"only recent memories were searched: {error.message}")
            waiting = self._at_hand(query, filters, waiting=False)
        hits = self._true_on(branch, self._with_hot(waiting, filters, hits))
        several = request.k * PARTS_OF_ONE if any(hit.memory.category == CHUNK for hit in hits) else request.k
        results = ranked(query, hits, depth=request.depth, k=several, now=self._now())
        results = whole_documents(results)[: request.k]
        return {
            "results": results,
            "status": "degraded" if degraded else "ok" if results else "empty",
            "degraded": degraded,
            "took_ms": round((time.perf_counter() - began) * 1_000, 2),
        }

    def _true_on(self, branch: str | None, hits: list[Hit]) -> list[Hit]:
        """Without facts of the main line that the branch says otherwise."""
        if not branch:
            return hits
        found = {hit.memory.id for hit in hits}
        return [hit for hit in hits if not self._is_said_otherwise(hit.memory, branch, found)]

    def _is_said_otherwise(self, memory: Memory, branch: str, found: set[str]) -> bool:
        place = place_of(replace(memory, branch=branch)) if memory.branch is None else None
        return place is not None and (place in found or self._hot.get(place) is not None)

    def _at_hand(self, query: str, filters: Filters, *, waiting: bool) -> list[Hit]:
        """What memory holds and answers, with the messages beside it; if `waiting`, of what the store does not have."""
        hits: dict[str, Hit] = {}
        for found in self._hot.search(query, filters, AT_HAND, waiting=waiting):
            if (memory := self._hot.get(found.memory_id)) is not None:
                hits[memory.id] = Hit(memory=memory, lexical=found.score)
        refs = [ref for hit in hits.values() for ref in refs_beside(hit.memory.ref, BESIDE)]
        for ref in dict.fromkeys(refs):
            beside = self._hot.by_ref(filters.project, ref)
            if beside is not None and beside.id not in hits and matches(beside, filters):
                hits[beside.id] = Hit(memory=beside)
        return list(hits.values())

    def _with_hot(self, at_hand: Sequence[Hit], filters: Filters, hits: list[Hit]) -> list[Hit]:
        """Add what only memory holds; its newer word replaces the store's, and what was forgotten is left out."""
        merged = {hit.memory.id: hit for hit in hits if not self._hot.is_tombstoned(hit.memory.id)}
        for identifier, hit in list(merged.items()):
            newer = self._hot.get(identifier)
            if newer is not None and newer.updated > hit.memory.updated:
                del merged[identifier]
                if matches(newer, filters):
                    merged[identifier] = replace(hit, memory=newer)
        for hit in at_hand:
            merged.setdefault(hit.memory.id, hit)
        return list(merged.values())


def whole_documents(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each document once, by its best part: a chunk stands for the document that it is a part of."""
    shown: dict[str, dict[str, Any]] = {}
    for result in results:
        whole = str(result["source"].get("document") or result["id"])
        shown.setdefault(whole, {**result, "id": whole})
    return list(shown.values())
