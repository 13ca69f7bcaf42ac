"""Decision on whether a table is due for compaction, without I/O.

Compaction rewrites all rows, so its cost grows with the table, and the limits grow accordingly.
"""

from __future__ import annotations

from typing import Final

MAX_COMMITS: Final = 50  # commits before a compaction (each commit adds small files) …
ROWS_PER_COMMIT: Final = 400  # … and one more for every so many rows
MAX_FRESH_IDLE: Final = 500  # rows written since the last compaction, while there are no queries …
ROWS_PER_FRESH: Final = 50  # … and one more for every so many rows
MAX_FRESH: Final = 4_000  # such rows, even while there are queries: the mirror can hold few more


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
