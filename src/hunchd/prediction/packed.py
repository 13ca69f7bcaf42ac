"""Growing columns, rows and strings in packed arrays.

They take a tenth of a dictionary's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Arrays = dict[str, Array]
Scores = tuple[Array, Array]  # numbers (of files, of units), once each, and a value for each

FIRST_CAPACITY = 16
SPARSE, FEW = 24, 2_000  # if the largest number exceeds SPARSE times the count plus FEW, sorting beats counting

LONG_TO_SELECT = 8  # values
LONG_STRETCH = 300  # numbers: longer ranges are faster copied as slices than element by element


def spans(starts: Array, sizes: Array) -> Array:
    """Return the indexes start, start + 1, … of several ranges, concatenated."""
    ends = sizes.cumsum()
    indexes: Array = (starts - ends + sizes).repeat(sizes)
    indexes += np.arange(len(indexes))
    return indexes


def stretches(starts: Array, sizes: Array, *arrays: Array) -> list[Array]:
    """Return several ranges of each array, concatenated."""
    total = int(sizes.sum())
    if not total:
        return [array[:0] for array in arrays]
    if total >= LONG_STRETCH * len(starts):
        slices = [slice(start, start + size) for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
        return [np.concatenate([array[:0], *(array[one] for one in slices)]) for array in arrays]
    every = spans(starts, sizes)
    return [array.take(every) for array in arrays]


def concatenated(arrays: list[Array]) -> Array:
    """Concatenate arrays of one type, also structured ones."""
    dtype = arrays[0].dtype
    if dtype.names is None:
        return np.concatenate(arrays)
    return np.concatenate([raw(array) for array in arrays]).view(dtype)


def raw(records: Array) -> Array:
    """View records as bytes.

    Numpy copies structured types field by field, which is slower.
    """
    return records.view(np.dtype((np.void, records.dtype.itemsize)))


def summed(numbers: Array, values: Array) -> Scores:
    """Add up the values of equal numbers.

    The numbers are returned distinct and ascending.
    """
    if not len(numbers):
        return nothing()
    if _near(numbers):
        return sparse(np.bincount(numbers, weights=values))
    once, order, starts = _grouped(numbers)
    return once, np.add.reduceat(values.take(order), starts).astype("<f4", copy=False)


def summed_each(parts: Sequence[Scores]) -> list[Scores]:
    """Apply `summed` to several parts with values of one type.

    Parts that have to be sorted are sorted together.
    """
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
    """Return True if counting is faster than sorting."""
    return int(np.maximum.reduce(numbers)) < SPARSE * len(numbers) + FEW


def _grouped(numbers: Array) -> tuple[Array, Array, Array]:
    """Group equal numbers.

    Returns distinct ascending numbers, the grouping order, and the start of each group.
    """
    order = numbers.argsort(kind="stable")
    ordered = numbers.take(order)
    starts = _begins(ordered).nonzero()[0]
    return ordered.take(starts), order, starts


def sparse(values: Array) -> Scores:
    """Return the indexes of non-zero values, and these values."""
    places = (values != 0).nonzero()[0]  # `nonzero` of a boolean array is much faster than of numbers
    return places, values[places].astype("<f4")


def nothing() -> Scores:
    """Return empty scores."""
    return np.empty(0, "<i4"), np.empty(0, "<f4")


def strongest(numbers: Array, values: Array) -> Scores:
    """Return distinct ascending numbers, each with its highest value."""
    if not len(numbers):
        return nothing()
    once, order, starts = _grouped(numbers)
    return once, np.maximum.reduceat(values.take(order), starts)


def distinct(numbers: Array) -> Array:
    """Return distinct ascending numbers."""
    ordered = np.sort(numbers)
    once: Array = ordered[_begins(ordered)]
    return once


def _begins(ordered: Array) -> Array:
    """Return a mask of the first of each run of equal numbers."""
    begins = np.empty(len(ordered), "?")
    begins[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return begins


def highest(values: Array, most: int) -> Array:
    """Return the indexes of the `most` highest values.

    There are more values than that; the order is not defined. Of many values only those are compared that reach the
    best of each stretch of them. If a tie has to be decided, all are partitioned, which takes longer than sorting
    them without their indexes.
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
    """Return a mask of the values that occur in the ascending `rising`."""
    if not len(rising):
        return np.zeros(len(values), "?")
    at = rising.searchsorted(values)
    at[at == len(rising)] = 0
    among: Array = rising[at] == values
    return among


