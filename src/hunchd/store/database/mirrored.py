"""Tables of one folder on disk with the mirror of the memories."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from hunchd.domain.errors import StoreError
from hunchd.protocol.allocating import large_buffers_apart
from hunchd.store.database import expressions, rescue
from hunchd.store.database.counters import Counters
from hunchd.store.database.durability import Synced
from hunchd.store.database.lance import Database, Table
from hunchd.store.database.migrations import migrate
from hunchd.store.database.mirror import Mirror
from hunchd.store.database.repair import Repair, stepped_back
from hunchd.store.database.tables import MEMORIES, SIGNALS, Row
from hunchd.store.database.word_keeping import WordKeeping
from hunchd.store.files import Files

logger = logging.getLogger(__name__)

# Long enough for active readers. Compaction rewrites all rows: while a long history is imported, each minute of old
# versions is some hundred megabytes.
KEEP_VERSIONS: Final = timedelta(minutes=1)


class MirroredTables:
    """Tables and their mirror. Open with `await MirroredTables.open(…)`, then `reflect`.

    Callers that change something must hold the write lock; callers that repair or erase, the exclusive lock.
    """

    def __init__(self, folder: Path, session: Any, database: Database, tables: dict[str, Table], files: Files) -> None:
        self.counters = Counters()
        self.mirror: Mirror  # of the memories; set by the first `reflect`
        self.words = WordKeeping(folder, files)
        self.writable = True
        self.repairs: list[Repair] = []  # that opening took
        self._folder = folder
        self._session = session
        self._database = database
        self._tables = tables
        self._synced = {name: Synced(folder / f"{name}.lance", files) for name in tables}
        self._followed_at = time.monotonic()

    @classmethod
    async def open(cls, folder: Path, session: Any, files: Files) -> MirroredTables:
        """Open the tables and migrate their schema.

        They are read-only if the schema is newer than ours.
        """
        database = await Database.open(folder, session)
        repairs: list[Repair] = []
        tables = {name: await _opened(folder, database, name, repairs) for name in (MEMORIES, SIGNALS)}
        self = cls(folder, session, database, tables, files)
        self.repairs = repairs
        self.writable = all([await migrate(table) for table in tables.values()])
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

    async def reflect(self) -> None:
        """Reload the whole mirror from the table."""
        mirror = await Mirror.load(await self._database.reader(MEMORIES))
        if self.writable and (doubled := await mirror.doubled()):
            await self.memories.delete(expressions.addresses_among(doubled))
            mirror = await Mirror.load(await self._database.reader(MEMORIES))
        await self.words.open(mirror)
        self.mirror = mirror
        self._followed_at = time.monotonic()

    async def follow(self) -> None:
        """Switch the mirror to the newest version without reloading known rows."""
        await self.words.write(self.mirror)
        if self.mirror.is_worn:
            return await self.reflect()
        await self.mirror.follow(await self._database.reader(MEMORIES))
        self._followed_at = time.monotonic()
        return None

    async def digests_of(self, ids: Sequence[str], table: Table) -> dict[str, bytes]:
        """Return the digests of the rows that exist, by id."""
        if table is self.memories:
            return self.mirror.digests_of(ids)
        rows = await table.select(expressions.ids_among(ids), columns=("id", "digest"))
        return {row["id"]: row["digest"] for row in rows}

    # -- on the disk -------------------------------------------------------------------------------------------------

    async def written(self, table: Table, rows: Sequence[Row]) -> None:
        """Sync written rows and make them visible to queries."""
        await self.committed()
        if table is self.memories:
            self.mirror.put(rows)
            if self.mirror.is_full:
                await self.follow()

    async def committed(self) -> None:
        """Count a commit and sync its files."""
        self.counters.commits += 1
        self.counters.since_optimise += 1
        await self.sync()

    async def sync(self) -> None:
        """Sync the new files of every table."""
        for synced in self._synced.values():
            await asyncio.to_thread(synced.sync)

    async def optimise(self) -> None:
        """Merge, index, and drop versions that nobody reads any more."""
        keep = self._read_within()
        try:
            with large_buffers_apart():
                for table in self:
                    await table.optimise(keep=keep)
                    await table.ensure_indexes()
            await self.follow()
        except StoreError:
            self.counters.optimise_failures += 1
            logger.exception("compaction of %s failed", self._folder)
            raise
        finally:
            self.counters.since_optimise = 0  # a failure is retried after as many commits, not at once
            await self.sync()
        self.counters.optimise_failures = 0

    async def write_anew(self, *, without: Sequence[str]) -> None:
        """Rewrite every row into new files that do not contain deleted rows.

        The old files stay for active readers. Indexes are rebuilt at the next compaction: that takes twice as long
        as everything else.
        """
        keep = self._read_within()
        if without:
            self.mirror.delete(without)
        with large_buffers_apart():
            for table in self:
                if without:
                    await table.delete(expressions.ids_among(without))
                await table.drop_indexes()
                await table.rewrite()
                await table.optimise(keep=keep)
        await self.follow()
        self.counters.since_optimise = max(self.counters.since_optimise, 1)

    async def only_now(self) -> None:
        """Remove all versions but the newest. Requires the exclusive lock."""
        try:
            for table in self:
                await table.only_now()
        finally:
            if (
                await self.mirror.reader.version() != await self.memories.version()
            ):  # the version that is being read may be gone
                await self.follow()

    def _read_within(self) -> timedelta:
        """Return an age that spares the version being read."""
        return KEEP_VERSIONS + timedelta(seconds=time.monotonic() - self._followed_at)

    # -- repair ------------------------------------------------------------------------------------------------------

    async def tidy_after_crash(self) -> None:
        """Remove files that unfinished writes left, before anybody else has access."""
        for table in self:
            try:
                await table.optimise(keep=KEEP_VERSIONS, alone=True)
            except StoreError:  # no reason not to open: it is retried with the next compaction
                self.counters.optimise_failures += 1
                logger.exception(
                    "%s cannot be compacted after a crash; retrying with the next compaction", self._folder
                )
        await self.sync()

    async def mend(self) -> None:
        """Make everything readable: rebuild indexes, and tables that cannot be read."""
        self.counters.healed += 1
        for name, table in list(self._tables.items()):
            try:
                await table.refresh()
                async for _ in table.scan():
                    pass
            except StoreError:
                await self.rescue(name)
                continue
            await table.drop_indexes()
            await table.ensure_indexes()
        await self.reflect()
        await self.sync()

    async def rescue(self, name: str) -> None:
        """Rebuild the table from readable rows, here or in snapshots."""
        self._tables[name].close()
        lost = await rescue.rebuild(self._folder, name, self._session)
        self._tables[name] = await self._database.table(name)
        logger.error("table %s of %s was rebuilt; %d rows are lost", name, self._folder, lost)


async def _opened(folder: Path, database: Database, name: str, repairs: list[Repair]) -> Table:
    """Open the newest readable version of the table, or rebuild the table.

    What had to be set aside is added to `repairs`.
    """
    try:
        return await _read(database, name)
    except StoreError:
        logger.exception("table %s of %s cannot be opened; trying the previous version", name, folder)
    # One version only: if two cannot be read, the cause is no flipped bit and may be temporary.
    if (back := stepped_back(folder / f"{name}.lance")).needed:
        repairs.append(back)
        try:
            return await _read(database, name)
        except StoreError:
            logger.exception("previous version of table %s of %s cannot be opened; rebuilding the table", name, folder)
    await rescue.rebuild(folder, name, None)
    return await database.table(name)


async def _read(database: Database, name: str) -> Table:
    table = await database.table(name)
    await table.try_to_read()
    return table
