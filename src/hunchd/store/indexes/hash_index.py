"""Index that finds rows by the hash of a text. The index takes 12 bytes per row, about 1 MB for 100,000 rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# Additions that gather in the dictionary before they are merged into the sorted arrays.
_MERGE_AT = 8_192

Slots = npt.NDArray[np.intp]


class HashIndex:
    """Multimap from texts to slots (row numbers), based on hashes.

    Two texts may have the same hash, so callers must compare the text of the row that is found.
    """

    def __init__(self) -> None:
        self._hashes: npt.NDArray[np.int64] = np.empty(
            0, np.int64
        )  # sorted; equal hashes are in the order of their slots
        self._slots: npt.NDArray[np.int32] = np.empty(0, np.int32)
        self._recent: dict[int, list[int]] = {}
        self._recent_pairs: list[tuple[int, int]] = []

    def add(self, text: str, slot: int) -> None:
        text_hash = hash(text)
        self._recent.setdefault(text_hash, []).append(slot)
        self._recent_pairs.append((text_hash, slot))
        if len(self._recent_pairs) >= _MERGE_AT:
            self.merge_recent()

    def find_slots(self, text: str) -> Slots:
        """Return all slots that were added for `text`. Slots of other texts with the same hash are included."""
        text_hash = hash(text)
        begin, end = (int(np.searchsorted(self._hashes, text_hash, side)) for side in ("left", "right"))
        return np.concatenate([self._slots[begin:end], np.array(self._recent.get(text_hash, ()), np.intp)]).astype(
            np.intp
        )

    def find_last_slots(self, texts: Sequence[str]) -> Slots:
        """Return the slot that was added last for each text, or -1 if there is none."""
        hashes = np.fromiter(map(hash, texts), np.int64, len(texts))
        last_slots = np.full(len(texts), -1, np.intp)
        if len(self._hashes):
            at = np.searchsorted(self._hashes, hashes, "right") - 1
            is_match = (at >= 0) & (self._hashes[at] == hashes)
            last_slots[is_match] = self._slots[at[is_match]]
        if self._recent:
            for index, text_hash in enumerate(hashes.tolist()):
                if (slots := self._recent.get(text_hash)) is not None:
                    last_slots[index] = slots[-1]
        return last_slots

    def find_shared_slots(self) -> Slots:
        """Return the slots whose hash occurs more than once.

        Additions since the last call of `merge_recent` are ignored.
        """
        _, counts = np.unique(self._hashes, return_counts=True)
        shared_slots: Slots = self._slots[np.repeat(counts > 1, counts)].astype(np.intp)
        return shared_slots

    def merge_recent(self) -> None:
        """Merge recent additions into the sorted arrays."""
        if not self._recent_pairs:
            return
        hashes, slots = (np.array(column) for column in zip(*self._recent_pairs, strict=True))
        hashes = np.concatenate([self._hashes, hashes.astype(np.int64)])
        slots = np.concatenate([self._slots, slots.astype(np.int32)])
        order = np.lexsort((slots, hashes))
        self._hashes, self._slots = hashes[order], slots[order]
        self._recent, self._recent_pairs = {}, []
