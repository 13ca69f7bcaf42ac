"""Search in cached and stored memories, with one ranked list of results."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from msgspec import structs

from hunchd.core.memory.session_log import session_tag
from hunchd.domain.errors import HunchError
from hunchd.domain.facts import OWN_KINDS, OWN_ROOTS
from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.domain.session import neighbour_refs
from hunchd.ingestion.contact_masking import mask_contacts
from hunchd.protocol.requests import SearchRequest
from hunchd.protocol.search_results import SearchAnswer, SearchResult, find_status
from hunchd.retrieval.answering import build_answer as answer_of
from hunchd.retrieval.answering import drop_expired, map_branch_ids, merge_chunks
from hunchd.retrieval.question_kinds import select_asked
from hunchd.retrieval.question_words import strip_pasted
from hunchd.retrieval.ranking import update_result
from hunchd.store.hits import Hit
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.port import MemoryStore, RankedQuery

# Seconds to wait for a starting store process; then only cached memories are searched. A prompt waits for less time.
STORE_TIMEOUT_SECONDS = 4.0
PROMPT_TIMEOUT_SECONDS = 2.0
MIN_CANDIDATES = 40  # minimum number of candidates from the store that are re-ranked by content
# For candidates without neighbours, this many more than requested are enough: each costs 0.2 ms. Messages need forty:
# with thirty, the right one is missed for one query in eighty (five results, LoCoMo 0 to 2).
EXTRA_CANDIDATES = 12
MAX_CACHED_HITS = 20  # candidates from the cache
NEIGHBOUR_REACH = 2  # neighbouring messages on either side
EXTRA_RESULTS = 5  # extra results, in case some were deleted in the meantime
MODEL_SHARE = 0.75  # of the waiting time, for the embedding model; after that, the search is lexical only


def build_own_request(request: SearchRequest) -> SearchRequest | None:
    """Return the request for the user's own memories beside a project's, or None if its filters exclude these."""
    kinds = tuple(kind for kind in OWN_KINDS if not request.kinds or kind in request.kinds)
    prefix = request.path_prefix or ""
    is_own = any(root.startswith(prefix) or prefix.startswith(root) for root in OWN_ROOTS)
    if not kinds or not is_own or request.session is not None:
        return None
    return replace(request, project=None, kinds=kinds)


def join_answers(answer: SearchAnswer, own: SearchAnswer, k: int) -> SearchAnswer:
    """Merge the results from a project with those from the user's own memories, and keep the best `k`."""
    results = sorted([*answer.results, *own.results], key=lambda one: -one.score)[:k]
    return answer.with_results(results, own.degraded)


def _mask_said(result: SearchResult, question: str) -> SearchResult:
    """Mask the contact data of people that the question does not name."""
    title, snippet = mask_contacts(result.title, question), mask_contacts(result.snippet, question)
    return structs.replace(result, title=title, snippet=snippet)


class SearchService:
    """Service that answers requests to search memories."""

    def __init__(
        self,
        memory_cache: MemoryCache,
        store: MemoryStore,
        *,
        now: Callable[[], datetime],
        masks_contacts: bool = True,
    ) -> None:
        self._memory_cache = memory_cache
        self._store = store
        self._now = now
        self._masks_contacts = masks_contacts  # of people that a question does not name

    async def search(
        self,
        request: SearchRequest,
        project: str | None,
        branch: str | None = None,
        *,
        timeout: float = STORE_TIMEOUT_SECONDS,
        facts: Iterable[Memory] = (),
    ) -> SearchAnswer:
        """Search memories; return the results with the status and the duration.

        The status is "ok", "empty" or "degraded". Memories that are valid only on a branch other than `branch` are
        left out. If the store does not answer within `timeout` seconds, only cached memories are searched.
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
        query, now = strip_pasted(request.query), self._now()
        # Searched first, so that records moving to the store are not missed.
        pending_hits = self._search_cache(query, filters, facts, pending_only=True)
        try:
            async with asyncio.timeout(timeout):
                ranked_query = RankedQuery(
                    query,
                    filters,
                    max(request.k, MIN_CANDIDATES),
                    k_without_messages=None if request.depth == "deep" else request.k + EXTRA_CANDIDATES,
                    depth=request.depth,
                    results=request.k + EXTRA_RESULTS,
                    branch_fact_ids=tuple(self._memory_cache.list_uncommitted_facts(project, branch)) if branch else (),
                    now=now,
                    embedding_wait=MODEL_SHARE * timeout,
                )
                answer = await self._store.search_ranked(ranked_query, pending_hits)
            results = self._apply_pending_changes(query, filters, answer.results, pending_hits)
            degradations = list(answer.degraded)
        except TimeoutError:
            degradations = ["the store is not answering yet: only recent memories were searched"]
            results = self._search_cache_only(query, filters, request, now)
        except HunchError as error:
            degradations = [f"only recent memories were searched: {error.message}"]
            results = self._search_cache_only(query, filters, request, now)
        results = merge_chunks(results)[: request.k]
        if self._masks_contacts:
            results = [_mask_said(one, request.query) if one.kind == Kind.MESSAGE else one for one in results]
        return SearchAnswer(
            results=results,
            status=find_status(results, degradations),
            degraded=degradations,
            took_ms=round((time.perf_counter() - began) * 1_000, 2),
        )

    def _apply_pending_changes(
        self, query: str, filters: Filters, results: Sequence[SearchResult], pending_hits: Sequence[Hit]
    ) -> list[SearchResult]:
        """Update the results with changes that the store may not have yet, and drop forgotten memories."""
        pending_ids, current = {hit.memory.id for hit in pending_hits}, []
        for result in results:
            identifier = result.id
            if self._memory_cache.is_tombstoned(identifier):
                continue
            if identifier not in pending_ids and self._memory_cache.is_uncommitted(identifier):
                newer = self._memory_cache.get(identifier)
                if newer is None or not matches(newer, filters):
                    continue
                result = update_result(result, query, newer)
            current.append(result)
        return current

    def _search_cache_only(
        self, query: str, filters: Filters, request: SearchRequest, now: datetime
    ) -> list[SearchResult]:
        """Search only the cache, because the store does not answer."""
        hits = drop_expired(self._search_cache(query, filters, (), pending_only=False), filters.as_of or now)
        slots = map_branch_ids(filters.branch, hits)
        hits = [
            hit for hit in hits if (place := slots.get(hit.memory.id)) is None or self._memory_cache.get(place) is None
        ]
        return answer_of(query, (), hits, depth=request.depth, k=request.k, now=now)

    def _search_cache(self, query: str, filters: Filters, facts: Iterable[Memory], *, pending_only: bool) -> list[Hit]:
        """Return the hits in the cache with their neighbouring messages, and the `facts` that the question asks for."""
        hits: dict[str, Hit] = {}
        for cache_hit in self._memory_cache.search(query, filters, MAX_CACHED_HITS, uncommitted_only=pending_only):
            if (memory := self._memory_cache.get(cache_hit.memory_id)) is not None:
                hits[memory.id] = Hit(memory=memory, lexical=cache_hit.score)
        refs = [ref for hit in hits.values() for ref in neighbour_refs(hit.memory.ref, NEIGHBOUR_REACH)]
        for ref in dict.fromkeys(refs):
            beside = self._memory_cache.get_by_ref(filters.project, ref)
            if beside is not None and beside.id not in hits and matches(beside, filters):
                hits[beside.id] = Hit(memory=beside)
        for one in select_asked(query, facts):
            if matches(one, filters):
                hits.setdefault(one.id, Hit(memory=one))
        return list(hits.values())
