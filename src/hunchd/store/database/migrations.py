"""Schema migrations: nullable columns are added in place; nothing is rebuilt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hunchd.store.database.tables import COLUMNS, SCHEMA_VERSION, Column

if TYPE_CHECKING:
    from hunchd.store.database.lance import Table

# Columns that older versions of the schema did not have, by the version that added them.
# Version 0 was never released: it is version 1 as it was before vectors had a model and signals could be absorbed.
ADDED: Final[dict[int, dict[str, tuple[str, ...]]]] = {
    1: {"memories": ("superseded_by", "model"), "signals": ("absorbed",)},
}


async def migrate(table: Table) -> bool:
    """Migrate the table to our schema.

    Returns False if it belongs to a newer hunchd. Such a table may only be read.
    """
    found = await table.schema_version()
    if found > SCHEMA_VERSION:
        return False
    for version in range(found + 1, SCHEMA_VERSION + 1):
        there = await table.column_names()  # an interrupted migration continues where it stopped
        missing = _columns(table.name, ADDED[version].get(table.name, ()), there)
        if missing:
            await table.add_columns(missing)
        await table.set_schema_version(version)
    return True


def _columns(table: str, names: tuple[str, ...], there: tuple[str, ...]) -> list[Column]:
    return [column for column in COLUMNS[table] if column.name in names and column.name not in there]
