"""What was found in the store and what is at hand, as one answer; read while the store still looks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from hunchd.domain.facts import place_of
from hunchd.domain.memory import CHUNK, Kind, Memory
from hunchd.retrieval.ranking import Depth, counted_in, ranked, roots_of
from hunchd.store.finding import Found
from hunchd.store.hits import Hit
from hunchd.store.tables import memory_of

PARTS_OF_ONE: Final = 3  # chunks of one document among the best results, about


class Readings:
    """Memories as they are read for one question, and what they say of it. May be read from any one thread at a time,
    before it is known whether they are wanted."""

    def __init__(self, query: str) -> None:
        self._roots = roots_of(query)
        self._memories: dict[str, Memory] = {}  # by the JSON that was kept
        self.counts: dict[str, tuple[Mapping[str, int], int]] = {}  # by id: `counted_in` of it

    def read(self, body: str) -> Memory:
        if (memory := self._memories.get(body)) is None:
            memory = self._memories[body] = memory_of({"body": body})
            self.counts[memory.id] = counted_in(memory, self._roots)
        return memory

    def hit(self, found: Found, why: Sequence[str]) -> Hit:
        memory = self.read(found.body)
        return Hit(memory=memory, lexical=found.lexical, similarity=found.similarity, why=tuple(why))


def answer(
    query: str,
    hits: Sequence[Hit],
    at_hand: Sequence[Hit],
    *,
    depth: Depth,
    k: int,
    now: datetime,
    readings: Readings | None = None,
) -> list[dict[str, Any]]:
    """The contract's results, best first, more than `k` where parts of documents are among them. What is `at_hand`
    takes the place of what is older in the store."""
    newer = {hit.memory.id: hit.memory for hit in at_hand}
    counts = dict(readings.counts) if readings is not None else {}
    merged: dict[str, Hit] = {}
    for hit in hits:
        other = newer.get(hit.memory.id)
        if other is not None and other.updated > hit.memory.updated:
            hit = replace(hit, memory=other)
            counts.pop(other.id, None)
        merged[hit.memory.id] = hit
    for hit in at_hand:
        if merged.setdefault(hit.memory.id, hit) is hit:
            counts.pop(hit.memory.id, None)
    several = k * PARTS_OF_ONE if any(hit.memory.category == CHUNK for hit in merged.values()) else k
    return ranked(query, list(merged.values()), depth=depth, k=several, now=now, counts=counts)


def places_on(branch: str | None, hits: Iterable[Hit]) -> dict[str, str]:
    """Of facts of the main line, by id: the id that one has which says otherwise on `branch`."""
    if not branch:
        return {}
    facts = (hit.memory for hit in hits if hit.memory.kind is Kind.FACT and hit.memory.branch is None)
    places = ((memory.id, place_of(replace(memory, branch=branch))) for memory in facts)
    return {identifier: place for identifier, place in places if place is not None}


def whole_documents(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each document once, by its best part: a chunk stands for the document that it is a part of."""
    shown: dict[str, dict[str, Any]] = {}
    for result in results:
        whole = str(result["source"].get("document") or result["id"])
        shown.setdefault(whole, {**result, "id": whole})
    return list(shown.values())
