"""Growing numbers in packed arrays: what a dictionary of dictionaries would hold, at a tenth of the memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Arrays = dict[str, Array]
Scores = tuple[Array, Array]  # numbers (of files, of units), once each, and a value for each

FIRST_CAPACITY = 16
SPARSE, FEW = 24, 2_000  # numbers that reach beyond so many times how many they are: sorting beats counting

LONG_TO_SELECT = 8  # values
LONG_STRETCH = 300  # numbers: longer ones are faster copied whole than one by one


def spans(starts: Array, sizes: Array) -> Array:
    """The indexes start, start + 1, … of several stretches, one after the other."""
    ends = sizes.cumsum()
    indexes: Array = (starts - ends + sizes).repeat(sizes)
    indexes += np.arange(len(indexes))
    return indexes


def stretches(starts: Array, sizes: Array, *arrays: Array) -> list[Array]:
    """Several stretches of each array, one after the other."""
    total = int(sizes.sum())
    if not total:
        return [array[:0] for array in arrays]
    if total >= LONG_STRETCH * len(starts):
        slices = [slice(start, start + size) for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
        return [np.concatenate([array[:0], *(array[one] for one in slices)]) for array in arrays]
    every = spans(starts, sizes)
    return [array.take(every) for array in arrays]


def concatenated(arrays: list[Array]) -> Array:
    """Rows of one type, one after the other."""
    dtype = arrays[0].dtype
    if dtype.names is None:
        return np.concatenate(arrays)
    return np.concatenate([raw(array) for array in arrays]).view(dtype)


def raw(records: Array) -> Array:
    """Records as bytes: numpy compares and copies structured types field by field, which costs more."""
    return records.view(np.dtype((np.void, records.dtype.itemsize)))


def summed(numbers: Array, values: Array) -> Scores:
    """The same numbers once each, rising, their values added."""
    if not len(numbers):
        return nothing()
    if _near(numbers):
        return sparse(np.bincount(numbers, weights=values))
    once, order, starts = _grouped(numbers)
    return once, np.add.reduceat(values.take(order), starts).astype("<f4", copy=False)


def summed_each(parts: Sequence[Scores]) -> list[Scores]:
    """`summed`, of each of several with values of one type: those that are to be sorted are sorted together."""
    far = [place for place, (numbers, _) in enumerate(parts) if len(numbers) and not _near(numbers)]
    if len(far) < 2:
        return [summed(*part) for part in parts]
    step = 1 + max(int(np.maximum.reduce(parts[place][0])) for place in far)
    once, order, starts = _grouped(np.concatenate([parts[place][0] + at * step for at, place in enumerate(far)]))
    values = np.concatenate([parts[place][1] for place in far]).take(order)
    sums = np.add.reduceat(values, starts).astype("<f4", copy=False)
    ends = once.searchsorted(np.arange(1, len(far) + 1) * step).tolist()
    found = {
        place: (once[start:end] - at * step, sums[start:end])
        for at, (place, start, end) in enumerate(zip(far, [0, *ends], ends, strict=False))
    }
    return [found.get(place) or summed(*part) for place, part in enumerate(parts)]


def _near(numbers: Array) -> bool:
    """Whether counting takes less than sorting."""
    return int(np.maximum.reduce(numbers)) < SPARSE * len(numbers) + FEW


def _grouped(numbers: Array) -> tuple[Array, Array, Array]:
    """The numbers once each, rising; the order that brings the same ones together, and where in it each begins."""
    order = numbers.argsort(kind="stable")
    ordered = numbers.take(order)
    starts = _begins(ordered).nonzero()[0]
    return ordered.take(starts), order, starts


def sparse(values: Array) -> Scores:
    """The places that are not zero, and their values."""
    places = (values != 0).nonzero()[0]  # of truths: much faster than of numbers
    return places, values[places].astype("<f4")


def nothing() -> Scores:
    return np.empty(0, "<i4"), np.empty(0, "<f4")


def strongest(numbers: Array, values: Array) -> Scores:
    """The same numbers once each, with the highest of their values."""
    if not len(numbers):
        return nothing()
    once, order, starts = _grouped(numbers)
    return once, np.maximum.reduceat(values.take(order), starts)


def distinct(numbers: Array) -> Array:
    """The same numbers once each, rising."""
    ordered = np.sort(numbers)
    once: Array = ordered[_begins(ordered)]
    return once


def _begins(ordered: Array) -> Array:
    """Of numbers in order, which are the first of their kind."""
    begins = np.empty(len(ordered), "?")
    begins[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return begins


def highest(values: Array, most: int) -> Array:
    """The places of the `most` highest of more values, in no certain order.

    Of many values only those as high as the best of stretches of them are looked at. Where a tie is to be decided all
    are partitioned, which takes longer than to sort them without their places.
    """
    stretch = len(values) // (2 * most)
    high = values
    if stretch >= LONG_TO_SELECT:
        tops = np.sort(np.maximum.reduce(values[: stretch * 2 * most].reshape(stretch, -1)))
        high = values[values >= tops[most]]
    ordered = np.sort(high)
    if len(high) == most or ordered[-most - 1] < ordered[-most]:
        places: Array = (values >= ordered[-most]).nonzero()[0]
        return places
    return np.argpartition(-values, most)[:most]


def among(values: Array, rising: Array) -> Array:
    """Which values are among others that are in rising order."""
    if not len(rising):
        return np.zeros(len(values), "?")
    at = rising.searchsorted(values)
    at[at == len(rising)] = 0
    among: Array = rising[at] == values
    return among


class Column:
    """One array that grows at its end, or on request up to an index; amortised constant time."""

    __slots__ = ("_array", "_default", "size")

    def __init__(self, array: Array, default: float = 0) -> None:
        self._array = array
        self._default = default
        self.size = len(array)

    @classmethod
    def of(cls, dtype: str, default: float = 0) -> Column:
        return cls(np.empty(0, dtype), default)

    def __len__(self) -> int:
        return self.size

    @property
    def view(self) -> Array:
        """The values; writing to it writes to the column. Void after the next growth."""
        return self._array[: self.size]

    def append(self, value: Any) -> None:
        self.reach(self.size + 1)
        self._array[self.size - 1] = value

    def extend(self, values: Sequence[Any] | Array) -> None:
        start = self.size
        self.reach(start + len(values))
        self._array[start : self.size] = values

    def reach(self, size: int) -> None:
        """At least `size` values; new ones are the default."""
        if size <= self.size:
            return
        if size > len(self._array):
            grown = np.full(max(FIRST_CAPACITY, size, len(self._array) * 3 // 2), self._default, self._array.dtype)
            grown[: self.size] = self._array[: self.size]
            self._array = grown
        self.size = size


class Rows:
    """A row of its own length for each index: a packed base as it was loaded, and the rows changed since."""

    __slots__ = ("_base", "_changed", "_offsets", "dtype", "size")

    def __init__(self, base: Array, offsets: Array) -> None:
        self._base = base
        self._offsets = offsets
        self._changed: dict[int, Array] = {}
        self.dtype = base.dtype
        self.size = len(offsets) - 1

    @classmethod
    def of(cls, dtype: Any) -> Rows:
        return cls(np.empty(0, dtype), np.zeros(1, "<i8"))

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Array:
        changed = self._changed.get(index)
        if changed is not None:
            return changed
        if index + 1 < len(self._offsets):
            return self._base[self._offsets[index] : self._offsets[index + 1]]
        return self._base[:0]

    def joined(self, indexes: Array) -> tuple[Array, Array]:
        """Several rows in one array, and for each element the place of its row in `indexes`; in no certain order."""
        listed = indexes.tolist()
        changed = [place for place, index in enumerate(listed) if index in self._changed] if self._changed else []
        held = np.minimum(indexes, max(len(self._offsets) - 2, 0))
        starts = self._offsets.take(held)
        sizes = self._offsets.take(held + 1) - starts if len(self._offsets) > 1 else np.zeros(len(listed), "<i8")
        sizes[indexes != held] = 0
        if changed:
            sizes[changed] = 0
        joined, which = self._base.take(spans(starts, sizes)), np.arange(len(listed)).repeat(sizes)
        if not changed:
            return joined, which
        rows = [self._changed[listed[place]] for place in changed]
        return (
            concatenated([joined, *rows]),
            np.concatenate([which, np.repeat(changed, [len(row) for row in rows])]),
        )

    def __setitem__(self, index: int, row: Array) -> None:
        self._changed[index] = row
        self.size = max(self.size, index + 1)

    def packed(self) -> tuple[Array, Array]:
        """The same rows as one array and its offsets."""
        rows = [self[index] for index in range(self.size)]
        offsets = np.zeros(self.size + 1, "<i8")
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return (np.concatenate(rows) if rows else np.empty(0, self.dtype)), offsets


class Strings:
    """Texts by index, as one run of bytes and the texts added since it was loaded."""

    __slots__ = ("_added", "_base", "_offsets")

    def __init__(self, base: bytes = b"", offsets: Array | None = None) -> None:
        self._base = base
        self._offsets = np.zeros(1, "<i8") if offsets is None else offsets
        self._added: list[str] = []

    def __len__(self) -> int:
        return len(self._offsets) - 1 + len(self._added)

    def __getitem__(self, index: int) -> str:
        loaded = len(self._offsets) - 1
        if index >= loaded:
            return self._added[index - loaded]
        return self._base[self._offsets[index] : self._offsets[index + 1]].decode("utf-8", "replace")

    def append(self, text: str) -> None:
        self._added.append(text)

    def packed(self) -> tuple[Array, Array]:
        texts = [self[index].encode("utf-8", "replace") for index in range(len(self))]
        offsets = np.zeros(len(texts) + 1, "<i8")
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return np.frombuffer(b"".join(texts), "u1"), offsets


class Postings:
    """Key to the (document, count) pairs that hold it, in the order they were added.

    Loaded postings are two sorted arrays searched by bisection; what was added since is kept by key beside them.
    """

    __slots__ = ("_added", "_base_counts", "_base_documents", "_keys", "_offsets", "_read", "added")

    def __init__(self, keys: Array, offsets: Array, documents: Array, counts: Array) -> None:
        self._keys = keys
        self._offsets = offsets
        self._base_documents = documents
        self._base_counts = counts
        self._added: dict[int, tuple[list[int], list[int]]] = {}
        self._read: dict[int, tuple[Array, Array]] = {}  # added ones as arrays, made when first read
        self.added = 0  # pairs beside the loaded ones: some eighty bytes each, instead of six

    @classmethod
    def of(cls) -> Postings:
        return cls(np.empty(0, "<u4"), np.zeros(1, "<i8"), np.empty(0, "<i4"), np.empty(0, "<u2"))

    def add(self, document: int, keys: Iterable[int], counts: Iterable[int]) -> None:
        added = self._added
        for key, count in zip(keys, counts, strict=True):
            entry = added.get(key)
            if entry is None:
                added[key] = ([document], [count])
            else:
                entry[0].append(document)
                entry[1].append(count)
            self.added += 1

    def merging(self, keep: Callable[[Array], Array]) -> Callable[[], Callable[[], None]]:
        """Work for any thread: what was added so far is sorted in among what was loaded, but for the documents that
        `keep` does not let through. What it returns is for the thread that adds, which may have gone on meanwhile."""
        held = [(key, documents, counts, len(documents)) for key, (documents, counts) in self._added.items()]

        def work() -> Callable[[], None]:
            sizes = [size for *_, size in held]
            documents = [document for _, documents, _, size in held for document in documents[:size]]
            counts = [count for _, _, counts, size in held for count in counts[:size]]
            late = np.repeat(np.array([key for key, *_ in held], "<u4"), sizes)
            keys = np.concatenate([np.repeat(self._keys, np.diff(self._offsets)), late])
            every = np.concatenate([self._base_documents, np.array(documents, "<i4")])
            often = np.concatenate([self._base_counts, np.array(counts, "<u2")])
            kept = keep(every).nonzero()[0]
            order = kept[keys[kept].argsort(kind="stable")]  # of one key the newest stay last
            unique, starts = np.unique(keys[order], return_index=True)
            offsets = np.append(starts, len(order)).astype("<i8")
            return partial(self._merged, held, unique, offsets, every[order], often[order])

        return work

    def _merged(
        self,
        held: list[tuple[int, list[int], list[int], int]],
        keys: Array,
        offsets: Array,
        documents: Array,
        counts: Array,
    ) -> None:
        self._keys, self._offsets, self._base_documents, self._base_counts = keys, offsets, documents, counts
        for key, _, _, size in held:
            some_documents, some_counts = self._added.pop(key)
            self._read.pop(key, None)
            if len(some_documents) > size:  # added meanwhile
                self._added[key] = (some_documents[size:], some_counts[size:])
            self.added -= size

    def of_key(self, key: int, newest: int | None = None) -> tuple[Array, Array]:
        """Documents and counts of one key, oldest first; at most the `newest` of them."""
        if not len(self._keys):
            return self._added_of(key, newest)
        at = int(self._keys.searchsorted(np.uint32(key)))  # of its own type, or numpy copies the keys
        parts_documents: list[Array] = []
        parts_counts: list[Array] = []
        if at < len(self._keys) and self._keys[at] == key:
            span = slice(self._offsets[at], self._offsets[at + 1])
            parts_documents.append(self._base_documents[span])
            parts_counts.append(self._base_counts[span])
        if key in self._added:
            documents, counts = self._added_of(key, newest)
            parts_documents.append(documents)
            parts_counts.append(counts)
        if not parts_documents:
            return self._base_documents[:0], self._base_counts[:0]
        documents = parts_documents[0] if len(parts_documents) == 1 else np.concatenate(parts_documents)
        counts = parts_counts[0] if len(parts_counts) == 1 else np.concatenate(parts_counts)
        if newest is not None:
            documents, counts = documents[-newest:], counts[-newest:]
        return documents, counts

    def of_keys(self, keys: Array, newest: int = sys.maxsize, most: int = sys.maxsize) -> tuple[Array, Array, Array]:
        """Documents and counts of several keys, key by key, and how many there are of each: at most the `newest`.

        None of a key that has more than `most`.
        """
        ends, sizes = self._in_base(keys)
        listed = keys.tolist()
        if self._added.keys().isdisjoint(listed):
            sizes[sizes > most] = 0
            sizes = np.minimum(sizes, newest)
            documents, counts = stretches(ends - sizes, sizes, self._base_documents, self._base_counts)
            return documents, counts, sizes
        held = zip(listed, ends.tolist(), sizes.tolist(), strict=True)
        parts = [self._parts(key, end, size, newest, most) for key, end, size in held]
        return (
            np.concatenate([self._base_documents[:0], *(part for documents, _ in parts for part in documents)]),
            np.concatenate([self._base_counts[:0], *(part for _, counts in parts for part in counts)]),
            np.array([sum(map(len, documents)) for documents, _ in parts], "<i8"),
        )

    def _parts(self, key: int, end: int, size: int, newest: int, most: int) -> tuple[list[Array], list[Array]]:
        """Documents and counts of one key: those loaded, of which so many end there, and those added since."""
        if not size and key not in self._added:
            return [], []
        late, late_counts = self._added_of(key, newest)
        if size + len(late) > most:
            return [], []
        start = end - min(size, newest - len(late))
        return [self._base_documents[start:end], late], [self._base_counts[start:end], late_counts]

    def sizes_of(self, keys: Array) -> Array:
        """How many documents were added by key, whatever became of them."""
        _, sizes = self._in_base(keys)
        for place, key in enumerate(keys.tolist()):
            if key in self._added:
                sizes[place] += len(self._added[key][0])
        return sizes

    def _in_base(self, keys: Array) -> tuple[Array, Array]:
        """By key, where its loaded postings end, and how many there are."""
        if not len(self._keys):
            return np.zeros(len(keys), "<i8"), np.zeros(len(keys), "<i8")
        keys = keys.astype("<u4", copy=False)
        at = self._keys.searchsorted(keys)
        known = self._keys.take(at, mode="clip") == keys
        starts = self._offsets.take(at, mode="clip")
        at += 1
        ends = self._offsets.take(at, mode="clip")
        return ends, (ends - starts) * known

    def _added_of(self, key: int, newest: int | None) -> tuple[Array, Array]:
        entry = self._added.get(key)
        if entry is None:
            return self._base_documents[:0], self._base_counts[:0]
        read = self._read.get(key)
        if read is None or len(read[0]) != len(entry[0]):
            read = self._read[key] = np.array(entry[0], "<i4"), np.array(entry[1], "<u2")
        return read if newest is None else (read[0][-newest:], read[1][-newest:])

    def packed(self, renumbered: Array | None = None) -> Postings:
        """The same postings with nothing beside the base; documents renumbered, those below zero left out."""
        keys = [np.repeat(self._keys, np.diff(self._offsets))]
        documents = [self._base_documents]
        counts = [self._base_counts]
        for key, (some_documents, some_counts) in self._added.items():
            keys.append(np.full(len(some_documents), key, "<u4"))
            documents.append(np.array(some_documents, "<i4"))
            counts.append(np.array(some_counts, "<u2"))
        every_key, every_document = np.concatenate(keys), np.concatenate(documents)
        every_count = np.concatenate(counts)
        if renumbered is not None:
            every_document = renumbered[every_document]
            kept = every_document >= 0
            every_key, every_document, every_count = every_key[kept], every_document[kept], every_count[kept]
        order = np.lexsort((every_document, every_key))
        unique, starts = np.unique(every_key[order], return_index=True)
        offsets = np.append(starts, len(every_key)).astype("<i8")
        return Postings(
            unique.astype("<u4"), offsets, every_document[order].astype("<i4"), every_count[order].astype("<u2")
        )

    def arrays(self) -> Arrays:
        """Only right after `packed`."""
        return {
            "keys": self._keys,
            "offsets": self._offsets,
            "documents": self._base_documents,
            "counts": self._base_counts,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Postings:
        return cls(arrays["keys"], arrays["offsets"], arrays["documents"], arrays["counts"])
