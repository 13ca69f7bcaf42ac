"""Postings of documents by key, packed as loaded.

Additions are stored beside the packed arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from hunchd.prediction.packed import Array, Arrays, stretches

Held = list[tuple[int, list[int], list[int], int]]  # key, documents, counts, and their number at that time


class Postings:
    """Map from keys to (document, count) pairs, as added.

    Loaded postings are two sorted arrays searched by bisection; additions are stored by key beside them.
    """

    __slots__ = ("_added", "_base_counts", "_base_documents", "_keys", "_offsets", "_read", "added")

    def __init__(self, keys: Array, offsets: Array, documents: Array, counts: Array) -> None:
        self._keys = keys
        self._offsets = offsets
        self._base_documents = documents
        self._base_counts = counts
        self._added: dict[int, tuple[list[int], list[int]]] = {}
        self._read: dict[int, tuple[Array, Array]] = {}  # additions as arrays, created on first read
        self.added = 0  # number of added pairs: some 80 bytes each, instead of 6

    @classmethod
    def of(cls) -> Postings:
        """Create empty postings."""
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
        """Return work for any thread that merges additions into the packed arrays.

        Documents for which `keep` is false are dropped. The work returns a function to be called in the thread that
        adds, which may have added more meanwhile.
        """
        held = self._held()

        def work() -> Callable[[], None]:
            keys, documents, counts = self._every(held)
            kept = keep(documents)
            return partial(self._merged, held, _by_key(keys[kept], documents[kept], counts[kept]))

        return work

    def _held(self) -> Held:
        """Return a snapshot of the additions: the lists only grow."""
        return [(key, documents, counts, len(documents)) for key, (documents, counts) in self._added.items()]

    def _every(self, held: Held) -> tuple[Array, Array, Array]:
        """Return keys, documents and counts of all pairs, the loaded ones first."""
        late = np.repeat(np.array([key for key, *_ in held], "<u4"), [size for *_, size in held])
        documents = [document for _, documents, _, size in held for document in documents[:size]]
        counts = [count for _, _, counts, size in held for count in counts[:size]]
        return (
            np.concatenate([np.repeat(self._keys, np.diff(self._offsets)), late]),
            np.concatenate([self._base_documents, np.array(documents, "<i4")]),
            np.concatenate([self._base_counts, np.array(counts, "<u2")]),
        )

    def _merged(self, held: Held, base: tuple[Array, Array, Array, Array]) -> None:
        self._keys, self._offsets, self._base_documents, self._base_counts = base
        for key, _, _, size in held:
            documents, counts = self._added.pop(key)
            self._read.pop(key, None)
            if len(documents) > size:  # added meanwhile
                self._added[key] = (documents[size:], counts[size:])
            self.added -= size

    def of_key(self, key: int, newest: int | None = None) -> tuple[Array, Array]:
        """Return documents and counts of one key, oldest first.

        At most the `newest` are returned.
        """
        if not len(self._keys):
            return self._added_of(key, newest)
        at = int(self._keys.searchsorted(np.uint32(key)))  # of the keys' own type, otherwise numpy copies the keys
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
        """Return documents and counts of several keys.

        The third array is the number for each key. At most the `newest` of each key, and none of a key with more
        than `most`.
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
        """Return loaded and added postings of one key.

        `size` loaded ones end at `end`.
        """
        if not size and key not in self._added:
            return [], []
        late, late_counts = self._added_of(key, newest)
        if size + len(late) > most:
            return [], []
        start = end - min(size, newest - len(late))
        return [self._base_documents[start:end], late], [self._base_counts[start:end], late_counts]

    def sizes_of(self, keys: Array) -> Array:
        """Return the number of documents ever added for each key."""
        _, sizes = self._in_base(keys)
        for place, key in enumerate(keys.tolist()):
            if key in self._added:
                sizes[place] += len(self._added[key][0])
        return sizes

    def _in_base(self, keys: Array) -> tuple[Array, Array]:
        """Return end and number of each key's loaded postings."""
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
        """Return the same postings without additions beside the base.

        `renumbered` maps documents to new numbers in the same order; negative ones are dropped.
        """
        keys, documents, counts = self._every(self._held())
        if renumbered is not None:
            documents = renumbered[documents]
            kept = documents >= 0
            keys, documents, counts = keys[kept], documents[kept], counts[kept]
        return Postings(*_by_key(keys, documents, counts))

    def arrays(self) -> Arrays:
        """Return the arrays to save. Valid only right after `packed`."""
        return {
            "keys": self._keys,
            "offsets": self._offsets,
            "documents": self._base_documents,
            "counts": self._base_counts,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Postings:
        return cls(arrays["keys"], arrays["offsets"], arrays["documents"], arrays["counts"])


def _by_key(keys: Array, documents: Array, counts: Array) -> tuple[Array, Array, Array, Array]:
    """Group pairs by key: distinct ascending keys, offsets, documents and counts.

    Pairs of one key keep their order.
    """
    order = keys.argsort(kind="stable")
    once, starts = np.unique(keys[order], return_index=True)
    offsets = np.append(starts, len(order)).astype("<i8")
    return once.astype("<u4"), offsets, documents[order].astype("<i4"), counts[order].astype("<u2")
