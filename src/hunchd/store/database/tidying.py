"""When a table is to be tidied: merged, indexed anew, old versions dropped. Pure.

Tidying writes all rows anew: what it costs grows with the table, and so does what may gather before it.
"""

from __future__ import annotations

from typing import Final

COMMITS: Final = 50  # small files that may gather …
ROWS_PER_COMMIT: Final = 400  # … and one more for each so many rows
NEW: Final = 500  # rows that no index knows, when nobody is asking …
ROWS_PER_NEW: Final = 50  # … and one more for each so many
MOST_NEW: Final = 4_000  # then it is time, whoever waits: the mirror keeps little more at hand
# Of the new rows, those that are not at hand either: where the database looks for words or ids, it looks through them.
MOST_SCATTERED: Final = 250


def is_due(commits: int, rows: int, new: int, scattered: int, *, quiet: bool) -> bool:
    """Whether a table of so many `rows`, `new` of them and some of these `scattered`, is worth tidying after so many
    `commits`; `quiet`: nobody asks just now."""
    if commits == 0:
        return False
    if commits >= COMMITS + rows // ROWS_PER_COMMIT or new > MOST_NEW or scattered > MOST_SCATTERED:
        return True
    return quiet and new > NEW + rows // ROWS_PER_NEW
