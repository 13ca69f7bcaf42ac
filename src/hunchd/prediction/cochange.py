"""Co-change of files, with weights that decay at two speeds when read.

Each file has one row with its neighbours, the files that changed together with it. Time is counted in units of
work. The method follows ROSE (Zimmermann et al., 2005), but uses decay instead of a time window, and changes to
many files count less.
"""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from hunchd.prediction.file_table import LONG_HALF_LIFE, SHORT_HALF_LIFE, FileTable
from hunchd.prediction.packed_arrays import Array, Arrays, PackedRows, concatenate_arrays, view_as_bytes

MAX_ROW_LENGTH = 128  # neighbours; further ones would be chance co-changes
TRIMMED_ROW_LENGTH = 96  # length to which a full row is cut; being shorter, it makes cutting rare
MAX_CHANGE_FILES = 50  # files; larger changes are moves, formatting, licences

ROW = np.dtype([("file", "<i4"), ("long", "<f4"), ("short", "<f4"), ("count", "<u2"), ("last", "<i4")])


def compute_change_weight(size: int) -> float:
    """Return the weight of a change to `size` files.

    The weight is 1 for one file and 0.5 for three.
    """
    return 1.0 / math.log2(1 + max(size, 1))


class CoChange:
    """Files that changed together, as one row for each file.

    A row contains the neighbours of a file; files and neighbours are given by number. A neighbour has a long-lived
    and a short-lived weight, the number of common changes, and the last unit that changed both files.
    """

    def __init__(self, rows: PackedRows | None = None) -> None:
        self.rows = PackedRows.create(ROW) if rows is None else rows
        self._position = np.full(64, -1, "<i4")  # scratch: file -> index in the current change

    def record_change(self, numbers: Array, unit: int, weight: float) -> None:
        """Record that these files changed together in `unit`.

        The rows of all files are updated in one vectorised operation.
        """
        if not 2 <= len(numbers) <= MAX_CHANGE_FILES:
            return
        number_list = numbers.tolist()
        rows = [self.rows[number] for number in number_list]
        sizes = [len(row) for row in rows]
        joined_rows = concatenate_arrays(rows)
        is_known = self._strengthen(joined_rows, np.arange(len(rows)).repeat(sizes), numbers, unit, weight)
        new_rows, new_places = (~is_known).nonzero()
        new_entries = np.empty(len(new_places), ROW)
        new_entries["file"], new_entries["long"], new_entries["short"] = numbers[new_places], weight, weight
        new_entries["count"], new_entries["last"] = 1, unit
        joined_rows, new_entries = view_as_bytes(joined_rows), view_as_bytes(new_entries)
        until = new_rows.searchsorted(np.arange(1, len(rows) + 1)).tolist()
        for number, row, end, start, stop in zip(
            number_list, rows, accumulate(sizes), [0, *until], until, strict=False
        ):
            same = joined_rows[end - len(row) : end]
            if start == stop:
                view_as_bytes(row)[:] = same
            else:
                longer = np.concatenate([same, new_entries[start:stop]]).view(ROW)
                self.rows[number] = longer if len(longer) <= MAX_ROW_LENGTH else _trim_row(longer, unit)

    def _strengthen(self, joined_rows: Array, which: Array, numbers: Array, unit: int, weight: float) -> Array:
        """Increase the weights of those entries in `joined_rows` that are among `numbers`.

        `which` contains the row of each entry. Returns a mask of shape (rows, numbers) that is True where the row
        contains the number or belongs to that file.
        """
        highest = max(int(numbers.max()), int(joined_rows["file"].max(initial=0)))
        if highest >= len(self._position):
            self._position = np.full(highest * 2, -1, "<i4")
        self._position[numbers] = np.arange(len(numbers))
        places = self._position[joined_rows["file"]]
        self._position[numbers] = -1
        at = (places >= 0).nonzero()[0]
        is_known = np.eye(len(numbers), dtype="?")
        is_known[which[at], places[at]] = True
        elapsed_units = unit - joined_rows["last"][at]
        joined_rows["long"][at] = joined_rows["long"][at] * np.exp2(-elapsed_units / LONG_HALF_LIFE) + weight
        joined_rows["short"][at] = joined_rows["short"][at] * np.exp2(-elapsed_units / SHORT_HALF_LIFE) + weight
        joined_rows["count"][at] = np.minimum(joined_rows["count"][at], 65_534) + 1
        joined_rows["last"][at] = unit
        return is_known

    def load_neighbours(self, number: int, unit: int) -> tuple[Array, Array, Array]:
        """Return the neighbours of a file with their decayed weights.

        Returns (row, long-lived weights, short-lived weights), as of `unit`.
        """
        row = self.rows[number]
        elapsed_units = np.maximum(unit - row["last"], 0)
        return (
            row,
            row["long"] * np.exp2(-elapsed_units / LONG_HALF_LIFE),
            row["short"] * np.exp2(-elapsed_units / SHORT_HALF_LIFE),
        )

    def load_shares(self, numbers: Array, files: FileTable, unit: int, prior: float) -> tuple[Array, Array, Array]:
        """Return the neighbours of several files with P(neighbour | file).

        Returns (neighbours, probabilities, indexes). The index of a neighbour says to which of `numbers` the
        neighbour belongs. For smoothing, `prior` is added to the weight of each file.
        """
        row, which = self.rows.join_rows(numbers)
        weight = row["long"] * np.exp2(-np.maximum(unit - row["last"], 0) / LONG_HALF_LIFE)
        own = files.decayed_long_weights(numbers, unit)
        return row["file"], weight / (own + prior)[which], which

    def to_arrays(self) -> Arrays:
        rows, offsets = self.rows.to_arrays()
        return {"rows": rows, "offsets": offsets}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> CoChange:
        return cls(PackedRows(arrays["rows"], arrays["offsets"]))


def _trim_row(row: Array, unit: int) -> Array:
    elapsed_units = unit - row["last"]
    worth = row["long"] * np.exp2(-elapsed_units / LONG_HALF_LIFE) + row["short"] * np.exp2(
        -elapsed_units / SHORT_HALF_LIFE
    )
    trimmed_row: Array = row[np.sort(np.argpartition(-worth, TRIMMED_ROW_LENGTH)[:TRIMMED_ROW_LENGTH])]
    return trimmed_row
