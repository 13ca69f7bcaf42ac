"""Memory store in dictionaries: proves that the contract needs no table, no file and no process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hunchd.domain.errors import StoreClosed
from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Memory, Status
from hunchd.retrieval.answering import build_answer, drop_expired, map_branch_ids
from hunchd.store.hits import Hit
from hunchd.store.indexes.terms import count_terms
from hunchd.store.indexes.tokenizer import build_index_text
from hunchd.store.memory_codec import memory_to_plain, to_microseconds
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


@dataclass
class Shelf:
    """What outlives a `DictStore`, as files outlive a process; several stores may share one."""

    memories: dict[tuple[str | None, str], Memory] = field(default_factory=dict)
    signals: dict[tuple[str | None, str], dict[str, Any]] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)


class DictStore:
    """Implementation of `MemoryStore` without vectors."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.last_stats = StoreStats()
        self.is_stats_outdated = False
        self.pending_embeddings = 0

    async def put(self, memories: Sequence[Memory]) -> None:
        self._refuse_erased(memory.project for memory in memories)
        self.is_stats_outdated = True
        self._shelf.memories |= {(memory.project, memory.id): memory for memory in memories}

    async def get(self, ids: Sequence[str], project: str | None) -> list[Memory]:
        found = (self._shelf.memories.get((project, id_)) for id_ in dict.fromkeys(ids))
        return [memory for memory in found if memory is not None]

    async def list(self, filters: Filters, limit: int, cursor: str | None = None) -> MemoryPage:
        after = parse_cursor(cursor) if cursor else None
        passing = sorted(self._select(filters), key=_position)
        rest = [one for one in passing if after is None or _position(one) > (-after[0], after[1])]
        items = tuple(rest[:limit])
        following = format_cursor(to_microseconds(items[-1].at), items[-1].id) if len(rest) > limit else None
        return MemoryPage(items, following, len(passing))

    async def search(self, request: StoreQuery) -> SearchHits:
        query, filters, depth = request.query, request.filters, request.depth
        hits: dict[str, Hit] = {}
        if depth == "specific":
            named = [one for one in self._select(filters) if query.strip() in (one.id, one.ref, one.key)]
            hits = {one.id: Hit(memory=one) for one in sorted(named, key=_position)}
        if request.mode != "dense":
            asked = count_terms(query)
            scored = [(float(len(asked.keys() & _list_terms(one))), one) for one in self._select(filters)]
            best = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], _position(pair[1])))
            for score, memory in best[: request.k]:
                hits.setdefault(memory.id, Hit(memory=memory, lexical=score))
        if depth == "deep":
            for seed in [hit.memory for hit in hits.values()]:
                for linked in await self.get([str(link.get("ref")) for link in seed.links], filters.project):
                    if matches(linked, filters):
                        hits.setdefault(linked.id, Hit(memory=linked, why=(f"linked to «{seed.title}»",)))
        return SearchHits(tuple(hits.values()))

    async def search_ranked(self, request: RankedQuery, cached_hits: Sequence[Hit]) -> RankedResults:
        filters, now = request.filters, request.now
        hits = drop_expired((await self.search(request)).hits, now)
        cached = drop_expired(cached_hits, now)
        places = map_branch_ids(filters.branch, [*hits, *cached])
        stored = await self.get(list(places.values()), filters.project)
        overridden = {
            *request.branch_fact_ids,
            *(one.id for one in stored),
            *(hit.memory.id for hit in [*hits, *cached]),
        }
        hits, cached = ([hit for hit in some if places.get(hit.memory.id) not in overridden] for some in (hits, cached))
        return RankedResults(
            tuple(build_answer(request.query, hits, cached, depth=request.depth, k=request.results, now=now))
        )

    async def delete(self, ids: Sequence[str], project: str | None) -> int:
        return len([id_ for id_ in set(ids) if self._shelf.memories.pop((project, id_), None) is not None])

    async def stream_memories(self, project: str | None) -> AsyncIterator[MemoryBatch]:
        if memories := [one for (owner, _), one in self._shelf.memories.items() if owner == project]:
            yield MemoryBatch(memories=[memory_to_plain(memory) for memory in memories])

    async def put_signals(self, signals: Sequence[StoredSignal]) -> int:
        self._refuse_erased(signal.get("project") for signal in signals)
        before = len(self._shelf.signals)
        for signal in signals:
            self._shelf.signals.setdefault((signal.get("project"), signal["id"]), {"absorbed": False, **signal})
        return len(self._shelf.signals) - before

    async def stream_signals(self, project: str | None) -> AsyncIterator[dict[str, Any]]:
        for (owner, _), signal in list(self._shelf.signals.items()):
            if owner == project:
                yield signal

    async def delete_signals(self, ids: Sequence[str], project: str) -> None:
        for id_ in ids:
            self._shelf.signals.pop((project, id_), None)

    async def delete_signals_before(self, before: datetime) -> None:
        old = [key for key, one in self._shelf.signals.items() if datetime.fromisoformat(one["at"]) < before]
        for key in old:
            del self._shelf.signals[key]

    async def list_owners(self) -> Sequence[str | None]:
        return list(dict.fromkeys(owner for owner, _ in [*self._shelf.memories, *self._shelf.signals]))

    async def erase(self, project: str) -> None:
        self._shelf.erased.add(project)
        for kept in (self._shelf.memories, self._shelf.signals):
            for key in [key for key in kept if key[0] == project]:
                kept.pop(key)

    async def purge(self, project: str | None) -> None:
        """Do nothing: `delete` leaves no bytes."""

    async def optimise(self) -> None:
        """Do nothing: a dictionary has no fragments."""

    async def snapshot(self, keep: int) -> None:
        """Do nothing."""

    async def fetch_stats(self) -> StoreStats:
        self.is_stats_outdated = False
        counts = dict.fromkeys((owner or "user" for owner in await self.list_owners()), 0)
        for owner, _ in self._shelf.memories:
            counts[owner or "user"] += 1
        projects = {owner: {"rows": count, "embedded": 0} for owner, count in counts.items()}
        rows = sum(counts.values())
        self.last_stats = StoreStats(rows=rows, embedded=0, projects=projects)
        return self.last_stats

    async def count_tokens(self) -> int:
        active = (one for one in self._shelf.memories.values() if one.status is Status.ACTIVE)
        return sum(len(memory.content) // 4 for memory in active)

    def _select(self, filters: Filters) -> Sequence[Memory]:
        return [memory for memory in self._shelf.memories.values() if matches(memory, filters)]

    def _refuse_erased(self, projects: Any) -> None:
        if self._shelf.erased & set(projects):
            raise StoreClosed("the project was erased")


def _position(memory: Memory) -> tuple[int, str]:
    return -to_microseconds(memory.at), memory.id


def _list_terms(memory: Memory) -> set[int]:
    text = build_index_text(memory.title, memory.content, memory.key, memory.value, memory.ref, *memory.tags)
    return set(count_terms(text))
