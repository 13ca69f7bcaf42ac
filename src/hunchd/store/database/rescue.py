"""Rebuilding of tables from readable rows after damage."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hunchd.domain.errors import StoreError
from hunchd.store.database import snapshots
from hunchd.store.database.durability import Synced
from hunchd.store.database.lance import Database, Table, new_session
from hunchd.store.database.repair import fragment_ids, set_table_aside
from hunchd.store.database.tables import MEMORIES, SERVED, Row, is_intact, plain_of, stored
from hunchd.store.files import Files, replace_file

logger = logging.getLogger(__name__)

_FOLDER: Final = "rescue"
_COMPLETE: Final = "complete"
_AT_ONCE: Final = 1_024  # rows
# Deleted rows leave gaps in the addresses of a fragment: this many addresses without a row mark its end.
_GAP: Final = 64 * _AT_ONCE


async def rebuild(folder: Path, name: str, session: Any) -> int:
    """Rebuild the table from readable rows, else from snapshots.

    Returns the number of lost rows.
    """
    session = session or new_session()
    expected, rows = await _readable(folder, name, session)
    for snapshot in snapshots.newest_first(folder):
        if expected is not None and len(rows) >= expected:
            break
        then, older = await _readable(snapshot, name, session)
        expected = then if expected is None else expected
        rows = {**older, **rows}
    await _build(folder / _FOLDER, name, list(rows.values()), session)
    _swap(folder, name)
    return max(0, (expected or 0) - len(rows))


def finish(folder: Path) -> None:
    """Finish a rebuild that a crash interrupted.

    An incomplete one is discarded.
    """
    draft = folder / _FOLDER
    for table in draft.glob("*.lance"):
        if (draft / _COMPLETE).exists():
            _swap(folder, table.name.removesuffix(".lance"))
    shutil.rmtree(draft, ignore_errors=True)


def forget(folder: Path) -> None:
    """Remove what was set aside."""
    shutil.rmtree(folder, ignore_errors=True)


async def _readable(folder: Path, name: str, session: Any) -> tuple[int | None, dict[str, Row]]:
    """Return the row count and the intact rows by id.

    The count is None if it is unknown.
    """
    rows: dict[str, Row] = {}
    expected = None
    try:
        table = await (await Database.open(folder, session)).table(name)
        expected = await table.count()
    except StoreError:
        logger.exception("table %s of %s cannot be opened; no rows can be rescued from it", name, folder)
        return expected, rows
    for fragment in range(fragment_ids(folder / f"{name}.lance") + 1):
        rows.update({row["id"]: row for row in await _fragment(table, fragment)})
        if len(rows) >= expected:
            break
    table.close()
    return expected, rows


async def _fragment(table: Table, fragment: int) -> list[Row]:
    """Return the rows of one data file.

    There are none if it cannot be read.
    """
    found: list[Row] = []
    begin = last = 0
    while begin - last < _GAP:
        addresses = range((fragment << 32) + begin, (fragment << 32) + begin + _AT_ONCE)
        try:
            rows = await _as_whole_as_possible(table, addresses)
        except StoreError as error:
            logger.warning("fragment %d of %s cannot be read: %s", fragment, table.name, error)
            return found
        found += rows
        begin += _AT_ONCE
        if rows:
            last = begin
        elif begin == _AT_ONCE:
            return found  # most likely there is no such fragment
    return found


async def _as_whole_as_possible(table: Table, addresses: Sequence[int]) -> list[Row]:
    """Return the intact rows at these addresses.

    If only the body of a memory is intact, its other columns are derived from it again.
    """
    try:
        whole = [row for row in await table.at_addresses(addresses) if is_intact(row)]
    except StoreError:
        if table.name != MEMORIES:
            raise
        whole = []
    if table.name != MEMORIES:
        return whole
    there = {row["id"] for row in whole}
    bodies = [row for row in await table.at_addresses(addresses, SERVED) if row["id"] not in there and is_intact(row)]
    return [*whole, *(stored(plain_of(row)) for row in bodies)]


async def _build(draft: Path, name: str, rows: list[Row], session: Any) -> None:
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    database = await Database.open(draft, session)
    table = await database.table(name)
    for begin in range(0, len(rows), _AT_ONCE):
        await table.add(rows[begin : begin + _AT_ONCE])
    table.close()
    Synced(draft).sync()
    replace_file(Files(), draft / _COMPLETE, b"")


def _swap(folder: Path, name: str) -> None:
    if (folder / f"{name}.lance").exists():
        set_table_aside(folder / f"{name}.lance")
    (folder / _FOLDER / f"{name}.lance").replace(folder / f"{name}.lance")
    Files().sync_folder(folder)
    shutil.rmtree(folder / _FOLDER, ignore_errors=True)
