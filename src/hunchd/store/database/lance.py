"""LanceDB tables; this is the only module that imports lancedb.

A table by itself is neither durable nor safe with several writers: `mirrored_tables` syncs the files, and `collection`
serializes writers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from hunchd.domain.errors import StoreClosed, StoreError
from hunchd.store.database import sql_conditions
from hunchd.store.database.lazy_import import import_without
from hunchd.store.database.tables import COLUMNS, DIMENSIONS, SCHEMA_VERSION, ColumnSpec, Row

lancedb: Any = import_without("lancedb")

# Larger caches make 100,000 rows no faster: the system caches the files anyway, and words are looked up elsewhere.
INDEX_CACHE_BYTES: Final = 8 * 1024 * 1024
# Metadata of files and versions; during many writes, most of it belongs to versions that are no longer read.
METADATA_CACHE_BYTES: Final = 6 * 1024 * 1024
VERSION_KEY: Final = b"hunchd.schema"
SCAN_BATCH: Final = 1_024  # rows
COLUMN_BATCH: Final = 4_096  # rows: their vectors are six megabytes
_MIN_AGE: Final = timedelta(milliseconds=1)

_TYPES: Final[Mapping[str, pa.DataType]] = {
    "text": pa.string(),
    "texts": pa.list_(pa.string()),
    "integer": pa.int64(),
    "number": pa.float64(),
    "flag": pa.bool_(),
    "bytes": pa.binary(),
    "vector": pa.list_(pa.float32(), DIMENSIONS),
}
_EMPTY_VECTOR: Final = bytes(4 * DIMENSIONS)


class Database:
    """LanceDB database: a folder of tables."""

    def __init__(self, folder: Path, connection: Any) -> None:
        self._folder = folder
        self._connection = connection

    @classmethod
    async def open(cls, folder: Path, session: Any) -> Database:
        return cls(folder, await lancedb.connect_async(str(folder), session=session))

    async def open_table(self, name: str) -> Table:
        """Open the table, creating it with the current columns if it does not exist.

        Raises StoreError if the table cannot be opened or created.
        """
        try:
            # Checked by path, because listing tables needs the client that we did not import.
            if (self._folder / f"{name}.lance" / "_versions").is_dir():
                return Table(await self._connection.open_table(name), name)
        except Exception as error:  # as in Table._run
            raise StoreError(f"table {name} cannot be opened: {error}") from error
        try:
            table = await self._connection.create_table(name, schema=build_schema(COLUMNS[name]))
        except (RuntimeError, ValueError, OSError) as error:
            raise StoreError(f"table {name} cannot be created: {error}") from error
        return Table(table, name)

    async def open_reader(self, name: str) -> Table:
        """Open the table for reading at its current version.

        Later writes are not visible in it. Raises StoreError if the table cannot be opened.
        """
        table = await self.open_table(name)
        await table.pin_version()
        return table

    def close(self) -> None:
        self._connection.close()


def create_session() -> Any:
    """Create the caches that all tables of the process share."""
    return lancedb.Session(INDEX_CACHE_BYTES, METADATA_CACHE_BYTES)


def build_schema(columns: Sequence[ColumnSpec]) -> pa.Schema:
    """Return the Arrow schema for these columns. The metadata of the first column contains the schema version."""
    fields = [pa.field(column.name, _TYPES[column.type], nullable=not column.is_required) for column in columns]
    fields[0] = fields[0].with_metadata({VERSION_KEY: str(SCHEMA_VERSION).encode()})
    return pa.schema(fields)


class Table:
    """Table that reads and writes rows as plain dictionaries. Errors of the database are raised as StoreError."""

    def __init__(self, inner: Any, name: str) -> None:
        self._handle: Any = inner  # None: closed
        self.name = name
        self.columns = COLUMNS[name]

    async def check_readable(self) -> None:
        """Raise StoreError if the table's metadata is damaged.

        The metadata has no checksum, so it is read to find out.
        """
        schema = await self._run(self._inner.schema())
        types = {field.name: field.type for field in schema}
        for column in self.columns:
            if (column_type := types.get(column.name)) != _TYPES[column.type]:
                raise StoreError(f"table {self.name}: column {column.name} has the unsupported type {column_type}")
        await self._run(self._inner.query().limit(1).to_arrow())

    async def read_schema_version(self) -> int:
        schema = await self._run(self._inner.schema())
        return int((schema.field(0).metadata or {}).get(VERSION_KEY, b"0"))

    async def add(self, rows: Sequence[Row]) -> None:
        """Append rows with new ids in one commit."""
        await self._run(self._inner.add(_to_arrow_table(rows, self.columns)))

    async def replace(self, rows: Sequence[Row]) -> None:
        """Overwrite the rows that have the same ids as `rows`.

        This takes two commits, the first of which adds the new rows. If a crash interrupts it in between, both
        versions of a row exist, and the version at the higher address is valid. The database's own merge takes three
        times as long and uses a dozen megabytes for each 256 rows.
        """
        with_id = self._inner.query().where(sql_conditions.match_ids(row["id"] for row in rows)).select(["id"])
        before = (await self._run(with_id.with_row_id().to_arrow())).column("_rowid").to_pylist()
        await self.add(rows)
        await self.delete(sql_conditions.match_addresses(before))

    async def delete(self, condition: str) -> None:
        await self._run(self._inner.delete(condition))

    async def rewrite(self) -> None:
        """Rewrite every row, so that no current file contains a deleted row."""
        await self._run(self._inner.update(updates_sql={"id": "id"}))

    async def count_rows(self, condition: str = "") -> int:
        """Count the rows that match the condition."""
        return int(await self._run(self._inner.count_rows(condition or None)))

    async def select_rows(self, condition: str = "", *, columns: Sequence[str] | None = None) -> list[Row]:
        """Return the rows that match the condition, with all columns or only `columns`."""
        query = self._inner.query()
        if condition:
            query = query.where(condition)
        return _to_rows(await self._run(query.select(list(columns or self._column_names)).to_arrow()))

    async def scan_rows(self, *, columns: Sequence[str] | None = None) -> AsyncIterator[list[Row]]:
        """Yield all rows in batches of bounded size."""
        query = self._inner.query().select(list(columns or self._column_names))
        async for batch in self._iterate_batches(query, SCAN_BATCH):
            yield _to_rows(pa.Table.from_batches([batch]))

    async def scan_columns(self, columns: Sequence[str]) -> AsyncIterator[dict[str, Any]]:
        """Yield all rows in batches of bounded size, with one sequence per column.

        Texts, bytes and numbers are lists; flags, vectors (with arbitrary values for rows without one) and the row
        addresses (`_rowid`) are arrays.
        """
        query = self._inner.query().select(list(columns)).with_row_id()
        async for batch in self._iterate_batches(query, COLUMN_BATCH):
            yield {name: _column_to_native(batch.column(name)) for name in batch.schema.names}

    async def _iterate_batches(self, query: Any, size: int) -> AsyncIterator[Any]:
        reader = await self._run(query.to_batches(max_batch_length=size))
        while True:
            try:
                batch = await self._run(anext(reader, None))
            except StopAsyncIteration:
                return
            if batch is None:
                return
            yield batch

    async def load_rows(self, addresses: Sequence[int], columns: Sequence[str] | None = None) -> list[Row]:
        """Return the rows at these addresses (`_rowid`), in no particular order.

        Rows that no longer exist are left out.
        """
        query = self._inner.take_row_ids(list(addresses)).select(list(columns or self._column_names)).with_row_id()
        return _to_rows(await self._run(query.to_arrow()))

    async def load_state(self) -> dict[str, int]:
        """Return the version number of the table, and its size.

        The size consists of the numbers of rows, fragments and versions.
        """
        stats = await self._run(self._inner.stats())
        return {
            "rows": stats["num_rows"],
            "fragments": stats["fragment_stats"]["num_fragments"],
            "version": await self.read_version(),
            "versions": len(await self._run(self._inner.list_versions())),
        }

    async def count_unmerged(self) -> int:
        """Return the approximate number of writes that no compaction has merged yet."""
        return max(0, int((await self._run(self._inner.stats()))["fragment_stats"]["num_fragments"]) - 1)

    async def optimise(self, *, keep: timedelta, exclusive: bool = False) -> None:
        """Merge small files and drop versions older than `keep`.

        With `exclusive`, files to which no version refers are removed too; this is safe only while nobody else reads
        or writes.
        """
        await self._run(self._inner.optimize(cleanup_older_than=max(keep, _MIN_AGE), delete_unverified=exclusive))

    async def keep_newest_version(self) -> None:
        """Remove all versions except the newest, and the files that only they need.

        Nobody else may read or write in the meantime.
        """
        for _ in range(3):  # the first run creates versions itself: of the merged files, of the indexes
            await asyncio.sleep(_MIN_AGE.total_seconds() * 5)
            await self.optimise(keep=_MIN_AGE, exclusive=True)
            if await self.has_one_version():
                return

    async def has_one_version(self) -> bool:
        """Return True if only the newest version exists."""
        return len(await self._run(self._inner.list_versions())) == 1

    async def read_version(self) -> int:
        """Return the number of the current version, which grows with every commit."""
        return int(await self._run(self._inner.version()))

    async def pin_version(self) -> None:
        """Pin the table to the current version, which hides later writes."""
        await self._run(self._inner.checkout(await self.read_version()))

    async def checkout_latest(self) -> None:
        """Switch to the newest version of the table."""
        await self._run(self._inner.checkout_latest())

    def close(self) -> None:
        """Close the table; later calls raise StoreClosed. Must not be called while an operation is in progress."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    @property
    def _inner(self) -> Any:
        if self._handle is None:  # the database would panic, and take the calling task down
            raise StoreClosed(f"table {self.name} is closed")
        return self._handle

    @property
    def _column_names(self) -> list[str]:
        return [column.name for column in self.columns]

    async def _run(self, work: Any) -> Any:
        try:
            return await work
        except Exception as error:  # on damaged files the database panics, with an exception whose class is not public
            raise StoreError(f"table {self.name}: {error}") from error


