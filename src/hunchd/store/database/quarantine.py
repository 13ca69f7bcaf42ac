"""Rows that are not as they were written: never served, remembered over a restart, free again once written anew."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection as Bag
from collections.abc import Sequence
from pathlib import Path

from hunchd.domain.filters import Filters, matches
from hunchd.store.database.tables import Row, is_intact, memory_of
from hunchd.store.files import Files, replace_file

logger = logging.getLogger(__name__)


class Quarantine:
    def __init__(self, path: Path, files: Files) -> None:
        self._path = path
        self._files = files
        self.ids: set[str] = set(ids_in(path))

    def intact(self, rows: Sequence[Row], filters: Filters | None = None) -> list[Row]:
        """Those of the rows that may be served; the others are kept back from now on.

        A row that passed `filters` in the database and does not here has damage in the columns that were compared.
        """
        whole = [row for row in rows if is_intact(row) and (filters is None or matches(memory_of(row), filters))]
        damaged = {row["id"] for row in rows} - {row["id"] for row in whole}
        if damaged - self.ids:
            logger.error("%d rows are not as they were written; %s", len(damaged), self._path)
            self.ids |= damaged
            self._write()
        return whole

    def release(self, ids: Bag[str]) -> None:
        """They were written anew, or are gone."""
        if self.ids & set(ids):
            self.ids -= set(ids)
            self._write()

    def _write(self) -> None:
        replace_file(self._files, self._path, json.dumps(sorted(self.ids)).encode())


def ids_in(path: Path) -> list[str]:
    """The ids that a note of ours holds; none if it is not there or cannot be read."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return []
    except ValueError:
        logger.exception("%s cannot be read", path)
        return []
    return [str(id_) for id_ in found]
