"""Dataset of a team: one LanceDB table on an object store or in a shared folder.

Many machines append to it. Commits are conditional writes of the next manifest (`If-None-Match`), so no lock is
needed: of two writers, one is rejected and retries on top of the other's commit. Readers ask for the rows added
after a version. Compaction does not change that answer, because row ids are stable. Used in the team process only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import lancedb
import pyarrow as pa

from hunchd.domain.errors import InvalidInput, NotFound, StoreError
from hunchd.store.database.sql_conditions import match_ids
from hunchd.store.database.tables import Row

SCHEMES: Final = ("s3://", "az://", "gs://", "file://", "/")
TABLE: Final = "team_records"
LEASE_PREFIX: Final = "lease_"
LEASE_SUFFIX: Final = ".lease"
BATCH_ROWS: Final = 1_000  # of a stream
_CREATED: Final = "_row_created_at_version"
_ADDRESS: Final = "_rowaddr"
_FRAGMENT_BITS: Final = 32  # an address is the fragment's number and the row's place in it
_STABLE_ROWS: Final = {"new_table_enable_stable_row_ids": "true"}
_SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("author", pa.string(), nullable=False),
        pa.field("machine", pa.string(), nullable=False),
        pa.field("clock", pa.int64(), nullable=False),
        pa.field("version", pa.int64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("subject", pa.string(), nullable=False),
        pa.field("payload", pa.string(), nullable=False),
        pa.field("signature", pa.string(), nullable=False),
    ]
)
_LEASE_SCHEMA: Final = pa.schema([pa.field("holder", pa.string())])


def _create_once(file: Path) -> bool:
    """Create an empty file; return False if it exists."""
    try:
        file.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


class TeamDataset:
    """Dataset at an address; every error of the object store is raised as StoreError."""

    def __init__(self, connection: Any, table: Any, folder: Path | None = None) -> None:
        self._connection = connection
        self._table = table
        self._folder = folder  # of a dataset in a file system

    @classmethod
    async def open(cls, uri: str, options: Mapping[str, str], *, create: bool = False) -> TeamDataset:
        """Open the dataset, creating it if `create` is True.

        Raises NotFound if it does not exist, and InvalidInput for an invalid address.
        """
        if not uri.startswith(SCHEMES):
            raise InvalidInput(f"a team address must start with one of {', '.join(SCHEMES)}", field="uri")
        try:
            connection = await lancedb.connect_async(uri, storage_options=dict(options) or None)
            if create:
                await connection.create_table(TABLE, schema=_SCHEMA, exist_ok=True, storage_options=_STABLE_ROWS)
            return cls(connection, await connection.open_table(TABLE), None if "://" in uri else Path(uri))
        except ValueError as error:
            if "not found" not in str(error):
                raise StoreError(f"{uri} cannot be opened: {_shorten(error)}") from error
            raise NotFound(f"there is no team at {uri}", hint="run `hunch team create URI` to create one") from error
        except Exception as error:  # the client raises errors of no common class
            raise StoreError(f"{uri} cannot be opened: {_shorten(error)}") from error

    async def append(self, rows: Sequence[Mapping[str, Any]], *, may_exist: bool) -> int:
        """Append rows in one commit and return the version that contains them.

        If `may_exist`, ids that exist already are skipped, because an earlier attempt may have succeeded without a
        response.
        """
        if may_exist:
            existing_ids = await self._find_ids([str(row["id"]) for row in rows])
            rows = [row for row in rows if row["id"] not in existing_ids]
        if rows:
            await _run(self._table.add(pa.Table.from_pylist(list(rows), schema=_SCHEMA)))
        return await self.read_version()

    async def _find_ids(self, ids: Sequence[str]) -> set[str]:
        await _run(self._table.checkout_latest())
        found = await _run(self._table.query().where(match_ids(ids)).select(["id"]).to_arrow())
        return set(found.column("id").to_pylist())

    async def find_rows(self, column: str, value: str) -> list[Row]:
        """Return the rows that have this value in a column."""
        await _run(self._table.checkout_latest())
        query = self._table.query().where(f"{column} = '{_quote(value)}'").select(list(_SCHEMA.names))
        found: list[Row] = (await _run(query.to_arrow())).to_pylist()
        return found

    async def read_version(self) -> int:
        """Return the number of the newest version, which grows with every commit."""
        await _run(self._table.checkout_latest())
        return int(await _run(self._table.version()))

    async def read_since(self, version: int, until: int) -> AsyncIterator[list[Row]]:
        """Yield the rows added after `version`, up to version `until`, in batches."""
        condition = f"{_CREATED} > {version} AND {_CREATED} <= {until}"
        query = self._table.query().where(condition).select(list(_SCHEMA.names))
        reader = await _run(query.to_batches(max_batch_length=BATCH_ROWS))
        while (batch := await _run(anext(reader, None))) is not None:
            yield batch.to_pylist()

    async def erase(self, author: str, subjects: Sequence[str], keep_ids: Sequence[str]) -> int:
        """Delete an author's rows about `subjects`, except `keep_ids`.

        The files that contain the rows are rewritten. `compact` removes the old files together with the versions
        that reference them. Returns the number of deleted rows.
        """
        await _run(self._table.checkout_latest())
        listed_subjects = ", ".join(f"'{_quote(subject)}'" for subject in subjects)
        condition = f"author = '{_quote(author)}' AND subject IN ({listed_subjects})"
        condition += f" AND NOT ({match_ids(keep_ids)})" if keep_ids else ""
        found = await _run(self._table.query().where(condition).select([_ADDRESS]).to_arrow())
        fragments = {address >> _FRAGMENT_BITS for address in found.column(_ADDRESS).to_pylist()}
        if not fragments:
            return 0
        await _run(self._table.delete(condition))
        for fragment in sorted(fragments):
            first = fragment << _FRAGMENT_BITS
            rows = f"{_ADDRESS} >= {first} AND {_ADDRESS} < {first + (1 << _FRAGMENT_BITS)}"
            await _run(self._table.update(updates_sql={"id": "id"}, where=rows))
        return int(found.num_rows)

    async def claim_lease(self, name: str, holder: str) -> bool:
        """Claim the lease `name`; return True only for the first holder.

        In a file system the lease is a file that only one can create; in an object store it is a table, which two that
        claim it in the same moment may both create. Two compactions at once do no harm: the later commit is retried.
        """
        table = f"{LEASE_PREFIX}{name}"
        if self._folder is not None:
            try:
                return await asyncio.to_thread(_create_once, self._folder / f"{table}{LEASE_SUFFIX}")
            except OSError as error:
                raise StoreError(f"the lease cannot be claimed: {_shorten(error)}") from error
        try:
            lease = pa.Table.from_pylist([{"holder": holder}], schema=_LEASE_SCHEMA)
            await self._connection.create_table(table, data=lease, mode="create")
        except ValueError:  # it exists
            return False
        except Exception as error:
            raise StoreError(f"the lease cannot be claimed: {_shorten(error)}") from error
        return True

    async def drop_leases(self, *, before: str) -> None:
        """Drop the leases whose name sorts before `before`."""
        if self._folder is not None:
            for file in self._folder.glob(f"{LEASE_PREFIX}*{LEASE_SUFFIX}"):
                if file.name.removeprefix(LEASE_PREFIX).removesuffix(LEASE_SUFFIX) < before:
                    await asyncio.to_thread(file.unlink, missing_ok=True)
            return
        names = (await _run(self._connection.list_tables())).tables
        for table in names:
            if table.startswith(LEASE_PREFIX) and table.removeprefix(LEASE_PREFIX) < before:
                await _run(self._connection.drop_table(table))

    async def compact(self, *, keep: timedelta) -> dict[str, int]:
        """Merge small files and drop the versions older than `keep`.

        Files referenced only by these versions are removed as well.
        """
        stats = await _run(self._table.optimize(cleanup_older_than=keep))
        return {"merged": stats.compaction.fragments_removed, "freed_bytes": stats.prune.bytes_removed}

    async def load_figures(self) -> dict[str, int]:
        stats = await _run(self._table.stats())
        return {"records": stats["num_rows"], "bytes": stats["total_bytes"]}


def _quote(text: str) -> str:
    return text.replace("'", "''")


async def _run(work: Any) -> Any:
    try:
        return await work
    except StopAsyncIteration:
        return None
    except Exception as error:  # the client raises errors of no common class
        raise StoreError(f"the team's dataset failed: {_shorten(error)}") from error


def _shorten(error: Exception) -> str:
    """Return the text of an error on one line, with at most 300 characters."""
    return " ".join(str(error).split())[:300]
