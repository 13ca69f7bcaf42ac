"""What a project's memories are asked: by id and name, page by page, by word and by nearness. Reads; never writes."""

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

# Each way of looking gives this many times what is asked for, so that the two have something to agree on.
WIDER: Final = 4
NARROWEST: Final = 20  # rows
WIDEST: Final = 200
# A message is judged together with those around it.
BESIDE: Final = 2  # messages on either side
# The best of what was found; beside the rest hardly ever stands what answers (LoCoMo 0 to 2, five results: recall .801,
# of forty .803), and each memory that is compared takes a sixteenth of a millisecond.
ACCOMPANIED: Final = 28
AHEAD: Final = 256  # rows read ahead at once: ten milliseconds
TRIES: Final = 5  # of looking by word while the table is being tidied
_BESIDE: Final = ThreadPoolExecutor(1, "words")  # looks words up while the model, in the other thread, computes

# The vector of a question, if it has one; or one that is on its way, or what makes it here and now, in milliseconds.
Vector = bytes | None | Awaitable[bytes | None] | Callable[[], bytes | None]


class Looking:
    """`mirror()` is the one of now: it is another after the table had to be mended."""

    def __init__(self, mirror: Callable[[], Mirror], quarantine: Quarantine) -> None:
        self._mirror = mirror
        self._quarantine = quarantine
        self.asked = False  # whether anything was looked for by words or by nearness

    async def get(self, ids: Sequence[str]) -> list[Row]:
        """The rows that have these ids."""
        wanted, mirror = set(ids), self._mirror()
        rows = await self._rows(mirror, mirror.slots_of(wanted))
        return [row for row in rows.values() if row["id"] in wanted]

    async def called(self, name: str, filters: Filters, limit: int) -> list[Row]:
        """The rows that have this id, key of the caller or key, newest first."""
        mirror = self._mirror()
        slots = mirror.called(name)
        slots = slots[(await mirror.passing(filters))[slots]]
        slots = slots[np.argsort(-mirror.times(slots), kind="stable")][: 2 * limit]
        rows = [row for row in (await self._rows(mirror, slots)).values() if _is_called(row, name)]
        return _newest_first(self._quarantine.intact(rows, filters))[:limit]

    async def page(self, filters: Filters, limit: int, after: tuple[int, str] | None) -> tuple[list[Row], int]:
        """Rows newest first, beginning after a place given by time and id; and how many pass in all."""
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
            # All of one moment together: among them their ids decide.
            last = times[min(limit - len(found) + 1, len(times)) - 1]
            taken = int(np.searchsorted(-times, -last, "right"))
            taken_rows = list((await self._rows(mirror, slots[:taken])).values())
            rows = _newest_first(self._quarantine.intact(taken_rows, filters))
            found += [row for row in rows if after is None or (-row["at"], row["id"]) > (-after[0], after[1])]
            slots, times = slots[taken:], times[taken:]
        return found[:limit], total

    async def without_vector(self, model: str, limit: int) -> list[Row]:
        """Rows that this model has not embedded yet, newest first, each with the digest of the text to embed."""
        mirror = self._mirror()
        slots = np.flatnonzero(mirror.not_embedded_by(model))
        slots = slots[np.argsort(-mirror.times(slots), kind="stable")][:limit]
        rows = _newest_first(list((await self._rows(mirror, slots)).values()))
        return [row | {"text_digest": digest_of([embeddable_text(memory_of(row))])} for row in rows]

    def short_vectors(self, ids: Sequence[str], model: str) -> dict[str, bytes]:
        """Of those of the rows that this model has embedded, the vector in signed bytes."""
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
        """Look by word and, as soon as the question has a vector, by nearness; `choose` says which of what was found is
        wanted: the first `few`, if no message is among these. Behind those, the messages beside the best messages that
        were chosen. `read` is given what will probably be found, in another thread, while the vector is made."""
        mirror, self.asked = self._mirror(), True
        wide = min(max(k * WIDER, NARROWEST), WIDEST)
        passing = await mirror.passing(filters)
        ready: dict[int, str] = {}
        if callable(vector) and mirror.words.is_whole:
            # Nobody else uses the mirror meanwhile: this thread waits for all.
            compared = _BESIDE.submit(mirror.comparable, passing, model)
            words_found = _BESIDE.submit(_said, mirror, words, passing, wide, (k, few), read)
            asked = vector()
            comparable, (lexical, ready) = compared.result(), words_found.result()
        else:
            if isinstance(vector, Awaitable):
                await asyncio.sleep(0)  # the question goes to the model first: what follows is done while it is there
            lexical = await self._by_words(mirror, words, filters, passing, wide)
            asked = await vector if isinstance(vector, Awaitable) else vector() if callable(vector) else vector
            comparable = mirror.comparable(passing, model)
        similarity: dict[int, float] = {}
        if asked is not None:
            near, cosines = mirror.nearest(asked, comparable, wide)
            similarity = dict(zip(near.tolist(), cosines.tolist(), strict=True))
        unsaid = 0.0 if len(lexical) < wide else None  # all that say a word are found: the others say none
        candidates = [(slot, lexical.get(slot, unsaid), similarity.get(slot)) for slot in {**lexical, **similarity}]
        chosen = np.array(choose(candidates), np.intp)
        if few is not None and not mirror.are_messages(chosen[:few]).any():
            chosen = chosen[:few]
        # Which of two neighbours answers is not told by words alone. All are read at once: asking costs more than rows.
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
        """Read some more of what a question may want, once there was one. Whether there is more to be read."""
        mirror = self._mirror()
        if not self.asked or not len(slots := mirror.unseen(AHEAD)):
            return False
        bodies = await self._bodies(mirror, slots)
        mirror.keep(dict(zip(bodies, await pack(list(bodies.values())), strict=True)), slots.tolist())
        return True

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _by_words(self, mirror: Mirror, words: str, filters: Filters, passing: Mask, k: int) -> dict[int, float]:
        """Slots and scores of those rows among `passing` whose texts say most of `words`."""
        if mirror.words.is_whole:
            return _saying(mirror, words, passing, k)
        asked = counts_of(words)
        # Until all are indexed here, the database's own index is asked, and here for what came since.
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
        """The rows in these slots that are intact, in their order."""
        bodies = await self._bodies(mirror, slots)
        return {slot: parsed(body, mirror.digest(slot)) for slot, body in bodies.items()}

    async def _bodies(self, mirror: Mirror, slots: Slots, ready: Mapping[int, str] | None = None) -> dict[int, str]:
        """What is in these slots and intact, in their order; `ready` are some that are at hand. What was read ahead was
        found intact then."""
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
    """What says most of `words`, and the bodies of the first as far as they are at hand: as many as will be wanted,
    which depends on whether messages are among them."""
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
    """Those that are as they were written."""
    return {slot: body for slot, body in bodies.items() if digest_of([body]) == mirror.digest(slot)}


