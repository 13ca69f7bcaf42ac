"""Dataset of a team: LanceDB tables on an object store or in a shared folder.

Many machines append to it. Commits are conditional writes of the next manifest (`If-None-Match`), so no lock is
needed: of two writers, one is rejected and retries on top of the other's commit. Readers ask for the rows added after
a version. Compaction does not change the answer, because row ids are stable. This module is used only in the team
process.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import lancedb
import pyarrow as pa

from hunchd.domain.errors import AccessDenied, NotFound, StoreError
from hunchd.domain.team_address import get_folder, split_address
from hunchd.store.database.sql_conditions import (
    match_below,
    match_ids,
    match_one_of,
    match_range,
    match_value,
)
from hunchd.store.database.tables import Row

TABLE: Final = "team_records"
LEASES: Final = "team_leases"
BATCH_ROWS: Final = 1_000  # rows in a batch of a stream
COMPACT_ATTEMPTS: Final = 3
_CONFLICTS: Final = ("commit conflict", "concurrent writers")  # in the messages of Lance
_DENIED: Final = re.compile(r"(?i)lacked the necessary privileges|access ?denied|permission denied|\b403 forbidden")
_MAX_CAUSE: Final = 300  # characters of the client's text
_CREATED: Final = "_row_created_at_version"
_ADDRESS: Final = "_rowaddr"
# Place in the client's source at the end of its errors.
_SOURCE_LINE: Final = re.compile(r'(?s),? \S+\.rs:\d+:\d+|[\s"})]*, location: Location \{.*')
_FRAGMENT_BITS: Final = 32  # an address is the fragment's number and the row's position in it
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
_LEASE_SCHEMA: Final = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("name", "holder", "claim")])


class TeamDataset:
    """Dataset at an address; raises StoreError for store failures."""

    def __init__(self, uri: str, table: Any, leases: Any) -> None:
        self._uri = uri
        self._table = table
        self._leases = leases

    @classmethod
    async def open(cls, uri: str, options: Mapping[str, str], *, create: bool = False) -> TeamDataset:
        """Open or create the dataset; raises NotFound or InvalidInput."""
        split_address(uri)
        folder = get_folder(uri)
        if not create and folder is not None and not await asyncio.to_thread(folder.is_dir):
            raise NotFound(f"the folder {folder} is not reachable: it is missing, or not mounted")
        try:
            connection = await lancedb.connect_async(uri, storage_options=dict(options) or None)
            if create:
                for name, schema in ((TABLE, _SCHEMA), (LEASES, _LEASE_SCHEMA)):
                    await connection.create_table(name, schema=schema, exist_ok=True, storage_options=_STABLE_ROWS)
            return cls(uri, await connection.open_table(TABLE), await connection.open_table(LEASES))
        except ValueError as error:
            if "not found" not in str(error):
                raise _describe_failure(uri, error) from error
            raise NotFound(f"there is no team at {uri}", hint="run `hunch team create URI` to create one") from error
        except Exception as error:  # the errors of the client have no common class
            raise _describe_failure(uri, error) from error

    async def append(self, rows: Sequence[Mapping[str, Any]], *, may_exist: bool) -> int:
        """Append rows in one commit and return the version that contains them.

        If `may_exist` is True, rows whose ids already exist are skipped, because an earlier attempt may have succeeded
        without a response.
        """
        await self._run(self._table.checkout_latest())  # fails if the folder is gone; writing would create it anew
        if may_exist:
            existing_ids = await self._find_ids([str(row["id"]) for row in rows])
            rows = [row for row in rows if row["id"] not in existing_ids]
        if rows:
            await self._run(self._table.add(pa.Table.from_pylist(list(rows), schema=_SCHEMA)))
        return await self.read_version()

    async def _find_ids(self, ids: Sequence[str]) -> set[str]:
        found = await self._run(self._table.query().where(match_ids(ids)).select(["id"]).to_arrow())
        return set(found.column("id").to_pylist())

    async def find_rows(self, column: str, values: Sequence[str]) -> list[Row]:
        """Return the rows that have one of `values` in a column."""
        await self._run(self._table.checkout_latest())
        query = self._table.query().where(match_one_of(column, values)).select(list(_SCHEMA.names))
        found: list[Row] = (await self._run(query.to_arrow())).to_pylist()
        return found

    async def read_version(self) -> int:
        """Return the number of the newest version, which grows with every commit."""
        await self._run(self._table.checkout_latest())
        return int(await self._run(self._table.version()))

    async def read_since(self, version: int, until: int) -> AsyncIterator[list[Row]]:
        """Yield the rows added after `version`, up to version `until`, in batches."""
        query = self._table.query().where(match_range(_CREATED, version + 1, until + 1)).select(list(_SCHEMA.names))
        reader = await self._run(query.to_batches(max_batch_length=BATCH_ROWS))
        while (batch := await self._run(anext(reader, None))) is not None:
            yield batch.to_pylist()

    async def erase(self, ids: Sequence[str]) -> int:
        """Delete the rows with these ids.

        The files that contain the rows are rewritten. Later, `compact` removes the old files together with the
        versions that refer to them. Returns the number of deleted rows.
        """
        await self._run(self._table.checkout_latest())
        condition = match_ids(ids)
        found = await self._run(self._table.query().where(condition).select([_ADDRESS]).to_arrow())
        fragments = {address >> _FRAGMENT_BITS for address in found.column(_ADDRESS).to_pylist()}
        if not fragments:
            return 0
        await self._run(self._table.delete(condition))
        for fragment in sorted(fragments):
            first = fragment << _FRAGMENT_BITS
            rows = match_range(_ADDRESS, first, first + (1 << _FRAGMENT_BITS))
            await self._run(self._table.update(updates_sql={"id": "id"}, where=rows))
        return int(found.num_rows)

    async def claim_lease(self, name: str, holder: str) -> bool:
        """Claim the lease `name`; return True if this claim was the first.

        A claim is a row. Commits are ordered, so the claim that was committed first holds the lease. This works in a
        folder and on an object store alike.
        """
        claim = {"name": name, "holder": holder, "claim": uuid4().hex}
        await self._run(self._leases.checkout_latest())
        await self._run(self._leases.add(pa.Table.from_pylist([claim], schema=_LEASE_SCHEMA)))
        await self._run(self._leases.checkout_latest())
        query = self._leases.query().where(match_value("name", name)).select(["claim", _CREATED])
        claims: list[Row] = (await self._run(query.to_arrow())).to_pylist()
        return bool(min(claims, key=lambda row: row[_CREATED])["claim"] == claim["claim"])

    async def drop_leases(self, *, before: str) -> None:
        """Drop the leases whose name sorts before `before`."""
        await self._run(self._leases.checkout_latest())
        await self._run(self._leases.delete(match_below("name", before)))

    async def compact(self, *, keep: timedelta) -> dict[str, int]:
        """Merge small files and drop the versions older than `keep`.

        Files to which only these versions refer are removed as well. Returns the number of merged files, of freed
        bytes, and of old versions that are left. Old versions are left if the object store did not let them be
        deleted, which it does not report as an error.
        """
        newest, oldest = await self.read_version(), datetime.now(UTC).replace(tzinfo=None) - keep
        for attempt in range(1, COMPACT_ATTEMPTS + 1):
            await self._run(self._table.checkout_latest())  # an older version would conflict with the commits after it
            try:
                stats = await self._run(self._table.optimize(cleanup_older_than=keep))
                break
            except StoreError as error:  # somebody erased rows in the meantime
                if not any(text in error.message for text in _CONFLICTS) or attempt == COMPACT_ATTEMPTS:
                    raise
        versions: list[Row] = await self._run(self._table.list_versions())
        return {
            "merged": stats.compaction.fragments_removed,
            "freed_bytes": stats.prune.bytes_removed,
            "left_versions": sum(one["version"] < newest and one["timestamp"] < oldest for one in versions),
        }

    async def _run(self, work: Any) -> Any:
        try:
            return await work
        except StopAsyncIteration:
            return None
        except Exception as error:  # the errors of the client have no common class
            raise _describe_failure(self._uri, error) from error


def _describe_failure(uri: str, error: Exception) -> StoreError:
    """Convert an error of the database client to the error to raise.

    The client's text is put on one line of at most 300 characters. Its end names the cause.
    """
    text = " ".join(_SOURCE_LINE.sub("", str(error)).split())
    if _DENIED.search(text):
        return AccessDenied(f"{uri}: the present credentials or permissions do not allow this")
    text = text if len(text) <= _MAX_CAUSE else f"{text[: _MAX_CAUSE // 3]} … {text[-_MAX_CAUSE * 2 // 3 :]}"
    if "not found" in text.casefold():
        text = "the folder or bucket is missing, or it is not mounted"
    return StoreError(f"{uri} is not reachable: {text}")
