"""In-memory mirror of a table.

The mirror contains the addresses, filter columns and short vectors of all rows, because the database would scan the
whole table for every query. Rows are read at the version of the last compaction, to which `reader` is pinned; fresh
rows, which were written since that version, are kept in the mirror as a whole. Only the word index is stored on disk.
Everything else is loaded when the table is opened, which takes one second for 100,000 rows.

A slot is the position of a row in the mirror's arrays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hunchd.domain.filters import Filters, has_path
from hunchd.domain.session import neighbour_numbers, parse_message_ref
from hunchd.store.database import sql_conditions
from hunchd.store.database.lance import Table
from hunchd.store.database.row_preparation import get_packed_body, get_term_counts
from hunchd.store.database.tables import DIGEST_BYTES, DIMENSIONS, Row, get_memory
from hunchd.store.indexes.body_cache import BodyCache
from hunchd.store.indexes.hash_index import HashIndex
from hunchd.store.indexes.postings import KeyArray as RowKeys
from hunchd.store.indexes.postings import WordPostings
from hunchd.store.indexes.vector_scan import Mask, Slots, VectorIndex
from hunchd.store.memory_codec import to_microseconds

# Fresh rows: those written since the last compaction, which are kept here as a whole.
MAX_FRESH_ROWS: Final = 5_000
NO_ADDRESS: Final = np.iinfo(np.uint64).max  # address of a row that the reader does not have
# Columns of each row that are loaded.
LOADED_COLUMNS: Final = (
    "id", "ref", "key", "tags", "project", "kind", "scope", "status", "branch", "category", "at", "valid_from",
    "valid_to", "superseded_by", "digest", "embedded", "model", "vector",
)  # fmt: skip
_NEVER: Final = np.iinfo(np.int64).max
_MAX_MESSAGE_NUMBER: Final = np.iinfo(np.int32).max  # highest number of a message whose neighbours can be found
_INDEXED_COLUMNS: Final = ("id", "ref", "key", "tags", "superseded_by")
_INTERNED_COLUMNS: Final = ("project", "kind", "scope", "status", "branch", "category", "model")
_COLUMN_TYPES: Final[Mapping[str, Any]] = {
    "address": np.uint64,
    "digest": f"V{DIGEST_BYTES}",
    "alive": np.bool_,
    "seen": np.bool_,  # the body was read once: it is cached unless it was damaged
    "at": np.int64,
    "valid_from": np.int64,
    "valid_to": np.int64,
    "session": np.int32,  # number of a message's session; 0: no message
    "number": np.int32,  # number of the message in its session
    **dict.fromkeys(_INTERNED_COLUMNS, np.int32),
}


@dataclass(slots=True)
class _Interner:
    """Mapping from texts to numbers; 0 stands for None."""

    numbers: dict[str | None, int] = field(default_factory=lambda: {None: 0})
    names: list[str | None] = field(default_factory=lambda: [None])

    def intern_text(self, name: str | None) -> int:
        if (number := self.numbers.get(name)) is None:
            number = self.numbers[name] = len(self.names)
            self.names.append(name)
        return number

    def find_numbers(self, names: Iterable[str | None]) -> list[int]:
        return [self.numbers[name] for name in names if name in self.numbers]


class TableMirror:
    """Mirror of one table, to be used from a single thread.

    `reader` is the table, pinned to the version to which the addresses belong.
    """

    def __init__(self, reader: Table) -> None:
        self.reader = reader
        self.fresh_slots: dict[str, int] = {}  # id → slot of each row that was written after the reader's version
        self.bodies = BodyCache()  # bodies by slot, of all fresh rows and of others that were read ahead
        self.words = WordPostings()  # words of all rows, or of some rows and all fresh ones; the owner adds the rest
        self._row_changes = 0  # number of additions and removals of rows
        self._passing_cache: tuple[Filters, int, Mask] | None = None
        self._comparable_cache: tuple[Mask, str, int, Mask] | None = None
        self._vector_changes = 0  # number of changes of vectors
        self._count = 0
        self._columns = {name: np.zeros(0, kind) for name, kind in _COLUMN_TYPES.items()}
        self._interner, self._sessions = _Interner(), _Interner()
        self._ids, self._refs, self._keys, self._tags, self._families, self._replaced = (HashIndex() for _ in range(6))
        self._nearness = VectorIndex(DIMENSIONS)
        self._slots_by_address: npt.NDArray[np.intp] = np.zeros(0, np.intp)  # slots by address

    @classmethod
    async def load(cls, reader: Table) -> TableMirror:
        """Load all rows of `reader`, which must be pinned to a version."""
        self = cls(reader)
        self._reserve(await reader.count_rows())
        async for batch in reader.scan_columns(LOADED_COLUMNS):
            self._load_batch(batch)
            await asyncio.sleep(0)
        self._refresh_indexes()
        return self

    async def switch_reader(self, reader: Table) -> None:
        """Switch to `reader`, a newer one that contains everything written so far.

        The address of each row becomes its position in the new reader, and no row is marked as written since the reader
        was opened.
        """
        addresses = np.full(self._count, NO_ADDRESS, np.uint64)
        async for batch in reader.scan_columns(("id",)):
            slots = self._ids.find_last_slots(batch["id"])
            is_known = slots >= 0
            addresses[slots[is_known]] = batch["_rowid"][is_known]
        self._columns["address"][: self._count] = addresses
        self.reader = reader
        if self.bodies.is_full:
            for slot in self.fresh_slots.values():
                self.bodies.drop(slot)
        self.fresh_slots = {}
        self._refresh_indexes()

    async def find_duplicates(self) -> list[int]:
        """Return the addresses of rows that also exist at a higher address.

        Such duplicates are left if a crash interrupts the replacement of rows.
        """
        slots = self._ids.find_shared_slots()
        rows = await self.reader.load_rows(self._columns["address"][slots].tolist(), ("id",)) if len(slots) else []
        newest: dict[str, int] = {}
        for row in rows:
            newest[row["id"]] = max(newest.get(row["id"], 0), row["_rowid"])
        return [row["_rowid"] for row in rows if row["_rowid"] < newest[row["id"]]]

    def _refresh_indexes(self) -> None:
        for keys in (self._ids, self._refs, self._keys, self._tags, self._families, self._replaced):
            keys.merge_recent()
        addresses = self._columns["address"][: self._count]
        order = np.argsort(addresses, kind="stable")
        self._slots_by_address = order[: int(np.count_nonzero(addresses != NO_ADDRESS))]

    # -- writing ---------------------------------------------------------------------------------------------------

    @property
    def row_count(self) -> int:
        """Number of rows that are not deleted."""
        return int(np.count_nonzero(self._columns["alive"][: self._count]))

    @property
    def exceeds_fresh_limit(self) -> bool:
        """True if there are more fresh rows than the mirror should keep."""
        return len(self.fresh_slots) > MAX_FRESH_ROWS

    @property
    def has_many_dead_slots(self) -> bool:
        """True if so many slots belong to deleted rows that it is worth reclaiming them."""
        return self._count > 2 * self.row_count + MAX_FRESH_ROWS

    def put(self, rows: Sequence[Row]) -> None:
        """Record rows that were written to the table.

        A row keeps its slot if only its vector was added or changed.
        """
        for row in rows:
            slot = int(self._ids.find_last_slots([row["id"]])[0])
            if slot < 0 or not self._is_alive(slot) or self.get_digest(slot) != row["digest"]:
                self._mark_dead(row["id"], slot)
                slot = self._add_row(row)
                self.fresh_slots[row["id"]] = slot
                self.cache_bodies({slot: get_packed_body(row)})
                self.words.add(slot, _row_key(row["digest"]), get_term_counts(row))
            self._columns["model"][slot] = self._interner.intern_text(row["model"])
            self._store_vector(slot, row["vector"])

    def delete(self, ids: Iterable[str]) -> None:
        for identifier in ids:
            self._mark_dead(identifier, int(self._ids.find_last_slots([identifier])[0]))

    def _mark_dead(self, identifier: str, slot: int) -> None:
        if slot >= 0:
            self._row_changes += 1
            self._columns["alive"][slot] = False
            self.bodies.drop(slot)
        self.fresh_slots.pop(identifier, None)

    def find_unread_slots(self, limit: int) -> Slots:
        """Return up to `limit` slots of rows whose body has not been read yet.

        Returns no slots if the body cache is full.
        """
        if self.bodies.is_full:
            return np.zeros(0, np.intp)
        columns = self._columns
        waiting = self._slots_by_address[
            columns["alive"][self._slots_by_address] & ~columns["seen"][self._slots_by_address]
        ]
        return waiting[:limit]

    def cache_bodies(self, bodies: Mapping[int, bytes], slots: Sequence[int] = ()) -> None:
        """Cache the packed bodies that were read for `slots`.

        A slot without a body contains a damaged row; it is marked as read all the same.
        """
        self._columns["seen"][[*bodies, *slots]] = True
        for slot, body in bodies.items():
            if self._is_alive(slot):
                self.bodies.put(slot, body)

    def load_digests(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the digests of those rows among `ids` that exist, keyed by id.

        If a row's digest differs from that of a new row with the same id, the row has changed.
        """
        slots = self._ids.find_last_slots(ids)
        return {
            identifier: bytes(self._columns["digest"][slot])
            for identifier, slot in zip(ids, slots, strict=True)
            if slot >= 0 and self._is_alive(slot)
        }

    # -- queries ---------------------------------------------------------------------------------------------------

    def find_slots(self, ids: Iterable[str]) -> Slots:
        """Return the slots of those rows among `ids` that exist."""
        return self._filter_living(self._ids.find_last_slots(list(ids)))

    def find_by_name(self, name: str) -> Slots:
        """Return the slots of rows whose id, ref or key may be `name`.

        The names are compared by their hashes, so a few rows with other names may be included.
        """
        return self._filter_living(
            np.concatenate([keys.find_slots(name) for keys in (self._ids, self._refs, self._keys)])
        )

    def mask_messages(self, slots: Slots) -> Mask:
        """Return a mask that is True where a slot contains a message of a session."""
        mask: Mask = self._columns["session"][slots] > 0
        return mask

    def find_neighbours(self, slots: Slots, reach: int) -> Slots:
        """Return the slots of messages that are close to the messages in `slots`.

        They are at most `reach` positions away in the same session. The given slots are left out. If hashes collide, a
        wrong message may be included.
        """
        messages = slots[self.mask_messages(slots)]
        if not len(messages):
            return messages
        sessions, numbers = (self._columns[name][messages].tolist() for name in ("session", "number"))
        places = {
            (session, other)
            for session, at in zip(sessions, numbers, strict=True)
            for other in neighbour_numbers(at, reach)
        }
        places -= set(zip(sessions, numbers, strict=True))
        neighbours = self._filter_living(
            self._refs.find_last_slots([f"{self._sessions.names[session]}:{at}" for session, at in places])
        )
        given_slots = set(slots.tolist())
        return np.array([slot for slot in neighbours.tolist() if slot not in given_slots], np.intp)

    def get_digest(self, slot: int) -> bytes:
        """Return the digest of the row in a slot."""
        return bytes(self._columns["digest"][slot])

    def get_address(self, slot: int) -> int:
        """Return the row's address in the reader, or NO_ADDRESS if it has none."""
        return int(self._columns["address"][slot])

    def get_times(self, slots: Slots) -> npt.NDArray[np.int64]:
        """Return the times of the rows in `slots`, in microseconds since the epoch."""
        times: npt.NDArray[np.int64] = self._columns["at"][slots]
        return times

    def mask_embedded(self, model: str) -> Mask:
        """Return a mask of the rows whose vector was computed by `model`."""
        return self.mask_living() & self._mask_values("model", [model])

    def mask_comparable(self, passing: Mask, model: str) -> Mask:
        """Return a mask of those `passing` rows that have a vector computed by `model`. The latest mask is cached."""
        last = self._comparable_cache
        if last is None or last[0] is not passing or last[1:3] != (model, self._vector_changes):
            mask: Mask = passing & self.mask_embedded(model)[: len(passing)]
            last = self._comparable_cache = (passing, model, self._vector_changes, mask)
        return last[3]

    def mask_unembedded(self, model: str) -> Mask:
        """Return a mask of the rows that have no vector computed by `model`. Deleted rows are not included."""
        return self.mask_living() & ~self.mask_embedded(model)

    async def mask_passing(self, filters: Filters) -> Mask:
        """Return a read-only mask of the rows that pass `filters`.

        Texts are compared by their hashes. The latest mask is cached until a row is added or removed, because most
        queries have the same filters.
        """
        if filters.path_prefix is not None:
            paths = await self._mask_paths(filters.path_prefix)  # first: rows may be added while the reader searches
            return self._compute_passing(filters) & paths
        if self._passing_cache is None or self._passing_cache[:2] != (filters, self._row_changes):
            mask = self._compute_passing(filters)
            mask.flags.writeable = False
            self._passing_cache = (filters, self._row_changes, mask)
        return self._passing_cache[2]

    def _compute_passing(self, filters: Filters) -> Mask:
        passing = self.mask_living().copy()
        conditions: tuple[tuple[str, list[str | None]], ...] = (
            ("project", [filters.project]),
            ("kind", [kind.value for kind in filters.kinds]),
            ("scope", [scope.value for scope in filters.scopes]),
            ("status", [status.value for status in filters.statuses]),
            ("category", [filters.category] if filters.category is not None else []),
            ("branch", [None, filters.branch] if filters.branch is not None else []),
        )
        for name, accepted_values in conditions:
            if accepted_values:
                passing &= self._mask_values(name, accepted_values)
        at = self._columns["at"][: self._count]
        if filters.since is not None:
            passing &= at >= to_microseconds(filters.since)
        if filters.until is not None:
            passing &= at <= to_microseconds(filters.until)
        if filters.as_of is not None:
            moment = to_microseconds(filters.as_of)
            begins, ends = (self._columns[name][: self._count] for name in ("valid_from", "valid_to"))
            passing &= (np.where(begins == _NEVER, at, begins) <= moment) & (moment < ends)
        for tag in filters.tags:
            passing &= self._mask_slots(self._tags.find_slots(tag))
        if filters.key is not None:
            passing &= self._mask_slots(self._keys.find_slots(filters.key))
        if filters.family is not None:
            passing &= self._mask_slots(
                np.concatenate([self._ids.find_slots(filters.family), self._families.find_slots(filters.family)])
            )
        if filters.replaced_by is not None:
            passing &= self._mask_slots(self._replaced.find_slots(filters.replaced_by))
        return passing

    def get_row_keys(self) -> RowKeys:
        """Return the key of the row in each slot, as used by the word index.

        The key consists of the first bytes of the row's digest. Unlike the slot, it stays the same after a restart.
        """
        row_keys: RowKeys = self._columns["digest"][: self._count].view("<u8")[:: DIGEST_BYTES // 8]
        return row_keys

    def find_nearest(self, vector: bytes, among: Mask, k: int) -> tuple[Slots, npt.NDArray[np.float32]]:
        """Return the `k` slots in `among` nearest to `vector`, with cosine similarities."""
        return self._nearness.find_nearest(vector, among, k)

    def compute_similarities(self, slots: Slots, vector: bytes) -> npt.NDArray[np.float32]:
        """Return the cosine similarity of each slot's vector to `vector`."""
        return self._nearness.compute_similarities(slots, vector)

    def load_short_vectors(self, ids: Sequence[str], model: str) -> dict[str, bytes]:
        """Return the vectors computed by `model` as signed bytes, keyed by id."""
        there = self.mask_embedded(model)
        pairs = zip(ids, self._ids.find_last_slots(ids).tolist(), strict=True)
        return {one: self._nearness.get_short_vector(slot) for one, slot in pairs if slot >= 0 and there[slot]}

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _mask_paths(self, prefix: str) -> Mask:
        """Return a mask of the rows that concern a path with this prefix.

        Among the rows of `reader`, the database searches for them; fresh rows are searched in the mirror.
        """
        rows = await self.reader.select_rows(sql_conditions.match_path_prefix(prefix), columns=("id",))
        reader_slots = self._ids.find_last_slots([row["id"] for row in rows])
        bodies = {slot: self.bodies.get(slot) for slot in self.fresh_slots.values()}
        fresh_slots = [slot for slot, body in bodies.items() if has_path(get_memory({"body": body}), prefix)]
        return self._mask_slots(
            np.concatenate([reader_slots[~np.isin(reader_slots, list(bodies))], np.array(fresh_slots, np.intp)])
        )

    def _is_alive(self, slot: int) -> bool:
        return bool(self._columns["alive"][slot])

    def mask_living(self) -> Mask:
        """Return a mask of the rows that are not deleted."""
        mask: Mask = self._columns["alive"][: self._count]
        return mask

    def _filter_living(self, slots: Slots) -> Slots:
        slots = np.unique(slots[slots >= 0])
        return slots[self._columns["alive"][slots]]

    def _mask_values(self, name: str, values: Iterable[str | None]) -> Mask:
        column = self._columns[name][: self._count]
        mask = np.zeros(self._count, np.bool_)
        for number in self._interner.find_numbers(values):
            mask |= column == number
        return mask

    def _mask_slots(self, slots: Slots) -> Mask:
        mask = np.zeros(self._count, np.bool_)
        mask[slots[slots >= 0]] = True
        return mask

    def _add_row(self, row: Row) -> int:
        slot = self._count
        self._row_changes += 1
        self._reserve(slot + 1)
        self._count += 1
        columns = self._columns
        columns["alive"][slot] = True
        columns["address"][slot] = NO_ADDRESS
        columns["digest"][slot] = np.void(row["digest"])
        columns["at"][slot] = row["at"]
        columns["valid_from"][slot] = _NEVER if row["valid_from"] is None else row["valid_from"]
        columns["valid_to"][slot] = _NEVER if row["valid_to"] is None else row["valid_to"]
        for name in _INTERNED_COLUMNS:
            columns[name][slot] = self._interner.intern_text(row[name])
        self._index_row(slot, *(row[name] for name in _INDEXED_COLUMNS))
        return slot

    def _index_row(
        self, slot: int, identifier: str, ref: str | None, key: str | None, tags: Sequence[str] | None, by: str | None
    ) -> None:
        self._ids.add(identifier, slot)
        if (place := parse_message_ref(ref)) is not None and place[1] <= _MAX_MESSAGE_NUMBER:
            self._columns["session"][slot] = self._sessions.intern_text(place[0])
            self._columns["number"][slot] = place[1]
        root, dot, _ = identifier.partition(".")
        for keys, texts in (
            (self._refs, [ref]),
            (self._keys, [key]),
            (self._tags, tags or ()),
            (self._families, [root] if dot else ()),
            (self._replaced, [by]),  # keyed by what replaced them
        ):
            for text in texts:
                if text is not None:
                    keys.add(text, slot)

    def _load_batch(self, batch: Mapping[str, Any]) -> None:
        """Add a batch of the reader's rows, given as columns."""
        size = len(batch["id"])
        self._row_changes += 1
        begin, self._count = self._count, self._count + size
        self._reserve(self._count)
        columns, batch_slots = self._columns, slice(begin, begin + size)
        columns["address"][batch_slots] = batch["_rowid"]
        columns["alive"][batch_slots] = True
        columns["digest"][batch_slots] = np.frombuffer(b"".join(batch["digest"]), f"V{DIGEST_BYTES}")
        columns["at"][batch_slots] = batch["at"]
        for name in ("valid_from", "valid_to"):
            columns[name][batch_slots] = [_NEVER if value is None else value for value in batch[name]]
        for name in _INTERNED_COLUMNS:
            columns[name][batch_slots] = [self._interner.intern_text(value) for value in batch[name]]
        for slot, fields in enumerate(zip(*(batch[name] for name in _INDEXED_COLUMNS), strict=True), begin):
            self._index_row(slot, *fields)
        there = np.flatnonzero(batch["embedded"])
        if len(there):
            self._nearness.put(begin + there, batch["vector"][there])

    def _store_vector(self, slot: int, vector: bytes | None) -> None:
        self._vector_changes += 1
        place = np.array([slot])
        if vector is None:
            self._nearness.clear(place)
        else:
            self._nearness.put(place, np.frombuffer(vector, "<f4")[None])

    def _reserve(self, slots: int) -> None:
        if slots <= len(self._columns["alive"]):
            return
        size = slots + slots // 4
        for name, column in self._columns.items():
            grown_array = np.zeros(size, column.dtype)
            grown_array[: len(column)] = column
            self._columns[name] = grown_array
        self._nearness.reserve(size)


def _row_key(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "little")
