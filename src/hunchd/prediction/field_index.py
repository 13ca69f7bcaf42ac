"""Index of one aspect of the files, such as paths, words or definitions, ranked with BM25.

A key is the hash of a word or name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from hunchd.prediction.packed_arrays import (
    Array,
    Arrays,
    GrowingColumn,
    PackedRows,
    Scores,
    create_empty_scores,
    sum_by_number,
)
from hunchd.prediction.postings import KeyPostings
from hunchd.text.bm25 import LARGEST_GAIN, compute_idfs, compute_length_norm

MAX_COUNT = 65_535
MAX_HOLDERS = 5_000  # files: a word in more of them is not informative, and costs time
FREQUENCY_BITS = 18
LOW_BITS = np.uint32((1 << FREQUENCY_BITS) - 1)


class FieldIndex:
    """Index of files by their keys, and of keys by file.

    Postings refer to slots. A file whose keys are replaced gets a new slot; the postings of the old slot are dead,
    which means that they are ignored until they are dropped.
    """

    def __init__(self) -> None:
        # Document frequency by the low bits of a key; empty unless created by `create_counting`.
        self._frequency = np.zeros(0, "<u2")
        self._postings = KeyPostings.create()
        self._keys = PackedRows.create("<u4")  # by file
        self._slot_of = GrowingColumn.create("<i4", -1)  # by file
        self._file_of = GrowingColumn.create("<i4", -1)  # by slot; -1: dead
        self._length = GrowingColumn.create("<i4")  # by file: the sum of its counts
        self.documents = 0
        self._total_length = 0

    @classmethod
    def create_counting(cls) -> FieldIndex:
        """Create an index that also counts the documents for each key.

        `get_frequencies` returns these counts, which are nearly exact, for many keys at once.
        """
        field = cls()
        field._frequency = np.zeros(1 << FREQUENCY_BITS, "<u2")
        return field

    def set_keys(self, file: int, keys: Sequence[int], counts: Sequence[int] | None = None) -> None:
        """Replace the keys of a file; without `counts`, each key counts once."""
        self.remove_file(file)
        if not keys:
            return
        counts = [1] * len(keys) if counts is None else counts
        slot = len(self._file_of)
        self._file_of.append(file)
        for column in (self._slot_of, self._length):
            column.grow_to(file + 1)
        self._slot_of.view[file] = slot
        self._length.view[file] = sum(counts)
        self._keys[file] = np.array(keys, "<u4")
        self._postings.add_document(slot, keys, [min(count, MAX_COUNT) for count in counts])
        self.documents += 1
        self._update_frequency(file, 1)
        self._total_length += sum(counts)

    def remove_file(self, file: int) -> None:
        if file >= len(self._slot_of) or self._slot_of.view[file] < 0:
            return
        self._file_of.view[self._slot_of.view[file]] = -1
        self._slot_of.view[file] = -1
        self._update_frequency(file, -1)
        self._keys[file] = self._keys[file][:0]
        self.documents -= 1
        self._total_length -= int(self._length.view[file])

    def get_keys(self, file: int) -> Array:
        """Return the keys of a file in their original order.

        Returns an empty array if the file is not indexed.
        """
        return self._keys[file] if file < len(self._keys) else self._keys[len(self._keys)]

    def find_holders(self, key: int) -> tuple[Array, Array]:
        """Return the files that contain a key, with its counts.

        A count is the number of times that the key occurs in a file.
        """
        slots, counts = self._postings.get_postings(key)
        files = self._file_of.view[slots]
        alive = files >= 0
        return (files, counts) if alive.all() else (files[alive], counts[alive])

    def count_puts(self, keys: Array) -> Array:
        """Return how many times files with each key were indexed."""
        return self._postings.count_documents(keys)

    def find_holders_of_keys(self, keys: Array, max_puts: int = sys.maxsize) -> tuple[Array, Array, Array]:
        """Return the files that contain any of these keys.

        Returns (files, counts, indexes of the keys in `keys`), ordered by key. Keys that were indexed more than
        `max_puts` times are skipped.
        """
        slots, counts, sizes = self._postings.get_postings_of_keys(keys, max_postings=max_puts)
        files, which = self._file_of.view.take(slots), np.arange(len(keys)).repeat(sizes)
        if len(self._file_of) == self.documents:
            return files, counts, which
        alive = files >= 0
        return (files, counts, which) if alive.all() else (files[alive], counts[alive], which[alive])

    def get_keys_of_files(self, files: Array) -> tuple[Array, Array]:
        """Return the keys of several files in one array.

        The second array contains, for each key, the index of its file in `files`.
        """
        return self._keys.join_rows(files)

    def get_frequencies(self, keys: Array) -> Array:
        """Return the number of documents that contain each key.

        In rare cases the number is slightly too high, because two keys have the same low bits. Only indexes from
        `create_counting` have these counts.
        """
        frequencies: Array = self._frequency[keys & LOW_BITS]
        return frequencies

    def _update_frequency(self, file: int, step: int) -> None:
        if len(self._frequency):
            places = self._keys[file] & LOW_BITS
            np.add.at(self._frequency, places, step if step > 0 else np.uint16(65_535))

    def get_lengths(self, files: Array) -> Array:
        """Return, for each file, the sum of its key counts."""
        is_known = files < len(self._length)
        lengths = np.zeros(len(files), "<f4")
        known_files = files[is_known]
        lengths[is_known] = np.where(self._slot_of.view[known_files] >= 0, self._length.view[known_files], 0)
        return lengths

    def search(self, keys: Sequence[int]) -> Scores:
        """Score with BM25 the files that contain any of these keys."""
        if not self.documents or not keys:
            return create_empty_scores()
        query_keys, dead_count = np.array(keys, "<u4"), len(self._file_of) - self.documents
        files, counts, which = self.find_holders_of_keys(query_keys, MAX_HOLDERS + dead_count)
        holders = np.bincount(which, minlength=len(query_keys))
        rarity = compute_idfs(self.documents, holders)
        if dead_count and (holders > MAX_HOLDERS).any():
            is_rare = (holders <= MAX_HOLDERS)[which]
            files, counts, which = files[is_rare], counts[is_rare], which[is_rare]
        base, slope = compute_length_norm(max(self._total_length / self.documents, 1.0))
        norm = base + slope * self._length.view.take(files)
        return sum_by_number(files, rarity[which] * (counts * LARGEST_GAIN) / (counts + norm))

    def prepare_merge(self, min_added: int) -> Callable[[], Callable[[], None]] | None:
        """Return a merge task for the postings; see `KeyPostings.prepare_merge`.

        The task also drops dead postings. Returns None if fewer than `min_added` postings were added since the last
        merge.
        """
        if self._postings.added_count < min_added:
            return None
        return self._postings.prepare_merge(lambda slots: self._file_of.view.take(slots) >= 0)

    def to_arrays(self) -> Arrays:
        """Return packed arrays without dead slots; the index itself is unchanged."""
        new_numbers = np.full(len(self._file_of), -1, "<i4")
        alive = np.flatnonzero(self._file_of.view >= 0)
        new_numbers[alive] = np.arange(len(alive))
        keys, offsets = self._keys.to_arrays()
        slot_of = self._slot_of.view.copy()
        slot_of[slot_of >= 0] = new_numbers[slot_of[slot_of >= 0]]
        postings = {
            f"postings.{name}": array for name, array in self._postings.build_packed(new_numbers).to_arrays().items()
        }
        return {
            "keys": keys,
            "frequency": self._frequency,
            "key_offsets": offsets,
            "slot_of": slot_of,
            "file_of": self._file_of.view[alive],
            "length": self._length.view,
            **postings,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> FieldIndex:
        field = cls()
        field._postings = KeyPostings.from_arrays(
            {name.removeprefix("postings."): array for name, array in arrays.items() if name.startswith("postings.")}
        )
        field._frequency = arrays["frequency"]
        field._keys = PackedRows(arrays["keys"], arrays["key_offsets"])
        field._slot_of = GrowingColumn(arrays["slot_of"], -1)
        field._file_of = GrowingColumn(arrays["file_of"], -1)
        field._length = GrowingColumn(arrays["length"])
        field.documents = len(field._file_of)
        field._total_length = int(field._length.view[field._file_of.view].sum())
        return field
