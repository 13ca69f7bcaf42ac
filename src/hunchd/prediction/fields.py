"""Index of one aspect of the files, with BM25 ranking.

Aspects are paths, words, definitions, …
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from hunchd.prediction.packed import Array, Arrays, Column, Rows, Scores, nothing, summed
from hunchd.prediction.postings import Postings
from hunchd.text.bm25 import LARGEST_GAIN, inverse_document_frequencies, length_norm

LARGEST_COUNT = 65_535
MOST_HOLDERS = 5_000  # files: a word in more of them is not informative, and costs time
FREQUENCY_BITS = 18
LOW_BITS = np.uint32((1 << FREQUENCY_BITS) - 1)


class Field:
    """Index of keys by file and of files by key.

    A file that is put again gets a new slot; the postings of the old one are dead.
    """

    def __init__(self) -> None:
        self._frequency = np.zeros(0, "<u2")  # document frequency by the low bits of a key, for `counting` fields
        self._postings = Postings.of()
        self._keys = Rows.of("<u4")  # by file
        self._slot_of = Column.of("<i4", -1)  # by file
        self._file_of = Column.of("<i4", -1)  # by slot; -1: dead
        self._length = Column.of("<i4")  # by file: the sum of its counts
        self.documents = 0
        self._total_length = 0

    @classmethod
    def counting(cls) -> Field:
        """Create a field that also returns document frequencies.

        It returns those of many keys at once. They are nearly exact.
        """
        field = cls()
        field._frequency = np.zeros(1 << FREQUENCY_BITS, "<u2")
        return field

    def put(self, file: int, keys: Sequence[int], counts: Sequence[int] | None = None) -> None:
        """Replace the keys of a file."""
        self.drop(file)
        if not keys:
            return
        counts = [1] * len(keys) if counts is None else counts
        slot = len(self._file_of)
        self._file_of.append(file)
        for column in (self._slot_of, self._length):
            column.reach(file + 1)
        self._slot_of.view[file] = slot
        self._length.view[file] = sum(counts)
        self._keys[file] = np.array(keys, "<u4")
        self._postings.add(slot, keys, [min(count, LARGEST_COUNT) for count in counts])
        self.documents += 1
        self._count(file, 1)
        self._total_length += sum(counts)

    def drop(self, file: int) -> None:
        if file >= len(self._slot_of) or self._slot_of.view[file] < 0:
            return
        self._file_of.view[self._slot_of.view[file]] = -1
        self._slot_of.view[file] = -1
        self._count(file, -1)
        self._keys[file] = self._keys[file][:0]
        self.documents -= 1
        self._total_length -= int(self._length.view[file])

    def keys_of(self, file: int) -> Array:
        """Return the keys of a file, in the order given."""
        return self._keys[file] if file < len(self._keys) else self._keys[len(self._keys)]

    def holders(self, key: int) -> tuple[Array, Array]:
        """Return the files that contain a key, with their counts."""
        slots, counts = self._postings.of_key(key)
        files = self._file_of.view[slots]
        alive = files >= 0
        return (files, counts) if alive.all() else (files[alive], counts[alive])

    def met(self, keys: Array) -> Array:
        """Return for each key how often a file with it was put."""
        return self._postings.sizes_of(keys)

    def holders_of(self, keys: Array, most: int = sys.maxsize) -> tuple[Array, Array, Array]:
        """Return files with these keys, counts and key indexes.

        They are ordered by key. Keys that were put more than `most` times are skipped.
        """
        slots, counts, sizes = self._postings.of_keys(keys, most=most)
        files, which = self._file_of.view.take(slots), np.arange(len(keys)).repeat(sizes)
        if len(self._file_of) == self.documents:
            return files, counts, which
        alive = files >= 0
        return (files, counts, which) if alive.all() else (files[alive], counts[alive], which[alive])

    def keys_of_each(self, files: Array) -> tuple[Array, Array]:
        """Return the keys of several files, with file indexes."""
        return self._keys.joined(files)

    def frequencies(self, keys: Array) -> Array:
        """Return the document frequency of each key.

        Rarely a few too many, if two keys share their low bits.
        """
        frequencies: Array = self._frequency[keys & LOW_BITS]
        return frequencies

    def _count(self, file: int, step: int) -> None:
        if len(self._frequency):
            places = self._keys[file] & LOW_BITS
            np.add.at(self._frequency, places, step if step > 0 else np.uint16(65_535))

    def lengths(self, files: Array) -> Array:
        """Return the sum of counts of each file."""
        known = files < len(self._length)
        lengths = np.zeros(len(files), "<f4")
        kept = files[known]
        lengths[known] = np.where(self._slot_of.view[kept] >= 0, self._length.view[kept], 0)
        return lengths

    def search(self, keys: Sequence[int]) -> Scores:
        """Return the BM25 scores of files with these keys."""
        if not self.documents or not keys:
            return nothing()
        wanted, dead = np.array(keys, "<u4"), len(self._file_of) - self.documents
        files, counts, which = self.holders_of(wanted, MOST_HOLDERS + dead)
        holders = np.bincount(which, minlength=len(wanted))
        rarity = inverse_document_frequencies(self.documents, holders)
        if dead and (holders > MOST_HOLDERS).any():
            kept = (holders <= MOST_HOLDERS)[which]
            files, counts, which = files[kept], counts[kept], which[kept]
        base, slope = length_norm(max(self._total_length / self.documents, 1.0))
        norm = base + slope * self._length.view.take(files)
        return summed(files, rarity[which] * (counts * LARGEST_GAIN) / (counts + norm))

    def merging(self, least: int) -> Callable[[], Callable[[], None]] | None:
        """Return the merge work of the postings, see `Postings.merging`.

        None if fewer than `least` pairs were added since. Dead slots are left out.
        """
        if self._postings.added < least:
            return None
        return self._postings.merging(lambda slots: self._file_of.view.take(slots) >= 0)

    def arrays(self) -> Arrays:
        """Return packed arrays without dead slots; the field itself is unchanged."""
        renumbered = np.full(len(self._file_of), -1, "<i4")
        alive = np.flatnonzero(self._file_of.view >= 0)
        renumbered[alive] = np.arange(len(alive))
        keys, offsets = self._keys.packed()
        slot_of = self._slot_of.view.copy()
        slot_of[slot_of >= 0] = renumbered[slot_of[slot_of >= 0]]
        postings = {f"postings.{name}": array for name, array in self._postings.packed(renumbered).arrays().items()}
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
    def from_arrays(cls, arrays: Arrays) -> Field:
        field = cls()
        field._postings = Postings.from_arrays(
            {name.removeprefix("postings."): array for name, array in arrays.items() if name.startswith("postings.")}
        )
        field._frequency = arrays["frequency"]
        field._keys = Rows(arrays["keys"], arrays["key_offsets"])
        field._slot_of = Column(arrays["slot_of"], -1)
        field._file_of = Column(arrays["file_of"], -1)
        field._length = Column(arrays["length"])
        field.documents = len(field._file_of)
        field._total_length = int(field._length.view[field._file_of.view].sum())
        return field
