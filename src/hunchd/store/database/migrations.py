"""Schema migrations, which add nullable columns in place instead of rebuilding tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hunchd.store.database.tables import COLUMNS, SCHEMA_VERSION, ColumnSpec

if TYPE_CHECKING:
    from hunchd.store.database.lance import Table

# Columns that older versions of the schema did not have, by the version that added them.
# Version 0 was never released: it is version 1 as it was before vectors had a model and signals could be absorbed.
ADDED_COLUMNS: Final[dict[int, dict[str, tuple[str, ...]]]] = {
    1: {"memories": ("superseded_by", "model"), "signals": ("absorbed",)},
}


async def migrate_table(table: Table) -> bool:
    """Migrate the table to the current schema.

    Returns False if the table was written by a newer version of hunchd and may only be read.
    """
    version = await table.read_schema_version()
    if version > SCHEMA_VERSION:
        return False
    for target in range(version + 1, SCHEMA_VERSION + 1):
        column_names = await table.read_column_names()  # an interrupted migration continues where it stopped
        missing = _select_missing(table.name, ADDED_COLUMNS[target].get(table.name, ()), column_names)
        if missing:
            await table.add_columns(missing)
        await table.set_schema_version(target)
    return True


def _select_missing(table: str, names: tuple[str, ...], there: tuple[str, ...]) -> list[ColumnSpec]:
    return [column for column in COLUMNS[table] if column.name in names and column.name not in there]
