"""Ownership of lines by units of work, estimated without git blame.

The estimate uses line counts: a unit that adds lines owns them, and deleted lines are taken from all owners in
proportion. The largest owners wrote most of what a change is about to touch; measured against git blame, they are a
far better guess than the newest units.
"""

from __future__ import annotations

import numpy as np

from hunchd.prediction.packed_arrays import Array, Arrays, PackedRows, concatenate_arrays

MAX_OWNERS = 64  # units kept for one file

OWNER_DTYPE = np.dtype([("unit", "<i4"), ("lines", "<f4")])


class LineOwnership:
    """Numbers of surviving lines that each unit wrote, keyed by file number."""

    def __init__(self, rows: PackedRows | None = None) -> None:
        self.rows = PackedRows.create(OWNER_DTYPE) if rows is None else rows

    def record_change(self, file: int, unit: int, added_lines: int, deleted_lines: int) -> None:
        """Record that `unit` added and deleted this many lines of a file."""
        if not added_lines and not deleted_lines:  # the lines were not counted
            return
        row = self.rows[file].copy()
        total = float(row["lines"].sum())
        if total > 0:
            row["lines"] *= max(1.0 - deleted_lines / total, 0.0)
        if added_lines:
            own = np.array([(unit, added_lines)], OWNER_DTYPE)
            row = concatenate_arrays([row, own])
        if len(row) > MAX_OWNERS:
            row = row[np.sort(np.argpartition(-row["lines"], MAX_OWNERS)[:MAX_OWNERS])]
        self.rows[file] = row

    def compute_shares(self, file: int) -> tuple[Array, Array]:
        """Return the units that own lines of a file, with shares.

        A share is the proportion of the file's lines that the unit owns.
        """
        row = self.rows[file]
        return row["unit"], row["lines"] / max(float(row["lines"].sum()), 1.0)

    def to_arrays(self) -> Arrays:
        rows, offsets = self.rows.to_arrays()
        return {"rows": rows, "offsets": offsets}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> LineOwnership:
        return cls(PackedRows(arrays["rows"], arrays["offsets"]))
