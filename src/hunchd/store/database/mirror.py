"""In-memory mirror of a table.

It holds addresses, filter columns and short vectors of all rows. The database answers in milliseconds only what it
has indexed. So it is queried at the version of the last compaction (`reader` is pinned to it), and rows written
since are held here complete. Nothing of the mirror is on disk, except for the word index: it is loaded when the
table is opened, in one second for 100,000 rows.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hunchd.domain.filters import Filters, matches
from hunchd.domain.session import around, place_in_session
from hunchd.store.database import expressions
from hunchd.store.database.lance import Table
from hunchd.store.database.readying import packed_body, terms
from hunchd.store.database.tables import DIGEST_BYTES, DIMENSIONS, Row, memory_of, microseconds
from hunchd.store.indexes.bodies import Bodies
from hunchd.store.indexes.keys import Keys
from hunchd.store.indexes.nearness import Mask, Nearness, Slots
from hunchd.store.indexes.postings import Keys as RowKeys
from hunchd.store.indexes.postings import Postings

# Rows written since the last compaction that are held here complete.
MOST_FRESH: Final = 5_000
NOWHERE: Final = np.iinfo(np.uint64).max  # address of a row that the reader does not have
# Columns that are loaded of each row.
LOADED: Final = (
    "id", "ref", "key", "tags", "project", "kind", "scope", "status", "branch", "category", "at", "valid_from",
    "valid_to", "digest", "embedded", "model", "vector",
)  # fmt: skip
_NEVER: Final = np.iinfo(np.int64).max
_LAST: Final = np.iinfo(np.int32).max  # number of a message that has neighbours
_LISTED: Final = ("project", "kind", "scope", "status", "branch", "category", "model")
_COLUMNS: Final[Mapping[str, Any]] = {
    "address": np.uint64,
    "digest": f"V{DIGEST_BYTES}",
    "alive": np.bool_,
    "seen": np.bool_,  # the body was read once: it is cached unless it was damaged
    "at": np.int64,
    "valid_from": np.int64,
    "valid_to": np.int64,
    "session": np.int32,  # number of a message's session; 0: no message
    "number": np.int32,  # of the message in its session
    **dict.fromkeys(_LISTED, np.int32),
}


@dataclass(slots=True)
class _Names:
    """Interned texts: maps each text to a number. 0 stands for None."""

    numbers: dict[str | None, int] = field(default_factory=lambda: {None: 0})
    names: list[str | None] = field(default_factory=lambda: [None])

    def number(self, name: str | None) -> int:
        if (number := self.numbers.get(name)) is None:
            number = self.numbers[name] = len(self.names)
            self.names.append(name)
        return number

    def known(self, names: Iterable[str | None]) -> list[int]:
        return [self.numbers[name] for name in names if name in self.numbers]


class Mirror:
    """Mirror of one table, used from one thread.

    `reader` is the table, pinned to the version that the addresses belong to.
    """

    def __init__(self, reader: Table) -> None:
        self.reader = reader
        self.fresh: dict[str, int] = {}  # id → slot of what was written since the reader's version
        self.bodies = Bodies()  # by slot: of all fresh rows, and of others that were read ahead
        self.words = Postings()  # of all rows, or of some and the fresh ones: the owner adds the others
        self.scattered = 0  # rows of the reader missing from its indexes: scanned one by one
        self._changes = 0  # number of additions and removals of rows
        self._passed: tuple[Filters, int, Mask] | None = None
        self._embedded: tuple[Mask, str, int, Mask] | None = None
        self._vectors = 0  # number of changes of vectors
        self._count = 0
        self._columns = {name: np.zeros(0, kind) for name, kind in _COLUMNS.items()}
        self._names, self._sessions = _Names(), _Names()
        self._ids, self._refs, self._keys, self._tags, self._families = (Keys() for _ in range(5))
        self._nearness = Nearness(DIMENSIONS)
        self._order: npt.NDArray[np.intp] = np.zeros(0, np.intp)  # slots by address
        self._sorted: npt.NDArray[np.uint64] = np.zeros(0, np.uint64)

    @classmethod
    async def load(cls, reader: Table) -> Mirror:
        """Load all rows of `reader`, which is pinned to its version."""
        self = cls(reader)
        self._reserve(await reader.count())
        async for batch in reader.columns_of(LOADED):
            self._take_in(batch)
            await asyncio.sleep(0)
        await self._settled()
        return self

    async def follow(self, reader: Table) -> None:
        """Switch to a newer `reader` that contains everything written so far.

        Rows have new addresses in it, and no row is fresh any more.
        """
        addresses = np.full(self._count, NOWHERE, np.uint64)
        async for batch in reader.columns_of(("id",)):
            slots = self._ids.first(batch["id"])
            known = slots >= 0
            addresses[slots[known]] = batch["_rowid"][known]
        self._columns["address"][: self._count] = addresses
        self.reader = reader
        if self.bodies.is_full:
            for slot in self.fresh.values():
                self.bodies.drop(slot)
        self.fresh = {}
        await self._settled()

    async def doubled(self) -> list[int]:
        """Return the addresses of rows that also exist at a higher address.

        They are left by a crash while rows were replaced.
        """
        slots = self._ids.shared()
        rows = await self.reader.at_addresses(self._columns["address"][slots].tolist(), ("id",)) if len(slots) else []
        newest: dict[str, int] = {}
        for row in rows:
            newest[row["id"]] = max(newest.get(row["id"], 0), row["_rowid"])
        return [row["_rowid"] for row in rows if row["_rowid"] < newest[row["id"]]]

    async def _settled(self) -> None:
        for keys in (self._ids, self._refs, self._keys, self._tags, self._families):
            keys.settle()
        addresses = self._columns["address"][: self._count]
        order = np.argsort(addresses, kind="stable")
        self._order = order[: int(np.count_nonzero(addresses != NOWHERE))]
        self._sorted = addresses[self._order]
        self.scattered = await self.reader.unindexed() if self._count else 0

    # -- writing ---------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """Number of living rows."""
        return int(np.count_nonzero(self._columns["alive"][: self._count]))

    @property
    def is_full(self) -> bool:
        """True if more rows are fresh than should be held here."""
        return len(self.fresh) > MOST_FRESH

    @property
    def is_worn(self) -> bool:
        """True if enough slots are dead to be worth reclaiming."""
        return self._count > 2 * self.rows + MOST_FRESH

    def put(self, rows: Sequence[Row]) -> None:
        """Record rows that were written.

        A row that is unchanged and has a vector now keeps its slot.
        """
        for row in rows:
            slot = int(self._ids.first([row["id"]])[0])
            if slot < 0 or not self._alive(slot) or self.digest(slot) != row["digest"]:
                self._end(row["id"], slot)
                slot = self._new(row)
                self.fresh[row["id"]] = slot
                self.keep({slot: packed_body(row)})
                self.words.add(slot, _key_of(row["digest"]), terms(row))
            self._columns["model"][slot] = self._names.number(row["model"])
            self._keep_vector(slot, row["vector"])

    def delete(self, ids: Iterable[str]) -> None:
        for identifier in ids:
            self._end(identifier, int(self._ids.first([identifier])[0]))

    def _end(self, identifier: str, slot: int) -> None:
        if slot >= 0:
            self._changes += 1
            self._columns["alive"][slot] = False
            self.bodies.drop(slot)
        self.fresh.pop(identifier, None)

    def unseen(self, many: int) -> Slots:
        """Return up to `many` reader slots with unread bodies.

        Returns none if there is no room for more.
        """
        if self.bodies.is_full:
            return np.zeros(0, np.intp)
        columns = self._columns
        waiting = self._order[columns["alive"][self._order] & ~columns["seen"][self._order]]
        return waiting[:many]

    def keep(self, bodies: Mapping[int, bytes], slots: Sequence[int] = ()) -> None:
        """Store the packed bodies read of `slots`; the other slots are damaged."""
        self._columns["seen"][[*bodies, *slots]] = True
        for slot, body in bodies.items():
            if self._alive(slot):
                self.bodies.put(slot, body)

    def digests_of(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the digests of the rows that exist, by id.

        A different digest means that the row has changed.
        """
        slots = self._ids.first(ids)
        return {
            identifier: bytes(self._columns["digest"][slot])
            for identifier, slot in zip(ids, slots, strict=True)
            if slot >= 0 and self._alive(slot)
        }

    # -- queries ---------------------------------------------------------------------------------------------------

    def slots_of(self, ids: Iterable[str]) -> Slots:
        """Return the slots of the rows that exist."""
        return self._living(self._ids.first(list(ids)))

    def called(self, name: str) -> Slots:
        """Return the slots whose id, caller's key or key may be `name`."""
        return self._living(np.concatenate([keys.find(name) for keys in (self._ids, self._refs, self._keys)]))

    def are_messages(self, slots: Slots) -> Mask:
        """Return a mask of the slots with messages of sessions."""
        found: Mask = self._columns["session"][slots] > 0
        return found

    def beside(self, slots: Slots, reach: int) -> Slots:
        """Return the messages up to `reach` before and after those in `slots`.

        The given slots are left out. A hash collision may add one more.
        """
        messages = slots[self.are_messages(slots)]
        if not len(messages):
            return messages
        sessions, numbers = (self._columns[name][messages].tolist() for name in ("session", "number"))
        places = {
            (session, other) for session, at in zip(sessions, numbers, strict=True) for other in around(at, reach)
        }
        places -= set(zip(sessions, numbers, strict=True))
        found = self._living(self._refs.first([f"{self._sessions.names[session]}:{at}" for session, at in places]))
        known = set(slots.tolist())
        return np.array([slot for slot in found.tolist() if slot not in known], np.intp)

    def holding(self, addresses: npt.ArrayLike) -> Slots:
        """Return the slot of each address of the reader.

        It is -1 if the row was replaced or deleted.
        """
        wanted = np.asarray(addresses, np.uint64)
        if not len(self._sorted) or not len(wanted):
            return np.full(len(wanted), -1, np.intp)
        at = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        slots = self._order[at]
        columns = self._columns
        there = (self._sorted[at] == wanted) & columns["alive"][slots] & (columns["address"][slots] == wanted)
        return np.where(there, slots, -1)

    def digest(self, slot: int) -> bytes:
        """Return the digest of the text of a row."""
        return bytes(self._columns["digest"][slot])

    def address(self, slot: int) -> int:
        """Return the address of the row in the reader, or NOWHERE."""
        return int(self._columns["address"][slot])

    def times(self, slots: Slots) -> npt.NDArray[np.int64]:
        """Return the times of the slots in microseconds since the epoch."""
        found: npt.NDArray[np.int64] = self._columns["at"][slots]
        return found

    def embedded_by(self, model: str) -> Mask:
        """Return a mask of the rows whose vector this model computed."""
        return self._alive_all() & self._one_of("model", [model])

    def comparable(self, passing: Mask, model: str) -> Mask:
        """Return a mask of `passing` rows with a vector of `model`.

        The last mask is cached.
        """
        last = self._embedded
        if last is None or last[0] is not passing or last[1:3] != (model, self._vectors):
            found: Mask = passing & self.embedded_by(model)[: len(passing)]
            last = self._embedded = (passing, model, self._vectors, found)
        return last[3]

    def not_embedded_by(self, model: str) -> Mask:
        """Return a mask of living rows without a vector of this model."""
        return self._alive_all() & ~self.embedded_by(model)

    async def passing(self, filters: Filters) -> Mask:
        """Return a read-only mask of the rows that pass `filters`.

        Texts are compared by hash. The last mask is cached until a row is added or removed, because most queries
        have the same filters.
        """
        if filters.path_prefix is not None:
            about = Filters(project=filters.project, statuses=(), path_prefix=filters.path_prefix)
            paths = await self._about(about)  # first: rows may be added while the reader searches
            return self._passing(filters) & paths
        if self._passed is None or self._passed[:2] != (filters, self._changes):
            mask = self._passing(filters)
            mask.flags.writeable = False
            self._passed = (filters, self._changes, mask)
        return self._passed[2]

    def _passing(self, filters: Filters) -> Mask:
        passing = self._alive_all().copy()
        wishes: tuple[tuple[str, list[str | None]], ...] = (
            ("project", [filters.project]),
            ("kind", [kind.value for kind in filters.kinds]),
            ("scope", [scope.value for scope in filters.scopes]),
            ("status", [status.value for status in filters.statuses]),
            ("category", [filters.category] if filters.category is not None else []),
            ("branch", [None, filters.branch] if filters.branch is not None else []),
        )
        for name, wanted in wishes:
            if wanted:
                passing &= self._one_of(name, wanted)
        at = self._columns["at"][: self._count]
        if filters.since is not None:
            passing &= at >= microseconds(filters.since)
        if filters.until is not None:
            passing &= at <= microseconds(filters.until)
        if filters.as_of is not None:
            moment = microseconds(filters.as_of)
            begins, ends = (self._columns[name][: self._count] for name in ("valid_from", "valid_to"))
            passing &= (np.where(begins == _NEVER, at, begins) <= moment) & (moment < ends)
        for tag in filters.tags:
            passing &= self._only(self._tags.find(tag))
        if filters.key is not None:
            passing &= self._only(self._keys.find(filters.key))
        if filters.family is not None:
            passing &= self._only(np.concatenate([self._ids.find(filters.family), self._families.find(filters.family)]))
        return passing

    def keys(self) -> RowKeys:
        """Return the key of each slot in `words`.

        It consists of the first bytes of the row's digest. Unlike the slot it survives a restart.
        """
        found: RowKeys = self._columns["digest"][: self._count].view("<u8")[:: DIGEST_BYTES // 8]
        return found

    def living(self) -> Mask:
        """Return a mask of the living rows."""
        return self._alive_all()

    def is_fresh(self) -> Mask:
        """Return a mask of the rows written since the reader's version."""
        found: Mask = self._columns["address"][: self._count] == NOWHERE
        return found

    def scale_of_fresh(self) -> float:
        """Return the factor that makes scores of `words` comparable with the reader's.

        Needed while `words` does not contain all rows: a word is rarer, the more texts there are without it.
        """
        return math.log(2 + self.rows) / math.log(2 + len(self.words))

    def nearest(self, vector: bytes, among: Mask, k: int) -> tuple[Slots, npt.NDArray[np.float32]]:
        """Return the `k` slots nearest to the vector, with similarities."""
        return self._nearness.nearest(vector, among, k)

    def similarities(self, slots: Slots, vector: bytes) -> npt.NDArray[np.float32]:
        """Return the cosine of each slot's vector with `vector`."""
        return self._nearness.similarities(slots, vector)

    def short_vectors(self, ids: Sequence[str], model: str) -> dict[str, bytes]:
        """Return the vectors of this model as signed bytes, by id."""
        there = self.embedded_by(model)
        pairs = zip(ids, self._ids.first(ids).tolist(), strict=True)
        return {one: self._nearness.short(slot) for one, slot in pairs if slot >= 0 and there[slot]}

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _about(self, filters: Filters) -> Mask:
        """Return a mask of the rows about some paths.

        The reader searches its own rows.
        """
        rows = await self.reader.select(expressions.expression(filters), columns=("id",))
        there = self._ids.first([row["id"] for row in rows])
        bodies = {slot: self.bodies.get(slot) for slot in self.fresh.values()}
        fresh = [slot for slot, body in bodies.items() if matches(memory_of({"body": body}), filters)]
        return self._only(np.concatenate([there[~np.isin(there, list(bodies))], np.array(fresh, np.intp)]))

    def _alive(self, slot: int) -> bool:
        return bool(self._columns["alive"][slot])

    def _alive_all(self) -> Mask:
        found: Mask = self._columns["alive"][: self._count]
        return found

    def _living(self, slots: Slots) -> Slots:
        slots = np.unique(slots[slots >= 0])
        return slots[self._columns["alive"][slots]]

    def _one_of(self, name: str, wanted: Iterable[str | None]) -> Mask:
        column = self._columns[name][: self._count]
        mask = np.zeros(self._count, np.bool_)
        for number in self._names.known(wanted):
            mask |= column == number
        return mask

    def _only(self, slots: Slots) -> Mask:
        mask = np.zeros(self._count, np.bool_)
        mask[slots[slots >= 0]] = True
        return mask

    def _new(self, row: Row) -> int:
        slot = self._count
        self._changes += 1
        self._reserve(slot + 1)
        self._count += 1
        columns = self._columns
        columns["alive"][slot] = True
        columns["address"][slot] = NOWHERE
        columns["digest"][slot] = np.void(row["digest"])
        columns["at"][slot] = row["at"]
        columns["valid_from"][slot] = _NEVER if row["valid_from"] is None else row["valid_from"]
        columns["valid_to"][slot] = _NEVER if row["valid_to"] is None else row["valid_to"]
        for name in _LISTED:
            columns[name][slot] = self._names.number(row[name])
        self._index(slot, row["id"], row["ref"], row["key"], row["tags"])
        return slot

    def _index(self, slot: int, identifier: str, ref: str | None, key: str | None, tags: Sequence[str] | None) -> None:
        self._ids.add(identifier, slot)
        if (place := place_in_session(ref)) is not None and place[1] <= _LAST:
            self._columns["session"][slot] = self._sessions.number(place[0])
            self._columns["number"][slot] = place[1]
        root, dot, _ = identifier.partition(".")
        for keys, texts in (
            (self._refs, [ref]),
            (self._keys, [key]),
            (self._tags, tags or ()),
            (self._families, [root] if dot else ()),
        ):
            for text in texts:
                if text is not None:
                    keys.add(text, slot)

    def _take_in(self, batch: Mapping[str, Any]) -> None:
        """Add rows of the reader, given as columns."""
        size = len(batch["id"])
        self._changes += 1
        begin, self._count = self._count, self._count + size
        self._reserve(self._count)
        columns, place = self._columns, slice(begin, begin + size)
        columns["address"][place] = batch["_rowid"]
        columns["alive"][place] = True
        columns["digest"][place] = np.frombuffer(b"".join(batch["digest"]), f"V{DIGEST_BYTES}")
        columns["at"][place] = batch["at"]
        for name in ("valid_from", "valid_to"):
            columns[name][place] = [_NEVER if value is None else value for value in batch[name]]
        for name in _LISTED:
            columns[name][place] = [self._names.number(value) for value in batch[name]]
        for slot, told in enumerate(zip(*(batch[name] for name in ("id", "ref", "key", "tags")), strict=True), begin):
            self._index(slot, *told)
        there = np.flatnonzero(batch["embedded"])
        if len(there):
            self._nearness.put(begin + there, batch["vector"][there])

    def _keep_vector(self, slot: int, vector: bytes | None) -> None:
        self._vectors += 1
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
            grown = np.zeros(size, column.dtype)
            grown[: len(column)] = column
            self._columns[name] = grown
        self._nearness.reserve(size)


def _key_of(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "little")
