"""Growing columns, rows and strings in packed arrays.

These structures take a tenth of the memory that dictionaries would take.
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
COUNTING_FACTOR, COUNTING_OFFSET = (
    24,
    2_000,
)  # if the largest number exceeds COUNTING_FACTOR times the count plus COUNTING_OFFSET, sorting is faster

MIN_STRETCH = 8  # values
MIN_SLICE_LENGTH = 300  # numbers: longer ranges are copied faster as slices than element by element


def expand_ranges(starts: Array, sizes: Array) -> Array:
    """Return the indexes in several ranges (start, start + 1, …), concatenated."""
    ends = sizes.cumsum()
    indexes: Array = (starts - ends + sizes).repeat(sizes)
    indexes += np.arange(len(indexes))
    return indexes


def take_ranges(starts: Array, sizes: Array, *arrays: Array) -> list[Array]:
    """Return the values in several ranges of each array, concatenated."""
    total = int(sizes.sum())
    if not total:
        return [array[:0] for array in arrays]
    if total >= MIN_SLICE_LENGTH * len(starts):
        slices = [slice(start, start + size) for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
        return [np.concatenate([array[:0], *(array[one] for one in slices)]) for array in arrays]
    indexes = expand_ranges(starts, sizes)
    return [array.take(indexes) for array in arrays]


def concatenate_arrays(arrays: list[Array]) -> Array:
    """Concatenate arrays of one type, which may be a structured type."""
    dtype = arrays[0].dtype
    if dtype.names is None:
        return np.concatenate(arrays)
    return np.concatenate([view_as_bytes(array) for array in arrays]).view(dtype)


def view_as_bytes(records: Array) -> Array:
    """View structured records as opaque bytes.

    Copying them is faster this way, because numpy copies structured types field by field.
    """
    return records.view(np.dtype((np.void, records.dtype.itemsize)))


def sum_by_number(numbers: Array, values: Array) -> Scores:
    """Sum the values that share a number.

    Returns the distinct numbers in ascending order, with their sums.
    """
    if not len(numbers):
        return create_empty_scores()
    if _prefers_counting(numbers):
        return select_nonzero(np.bincount(numbers, weights=values))
    once, order, starts = _group_numbers(numbers)
    return once, np.add.reduceat(values.take(order), starts).astype("<f4", copy=False)


def sum_each_by_number(parts: Sequence[Scores]) -> list[Scores]:
    """Apply `sum_by_number` to each of several parts.

    The values of all parts must have the same type. The parts that require sorting are sorted together.
    """
    sorted_parts = [
        place for place, (numbers, _) in enumerate(parts) if len(numbers) and not _prefers_counting(numbers)
    ]
    if len(sorted_parts) < 2:
        return [sum_by_number(*part) for part in parts]
    step = 1 + max(int(np.maximum.reduce(parts[place][0])) for place in sorted_parts)
    once, order, starts = _group_numbers(
        np.concatenate([parts[place][0] + at * step for at, place in enumerate(sorted_parts)])
    )
    values = np.concatenate([parts[place][1] for place in sorted_parts]).take(order)
    sums = np.add.reduceat(values, starts).astype("<f4", copy=False)
    ends = once.searchsorted(np.arange(1, len(sorted_parts) + 1) * step).tolist()
    sums_by_part = {
        place: (once[start:end] - at * step, sums[start:end])
        for at, (place, start, end) in enumerate(zip(sorted_parts, [0, *ends], ends, strict=False))
    }
    return [sums_by_part.get(place) or sum_by_number(*part) for place, part in enumerate(parts)]


def _prefers_counting(numbers: Array) -> bool:
    """Return True if a counting sort of these numbers is faster than a comparison sort."""
    return int(np.maximum.reduce(numbers)) < COUNTING_FACTOR * len(numbers) + COUNTING_OFFSET


def _group_numbers(numbers: Array) -> tuple[Array, Array, Array]:
    """Group equal numbers.

    Returns the distinct numbers in ascending order, the order that groups `numbers`, and the start of each group.
    """
    order = numbers.argsort(kind="stable")
    sorted_numbers = numbers.take(order)
    starts = _mask_run_starts(sorted_numbers).nonzero()[0]
    return sorted_numbers.take(starts), order, starts


def select_nonzero(values: Array) -> Scores:
    """Return the indexes of the non-zero values, and these values."""
    places = (values != 0).nonzero()[0]  # `nonzero` of a boolean array is much faster than of numbers
    return places, values[places].astype("<f4")


def create_empty_scores() -> Scores:
    """Return scores without any numbers or values."""
    return np.empty(0, "<i4"), np.empty(0, "<f4")


def max_by_number(numbers: Array, values: Array) -> Scores:
    """Return the distinct numbers in ascending order, each with its highest value."""
    if not len(numbers):
        return create_empty_scores()
    once, order, starts = _group_numbers(numbers)
    return once, np.maximum.reduceat(values.take(order), starts)


def sort_distinct(numbers: Array) -> Array:
    """Return the distinct numbers in ascending order."""
    sorted_numbers = np.sort(numbers)
    distinct_numbers: Array = sorted_numbers[_mask_run_starts(sorted_numbers)]
    return distinct_numbers


def _mask_run_starts(sorted_numbers: Array) -> Array:
    """Return a mask that is True where a new run starts.

    A run is a sequence of equal numbers.
    """
    begins = np.empty(len(sorted_numbers), "?")
    begins[:1] = True
    np.not_equal(sorted_numbers[1:], sorted_numbers[:-1], out=begins[1:])
    return begins


def select_highest(values: Array, limit: int) -> Array:
    """Return the indexes of the `limit` highest values, in no particular order.

    There must be more than `limit` values. A long array is split into groups, and only values at or above a
    threshold derived from the maxima of the groups are considered. If several equal values tie for the last place,
    all the values are partitioned instead, which is slower than the usual plain sort of the values.
    """
    stretch = len(values) // (2 * limit)
    candidates = values
    if stretch >= MIN_STRETCH:
        tops = np.sort(np.maximum.reduce(values[: stretch * 2 * limit].reshape(stretch, -1)))
        candidates = values[values >= tops[limit]]
    sorted_values = np.sort(candidates)
    if len(candidates) == limit or sorted_values[-limit - 1] < sorted_values[-limit]:
        places: Array = (values >= sorted_values[-limit]).nonzero()[0]
        return places
    return np.argpartition(-values, limit)[:limit]


def mask_members(values: Array, sorted_members: Array) -> Array:
    """Return a mask that is True for values among `sorted_members`.

    `sorted_members` must be in ascending order.
    """
    if not len(sorted_members):
        return np.zeros(len(values), "?")
    at = sorted_members.searchsorted(values)
    at[at == len(sorted_members)] = 0
    is_member: Array = sorted_members[at] == values
    return is_member


class GrowingColumn:
    """Array that can be appended to or grown to a given size.

    Appending takes amortised constant time.
    """

    __slots__ = ("_array", "_default", "size")

    def __init__(self, array: Array, default: float = 0) -> None:
        self._array = array
        self._default = default
        self.size = len(array)

    @classmethod
    def create(cls, dtype: str, default: float = 0) -> GrowingColumn:
        """Create an empty column."""
        return cls(np.empty(0, dtype), default)

    def __len__(self) -> int:
        return self.size

    @property
    def view(self) -> Array:
        """Writable view of the values, which becomes invalid when the column grows."""
        return self._array[: self.size]

    def append(self, value: Any) -> None:
        self.grow_to(self.size + 1)
        self._array[self.size - 1] = value

    def extend(self, values: Sequence[Any] | Array) -> None:
        start = self.size
        self.grow_to(start + len(values))
        self._array[start : self.size] = values

    def grow_to(self, size: int) -> None:
        """Grow to at least `size` values, filling new places with the default."""
        if size <= self.size:
            return
        if size > len(self._array):
            grown_array = np.full(
                max(FIRST_CAPACITY, size, len(self._array) * 3 // 2), self._default, self._array.dtype
            )
            grown_array[: self.size] = self._array[: self.size]
            self._array = grown_array
        self.size = size


class PackedRows:
    """Rows of varying length, stored in one packed array when loaded.

    Rows that are changed after loading are stored separately.
    """

    __slots__ = ("_base", "_changed_rows", "_offsets", "dtype", "size")

    def __init__(self, base: Array, offsets: Array) -> None:
        self._base = base
        self._offsets = offsets
        self._changed_rows: dict[int, Array] = {}
        self.dtype = base.dtype
        self.size = len(offsets) - 1

    @classmethod
    def create(cls, dtype: Any) -> PackedRows:
        """Create packed rows without any row."""
        return cls(np.empty(0, dtype), np.zeros(1, "<i8"))

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Array:
        changed_row = self._changed_rows.get(index)
        if changed_row is not None:
            return changed_row
        if index + 1 < len(self._offsets):
            return self._base[self._offsets[index] : self._offsets[index + 1]]
        return self._base[:0]

    def join_rows(self, indexes: Array) -> tuple[Array, Array]:
        """Return several rows in one array, in no particular order.

        The second array contains, for each element, the index of its row in `indexes`.
        """
        index_list = indexes.tolist()
        changed_places = (
            [place for place, index in enumerate(index_list) if index in self._changed_rows]
            if self._changed_rows
            else []
        )
        clipped_indexes = np.minimum(indexes, max(len(self._offsets) - 2, 0))
        starts = self._offsets.take(clipped_indexes)
        sizes = (
            self._offsets.take(clipped_indexes + 1) - starts
            if len(self._offsets) > 1
            else np.zeros(len(index_list), "<i8")
        )
        sizes[indexes != clipped_indexes] = 0
        if changed_places:
            sizes[changed_places] = 0
        joined_rows, which = self._base.take(expand_ranges(starts, sizes)), np.arange(len(index_list)).repeat(sizes)
        if not changed_places:
            return joined_rows, which
        rows = [self._changed_rows[index_list[place]] for place in changed_places]
        return (
            concatenate_arrays([joined_rows, *rows]),
            np.concatenate([which, np.repeat(changed_places, [len(row) for row in rows])]),
        )

    def __setitem__(self, index: int, row: Array) -> None:
        self._changed_rows[index] = row
        self.size = max(self.size, index + 1)

    def to_arrays(self) -> tuple[Array, Array]:
        """Return the rows concatenated into one array, and the offset of each row in it."""
        rows = [self[index] for index in range(self.size)]
        offsets = np.zeros(self.size + 1, "<i8")
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return (np.concatenate(rows) if rows else np.empty(0, self.dtype)), offsets


class PackedStrings:
    """Strings by index, stored in one packed array when loaded.

    Strings that are added or changed after loading are stored separately.
    """

    __slots__ = ("_added_texts", "_base", "_changed_texts", "_offsets")

    def __init__(self, base: bytes = b"", offsets: Array | None = None) -> None:
        self._base = base
        self._changed_texts: dict[int, str] = {}
        self._offsets = np.zeros(1, "<i8") if offsets is None else offsets
        self._added_texts: list[str] = []

    def __len__(self) -> int:
        return len(self._offsets) - 1 + len(self._added_texts)

    def __getitem__(self, index: int) -> str:
        loaded_count = len(self._offsets) - 1
        if index in self._changed_texts:
            return self._changed_texts[index]
        if index >= loaded_count:
            return self._added_texts[index - loaded_count]
        return self._base[self._offsets[index] : self._offsets[index + 1]].decode("utf-8", "replace")

    def __setitem__(self, index: int, text: str) -> None:
        self._changed_texts[index] = text

    def append(self, text: str) -> None:
        self._added_texts.append(text)

    def to_arrays(self) -> tuple[Array, Array]:
        """Return the strings as one array of bytes, and the offset of each string in it."""
        texts = [self[index].encode("utf-8", "replace") for index in range(len(self))]
        offsets = np.zeros(len(texts) + 1, "<i8")
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return np.frombuffer(b"".join(texts), "u1"), offsets
