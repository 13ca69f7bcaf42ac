"""Index of rows by the hash of a text.

It takes 12 bytes a row, about 1 MB for 100,000 rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# Additions that gather in the dictionary before they are merged into the sorted arrays.
_MERGE_AT = 8_192

Slots = npt.NDArray[np.intp]


class Keys:
    """Multimap from texts to slots, by hash.

    Two texts may share a hash: callers compare the text of the row.
    """

    def __init__(self) -> None:
        self._hashes: npt.NDArray[np.int64] = np.empty(0, np.int64)  # sorted, equals in the order of their slots
        self._slots: npt.NDArray[np.int32] = np.empty(0, np.int32)
        self._recent: dict[int, list[int]] = {}
        self._added: list[tuple[int, int]] = []

    def add(self, text: str, slot: int) -> None:
        hashed = hash(text)
        self._recent.setdefault(hashed, []).append(slot)
        self._added.append((hashed, slot))
        if len(self._added) >= _MERGE_AT:
            self.settle()

    def find(self, text: str) -> Slots:
        """Return all slots that were added for `text`."""
        hashed = hash(text)
        begin, end = (int(np.searchsorted(self._hashes, hashed, side)) for side in ("left", "right"))
        return np.concatenate([self._slots[begin:end], np.array(self._recent.get(hashed, ()), np.intp)]).astype(np.intp)

    def first(self, texts: Sequence[str]) -> Slots:
        """Return the slot added last for each text, or -1."""
        hashes = np.fromiter(map(hash, texts), np.int64, len(texts))
        found = np.full(len(texts), -1, np.intp)
        if len(self._hashes):
            at = np.searchsorted(self._hashes, hashes, "right") - 1
            there = (at >= 0) & (self._hashes[at] == hashes)
            found[there] = self._slots[at[there]]
        if self._recent:
            for index, hashed in enumerate(hashes.tolist()):
                if (slots := self._recent.get(hashed)) is not None:
                    found[index] = slots[-1]
        return found

    def shared(self) -> Slots:
        """Return merged slots whose hash another slot has too."""
        _, counts = np.unique(self._hashes, return_counts=True)
        found: Slots = self._slots[np.repeat(counts > 1, counts)].astype(np.intp)
        return found

    def settle(self) -> None:
        """Merge recent additions into the sorted arrays."""
        if not self._added:
            return
        hashes, slots = (np.array(column) for column in zip(*self._added, strict=True))
        hashes = np.concatenate([self._hashes, hashes.astype(np.int64)])
        slots = np.concatenate([self._slots, slots.astype(np.int32)])
        order = np.lexsort((slots, hashes))
        self._hashes, self._slots = hashes[order], slots[order]
        self._recent, self._added = {}, []
