"""Queries on the memories of a project.

They search by id, by name, by page, by words and by vector.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np

from hunchd.domain.filters import Filters
from hunchd.store.database import expressions
from hunchd.store.database.finding import Choice, Found
from hunchd.store.database.mirror import NOWHERE, Mirror
from hunchd.store.database.quarantine import Quarantine
from hunchd.store.database.tables import SERVED, Row, digest_of, embeddable_text, memory_of, parsed
from hunchd.store.indexes.nearness import Mask, Slots
from hunchd.store.indexes.postings import Scores
from hunchd.store.indexes.terms import counts_of

# Each search method returns this many times the requested results, so that the two overlap.
WIDER: Final = 4
NARROWEST: Final = 20  # rows
WIDEST: Final = 200
# A message is ranked together with its neighbours.
BESIDE: Final = 2  # messages on either side
# Best hits whose neighbours are read; neighbours of the others hardly ever answer (LoCoMo 0 to 2, five results:
# recall .801, with forty .803), and each memory that is compared takes 1/16 ms.
ACCOMPANIED: Final = 28
AHEAD: Final = 256  # rows read ahead at once: ten milliseconds
TRIES: Final = 5  # of a word search while the table is being compacted
_BESIDE: Final = ThreadPoolExecutor(1, "words")  # searches words while the model computes in the other thread

# The vector of a query, if it has one; an awaitable of it; or a function that computes it within milliseconds.
Vector = bytes | None | Awaitable[bytes | None] | Callable[[], bytes | None]


class Looking:
    """Read-only queries of a collection.

    `mirror()` returns the current mirror: it is replaced when the table is repaired.
    """

    def __init__(self, mirror: Callable[[], Mirror], quarantine: Quarantine) -> None:
        self._mirror = mirror
        self._quarantine = quarantine
        self.asked = False  # True after the first search

    async def get(self, ids: Sequence[str]) -> list[Row]:
        """Return the rows with these ids."""
        wanted, mirror = set(ids), self._mirror()
        rows = await self._rows(mirror, mirror.slots_of(wanted))
        return [row for row in rows.values() if row["id"] in wanted]

    async def called(self, name: str, filters: Filters, limit: int) -> list[Row]:
        """Return the rows with this id, caller's key or key, newest first."""
        mirror = self._mirror()
        slots = mirror.called(name)
        slots = slots[(await mirror.passing(filters))[slots]]
        slots = slots[np.argsort(-mirror.times(slots), kind="stable")][: 2 * limit]
        rows = [row for row in (await self._rows(mirror, slots)).values() if _is_called(row, name)]
        return _newest_first(self._quarantine.intact(rows, filters))[:limit]

    async def page(self, filters: Filters, limit: int, after: tuple[int, str] | None) -> tuple[list[Row], int]:
        """Return a page of rows, newest first, and the total.

        The page starts after a (time, id) position.
        """
        mirror = self._mirror()
        slots = np.flatnonzero(await mirror.passing(filters))
        total = len(slots)
        times = mirror.times(slots)
        if after is not None:
            slots, times = slots[times <= after[0]], times[times <= after[0]]
        order = np.argsort(-times, kind="stable")
        slots, times = slots[order], times[order]
        found: list[Row] = []
        while len(slots) and len(found) < limit:
            # All rows with the same time together: they are ordered by id.
            last = times[min(limit - len(found) + 1, len(times)) - 1]
            taken = int(np.searchsorted(-times, -last, "right"))
            taken_rows = list((await self._rows(mirror, slots[:taken])).values())
            rows = _newest_first(self._quarantine.intact(taken_rows, filters))
            found += [row for row in rows if after is None or (-row["at"], row["id"]) > (-after[0], after[1])]
            slots, times = slots[taken:], times[taken:]
        return found[:limit], total

    async def without_vector(self, model: str, limit: int) -> list[Row]:
        """Return rows that this model has not embedded yet, newest first.

        Each row carries the digest of the text to embed.
        """
        mirror = self._mirror()
        slots = np.flatnonzero(mirror.not_embedded_by(model))
        slots = slots[np.argsort(-mirror.times(slots), kind="stable")][:limit]
        rows = _newest_first(list((await self._rows(mirror, slots)).values()))
        return [row | {"text_digest": digest_of([embeddable_text(memory_of(row))])} for row in rows]

    def short_vectors(self, ids: Sequence[str], model: str) -> dict[str, bytes]:
        """Return the vectors of this model as signed bytes, by id."""
        return self._mirror().short_vectors(ids, model)

    async def find(
        self,
        words: str,
        vector: Vector,
        model: str,
        filters: Filters,
        k: int,
        choose: Choice,
        few: int | None = None,
        read: Callable[[Sequence[str]], object] | None = None,
    ) -> list[Found]:
        """Search by words and, once the query has a vector, by vector.

        `choose` selects from the candidates: only the first `few` if no message is among those. They are followed
        by the messages next to the best messages chosen. While the vector is computed, `read` is called in another
        thread with the bodies that will probably be found.
        """
        mirror, self.asked = self._mirror(), True
        wide = min(max(k * WIDER, NARROWEST), WIDEST)
        passing = await mirror.passing(filters)
        ready: dict[int, str] = {}
        if callable(vector) and mirror.words.is_whole:
            # Nobody else uses the mirror meanwhile: this thread waits for both.
            compared = _BESIDE.submit(mirror.comparable, passing, model)
            words_found = _BESIDE.submit(_said, mirror, words, passing, wide, (k, few), read)
            asked = vector()
            comparable, (lexical, ready) = compared.result(), words_found.result()
        else:
            if isinstance(vector, Awaitable):
                await asyncio.sleep(0)  # the query goes to the model first: the rest runs meanwhile
            lexical = await self._by_words(mirror, words, filters, passing, wide)
            asked = await vector if isinstance(vector, Awaitable) else vector() if callable(vector) else vector
            comparable = mirror.comparable(passing, model)
        similarity: dict[int, float] = {}
        if asked is not None:
            near, cosines = mirror.nearest(asked, comparable, wide)
            similarity = dict(zip(near.tolist(), cosines.tolist(), strict=True))
        unsaid = 0.0 if len(lexical) < wide else None  # all rows with a matching word were found: the others have none
        candidates = [(slot, lexical.get(slot, unsaid), similarity.get(slot)) for slot in {**lexical, **similarity}]
        chosen = np.array(choose(candidates), np.intp)
        if few is not None and not mirror.are_messages(chosen[:few]).any():
            chosen = chosen[:few]
        # Words alone do not tell which of two neighbours answers. All are read at once: a call costs more than rows.
        beside = mirror.beside(chosen[:ACCOMPANIED], BESIDE)
        beside = beside[beside < len(passing)]
        bodies = await self._bodies(mirror, np.concatenate([chosen, beside[passing[beside]]]), ready)
        nearness = _nearness(mirror, list(bodies), asked, comparable)
        wanted = set(chosen.tolist())
        found = [
            Found(body, mirror.digest(slot), lexical.get(slot) if slot in wanted else None, nearness.get(slot))
            for slot, body in bodies.items()
        ]
        return self._truly_passing(found, filters) if _goes_by_hash(filters) else found

    async def read_ahead(self, pack: Callable[[Sequence[str]], Awaitable[list[bytes]]]) -> bool:
        """Load more bodies once there was a search.

        Returns True if more remain.
        """
        mirror = self._mirror()
        if not self.asked or not len(slots := mirror.unseen(AHEAD)):
            return False
        bodies = await self._bodies(mirror, slots)
        mirror.keep(dict(zip(bodies, await pack(list(bodies.values())), strict=True)), slots.tolist())
        return True

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _by_words(self, mirror: Mirror, words: str, filters: Filters, passing: Mask, k: int) -> dict[int, float]:
        """Return slots and BM25 scores of the best `passing` rows."""
        if mirror.words.is_whole:
            return _saying(mirror, words, passing, k)
        asked = counts_of(words)
        # Until all rows are indexed here, the database's own index is searched, and here only what came since.
        found = await _indexed(mirror, words, filters, passing, k) if words else {}
        fresh = passing & mirror.is_fresh()[: len(passing)]
        scale = mirror.scale_of_fresh()
        found |= {slot: score * scale for slot, score in _scored(*mirror.words.search(asked, fresh, k)).items()}
        return dict(sorted(found.items(), key=lambda one: -one[1])[:k])

    def _truly_passing(self, found: Sequence[Found], filters: Filters) -> list[Found]:
        rows = [one.row for one in found]
        whole = {row["id"] for row in self._quarantine.intact(rows, filters)}
        return [one for one, row in zip(found, rows, strict=True) if row["id"] in whole]

    async def _rows(self, mirror: Mirror, slots: Slots) -> dict[int, Row]:
        """Return the intact rows in these slots, in their order."""
        bodies = await self._bodies(mirror, slots)
        return {slot: parsed(body, mirror.digest(slot)) for slot, body in bodies.items()}

    async def _bodies(self, mirror: Mirror, slots: Slots, ready: Mapping[int, str] | None = None) -> dict[int, str]:
        """Return the intact bodies in these slots, in their order.

        `ready` are bodies that are already loaded. Bodies that were read ahead were verified then.
        """
        known = ready or {}
        at_hand = {slot: known[slot] for slot in slots.tolist() if slot in known}
        at_hand |= _at_hand(mirror, [slot for slot in slots.tolist() if slot not in known])
        away = {mirror.address(slot): slot for slot in slots.tolist() if slot not in at_hand}
        away.pop(NOWHERE, None)
        reader = mirror.reader
        read = await reader.at_addresses(list(away), ("body",)) if away else []
        new = {slot: body for slot, body in at_hand.items() if mirror.address(slot) == NOWHERE}
        bodies = new | {away[row["_rowid"]]: row["body"] for row in read}
        whole = _whole(mirror, bodies)
        if len(whole) < len(bodies):
            ids = {slot: identifier for identifier, slot in mirror.fresh.items()}
            damaged = [
                {"id": ids[slot], "body": body, "digest": mirror.digest(slot)}
                for slot, body in new.items()
                if slot not in whole and slot in ids
            ]
            doubtful = [address for address, slot in away.items() if slot not in whole]
            self._quarantine.intact([*damaged, *await reader.at_addresses(doubtful, SERVED)])
        found = {slot: body for slot, body in at_hand.items() if slot not in new} | whole
        return {slot: found[slot] for slot in slots.tolist() if slot in found}


