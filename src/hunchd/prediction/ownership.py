"""Ownership of lines by units, estimated without blame.

The estimate uses line counts. A unit that adds lines owns them; one that deletes lines takes them from all owners
in proportion. What a change is about to touch was mostly written by the largest owners: on blame-derived truth this
finds far more than the newest units do.
"""

from __future__ import annotations

import numpy as np

from hunchd.prediction.packed import Array, Arrays, Rows, concatenated

MOST_OWNERS = 64  # units kept for one file

OWNED = np.dtype([("unit", "<i4"), ("lines", "<f4")])


class Ownership:
    """Rows of (unit, surviving lines) by file number."""

    def __init__(self, rows: Rows | None = None) -> None:
        self.rows = Rows.of(OWNED) if rows is None else rows

    def learn(self, file: int, unit: int, added: int, deleted: int) -> None:
        """Record that `unit` added and deleted this many lines of a file."""
        if not added and not deleted:  # not counted
            return
        row = self.rows[file].copy()
        total = float(row["lines"].sum())
        if total > 0:
            row["lines"] *= max(1.0 - deleted / total, 0.0)
        if added:
            own = np.array([(unit, added)], OWNED)
            row = concatenated([row, own])
        if len(row) > MOST_OWNERS:
            row = row[np.sort(np.argpartition(-row["lines"], MOST_OWNERS)[:MOST_OWNERS])]
        self.rows[file] = row

    def shares(self, file: int) -> tuple[Array, Array]:
        """Return the units that own lines of a file, with shares."""
        row = self.rows[file]
        return row["unit"], row["lines"] / max(float(row["lines"].sum()), 1.0)

    def arrays(self) -> Arrays:
        rows, offsets = self.rows.packed()
        return {"rows": rows, "offsets": offsets}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Ownership:
        return cls(Rows(arrays["rows"], arrays["offsets"]))
