"""Postings: lists of documents by key, which are packed when loaded.

Postings added later are stored separately.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from hunchd.prediction.packed_arrays import Array, Arrays, take_ranges

AdditionSnapshot = list[tuple[int, list[int], list[int], int]]  # key, documents, counts, and their number at that time


class KeyPostings:
    """Map from each key to its postings, in the order of addition.

    A posting is a pair of a document and the number of times the key occurs in it. Loaded postings are stored in
    two arrays, which are sorted by key and searched by bisection; additions are stored separately, by key.
    """

    __slots__ = (
        "_additions",
        "_additions_as_arrays",
        "_base_counts",
        "_base_documents",
        "_keys",
        "_offsets",
        "added_count",
    )

    def __init__(self, keys: Array, offsets: Array, documents: Array, counts: Array) -> None:
        self._keys = keys
        self._offsets = offsets
        self._base_documents = documents
        self._base_counts = counts
        self._additions: dict[int, tuple[list[int], list[int]]] = {}
        self._additions_as_arrays: dict[int, tuple[Array, Array]] = {}  # additions as arrays, created on first read
        self.added_count = 0  # number of added postings: some 80 bytes each, instead of 6

    @classmethod
    def create(cls) -> KeyPostings:
        """Create empty postings."""
        return cls(np.empty(0, "<u4"), np.zeros(1, "<i8"), np.empty(0, "<i4"), np.empty(0, "<u2"))

    def add_document(self, document: int, keys: Iterable[int], counts: Iterable[int]) -> None:
        additions = self._additions
        for key, count in zip(keys, counts, strict=True):
            entry = additions.get(key)
            if entry is None:
                additions[key] = ([document], [count])
            else:
                entry[0].append(document)
                entry[1].append(count)
            self.added_count += 1

    def prepare_merge(self, keep: Callable[[Array], Array]) -> Callable[[], Callable[[], None]]:
        """Return a task that merges the additions into the packed arrays.

        The task can run in any thread. Documents for which `keep` is False are dropped. The task returns a function
        that installs the result and must be called in the thread that adds postings. Postings may be added in the
        meantime.
        """
        snapshot = self._snapshot_additions()

        def build_merged() -> Callable[[], None]:
            keys, documents, counts = self._collect_pairs(snapshot)
            is_kept = keep(documents)
            return partial(
                self._install_merged, snapshot, _group_by_key(keys[is_kept], documents[is_kept], counts[is_kept])
            )

        return build_merged

    def _snapshot_additions(self) -> AdditionSnapshot:
        """Return a snapshot of the additions.

        The snapshot refers to the lists themselves and records their lengths, which is sufficient because the lists
        only grow.
        """
        return [(key, documents, counts, len(documents)) for key, (documents, counts) in self._additions.items()]

    def _collect_pairs(self, snapshot: AdditionSnapshot) -> tuple[Array, Array, Array]:
        """Return the keys, documents and counts of all postings.

        The loaded postings come first.
        """
        late_keys = np.repeat(np.array([key for key, *_ in snapshot], "<u4"), [size for *_, size in snapshot])
        documents = [document for _, documents, _, size in snapshot for document in documents[:size]]
        counts = [count for _, _, counts, size in snapshot for count in counts[:size]]
        return (
            np.concatenate([np.repeat(self._keys, np.diff(self._offsets)), late_keys]),
            np.concatenate([self._base_documents, np.array(documents, "<i4")]),
            np.concatenate([self._base_counts, np.array(counts, "<u2")]),
        )

    def _install_merged(self, snapshot: AdditionSnapshot, base: tuple[Array, Array, Array, Array]) -> None:
        self._keys, self._offsets, self._base_documents, self._base_counts = base
        for key, _, _, size in snapshot:
            documents, counts = self._additions.pop(key)
            self._additions_as_arrays.pop(key, None)
            if len(documents) > size:  # added meanwhile
                self._additions[key] = (documents[size:], counts[size:])
            self.added_count -= size

    def get_postings(self, key: int, newest: int | None = None) -> tuple[Array, Array]:
        """Return the documents and counts for one key, oldest first.

        If `newest` is given, at most that many of the newest postings are returned.
        """
        if not len(self._keys):
            return self._get_additions(key, newest)
        at = int(self._keys.searchsorted(np.uint32(key)))  # of the same type as the keys, otherwise numpy copies them
        parts_documents: list[Array] = []
        parts_counts: list[Array] = []
        if at < len(self._keys) and self._keys[at] == key:
            span = slice(self._offsets[at], self._offsets[at + 1])
            parts_documents.append(self._base_documents[span])
            parts_counts.append(self._base_counts[span])
        if key in self._additions:
            documents, counts = self._get_additions(key, newest)
            parts_documents.append(documents)
            parts_counts.append(counts)
        if not parts_documents:
            return self._base_documents[:0], self._base_counts[:0]
        documents = parts_documents[0] if len(parts_documents) == 1 else np.concatenate(parts_documents)
        counts = parts_counts[0] if len(parts_counts) == 1 else np.concatenate(parts_counts)
        if newest is not None:
            documents, counts = documents[-newest:], counts[-newest:]
        return documents, counts

    def get_postings_of_keys(
        self, keys: Array, newest: int = sys.maxsize, max_postings: int = sys.maxsize
    ) -> tuple[Array, Array, Array]:
        """Return the documents and counts for several keys.

        The third array contains the number of postings returned for each key: at most the `newest` ones, and none
        if the key has more than `max_postings`.
        """
        ends, sizes = self._locate_in_base(keys)
        key_list = keys.tolist()
        if self._additions.keys().isdisjoint(key_list):
            sizes[sizes > max_postings] = 0
            sizes = np.minimum(sizes, newest)
            documents, counts = take_ranges(ends - sizes, sizes, self._base_documents, self._base_counts)
            return documents, counts, sizes
        key_ranges = zip(key_list, ends.tolist(), sizes.tolist(), strict=True)
        parts = [self._get_parts(key, end, size, newest, max_postings) for key, end, size in key_ranges]
        return (
            np.concatenate([self._base_documents[:0], *(part for documents, _ in parts for part in documents)]),
            np.concatenate([self._base_counts[:0], *(part for _, counts in parts for part in counts)]),
            np.array([sum(map(len, documents)) for documents, _ in parts], "<i8"),
        )

    def _get_parts(
        self, key: int, end: int, size: int, newest: int, max_postings: int
    ) -> tuple[list[Array], list[Array]]:
        """Return the loaded and the added postings for one key.

        The key has `size` loaded postings, which end at position `end`.
        """
        if not size and key not in self._additions:
            return [], []
        late_documents, late_counts = self._get_additions(key, newest)
        if size + len(late_documents) > max_postings:
            return [], []
        start = end - min(size, newest - len(late_documents))
        return [self._base_documents[start:end], late_documents], [self._base_counts[start:end], late_counts]

    def count_documents(self, keys: Array) -> Array:
        """Return the number of documents ever added for each key."""
        _, sizes = self._locate_in_base(keys)
        for place, key in enumerate(keys.tolist()):
            if key in self._additions:
                sizes[place] += len(self._additions[key][0])
        return sizes

    def _locate_in_base(self, keys: Array) -> tuple[Array, Array]:
        """Return the end position and the number of each key's loaded postings."""
        if not len(self._keys):
            return np.zeros(len(keys), "<i8"), np.zeros(len(keys), "<i8")
        keys = keys.astype("<u4", copy=False)
        at = self._keys.searchsorted(keys)
        is_known = self._keys.take(at, mode="clip") == keys
        starts = self._offsets.take(at, mode="clip")
        at += 1
        ends = self._offsets.take(at, mode="clip")
        return ends, (ends - starts) * is_known

    def _get_additions(self, key: int, newest: int | None) -> tuple[Array, Array]:
        entry = self._additions.get(key)
        if entry is None:
            return self._base_documents[:0], self._base_counts[:0]
        cached_arrays = self._additions_as_arrays.get(key)
        if cached_arrays is None or len(cached_arrays[0]) != len(entry[0]):
            cached_arrays = self._additions_as_arrays[key] = np.array(entry[0], "<i4"), np.array(entry[1], "<u2")
        return cached_arrays if newest is None else (cached_arrays[0][-newest:], cached_arrays[1][-newest:])

    def build_packed(self, new_numbers: Array | None = None) -> KeyPostings:
        """Return a copy with all additions packed.

        `new_numbers` maps documents to new numbers without changing their order; documents with a negative number
        are dropped.
        """
        keys, documents, counts = self._collect_pairs(self._snapshot_additions())
        if new_numbers is not None:
            documents = new_numbers[documents]
            is_kept = documents >= 0
            keys, documents, counts = keys[is_kept], documents[is_kept], counts[is_kept]
        return KeyPostings(*_group_by_key(keys, documents, counts))

    def to_arrays(self) -> Arrays:
        """Return the arrays to save, which are complete only right after `build_packed`."""
        return {
            "keys": self._keys,
            "offsets": self._offsets,
            "documents": self._base_documents,
            "counts": self._base_counts,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> KeyPostings:
        return cls(arrays["keys"], arrays["offsets"], arrays["documents"], arrays["counts"])


def _group_by_key(keys: Array, documents: Array, counts: Array) -> tuple[Array, Array, Array, Array]:
    """Group the postings by key.

    Postings with the same key keep their order. Returns (distinct ascending keys, offsets, documents, counts).
    """
    order = keys.argsort(kind="stable")
    distinct_keys, starts = np.unique(keys[order], return_index=True)
    offsets = np.append(starts, len(order)).astype("<i8")
    return distinct_keys.astype("<u4"), offsets, documents[order].astype("<i4"), counts[order].astype("<u2")