def _said(
    mirror: Mirror,
    words: str,
    passing: Mask,
    wide: int,
    most: tuple[int, int | None],
    read: Callable[[Sequence[str]], object] | None,
) -> tuple[dict[int, float], dict[int, str]]:
    """Search `words`; return the hits and the first cached bodies.

    `most` is (k, few): how many bodies will be needed depends on whether messages are among the hits.
    """
    lexical = _saying(mirror, words, passing, wide)
    (k, few), slots = most, list(lexical)
    if few is not None and not mirror.are_messages(np.array(slots[:few], np.intp)).any():
        k = few
    bodies = _at_hand(mirror, slots[:k])
    if read is not None:
        read(list(bodies.values()))
    return lexical, bodies


def _saying(mirror: Mirror, words: str, passing: Mask, k: int) -> dict[int, float]:
    return _scored(*mirror.words.search(counts_of(words), passing, k))


def _at_hand(mirror: Mirror, slots: Sequence[int]) -> dict[int, str]:
    return {slot: body for slot in slots if (body := mirror.bodies.get(slot)) is not None}


def _whole(mirror: Mirror, bodies: Mapping[int, str]) -> dict[int, str]:
    """Return the bodies that match their digest."""
    return {slot: body for slot, body in bodies.items() if digest_of([body]) == mirror.digest(slot)}