class Column:
    """Growing array.

    It grows at its end or up to a requested size, in amortised constant time.
    """

    __slots__ = ("_array", "_default", "size")

    def __init__(self, array: Array, default: float = 0) -> None:
        self._array = array
        self._default = default
        self.size = len(array)

    @classmethod
    def of(cls, dtype: str, default: float = 0) -> Column:
        """Create an empty column."""
        return cls(np.empty(0, dtype), default)

    def __len__(self) -> int:
        return self.size

    @property
    def view(self) -> Array:
        """Writable view of the values, invalid after the next growth."""
        return self._array[: self.size]

    def append(self, value: Any) -> None:
        self.reach(self.size + 1)
        self._array[self.size - 1] = value

    def extend(self, values: Sequence[Any] | Array) -> None:
        start = self.size
        self.reach(start + len(values))
        self._array[start : self.size] = values

    def reach(self, size: int) -> None:
        """Grow to at least `size` values, filled with the default."""
        if size <= self.size:
            return
        if size > len(self._array):
            grown = np.full(max(FIRST_CAPACITY, size, len(self._array) * 3 // 2), self._default, self._array.dtype)
            grown[: self.size] = self._array[: self.size]
            self._array = grown
        self.size = size


class Rows:
    """Rows of varying length, packed as loaded.

    Rows changed since are beside the base.
    """

    __slots__ = ("_base", "_changed", "_offsets", "dtype", "size")

    def __init__(self, base: Array, offsets: Array) -> None:
        self._base = base
        self._offsets = offsets
        self._changed: dict[int, Array] = {}
        self.dtype = base.dtype
        self.size = len(offsets) - 1

    @classmethod
    def of(cls, dtype: Any) -> Rows:
        """Create rows without elements."""
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
        """Return several rows in one array.

        The second array is the index of each element's row in `indexes`. The order is not defined.
        """
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
        """Return the rows as one array and its offsets."""
        rows = [self[index] for index in range(self.size)]
        offsets = np.zeros(self.size + 1, "<i8")
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return (np.concatenate(rows) if rows else np.empty(0, self.dtype)), offsets


class Strings:
    """Texts by index, packed as loaded.

    Texts added since are beside the base.
    """

    __slots__ = ("_added", "_base", "_changed", "_offsets")

    def __init__(self, base: bytes = b"", offsets: Array | None = None) -> None:
        self._base = base
        self._changed: dict[int, str] = {}
        self._offsets = np.zeros(1, "<i8") if offsets is None else offsets
        self._added: list[str] = []

    def __len__(self) -> int:
        return len(self._offsets) - 1 + len(self._added)

    def __getitem__(self, index: int) -> str:
        loaded = len(self._offsets) - 1
        if index in self._changed:
            return self._changed[index]
        if index >= loaded:
            return self._added[index - loaded]
        return self._base[self._offsets[index] : self._offsets[index + 1]].decode("utf-8", "replace")

    def __setitem__(self, index: int, text: str) -> None:
        self._changed[index] = text

    def append(self, text: str) -> None:
        self._added.append(text)

    def packed(self) -> tuple[Array, Array]:
        """Return the texts as one array of bytes and its offsets."""
        texts = [self[index].encode("utf-8", "replace") for index in range(len(self))]
        offsets = np.zeros(len(texts) + 1, "<i8")
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return np.frombuffer(b"".join(texts), "u1"), offsets
