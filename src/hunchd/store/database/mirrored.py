"""The tables of one folder as they are on the disk, and the mirror of the memories as whoever asks sees them."""

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

# Long enough for whoever reads one. Tidying writes all rows anew: while a long history comes in, each minute of them is
# some hundred megabytes.
KEEP_VERSIONS: Final = timedelta(minutes=1)


class MirroredTables:
    """Use as `await MirroredTables.open(folder, session, files)`, then `reflect`. Whoever changes something has the
    turn to write; whoever mends or erases is alone."""

    def __init__(self, folder: Path, session: Any, database: Database, tables: dict[str, Table], files: Files) -> None:
        self.counters = Counters()
        self.mirror: Mirror  # of the memories; there is one from the first `reflect` on
        self.words = WordKeeping(folder, files)
        self.writable = True
        self.repairs: list[Repair] = []  # what it took to open them
        self._folder = folder
        self._session = session
        self._database = database
        self._tables = tables
        self._synced = {name: Synced(folder / f"{name}.lance", files) for name in tables}
        self._followed_at = time.monotonic()

    @classmethod
    async def open(cls, folder: Path, session: Any, files: Files) -> MirroredTables:
        """With the schema brought up to date; they can only be read if it is newer than ours."""
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

    # -- seen --------------------------------------------------------------------------------------------------------

    async def reflect(self) -> None:
        """See the memories as they are now, all of them read anew."""
        mirror = await Mirror.load(await self._database.reader(MEMORIES))
        if self.writable and (doubled := await mirror.doubled()):
            await self.memories.delete(expressions.addresses_among(doubled))
            mirror = await Mirror.load(await self._database.reader(MEMORIES))
        await self.words.open(mirror)
        self.mirror = mirror
        self._followed_at = time.monotonic()

    async def follow(self) -> None:
        """The same, without reading again what is known."""
        await self.words.write(self.mirror)
        if self.mirror.is_worn:
            return await self.reflect()
        await self.mirror.follow(await self._database.reader(MEMORIES))
        self._followed_at = time.monotonic()
        return None

    async def digests_of(self, ids: Sequence[str], table: Table) -> dict[str, bytes]:
        """Of those that are there, what tells whether a row says something else."""
        if table is self.memories:
            return self.mirror.digests_of(ids)
        rows = await table.select(expressions.ids_among(ids), columns=("id", "digest"))
        return {row["id"]: row["digest"] for row in rows}

    # -- on the disk -------------------------------------------------------------------------------------------------

    async def written(self, table: Table, rows: Sequence[Row]) -> None:
        """These are in the table now: on the disk, and seen by whoever looks."""
        await self.committed()
        if table is self.memories:
            self.mirror.put(rows)
            if self.mirror.is_full:
                await self.follow()

    async def committed(self) -> None:
        self.counters.commits += 1
        self.counters.since_optimise += 1
        await self.sync()

    async def sync(self) -> None:
        for synced in self._synced.values():
            await asyncio.to_thread(synced.sync)

    async def optimise(self) -> None:
        """Merge, index, and drop the versions that nobody reads any more."""
        keep = self._read_within()
        try:
            with large_buffers_apart():
                for table in self:
                    await table.optimise(keep=keep)
                    await table.ensure_indexes()
            await self.follow()
        except StoreError:
            self.counters.optimise_failures += 1
            logger.exception("optimising %s failed", self._folder)
            raise
        finally:
            self.counters.since_optimise = 0  # a failure is tried again after as many commits, not at once
            await self.sync()
        self.counters.optimise_failures = 0

    async def write_anew(self, *, without: Sequence[str]) -> None:
        """Every row into new files: none of them knows what was deleted. The old ones stay for who reads them, and
        indexes are made when it is tidied next: that takes twice as long as all else."""
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
        """No version is left on the disk but the newest. For who is alone."""
        try:
            for table in self:
                await table.only_now()
        finally:
            if await self.mirror.reader.version() != await self.memories.version():  # what is being read may be gone
                await self.follow()

    def _read_within(self) -> timedelta:
        """The version that is being read is not to be pruned before another one is read."""
        return KEEP_VERSIONS + timedelta(seconds=time.monotonic() - self._followed_at)

    # -- mended ------------------------------------------------------------------------------------------------------

    async def tidy_after_crash(self) -> None:
        """Nobody else is here yet: files that no version knows are left over from writes that never finished."""
        for table in self:
            try:
                await table.optimise(keep=KEEP_VERSIONS, alone=True)
            except StoreError:  # no reason not to open: it is tried again with the next optimisation
                self.counters.optimise_failures += 1
                logger.exception("%s cannot be tidied up after a crash", self._folder)
        await self.sync()

    async def mend(self) -> None:
        """Whatever is read must be readable: indexes are made anew, and tables of which something cannot be read."""
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
        """Make the table anew from the rows that can still be read, here or in a snapshot."""
        self._tables[name].close()
        lost = await rescue.rebuild(self._folder, name, self._session)
        self._tables[name] = await self._database.table(name)
        logger.error("%s of %s was rebuilt; %d rows could not be read", name, self._folder, lost)


async def _opened(folder: Path, database: Database, name: str, repairs: list[Repair]) -> Table:
    """The table as the newest version that can be read has it, or else made anew of what can; what that took is added
    to `repairs`."""
    try:
        return await _read(database, name)
    except StoreError:
        logger.exception("%s of %s cannot be opened as it is", name, folder)
    # One version only: what keeps two from being read is no flipped bit, and may pass.
    if (back := stepped_back(folder / f"{name}.lance")).needed:
        repairs.append(back)
        try:
            return await _read(database, name)
        except StoreError:
            logger.exception("%s of %s cannot be opened as it was before; rebuilding it", name, folder)
    await rescue.rebuild(folder, name, None)
    return await database.table(name)


async def _read(database: Database, name: str) -> Table:
    table = await database.table(name)
    await table.try_to_read()
    return table