async def _indexed(mirror: Mirror, words: str, filters: Filters, passing: Mask, k: int) -> dict[int, float]:
    """Search the database's own index and keep the hits that pass."""
    for _ in range(TRIES):
        reader = mirror.reader
        addresses, scores = await reader.by_words(words, expressions.expression(filters), k)
        if mirror.reader is reader:  # otherwise the rows have new addresses
            break
    slots = mirror.holding(addresses)
    there = (slots >= 0) & (slots < len(passing))
    there[there] = passing[slots[there]]
    return _scored(slots[there], scores[there])


def _scored(slots: Slots, scores: Scores) -> dict[int, float]:
    return dict(zip(slots.tolist(), scores.tolist(), strict=True))


def _nearness(mirror: Mirror, slots: Sequence[int], vector: bytes | None, comparable: Mask) -> dict[int, float]:
    """Return the cosine similarity of each row that has a comparable vector."""
    with_vector = [slot for slot in slots if comparable[slot]]
    if vector is None or not with_vector:
        return {}
    cosines = mirror.similarities(np.array(with_vector, np.intp), vector)
    return dict(zip(with_vector, cosines.tolist(), strict=True))


def _goes_by_hash(filters: Filters) -> bool:
    """Return True if a filter is compared by hash only.

    Such a filter may let too much through.
    """
    return bool(filters.tags or filters.key or filters.family or filters.path_prefix)


def _newest_first(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-row["at"], row["id"]))


def _is_called(row: Row, name: str) -> bool:
    memory = memory_of(row)
    return name in (memory.id, memory.ref, memory.key)
