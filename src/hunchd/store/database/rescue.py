"""Rebuilding damaged tables from their readable rows."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hunchd.domain.errors import StoreError
from hunchd.store.database import snapshots
from hunchd.store.database.file_sync import FolderSyncer
from hunchd.store.database.lance import Database, Table, create_session
from hunchd.store.database.repair import bound_fragment_ids, move_table_aside
from hunchd.store.database.tables import MEMORIES, SERVED_COLUMNS, Row, build_row, get_plain, is_intact
from hunchd.store.files import FileOperations, replace_file

logger = logging.getLogger(__name__)

_DRAFT_FOLDER: Final = "rescue"
_COMPLETE_MARKER: Final = "complete"
_BATCH_ROWS: Final = 1_024  # rows
# Deleted rows leave gaps in the addresses of a fragment: this many addresses without a row mark its end.
_MAX_GAP: Final = 64 * _BATCH_ROWS


async def rebuild_table(folder: Path, name: str, session: Any) -> int:
    """Rebuild a table from its readable rows, and from snapshots.

    Snapshots supply only the rows that cannot be read in the table. Returns the number of lost rows.
    """
    session = session or create_session()
    expected_rows, rows = await _load_readable(folder, name, session)
    for snapshot in snapshots.list_snapshots(folder):
        if expected_rows is not None and len(rows) >= expected_rows:
            break
        snapshot_rows, older_rows = await _load_readable(snapshot, name, session)
        expected_rows = snapshot_rows if expected_rows is None else expected_rows
        rows = {**older_rows, **rows}
    await _build_table(folder / _DRAFT_FOLDER, name, list(rows.values()), session)
    _replace_table(folder, name)
    return max(0, (expected_rows or 0) - len(rows))


def finish_rebuild(folder: Path) -> None:
    """Complete a rebuild that a crash interrupted. If the rebuilt table is not complete, it is discarded."""
    draft = folder / _DRAFT_FOLDER
    for table in draft.glob("*.lance"):
        if (draft / _COMPLETE_MARKER).exists():
            _replace_table(folder, table.name.removesuffix(".lance"))
    shutil.rmtree(draft, ignore_errors=True)


def delete_folder(folder: Path) -> None:
    """Delete a folder of damaged files that were set aside."""
    shutil.rmtree(folder, ignore_errors=True)


async def _load_readable(folder: Path, name: str, session: Any) -> tuple[int | None, dict[str, Row]]:
    """Return the row count and the intact rows of a table.

    The rows are keyed by id. The count is None if the table cannot be opened.
    """
    rows: dict[str, Row] = {}
    row_count = None
    try:
        table = await (await Database.open(folder, session)).open_table(name)
        row_count = await table.count_rows()
    except StoreError:
        logger.exception("table %s of %s cannot be opened; no rows can be rescued from it", name, folder)
        return row_count, rows
    for fragment in range(bound_fragment_ids(folder / f"{name}.lance") + 1):
        rows.update({row["id"]: row for row in await _load_fragment(table, fragment)})
        if len(rows) >= row_count:
            break
    table.close()
    return row_count, rows


async def _load_fragment(table: Table, fragment: int) -> list[Row]:
    """Return the intact rows of one data file. If reading fails, only the rows read up to that point are returned."""
    rows_found: list[Row] = []
    begin = last = 0
    while begin - last < _MAX_GAP:
        addresses = range((fragment << 32) + begin, (fragment << 32) + begin + _BATCH_ROWS)
        try:
            rows = await _load_intact(table, addresses)
        except StoreError as error:
            logger.warning("fragment %d of %s cannot be read: %s", fragment, table.name, error)
            return rows_found
        rows_found += rows
        begin += _BATCH_ROWS
        if rows:
            last = begin
        elif begin == _BATCH_ROWS:
            return rows_found  # most likely there is no such fragment
    return rows_found


async def _load_intact(table: Table, addresses: Sequence[int]) -> list[Row]:
    """Return the intact rows at these addresses.

    If only the body of a memory is intact, its other columns are derived from the body.
    """
    try:
        intact_rows = [row for row in await table.load_rows(addresses) if is_intact(row)]
    except StoreError:
        if table.name != MEMORIES:
            raise
        intact_rows = []
    if table.name != MEMORIES:
        return intact_rows
    intact_ids = {row["id"] for row in intact_rows}
    bodies = [
        row
        for row in await table.load_rows(addresses, SERVED_COLUMNS)
        if row["id"] not in intact_ids and is_intact(row)
    ]
    return [*intact_rows, *(build_row(get_plain(row)) for row in bodies)]


async def _build_table(draft: Path, name: str, rows: list[Row], session: Any) -> None:
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    database = await Database.open(draft, session)
    table = await database.open_table(name)
    for begin in range(0, len(rows), _BATCH_ROWS):
        await table.add(rows[begin : begin + _BATCH_ROWS])
    table.close()
    FolderSyncer(draft).sync()
    replace_file(FileOperations(), draft / _COMPLETE_MARKER, b"")


def _replace_table(folder: Path, name: str) -> None:
    if (folder / f"{name}.lance").exists():
        move_table_aside(folder / f"{name}.lance")
    (folder / _DRAFT_FOLDER / f"{name}.lance").replace(folder / f"{name}.lance")
    FileOperations().sync_folder(folder)
    shutil.rmtree(folder / _DRAFT_FOLDER, ignore_errors=True)
