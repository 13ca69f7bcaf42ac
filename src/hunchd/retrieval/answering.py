"""Merging of hits from the store and recent hits into one answer, without I/O.

Memories can be parsed while the store is still searching.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, TypeVar

from msgspec.structs import replace

from hunchd.domain.facts import is_over, slot_id
from hunchd.domain.memory import CHUNK, Kind
from hunchd.protocol.search_results import SearchResult
from hunchd.retrieval.ranking import Depth, TermCounts, count_memory_stems, list_stems, rank_results
from hunchd.store.hits import Hit, RankingHit, SearchCandidate
from hunchd.store.ranking_view import RankingView, decode_ranking_view

AnyHit = TypeVar("AnyHit", Hit, RankingHit)

CHUNKS_PER_DOCUMENT: Final = 3  # approximate chunks per document among the best results


class QuestionReader:
    """Parser for memories that counts the terms of one question in them.

    `read` may be called before it is known whether the memories are needed, but by only one thread at a time.
    """

    def __init__(self, query: str) -> None:
        self._roots = list_stems(query)
        self._gist_by_body: dict[str, RankingView] = {}  # by stored JSON
        self.counts: dict[str, TermCounts] = {}  # by id, from `count_memory_stems`

    def read(self, bodies: Iterable[str]) -> None:
        """Parse the memories and count the question's terms in them."""
        new_gists = {body: decode_ranking_view(body) for body in bodies if body not in self._gist_by_body}
        self._gist_by_body |= new_gists
        gists = list(new_gists.values())
        self.counts.update(zip([gist.id for gist in gists], count_memory_stems(gists, self._roots), strict=True))

    def build_glimpses(self, found_memories: Sequence[tuple[SearchCandidate, Sequence[str]]]) -> list[RankingHit]:
        """Build ranking hits from the memories that were found.

        `found_memories` pairs each memory with the reasons why it was found.
        """
        self.read([one.body for one, _ in found_memories])
        return [
            RankingHit(
                memory=self._gist_by_body[one.body], lexical=one.lexical, similarity=one.similarity, why=tuple(reasons)
            )
            for one, reasons in found_memories
        ]


def build_answer(
    query: str,
    hits: Sequence[Hit | RankingHit],
    recent_hits: Sequence[Hit],
    *,
    depth: Depth,
    k: int,
    now: datetime,
    readings: QuestionReader | None = None,
) -> list[SearchResult]:
    """Return the results for `query`, best first.

    `recent_hits` replace older versions of the same memories from the store. If chunks of documents are among the
    hits, more than `k` results may be returned, because `merge_chunks` reduces their number later. `readings`, if
    given, is the reader that has already parsed some of the memories.
    """
    newer = {hit.memory.id: hit.memory for hit in recent_hits}
    counts = dict(readings.counts) if readings is not None else {}
    hit_by_id: dict[str, Hit | RankingHit] = {}
    for hit in hits:
        newer_memory = newer.get(hit.memory.id)
        if newer_memory is not None and newer_memory.updated > hit.memory.updated:
            hit = Hit(memory=newer_memory, lexical=hit.lexical, similarity=hit.similarity, why=hit.why)
            counts.pop(newer_memory.id, None)
        hit_by_id[hit.memory.id] = hit
    for new in recent_hits:
        if hit_by_id.setdefault(new.memory.id, new) is new:
            counts.pop(new.memory.id, None)
    result_limit = k * CHUNKS_PER_DOCUMENT if any(hit.memory.category == CHUNK for hit in hit_by_id.values()) else k
    return rank_results(query, list(hit_by_id.values()), depth=depth, k=result_limit, now=now, counts=counts)


def drop_expired(hits: Iterable[AnyHit], moment: datetime) -> list[AnyHit]:
    """Return the hits whose memories have not expired by `moment`.

    The status of an expired memory does not change until the next nightly run.
    """
    return [hit for hit in hits if not is_over(hit.memory, moment)]


def map_branch_ids(branch: str | None, hits: Iterable[Hit | RankingHit]) -> dict[str, str]:
    """Map the ids of main-line facts to the ids they would have on `branch`.

    If a fact with such an id exists, it replaces the main-line fact on the branch. Returns an empty mapping if
    `branch` is empty.
    """
    if not branch:
        return {}
    memories = [hit.memory for hit in hits]
    return {
        one.id: slot_id(project=one.project, scope=one.scope, category=one.category, key=one.key, branch=branch)
        for one in memories
        if one.kind is Kind.FACT and one.key and one.branch is None
    }


def merge_chunks(results: Sequence[SearchResult]) -> list[SearchResult]:
    """Merge the chunks of each document into one result, ranked by its best chunk.

    `results` must be sorted, best first.
    """
    result_by_document: dict[str, SearchResult] = {}
    for result in results:
        document_id = str(result.source.get("document") or result.id)
        result_by_document.setdefault(document_id, replace(result, id=document_id))
    return list(result_by_document.values())
