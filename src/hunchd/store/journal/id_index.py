"""Index of accepted record ids with their sequence numbers.

The index contains only the newest ids, as hashes, and takes 16 bytes per id.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

# Ids that gather in the dictionary before they are merged into the sorted arrays (about 1 ms each time).
_MERGE_AT = 4096

Numbers = npt.NDArray[np.uint64]


class IdIndex:
    """Index of the newest ids.

    It holds at least `limit` ids (once that many have been added), and at most twice as many.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._keys: Numbers = np.empty(0, np.uint64)  # sorted
        self._sequences: Numbers = np.empty(0, np.uint64)  # in the order of the keys
        self._recent: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._keys) + len(self._recent)

    def get_sequence(self, key: int) -> int | None:
        """Return the sequence number of an id, or None if the id is unknown.

        The oldest ids become unknown again when the limit is exceeded.
        """
        recent = self._recent.get(key)
        if recent is not None:
            return recent
        at = int(np.searchsorted(self._keys, np.uint64(key)))
        if at < len(self._keys) and int(self._keys[at]) == key:
            return int(self._sequences[at])
        return None

    def add(self, key: int, sequence: int) -> None:
        self._recent[key] = sequence
        if len(self._recent) >= _MERGE_AT:
            recent, self._recent = self._recent, {}
            self.add_many(
                np.fromiter(recent.keys(), np.uint64, len(recent)),
                np.fromiter(recent.values(), np.uint64, len(recent)),
            )

    def add_many(self, keys: Numbers, sequences: Numbers) -> None:
        """Add many ids with their sequence numbers.

        If an id is already known, or occurs more than once, its first sequence number is kept.
        """
        order = np.lexsort((sequences, keys))
        keys, sequences = keys[order], sequences[order]
        first = np.ones(len(keys), bool)
        first[1:] = keys[1:] != keys[:-1]
        at = np.searchsorted(self._keys, keys)
        if len(self._keys):
            first &= self._keys[np.minimum(at, len(self._keys) - 1)] != keys
        # Only new ids are sorted, then inserted, so that a merge takes about a millisecond: it blocks the event loop.
        self._keys = np.insert(self._keys, at[first], keys[first])
        self._sequences = np.insert(self._sequences, at[first], sequences[first])
        if len(self._keys) > 2 * self._limit:
            self._filter_keys(self._sequences >= np.partition(self._sequences, -self._limit)[-self._limit])

    def remove_ids(self, keys: Iterable[int]) -> None:
        removed_keys = set(keys)
        self._recent = {key: sequence for key, sequence in self._recent.items() if key not in removed_keys}
        self._filter_keys(~np.isin(self._keys, np.fromiter(removed_keys, np.uint64, len(removed_keys))))

    def _filter_keys(self, mask: npt.NDArray[np.bool_]) -> None:
        self._keys, self._sequences = self._keys[mask], self._sequences[mask]
