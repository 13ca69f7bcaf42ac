"""Counters of events in an open store, and when they call for compaction.

Compaction rewrites all rows, so its cost grows with the table, and the limits grow accordingly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from hunchd.store.database.repair import RepairReport

MAX_COMMITS: Final = 50  # commits before a compaction (each commit adds small files) …
ROWS_PER_COMMIT: Final = 400  # … and one more for every so many rows
MAX_FRESH_IDLE: Final = 500  # rows written since the last compaction, while there are no queries …
ROWS_PER_FRESH: Final = 50  # … and one more for every so many rows
MAX_FRESH: Final = 4_000  # such rows, even while there are queries: the mirror can hold few more


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Numbers of rows that a write added or changed."""

    added: int = 0
    changed: int = 0


@dataclass(slots=True)
class StoreCounters:
    """Counters of events in a store since it was opened."""

    commits: int = 0
    since_optimise: int = 0
    optimise_failures: int = 0  # in a row
    repair_count: int = 0
    repairs: list[RepairReport] = field(default_factory=list)


def is_compaction_due(commits: int, rows: int, fresh_rows: int, *, idle: bool) -> bool:
    """Return True if a table is worth compacting.

    `commits` and `fresh_rows` are the numbers of commits and of rows written since the last compaction; `rows` is the
    total number of rows. `idle` means that there are no queries at the moment.
    """
    if commits == 0:
        return False
    if commits >= MAX_COMMITS + rows // ROWS_PER_COMMIT or fresh_rows > MAX_FRESH:
        return True
    return idle and fresh_rows > MAX_FRESH_IDLE + rows // ROWS_PER_FRESH
