"""What changes together: one row of neighbours a file, decayed at two speeds, read lazily.

After ROSE (Zimmermann et al., 2005), with decay instead of a window and large changes counting less.
"""

from __future__ import annotations

import math

import numpy as np

from hunchd.prediction.files import LONG_HALF_LIFE, SHORT_HALF_LIFE, Files
from hunchd.prediction.packed import Array, Arrays, Rows, concatenated

LONGEST_ROW = 128  # neighbours; beyond it lie accidents
KEPT_OF_FULL = 96  # what a full row is cut back to, so that cutting is rare
LARGEST_CHANGE = 50  # files; larger changes are moves, formatting, licences

ROW = np.dtype([("file", "<i4"), ("long", "<f4"), ("short", "<f4"), ("count", "<u2"), ("last", "<i4")])


def weight_of(size: int) -> float:
    """How much a change of `size` files says about any two of them: 1 for one file, a half for three."""
    return 1.0 / math.log2(1 + max(size, 1))


class CoChange:
    """Rows of (neighbour, long-lived weight, short-lived weight, count, last unit) by file number."""

    def __init__(self, rows: Rows | None = None) -> None:
        self.rows = Rows.of(ROW) if rows is None else rows
        self._position = np.full(64, -1, "<i4")  # scratch: neighbour -> place in the row at hand

    def learn(self, numbers: Array, unit: int, weight: float) -> None:
        """These files changed together in `unit`: one vectorised row update each."""
        if not 2 <= len(numbers) <= LARGEST_CHANGE:
            return
        highest = int(numbers.max()) + 1
        if highest > len(self._position):
            self._position = np.full(highest * 2, -1, "<i4")
        for number in numbers.tolist():
            self._strengthen(number, numbers[numbers != number], unit, weight)

    def _strengthen(self, number: int, others: Array, unit: int, weight: float) -> None:
        row = self.rows[number]
        neighbours = row["file"]
        if len(neighbours) and int(neighbours.max()) >= len(self._position):
            self._position = np.full(int(neighbours.max()) * 2, -1, "<i4")
        self._position[neighbours] = np.arange(len(row))
        places = self._position[others]
        self._position[neighbours] = -1
        at = places[places >= 0]
        if len(at):
            elapsed = unit - row["last"][at]
            row["long"][at] = row["long"][at] * np.exp2(-elapsed / LONG_HALF_LIFE) + weight
            row["short"][at] = row["short"][at] * np.exp2(-elapsed / SHORT_HALF_LIFE) + weight
            row["count"][at] = np.minimum(row["count"][at], 65_534) + 1
            row["last"][at] = unit
        fresh = others[places < 0]
        if len(fresh):
            added = np.empty(len(fresh), ROW)
            added["file"], added["long"], added["short"] = fresh, weight, weight
            added["count"], added["last"] = 1, unit
            row = concatenated([row, added])
            if len(row) > LONGEST_ROW:
                row = _cut(row, unit)
            self.rows[number] = row

    def neighbours(self, number: int, unit: int) -> tuple[Array, Array, Array]:
        """The row of a file with its two weights as of `unit`: (row, long, short)."""
        row = self.rows[number]
        elapsed = np.maximum(unit - row["last"], 0)
        return row, row["long"] * np.exp2(-elapsed / LONG_HALF_LIFE), row["short"] * np.exp2(-elapsed / SHORT_HALF_LIFE)

    def shares_of(self, numbers: Array, files: Files, unit: int, prior: float) -> tuple[Array, Array, Array]:
        """Neighbours of several files, P(neighbour | file) for each, and the place of the file in `numbers`."""
        row, which = self.rows.joined(numbers)
        weight = row["long"] * np.exp2(-np.maximum(unit - row["last"], 0) / LONG_HALF_LIFE)
        own, _ = files.faded(numbers, unit)
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
