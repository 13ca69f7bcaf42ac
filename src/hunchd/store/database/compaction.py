"""Decision when a table is due for compaction. Pure.

Compaction rewrites all rows: its cost grows with the table, and so do the limits.
"""

from __future__ import annotations

from typing import Final

MAX_COMMITS: Final = 50  # before a compaction (each adds small files) …
ROWS_PER_COMMIT: Final = 400  # … and one more for each this many rows
MAX_UNINDEXED_IDLE: Final = 500  # unindexed rows, while there are no queries …
ROWS_PER_UNINDEXED: Final = 50  # … and one more for each this many rows
MAX_UNINDEXED: Final = 4_000  # unindexed rows, queries or not: the mirror holds little more
# Unindexed rows that are not in memory either: each search of the database for words or ids scans them.
MAX_SCATTERED: Final = 250


def is_compaction_due(commits: int, rows: int, unindexed_rows: int, scattered_rows: int, *, idle: bool) -> bool:
    """Return True if a table is worth compacting.

    Args are the commits since the last compaction, the rows, the `unindexed` ones of them, and the new ones that no
    index knows (`scattered`). `idle` means that there are no queries at the moment.
    """
    if commits == 0:
        return False
    if (
        commits >= MAX_COMMITS + rows // ROWS_PER_COMMIT
        or unindexed_rows > MAX_UNINDEXED
        or scattered_rows > MAX_SCATTERED
    ):
        return True
    return idle and unindexed_rows > MAX_UNINDEXED_IDLE + rows // ROWS_PER_UNINDEXED
