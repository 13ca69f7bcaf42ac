"""Queries on the memories of one collection. Memories are found by id, name, words or vector, or listed by page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np

from hunchd.domain.filters import Filters
from hunchd.store.database.mirror import NO_ADDRESS, TableMirror
from hunchd.store.database.quarantine import Quarantine
from hunchd.store.database.store_lock import StoreLock, under_read_lock
from hunchd.store.database.tables import SERVED_COLUMNS, Row, compute_digest, get_embedded_text, get_memory, parse_row
from hunchd.store.hits import SearchCandidate
from hunchd.store.indexes.terms import count_terms
from hunchd.store.indexes.vector_scan import Mask, Slots

# Each search method returns this many times the requested results, so that the two overlap.
OVERSAMPLING: Final = 4
MIN_CANDIDATES: Final = 20  # rows
MAX_CANDIDATES: Final = 200
# A message is ranked together with its neighbours.
NEIGHBOUR_REACH: Final = 2  # messages on either side
# Best hits whose neighbours are read; neighbours of the others hardly ever answer (LoCoMo 0 to 2, five results:
# recall .801, with forty .803), and each memory that is compared takes 1/16 ms.
MAX_HITS_WITH_NEIGHBOURS: Final = 28
READ_AHEAD_ROWS: Final = 256  # rows read ahead at once: ten milliseconds
_WORD_SEARCH_EXECUTOR: Final = ThreadPoolExecutor(
    1, "words"
)  # searches words while the model computes in the other thread

# (slot, BM25, cosine similarity) of all candidates → the selected slots, best first.
SelectCandidates = Callable[[Collection[tuple[int, float | None, float | None]]], Sequence[int]]
# The vector of a query, if it has one; an awaitable of it; or a function that computes it within milliseconds.
QueryVector = bytes | None | Awaitable[bytes | None] | Callable[[], bytes | None]


class CollectionQueries:
    """Queries on a collection: the half of its interface that only reads.

    `mirror()` returns the current mirror, which is replaced when the table is repaired.
    """

    def __init__(self, mirror: Callable[[], TableMirror], quarantine: Quarantine, lock: StoreLock) -> None:
        self.lock = lock
        self._mirror = mirror
        self._quarantine = quarantine
        self.was_searched = False  # True after the first search

    @under_read_lock
    async def get(self, ids: Sequence[str]) -> list[Row]:
        """Return the intact rows with these ids."""
        wanted_ids, mirror = set(ids), self._mirror()
        rows = await self._load_rows(mirror, mirror.find_slots(wanted_ids))
        return [row for row in rows.values() if row["id"] in wanted_ids]

    @under_read_lock
    async def find_by_name(self, name: str, filters: Filters, limit: int) -> list[Row]:
        """Return the rows whose id, ref or key is `name`, newest first."""
        mirror = self._mirror()
        slots = mirror.find_by_name(name)
        slots = slots[(await mirror.mask_passing(filters))[slots]]
        slots = slots[np.argsort(-mirror.get_times(slots), kind="stable")][: 2 * limit]
        rows = [row for row in (await self._load_rows(mirror, slots)).values() if _has_name(row, name)]
        return _newest_first(self._quarantine.filter_intact(rows, filters))[:limit]

    @under_read_lock
    async def load_page(self, filters: Filters, limit: int, after: tuple[int, str] | None) -> tuple[list[Row], int]:
        """Return a page of rows, newest first, and the total number of rows.

        The page starts after the position `after`, given as (time, id).
        """
        mirror = self._mirror()
        slots = np.flatnonzero(await mirror.mask_passing(filters))
        total = len(slots)
        times = mirror.get_times(slots)
        if after is not None:
            slots, times = slots[times <= after[0]], times[times <= after[0]]
        order = np.argsort(-times, kind="stable")
        slots, times = slots[order], times[order]
        page_rows: list[Row] = []
        while len(slots) and len(page_rows) < limit:
            # All rows with the same time together: they are ordered by id.
            last = times[min(limit - len(page_rows) + 1, len(times)) - 1]
            batch_size = int(np.searchsorted(-times, -last, "right"))
            batch_rows = list((await self._load_rows(mirror, slots[:batch_size])).values())
            rows = _newest_first(self._quarantine.filter_intact(batch_rows, filters))
            page_rows += [row for row in rows if after is None or (-row["at"], row["id"]) > (-after[0], after[1])]
            slots, times = slots[batch_size:], times[batch_size:]
        return page_rows[:limit], total

    @under_read_lock
    async def sample_rows(self, limit: int) -> tuple[int, list[Row]]:
        """Return a number `step`, and every `step`-th row: at most `limit` rows."""
        mirror = self._mirror()
        slots = np.flatnonzero(mirror.mask_living())
        step = max(1, -(-len(slots) // limit))
        return step, list((await self._load_rows(mirror, slots[::step])).values())

    @under_read_lock
    async def load_unembedded(self, model: str, limit: int) -> list[Row]:
        """Return the newest rows that `model` has not embedded yet.

        Each row includes the digest of the text to embed.
        """
        mirror = self._mirror()
        slots = np.flatnonzero(mirror.mask_unembedded(model))
        slots = slots[np.argsort(-mirror.get_times(slots), kind="stable")][:limit]
        rows = _newest_first(list((await self._load_rows(mirror, slots)).values()))
        return [row | {"text_digest": compute_digest([get_embedded_text(get_memory(row))])} for row in rows]

    def load_short_vectors(self, ids: Sequence[str], model: str) -> dict[str, bytes]:
        """Return the vectors computed by `model` as signed bytes, keyed by id."""
        return self._mirror().load_short_vectors(ids, model)

    @under_read_lock
    async def search(
        self,
        query: str,
        vector: QueryVector,
        model: str,
        filters: Filters,
        k: int,
        select: SelectCandidates,
        *,
        k_without_messages: int | None = None,
        on_bodies: Callable[[Sequence[str]], object] | None = None,
    ) -> list[SearchCandidate]:
        """Search by words and, if the query has a vector, by vector.

        `select` chooses the best of the candidates. If the best `k_without_messages` rows that it chooses include no
        message, only those rows are returned. The rows are followed by the messages next to the best messages that
        were chosen. While the vector is computed, `on_bodies` is called in another thread with the bodies (stored
        JSON) that will probably be found.
        """
        mirror, self.was_searched = self._mirror(), True
        candidate_count = min(max(k * OVERSAMPLING, MIN_CANDIDATES), MAX_CANDIDATES)
        passing = await mirror.mask_passing(filters)
        loaded_bodies: dict[int, str] = {}
        if callable(vector):
            # Nobody else uses the mirror meanwhile: this thread waits for both.
            comparable_future = _WORD_SEARCH_EXECUTOR.submit(mirror.mask_comparable, passing, model)
            word_future = _WORD_SEARCH_EXECUTOR.submit(
                _search_words_with_bodies, mirror, query, passing, candidate_count, (k, k_without_messages), on_bodies
            )
            query_vector = vector()
            comparable, (lexical, loaded_bodies) = comparable_future.result(), word_future.result()
        else:
            if isinstance(vector, Awaitable):
                await asyncio.sleep(0)  # the query goes to the model first: the rest runs meanwhile
            lexical = _search_word_index(mirror, query, passing, candidate_count)
            query_vector = await vector if isinstance(vector, Awaitable) else vector
            comparable = mirror.mask_comparable(passing, model)
        similarity: dict[int, float] = {}
        if query_vector is not None:
            near_slots, cosines = mirror.find_nearest(query_vector, comparable, candidate_count)
            similarity = dict(zip(near_slots.tolist(), cosines.tolist(), strict=True))
        # True if all rows with a matching word were found: the others have none.
        has_all_words = mirror.words.is_complete and len(lexical) < candidate_count
        default_score = 0.0 if has_all_words else None
        candidates = [
            (slot, lexical.get(slot, default_score), similarity.get(slot)) for slot in {**lexical, **similarity}
        ]
        result_slots = np.array(select(candidates), np.intp)
        if k_without_messages is not None and not mirror.mask_messages(result_slots[:k_without_messages]).any():
            result_slots = result_slots[:k_without_messages]
        # Words alone do not tell which of two neighbours answers. All are read at once: a call costs more than rows.
        neighbours = mirror.find_neighbours(result_slots[:MAX_HITS_WITH_NEIGHBOURS], NEIGHBOUR_REACH)
        neighbours = neighbours[neighbours < len(passing)]
        bodies = await self._load_bodies(
            mirror, np.concatenate([result_slots, neighbours[passing[neighbours]]]), loaded_bodies
        )
        nearness = _compute_similarities(mirror, list(bodies), query_vector, comparable)
        selected_slots = set(result_slots.tolist())
        hits = [
            SearchCandidate(
                body, mirror.get_digest(slot), lexical.get(slot) if slot in selected_slots else None, nearness.get(slot)
            )
            for slot, body in bodies.items()
        ]
        return self._recheck_filters(hits, filters) if _uses_hash_comparison(filters) else hits

    @under_read_lock
    async def read_ahead(self, compress: Callable[[Sequence[str]], Awaitable[list[bytes]]]) -> bool:
        """Load more bodies into memory; return True if unread bodies may remain.

        Nothing is loaded before the first search.
        """
        mirror = self._mirror()
        if not self.was_searched or not len(slots := mirror.find_unread_slots(READ_AHEAD_ROWS)):
            return False
        bodies = await self._load_bodies(mirror, slots)
        mirror.cache_bodies(dict(zip(bodies, await compress(list(bodies.values())), strict=True)), slots.tolist())
        return True

    # -- inside ----------------------------------------------------------------------------------------------------

    def _recheck_filters(self, hits: Sequence[SearchCandidate], filters: Filters) -> list[SearchCandidate]:
        rows = [parse_row(hit.body, hit.digest) for hit in hits]
        passing_ids = {row["id"] for row in self._quarantine.filter_intact(rows, filters)}
        return [hit for hit, row in zip(hits, rows, strict=True) if row["id"] in passing_ids]

    async def _load_rows(self, mirror: TableMirror, slots: Slots) -> dict[int, Row]:
        """Return the intact rows in these slots, in the same order."""
        bodies = await self._load_bodies(mirror, slots)
        return {slot: parse_row(body, mirror.get_digest(slot)) for slot, body in bodies.items()}

    async def _load_bodies(
        self, mirror: TableMirror, slots: Slots, preloaded_bodies: Mapping[int, str] | None = None
    ) -> dict[int, str]:
        """Return the intact bodies in these slots, in the same order.

        `preloaded_bodies` are already loaded. Bodies that were read ahead have already been verified.
        """
        loaded_bodies = preloaded_bodies or {}
        cached_bodies = {slot: loaded_bodies[slot] for slot in slots.tolist() if slot in loaded_bodies}
        cached_bodies |= _get_cached_bodies(mirror, [slot for slot in slots.tolist() if slot not in loaded_bodies])
        slots_by_address = {mirror.get_address(slot): slot for slot in slots.tolist() if slot not in cached_bodies}
        slots_by_address.pop(NO_ADDRESS, None)
        reader = mirror.reader
        disk_rows = await reader.load_rows(list(slots_by_address), ("body",)) if slots_by_address else []
        fresh_bodies = {slot: body for slot, body in cached_bodies.items() if mirror.get_address(slot) == NO_ADDRESS}
        bodies = fresh_bodies | {slots_by_address[row["_rowid"]]: row["body"] for row in disk_rows}
        intact_bodies = _filter_intact(mirror, bodies)
        if len(intact_bodies) < len(bodies):
            ids = {slot: identifier for identifier, slot in mirror.fresh_slots.items()}
            damaged_rows = [
                {"id": ids[slot], "body": body, "digest": mirror.get_digest(slot)}
                for slot, body in fresh_bodies.items()
                if slot not in intact_bodies and slot in ids
            ]
            damaged_addresses = [address for address, slot in slots_by_address.items() if slot not in intact_bodies]
            self._quarantine.filter_intact([*damaged_rows, *await reader.load_rows(damaged_addresses, SERVED_COLUMNS)])
        verified_bodies = {
            slot: body for slot, body in cached_bodies.items() if slot not in fresh_bodies
        } | intact_bodies
        return {slot: verified_bodies[slot] for slot in slots.tolist() if slot in verified_bodies}


def _search_words_with_bodies(
    mirror: TableMirror,
    words: str,
    passing: Mask,
    candidate_count: int,
    limits: tuple[int, int | None],
    on_bodies: Callable[[Sequence[str]], object] | None,
) -> tuple[dict[int, float], dict[int, str]]:
    """Search the word index; return the scores and the cached bodies of the best rows.

    `limits` is (k, few): the bodies of `few` rows are enough if no message is among the `few` best hits; otherwise
    those of `k` rows are needed.
    """
    lexical = _search_word_index(mirror, words, passing, candidate_count)
    (k, few), slots = limits, list(lexical)
    if few is not None and not mirror.mask_messages(np.array(slots[:few], np.intp)).any():
        k = few
    bodies = _get_cached_bodies(mirror, slots[:k])
    if on_bodies is not None:
        on_bodies(list(bodies.values()))
    return lexical, bodies


def _search_word_index(mirror: TableMirror, words: str, passing: Mask, k: int) -> dict[int, float]:
    slots, scores = mirror.words.search(count_terms(words), passing, k)
    return dict(zip(slots.tolist(), scores.tolist(), strict=True))


def _get_cached_bodies(mirror: TableMirror, slots: Sequence[int]) -> dict[int, str]:
    return {slot: body for slot in slots if (body := mirror.bodies.get(slot)) is not None}


def _filter_intact(mirror: TableMirror, bodies: Mapping[int, str]) -> dict[int, str]:
    """Return the bodies that match their digest."""
    return {slot: body for slot, body in bodies.items() if compute_digest([body]) == mirror.get_digest(slot)}


def _compute_similarities(
    mirror: TableMirror, slots: Sequence[int], vector: bytes | None, comparable: Mask
) -> dict[int, float]:
    """Return the cosine similarity of each row that has a comparable vector."""
    with_vector = [slot for slot in slots if comparable[slot]]
    if vector is None or not with_vector:
        return {}
    cosines = mirror.compute_similarities(np.array(with_vector, np.intp), vector)
    return dict(zip(with_vector, cosines.tolist(), strict=True))


def _uses_hash_comparison(filters: Filters) -> bool:
    """Return True if a filter is compared only by hash. Such a filter may let wrong rows through."""
    return bool(filters.tags or filters.key or filters.family or filters.replaced_by or filters.path_prefix)


def _newest_first(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-row["at"], row["id"]))


def _has_name(row: Row, name: str) -> bool:
    memory = get_memory(row)
    return name in (memory.id, memory.ref, memory.key)