def _to_arrow_table(rows: Sequence[Row], columns: Sequence[ColumnSpec]) -> pa.Table:
    arrays = [_to_arrow_array(column, [row.get(column.name) for row in rows]) for column in columns]
    fields = [pa.field(one.name, _TYPES[one.type], nullable=not one.is_required) for one in columns]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _to_arrow_array(column: ColumnSpec, values: Sequence[Any]) -> pa.Array:
    if column.type != "vector":
        return pa.array(values, _TYPES[column.type])
    flat = np.frombuffer(b"".join(_EMPTY_VECTOR if value is None else value for value in values), "<f4")
    null_mask = pa.array([value is None for value in values])
    return pa.FixedSizeListArray.from_arrays(pa.array(flat, pa.float32()), DIMENSIONS, mask=null_mask)


def _to_rows(table: pa.Table) -> list[Row]:
    names = table.column_names
    columns = [_column_to_list(table.column(name)) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _column_to_list(column: pa.ChunkedArray) -> list[Any]:
    if not pa.types.is_fixed_size_list(column.type):
        return list(column.to_pylist())
    return [value for chunk in column.chunks for value in _vectors_to_bytes(chunk)]


def _column_to_native(column: Any) -> Any:
    if pa.types.is_fixed_size_list(column.type):
        flat = column.values.to_numpy(zero_copy_only=False).reshape(-1, DIMENSIONS)
        return flat[column.offset : column.offset + len(column)]
    if pa.types.is_boolean(column.type) or pa.types.is_uint64(column.type):
        return column.to_numpy(zero_copy_only=False)
    return column.to_pylist()


def _vectors_to_bytes(chunk: Any) -> list[bytes | None]:
    flat = chunk.values.to_numpy(zero_copy_only=False).astype("<f4", copy=False)
    present = chunk.is_valid().to_pylist()
    begin = chunk.offset
    return [
        flat[(begin + at) * DIMENSIONS : (begin + at + 1) * DIMENSIONS].tobytes() if there else None
        for at, there in enumerate(present)
    ]
