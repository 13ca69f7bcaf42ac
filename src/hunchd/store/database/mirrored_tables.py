"""Tables of a collection on disk, with a mirror of the memories table."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from hunchd.domain.errors import StoreError
from hunchd.protocol.malloc_tuning import unmap_large_buffers
from hunchd.store.database import rescue, sql_conditions
from hunchd.store.database.counters import StoreCounters
from hunchd.store.database.file_sync import FolderSyncer
from hunchd.store.database.lance import Database, Table
from hunchd.store.database.mirror import TableMirror
from hunchd.store.database.repair import RepairReport, discard_newest_version, find_damaged_new_files
from hunchd.store.database.tables import MEMORIES, SCHEMA_VERSION, SIGNALS, Row
from hunchd.store.database.word_index_lifecycle import WordIndexMaintainer
from hunchd.store.files import FileOperations

logger = logging.getLogger(__name__)

# Long enough for active readers. Compaction rewrites all rows: while a long history is imported, keeping old versions
# for a minute takes some hundred megabytes.
MIN_VERSION_AGE: Final = timedelta(minutes=1)


class MirroredTables:
    """Tables of a collection, with an in-memory mirror of the memories table.

    Open them with `await MirroredTables.open(…)`, then call `reload_mirror`. Callers must hold the write lock to
    change anything, and the exclusive lock to repair or erase.
    """

    def __init__(
        self, folder: Path, session: Any, database: Database, tables: dict[str, Table], files: FileOperations
    ) -> None:
        self.counters = StoreCounters()
        self.mirror: TableMirror  # mirror of the memories table; set by the first `reload_mirror`
        self.word_index = WordIndexMaintainer(folder, files)
        self.writable = True
        self.repairs: list[RepairReport] = []  # repairs made while opening
        self._folder = folder
        self._session = session
        self._database = database
        self._tables = tables
        self._syncers = {name: FolderSyncer(folder / f"{name}.lance", files) for name in tables}
        self._switched_at = time.monotonic()

    @classmethod
    async def open(cls, folder: Path, session: Any, files: FileOperations) -> MirroredTables:
        """Open the tables. A table whose schema is newer than that of this version of hunchd is read-only."""
        database = await Database.open(folder, session)
        repairs: list[RepairReport] = []
        tables = {name: await _open_or_repair(folder, database, name, repairs) for name in (MEMORIES, SIGNALS)}
        self = cls(folder, session, database, tables, files)
        self.repairs = repairs
        self.writable = all([await table.read_schema_version() <= SCHEMA_VERSION for table in tables.values()])
        return self

    def close(self) -> None:
        for table in self:
            table.close()
        self._database.close()

    def __getitem__(self, name: str) -> Table:
        return self._tables[name]

    def __iter__(self) -> Iterator[Table]:
        return iter(self._tables.values())

    @property
    def memories(self) -> Table:
        return self._tables[MEMORIES]

    # -- mirror ------------------------------------------------------------------------------------------------------

    async def reload_mirror(self) -> None:
        """Reload the whole mirror from the table."""
        mirror = await TableMirror.load(await self._database.open_reader(MEMORIES))
        if self.writable and (duplicates := await mirror.find_duplicates()):
            await self.memories.delete(sql_conditions.match_addresses(duplicates))
            mirror = await TableMirror.load(await self._database.open_reader(MEMORIES))
        await self.word_index.open(mirror)
        self.mirror = mirror
        self._switched_at = time.monotonic()

    async def update_mirror(self) -> None:
        """Switch the mirror to the table's newest version.

        Rows that the mirror already has are not loaded again, unless many of the mirror's slots belong to deleted
        rows.
        """
        await self.word_index.write(self.mirror)
        if self.mirror.has_many_dead_slots:
            return await self.reload_mirror()
        await self.mirror.switch_reader(await self._database.open_reader(MEMORIES))
        self._switched_at = time.monotonic()
        return None

    async def load_digests(self, ids: Sequence[str], table: Table) -> dict[str, bytes]:
        """Return the digests of those rows among `ids` that exist, keyed by id."""
        if table is self.memories:
            return self.mirror.load_digests(ids)
        rows = await table.select_rows(sql_conditions.match_ids(ids), columns=("id", "digest"))
        return {row["id"]: row["digest"] for row in rows}

    # -- on the disk -------------------------------------------------------------------------------------------------

    async def record_written(self, table: Table, rows: Sequence[Row]) -> None:
        """Sync rows that were written, and make them visible to queries."""
        await self.record_commit()
        if table is self.memories:
            self.mirror.put(rows)
            if self.mirror.exceeds_fresh_limit:
                await self.update_mirror()

    async def record_commit(self) -> None:
        """Count a commit and sync its files."""
        self.counters.commits += 1
        self.counters.since_optimise += 1
        await self.sync_tables()

    async def sync_tables(self) -> None:
        """Sync the new files of every table.

        Raises StoreError if one of them was written only in part: the database does not report every failed write.
        """
        for name, syncer in self._syncers.items():
            new_paths = await asyncio.to_thread(syncer.sync)
            if damaged := find_damaged_new_files(self._folder / f"{name}.lance", new_paths):
                raise StoreError(f"table {name}: {', '.join(damaged)} was written only in part")

    async def optimise(self) -> None:
        """Merge files and drop versions that are no longer read."""
        keep = self._prunable_age()
        try:
            with unmap_large_buffers():
                for table in self:
                    await table.optimise(keep=keep)
            await self.update_mirror()
        except StoreError:
            self.counters.optimise_failures += 1
            logger.exception("compaction of %s failed", self._folder)
            raise
        finally:
            self.counters.since_optimise = 0  # a failure is retried after as many commits, not at once
            await self.sync_tables()
        self.counters.optimise_failures = 0

    async def rewrite_tables(self, *, without: Sequence[str]) -> None:
        """Rewrite every row into new files that do not contain deleted rows.

        The rows with the ids in `without` are deleted first. The old files are kept for active readers.
        """
        keep = self._prunable_age()
        if without:
            self.mirror.delete(without)
        with unmap_large_buffers():
            for table in self:
                if without:
                    await table.delete(sql_conditions.match_ids(without))
                await table.rewrite()
                await table.optimise(keep=keep)
        await self.update_mirror()
        self.counters.since_optimise = max(self.counters.since_optimise, 1)

    async def keep_newest_versions(self) -> None:
        """Remove all versions except the newest. The caller must hold the exclusive lock."""
        try:
            for table in self:
                await table.keep_newest_version()
        finally:
            if (
                await self.mirror.reader.read_version() != await self.memories.read_version()
            ):  # the version that is being read may be gone
                await self.update_mirror()

    def _prunable_age(self) -> timedelta:
        """Return how old a version must be before it may be pruned.

        The age is chosen so that the version being read is kept.
        """
        return MIN_VERSION_AGE + timedelta(seconds=time.monotonic() - self._switched_at)

    # -- repair ------------------------------------------------------------------------------------------------------

    async def clean_up_after_crash(self) -> None:
        """Remove files left by unfinished writes. Call this before anybody else has access to the tables."""
        for table in self:
            try:
                await table.optimise(keep=MIN_VERSION_AGE, exclusive=True)
            except StoreError:  # the tables can be opened all the same; the next compaction retries this
                self.counters.optimise_failures += 1
                logger.exception(
                    "%s cannot be compacted after a crash; will retry at the next compaction", self._folder
                )
        await self.sync_tables()

    async def repair_tables(self) -> None:
        """Make all tables readable again. Unreadable tables are rebuilt."""
        self.counters.repair_count += 1
        for name, table in list(self._tables.items()):
            try:
                await table.checkout_latest()
                async for _ in table.scan_rows():
                    pass
            except StoreError:
                await self.rebuild_table(name)
        await self.reload_mirror()
        await self.sync_tables()

    async def rebuild_table(self, name: str) -> None:
        """Rebuild a table from its readable rows, and from rows in snapshots."""
        self._tables[name].close()
        lost_rows = await rescue.rebuild_table(self._folder, name, self._session)
        self._tables[name] = await self._database.open_table(name)
        logger.error("table %s of %s was rebuilt; %d rows are lost", name, self._folder, lost_rows)


async def _open_or_repair(folder: Path, database: Database, name: str, repairs: list[RepairReport]) -> Table:
    """Open the newest readable version of a table, or rebuild the table.

    Versions and files that had to be set aside are added to `repairs`.
    """
    try:
        return await _open_readable(database, name)
    except StoreError:
        logger.exception("table %s of %s cannot be opened; trying the previous version", name, folder)
    # Only one version is tried: if two cannot be read, the cause is not a flipped bit, and may be temporary.
    if (repair := discard_newest_version(folder / f"{name}.lance")).is_needed:
        repairs.append(repair)
        try:
            return await _open_readable(database, name)
        except StoreError:
            logger.exception("previous version of table %s of %s cannot be opened; rebuilding the table", name, folder)
    await rescue.rebuild_table(folder, name, None)
    return await database.open_table(name)


async def _open_readable(database: Database, name: str) -> Table:
    table = await database.open_table(name)
    await table.check_readable()
    return table
