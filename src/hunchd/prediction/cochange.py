"""Co-change of files, decayed at two speeds on read.

There is one row of neighbours for each file. After ROSE (Zimmermann et al., 2005), with decay instead of a window;
large changes count less.
"""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from hunchd.prediction.files import LONG_HALF_LIFE, SHORT_HALF_LIFE, Files
from hunchd.prediction.packed import Array, Arrays, Rows, concatenated, raw

LONGEST_ROW = 128  # neighbours; more would be chance co-changes
KEPT_OF_FULL = 96  # length that a full row is cut to, so that cutting is rare
LARGEST_CHANGE = 50  # files; larger changes are moves, formatting, licences

ROW = np.dtype([("file", "<i4"), ("long", "<f4"), ("short", "<f4"), ("count", "<u2"), ("last", "<i4")])


def weight_of(size: int) -> float:
    """Return the weight of a change of `size` files.

    It is 1 for one file and 0.5 for three.
    """
    return 1.0 / math.log2(1 + max(size, 1))


class CoChange:
    """Rows of neighbours with weights, by file number.

    A neighbour has a long-lived and a short-lived weight, a count and a last unit.
    """

    def __init__(self, rows: Rows | None = None) -> None:
        self.rows = Rows.of(ROW) if rows is None else rows
        self._position = np.full(64, -1, "<i4")  # scratch: file -> index in the current change

    def learn(self, numbers: Array, unit: int, weight: float) -> None:
        """Record that these files changed together in `unit`.

        All their rows are updated at once.
        """
        if not 2 <= len(numbers) <= LARGEST_CHANGE:
            return
        listed = numbers.tolist()
        rows = [self.rows[number] for number in listed]
        sizes = [len(row) for row in rows]
        joined = concatenated(rows)
        known = self._strengthened(joined, np.arange(len(rows)).repeat(sizes), numbers, unit, weight)
        fresh_of, fresh = (~known).nonzero()
        added = np.empty(len(fresh), ROW)
        added["file"], added["long"], added["short"] = numbers[fresh], weight, weight
        added["count"], added["last"] = 1, unit
        joined, added = raw(joined), raw(added)
        until = fresh_of.searchsorted(np.arange(1, len(rows) + 1)).tolist()
        for number, row, end, start, stop in zip(listed, rows, accumulate(sizes), [0, *until], until, strict=False):
            same = joined[end - len(row) : end]
            if start == stop:
                raw(row)[:] = same
            else:
                longer = np.concatenate([same, added[start:stop]]).view(ROW)
                self.rows[number] = longer if len(longer) <= LONGEST_ROW else _cut(longer, unit)

    def _strengthened(self, joined: Array, which: Array, numbers: Array, unit: int, weight: float) -> Array:
        """Strengthen the elements of the joined rows that are among `numbers`.

        Returns a mask (rows, numbers): True where the row holds the number, or is its own.
        """
        highest = max(int(numbers.max()), int(joined["file"].max(initial=0)))
        if highest >= len(self._position):
            self._position = np.full(highest * 2, -1, "<i4")
        self._position[numbers] = np.arange(len(numbers))
        places = self._position[joined["file"]]
        self._position[numbers] = -1
        at = (places >= 0).nonzero()[0]
        known = np.eye(len(numbers), dtype="?")
        known[which[at], places[at]] = True
        elapsed = unit - joined["last"][at]
        joined["long"][at] = joined["long"][at] * np.exp2(-elapsed / LONG_HALF_LIFE) + weight
        joined["short"][at] = joined["short"][at] * np.exp2(-elapsed / SHORT_HALF_LIFE) + weight
        joined["count"][at] = np.minimum(joined["count"][at], 65_534) + 1
        joined["last"][at] = unit
        return known

    def neighbours(self, number: int, unit: int) -> tuple[Array, Array, Array]:
        """Return the row of a file and its decayed weights.

        The result is (row, long, short) as of `unit`.
        """
        row = self.rows[number]
        elapsed = np.maximum(unit - row["last"], 0)
        return row, row["long"] * np.exp2(-elapsed / LONG_HALF_LIFE), row["short"] * np.exp2(-elapsed / SHORT_HALF_LIFE)

    def shares_of(self, numbers: Array, files: Files, unit: int, prior: float) -> tuple[Array, Array, Array]:
        """Return neighbours of several files with P(neighbour | file).

        The third array is the index of the file in `numbers`.
        """
        row, which = self.rows.joined(numbers)
        weight = row["long"] * np.exp2(-np.maximum(unit - row["last"], 0) / LONG_HALF_LIFE)
        own = files.faded_slowly(numbers, unit)
        return row["file"], weight / (own + prior)[which], which

    def arrays(self) -> Arrays:
        rows, offsets = self.rows.packed()
        return {"rows": rows, "offsets": offsets}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> CoChange:
        return cls(Rows(arrays["rows"], arrays["offsets"]))


def _cut(row: Array, unit: int) -> Array:
    elapsed = unit - row["last"]
    worth = row["long"] * np.exp2(-elapsed / LONG_HALF_LIFE) + row["short"] * np.exp2(-elapsed / SHORT_HALF_LIFE)
    kept: Array = row[np.sort(np.argpartition(-worth, KEPT_OF_FULL)[:KEPT_OF_FULL])]
    return kept
