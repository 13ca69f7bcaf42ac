"""Merging of stored and recent hits into one answer. Pure.

Memories are read while the store still searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

from hunchd.domain.facts import is_over, place_id
from hunchd.domain.memory import CHUNK, Kind
from hunchd.retrieval.ranking import Counted, Depth, counted_in, ranked, roots_of
from hunchd.store.database.finding import Found
from hunchd.store.database.gist import Gist, gist_of
from hunchd.store.database.hits import Glimpse, Hit

AnyHit = TypeVar("AnyHit", Hit, Glimpse)

PARTS_OF_ONE: Final = 3  # approximate chunks per document among the best results


class Readings:
    """Memories parsed for one question, with their term counts.

    May be filled from one thread at a time, before it is known if they are needed.
    """

    def __init__(self, query: str) -> None:
        self._roots = roots_of(query)
        self._read: dict[str, Gist] = {}  # by stored JSON
        self.counts: dict[str, Counted] = {}  # by id, from `counted_in`

    def read(self, bodies: Iterable[str]) -> None:
        """Parse the memories and count the question's terms in them."""
        new = {body: gist_of(body) for body in bodies if body not in self._read}
        self._read |= new
        gists = list(new.values())
        self.counts.update(zip([gist.id for gist in gists], counted_in(gists, self._roots), strict=True))

    def glimpses(self, found: Sequence[tuple[Found, Sequence[str]]]) -> list[Glimpse]:
        """Build the hits of the memories that were found, with reasons."""
        self.read([one.body for one, _ in found])
        return [
            Glimpse(memory=self._read[one.body], lexical=one.lexical, similarity=one.similarity, why=tuple(why))
            for one, why in found
        ]


def answer(
    query: str,
    hits: Sequence[Hit | Glimpse],
    at_hand: Sequence[Hit],
    *,
    depth: Depth,
    k: int,
    now: datetime,
    readings: Readings | None = None,
) -> list[dict[str, Any]]:
    """Return the results in the API's format, best first.

    There may be more than `k` if chunks of documents are among them. Hits in `at_hand` replace older ones of the
    store.
    """
    newer = {hit.memory.id: hit.memory for hit in at_hand}
    counts = dict(readings.counts) if readings is not None else {}
    merged: dict[str, Hit | Glimpse] = {}
    for hit in hits:
        other = newer.get(hit.memory.id)
        if other is not None and other.updated > hit.memory.updated:
            hit = Hit(memory=other, lexical=hit.lexical, similarity=hit.similarity, why=hit.why)
            counts.pop(other.id, None)
        merged[hit.memory.id] = hit
    for new in at_hand:
        if merged.setdefault(new.memory.id, new) is new:
            counts.pop(new.memory.id, None)
    several = k * PARTS_OF_ONE if any(hit.memory.category == CHUNK for hit in merged.values()) else k
    return ranked(query, list(merged.values()), depth=depth, k=several, now=now, counts=counts)


def lasting(hits: Iterable[AnyHit], moment: datetime) -> list[AnyHit]:
    """Drop memories that have expired; the next night sets their status."""
    return [hit for hit in hits if not is_over(hit.memory, moment)]


def places_on(branch: str | None, hits: Iterable[Hit | Glimpse]) -> dict[str, str]:
    """Map main-line facts to their ids on `branch`.

    A fact of that id says otherwise on the branch.
    """
    if not branch:
        return {}
    memories = [hit.memory for hit in hits]
    return {
        one.id: place_id(project=one.project, scope=one.scope, category=one.category, key=one.key, branch=branch)
        for one in memories
        if one.kind is Kind.FACT and one.key and one.branch is None
    }


def whole_documents(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge chunks into documents: each document once, by its best chunk."""
    shown: dict[str, dict[str, Any]] = {}
    for result in results:
        whole = str(result["source"].get("document") or result["id"])
        shown.setdefault(whole, {**result, "id": whole})
    return list(shown.values())
