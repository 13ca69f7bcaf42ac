"""Search over cached and stored memories, ranked as one list."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from hunchd.domain.errors import HunchError
from hunchd.domain.facts import OWN_KINDS, OWN_ROOTS
from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Status
from hunchd.domain.session import refs_beside
from hunchd.engine.keeping.session_log import session_tag
from hunchd.protocol.requests import SearchRequest
from hunchd.retrieval.answering import answer as answer_of
from hunchd.retrieval.answering import lasting, places_on, whole_documents
from hunchd.retrieval.ranking import told
from hunchd.retrieval.wording import cleaned
from hunchd.store.client import StoreClient
from hunchd.store.database.hits import Hit
from hunchd.store.hot import HotTier

PATIENCE = 6.0  # seconds to wait for a starting store process; then only cached memories are searched
FINALISTS = 40  # minimum number of candidates from the store that are re-ranked by content
# For candidates without neighbours this many more than requested suffice: each costs 0.2 ms. Messages need forty:
# with thirty the right one is missed for one query in eighty (five results, LoCoMo 0 to 2).
FEW = 12
AT_HAND = 20  # candidates from the cache
BESIDE = 2  # neighbouring messages on either side
SPARE = 5  # extra results, in case some were deleted meanwhile
MODEL_PATIENCE = 4.0  # seconds to wait for the embedding model; then the search is lexical only


def own_request(request: SearchRequest) -> SearchRequest | None:
    """Return the search among the user's own memories that belongs to a search in a project, if one does."""
    kinds = tuple(kind for kind in OWN_KINDS if not request.kinds or kind in request.kinds)
    prefix = request.path_prefix or ""
    is_own = any(root.startswith(prefix) or prefix.startswith(root) for root in OWN_ROOTS)
    if not kinds or not is_own or request.session is not None:
        return None
    return replace(request, project=None, kinds=kinds)


def joined(found: dict[str, Any], own: dict[str, Any], k: int) -> dict[str, Any]:
    """Merge results of a project with the user's own, best first."""
    results = sorted([*found["results"], *own["results"]], key=lambda one: -float(one["score"]))[:k]
    degraded = list(dict.fromkeys([*found["degraded"], *own["degraded"]]))
    status = "degraded" if degraded else "ok" if results else "empty"
    return {**found, "results": results, "degraded": degraded, "status": status}


class Searching:
    """Service that answers search requests."""

    def __init__(self, hot: HotTier, store: StoreClient, *, now: Callable[[], datetime]) -> None:
        self._hot = hot
        self._store = store
        self._now = now

    async def search(self, request: SearchRequest, project: str | None, branch: str | None = None) -> dict[str, Any]:
        """Search memories and return results, status and duration in the API's form.

        Status is "ok", "empty" or "degraded". Memories of a branch other than `branch` are not found.
        """
        began = time.perf_counter()
        filters = Filters(
            project=project,
            kinds=request.kinds,
            category=request.category,
            path_prefix=request.path_prefix,
            tags=(*request.tags, *((session_tag(request.session),) if request.session else ())),
            as_of=request.as_of,
            branch=branch,
            statuses=(Status.ACTIVE, Status.SUPERSEDED) if request.as_of else (Status.ACTIVE, Status.SUSPECT),
        )
        query, now = cleaned(request.query), self._now()
        waiting = self._at_hand(query, filters, waiting=True)  # first: moving records must not be missed
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._store.answer(
                    query,
                    filters,
                    max(request.k, FINALISTS),
                    waiting,
                    few=None if request.depth == "deep" else request.k + FEW,
                    depth=request.depth,
                    results=request.k + SPARE,
                    said_on_branch=self._hot.waiting_on(project, branch) if branch else (),
                    now=now,
                    patience=MODEL_PATIENCE,
                )
            results, degraded = self._as_of_now(query, filters, answer.results, waiting), list(answer.degraded)
        except TimeoutError:
            degraded = ["the store is still starting: only recent memories were searched"]
            results = self._from_memory(query, filters, request, now)
        except HunchError as error:
            degraded = [f"only recent memories were searched: {error.message}"]
            results = self._from_memory(query, filters, request, now)
        results = whole_documents(results)[: request.k]
        return {
            "results": results,
            "status": "degraded" if degraded else "ok" if results else "empty",
            "degraded": degraded,
            "took_ms": round((time.perf_counter() - began) * 1_000, 2),
        }

    def _as_of_now(
        self, query: str, filters: Filters, results: Sequence[dict[str, Any]], waiting: Sequence[Hit]
    ) -> list[dict[str, Any]]:
        """Drop forgotten results and update changed ones, which the store may not know yet."""
        known, current = {hit.memory.id for hit in waiting}, []
        for result in results:
            identifier = result["id"]
            if self._hot.is_tombstoned(identifier):
                continue
            if identifier not in known and self._hot.is_waiting(identifier):
                newer = self._hot.get(identifier)
                if newer is None or not matches(newer, filters):
                    continue
                result = {**result, **told(query, newer)}
            current.append(result)
        return current

    def _from_memory(self, query: str, filters: Filters, request: SearchRequest, now: datetime) -> list[dict[str, Any]]:
        """Answer from the cache alone."""
        hits = lasting(self._at_hand(query, filters, waiting=False), filters.as_of or now)
        places = places_on(filters.branch, hits)
        hits = [hit for hit in hits if (place := places.get(hit.memory.id)) is None or self._hot.get(place) is None]
        return answer_of(query, (), hits, depth=request.depth, k=request.k, now=now)

    def _at_hand(self, query: str, filters: Filters, *, waiting: bool) -> list[Hit]:
        """Return cached hits with their neighbouring messages.

        With `pending_only`, only those that the store does not have yet.
        """
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