async def _indexed(mirror: Mirror, words: str, filters: Filters, passing: Mask, k: int) -> dict[int, float]:
    """What the reader finds and may pass."""
    for _ in range(TRIES):
        reader = mirror.reader
        addresses, scores = await reader.by_words(words, expressions.expression(filters), k)
        if mirror.reader is reader:  # else the rows have moved meanwhile
            break
    slots = mirror.holding(addresses)
    there = (slots >= 0) & (slots < len(passing))
    there[there] = passing[slots[there]]
    return _scored(slots[there], scores[there])


def _scored(slots: Slots, scores: Scores) -> dict[int, float]:
    return dict(zip(slots.tolist(), scores.tolist(), strict=True))


def _nearness(mirror: Mirror, slots: Sequence[int], vector: bytes | None, comparable: Mask) -> dict[int, float]:
    """The similarity of each row that has a vector to compare, whichever way it was found."""
    with_vector = [slot for slot in slots if comparable[slot]]
    if vector is None or not with_vector:
        return {}
    cosines = mirror.similarities(np.array(with_vector, np.intp), vector)
    return dict(zip(with_vector, cosines.tolist(), strict=True))


def _goes_by_hash(filters: Filters) -> bool:
    """Whether the mirror may have let through what only has the same hash. The rest it compares as it is."""
    return bool(filters.tags or filters.key or filters.family or filters.path_prefix)


def _newest_first(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-row["at"], row["id"]))


def _is_called(row: Row, name: str) -> bool:
    memory = memory_of(row)
    return name in (memory.id, memory.ref, memory.key)
