"""Quarantine for damaged rows, which are excluded from all query results.

Their ids are remembered across restarts.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection as Bag
from collections.abc import Sequence
from pathlib import Path

from hunchd.domain.filters import Filters, matches
from hunchd.store.database.tables import Row, get_memory, is_intact
from hunchd.store.files import FileOperations, replace_file

logger = logging.getLogger(__name__)


class Quarantine:
    """Set of the ids of damaged rows, stored in a file. An id is released when its row is rewritten or deleted."""

    def __init__(self, path: Path, files: FileOperations) -> None:
        self._path = path
        self._files = files
        self.ids: set[str] = set(load_ids(path))

    def filter_intact(self, rows: Sequence[Row], filters: Filters | None = None) -> list[Row]:
        """Return the rows that are intact, and quarantine the others.

        If a row passed `filters` in the database but does not pass them here, the columns that the database compared
        are damaged.
        """
        intact_rows = [row for row in rows if is_intact(row) and (filters is None or matches(get_memory(row), filters))]
        damaged_ids = {row["id"] for row in rows} - {row["id"] for row in intact_rows}
        if damaged_ids - self.ids:
            logger.error(
                "%d rows are damaged and will not be returned; their ids are in %s", len(damaged_ids), self._path
            )
            self.ids |= damaged_ids
            self._write()
        return intact_rows

    def release(self, ids: Bag[str]) -> None:
        """Release the ids of rows that were rewritten or deleted."""
        if self.ids & set(ids):
            self.ids -= set(ids)
            self._write()

    def _write(self) -> None:
        replace_file(self._files, self._path, json.dumps(sorted(self.ids)).encode())


def load_ids(path: Path) -> list[str]:
    """Return the ids in a JSON file. Returns an empty list if the file is missing or cannot be read."""
    try:
        ids = json.loads(path.read_bytes())
    except FileNotFoundError:
        return []
    except ValueError:
        logger.exception("%s cannot be read; ignoring it", path)
        return []
    return [str(id_) for id_ in ids]
