"""Collection of one project or of the user.

It consists of two tables in a folder and has one writer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from hunchd.domain.errors import StoreError
from hunchd.domain.filters import Filters
from hunchd.store.database import expressions, rescue, snapshots
from hunchd.store.database.counters import Written
from hunchd.store.database.finding import Choice, Found
from hunchd.store.database.folders import ERASING, bytes_in, erasure_is_due
from hunchd.store.database.lance import Table
from hunchd.store.database.looking import Looking, Vector
from hunchd.store.database.mirrored import MirroredTables
from hunchd.store.database.quarantine import Quarantine, ids_in
from hunchd.store.database.readying import ready
from hunchd.store.database.repair import SET_ASIDE, repaired
from hunchd.store.database.tables import MEMORIES, SCHEMA_VERSION, SERVED, SIGNALS, Row
from hunchd.store.database.tidying import is_due
from hunchd.store.database.turns import Turns
from hunchd.store.database.vectors import made_before, with_new_vectors, with_their_vectors
from hunchd.store.database.word_keeping import Counting, counted
from hunchd.store.files import Files, private_folder, replace_file

logger = logging.getLogger(__name__)

PRUNE_PATIENCE: Final = 0.5  # seconds; an export may read one version for much longer
_IN_USE: Final = "in-use"
_QUARANTINE: Final = "quarantine.json"


class Collection:
    """Tables of one owner. Every write is on disk when it returns.

    Use as `await Collection.open(folder, session)`, and close it when done.
    """

    def __init__(self, folder: Path, tables: MirroredTables, files: Files) -> None:
        self.folder = folder
        self.writable = tables.writable
        self.counters = tables.counters
        self._tables = tables
        self._files = files
        self._turns = Turns(folder, self._mend, writable=tables.writable)
        self._quarantine = Quarantine(folder / _QUARANTINE, files)
        self.looking = Looking(lambda: tables.mirror, self._quarantine)

    @classmethod
    async def open(cls, folder: Path, session: Any) -> Collection:
        """Open the tables.

        Repairs crash damage, migrates the schema and finishes an interrupted erasure.
        """
        private_folder(folder)
        rescue.finish(folder)
        repairs = [repaired(folder / f"{name}.lance") for name in (MEMORIES, SIGNALS)]
        crashed = (folder / _IN_USE).exists()
        (folder / _IN_USE).touch(mode=0o600)
        files = Files()
        tables = await MirroredTables.open(folder, session, files)
        self = cls(folder, tables, files)
        self.counters.repairs = [repair for repair in (*repairs, *tables.repairs) if repair.needed]
        for repair in self.counters.repairs:
            if repair.damaged_files:
                await tables.rescue(repair.table)
        try:
            await tables.reflect()
        except StoreError:
            logger.exception("%s cannot be read; repairing it", folder)
            await self._mend()
        if tables.mirror.scattered:  # unindexed rows of an earlier process are scanned one by one until then
            self.counters.since_optimise = 1
        if self.writable:
            await tables.memories.drop_vector_index()
            await tables.tidy_after_crash() if crashed else await tables.sync()
            if self.erasing:
                await self.purge()
        return self

    async def close(self) -> None:
        """Close after the work in progress; later calls raise StoreClosed."""

        def end() -> None:
            self._tables.close()
            (self.folder / _IN_USE).unlink(missing_ok=True)

        await self._turns.close(end)

    # -- writing ---------------------------------------------------------------------------------------------------

    async def put(self, rows: Sequence[Row], *, into: str = MEMORIES) -> Written:
        """Add new rows and overwrite changed ones. Idempotent."""
        return await self._turns.write(lambda: self._put(rows, self._tables[into]), mending=True)

    async def delete(self, ids: Sequence[str]) -> int:
        """Delete memories; return how many there were.

        Their bytes leave the disk with the next `purge`, also if the process crashes in between.
        """
        return await self._turns.write(lambda: self._delete(ids), mending=True)

    async def delete_signals(self, ids: Sequence[str]) -> None:
        """Delete signals by id.

        Their bytes leave the disk with the next `purge`, also if the process crashes in between.
        """
        await self._turns.write(lambda: self._delete_signals(ids), mending=True)

    async def forget_signals(self, before: int) -> None:
        """Delete signals older than `before` (microseconds); compaction frees their space."""
        await self._turns.write(lambda: self._forget_signals(before), mending=True)

    async def purge(self) -> None:
        """Remove deleted rows from the disk.

        No file holds their text or vector afterwards.
        """
        await self._turns.write(self._purge)

    async def set_vectors(self, vectors: Mapping[str, tuple[bytes, bytes]], model: str) -> int:
        """Store vectors by id; return how many rows took theirs.

        Each vector comes with the digest of the text it was computed from: a row that changed meanwhile is left alone.
        """
        return await self._turns.write(lambda: self._set_vectors(vectors, model), mending=True)

    async def optimise(self, *, force: bool = False, quiet: bool = True) -> bool:
        """Merge, index and prune if enough has changed.

        Returns True if anything was done.
        """
        if not self.writable or not (force or await self.needs_optimising(quiet=quiet)):
            return False
        await self._turns.write(self._tables.optimise)
        return True

    async def tidy(self) -> bool:
        """Merge, index and prune old versions; return True if any were removed.

        Versions that a reader still uses stay. Call it while there are no queries: at the end they have to wait.
        """
        if not self.writable or not await self._turns.read(self._has_past):
            return False
        await self._turns.write(self._tables.optimise)  # takes seconds, in which others read
        return await self.prune()

    async def prune(self) -> bool:
        """Remove all versions but the newest.

        Returns False if a reader is still active. Queries that arrive meanwhile wait for a quarter of a second.
        Call it right after compaction: what is not merged yet would be merged here.
        """
        return await self._turns.write(self._prune)

    async def index_words(self, count: Counting = counted) -> bool:
        """Add some more rows to the word index.

        Returns True if rows remain. There are unindexed rows after an update of hunchd, for example.
        """
        if not self.writable or self._tables.mirror.words.is_whole:
            return False
        return await self._turns.write(lambda: self._tables.words.catch_up(self._tables.mirror, count), mending=True)

    async def snapshot(self, *, keep: int) -> Path:
        """Copy the tables by hard links and keep the newest `keep` snapshots."""
        return await self._turns.write(lambda: asyncio.to_thread(snapshots.take, self.folder, keep=keep))

    # -- reading ---------------------------------------------------------------------------------------------------

    async def get(self, ids: Sequence[str], columns: Sequence[str] | None = SERVED) -> list[Row]:
        """Return the intact rows with these ids; `columns=None` returns whole rows."""
        if columns == SERVED:
            return await self._turns.read(lambda: self.looking.get(ids))
        condition = expressions.ids_among(ids)
        rows = await self._turns.read(lambda: self._tables.memories.select(condition, columns=columns))
        return self._quarantine.intact(rows)

    async def called(self, name: str, filters: Filters, limit: int) -> list[Row]:
        """Return the rows with this id, caller's key or key, newest first."""
        return await self._turns.read(lambda: self.looking.called(name, filters, limit))

    async def page(self, filters: Filters, limit: int, after: tuple[int, str] | None) -> tuple[list[Row], int]:
        """Return a page of rows, newest first, and the total.

        The page starts after a (time, id) position.
        """
        return await self._turns.read(lambda: self.looking.page(filters, limit, after))

    async def find(
        self,
        words: str,
        vector: Vector,
        model: str,
        filters: Filters,
        k: int,
        choose: Choice,
        *,
        few: int | None = None,
        read: Callable[[Sequence[str]], object] | None = None,
    ) -> list[Found]:
        """Search by words and by vector within the filters.

        `choose` selects from the candidates; of rows that have no neighbours only the first `few` are returned. The
        word search does not wait for the vector; meanwhile `read` is called in another thread with the bodies that
        will probably be found.
        """
        asked = asyncio.ensure_future(vector) if isinstance(vector, Awaitable) else vector
        return await self._turns.read(lambda: self.looking.find(words, asked, model, filters, k, choose, few, read))

    async def read_ahead(self, pack: Callable[[Sequence[str]], Awaitable[list[bytes]]]) -> bool:
        """Load some more bodies into memory; return True if more remain."""
        return await self._turns.read(lambda: self.looking.read_ahead(pack))

    async def without_vector(self, model: str, limit: int) -> list[Row]:
        """Return rows that this model has not embedded yet, newest first."""
        return await self._turns.read(lambda: self.looking.without_vector(model, limit))

    async def vectors_of(self, digests: Sequence[bytes], model: str) -> dict[bytes, bytes]:
        """Return vectors computed earlier, by digest of the text."""
        return await self._turns.read(lambda: made_before(self._tables.memories, digests, model))

    async def rows(self, table: str = MEMORIES) -> AsyncIterator[Row]:
        """Yield every intact row once, also if the table is repaired meanwhile."""
        given: set[str] = set()
        for last_try in (False, True):
            try:
                async with self._turns.reading():
                    async for batch in self._tables[table].scan(columns=SERVED if table == MEMORIES else None):
                        for row in self._quarantine.intact([row for row in batch if row["id"] not in given]):
                            given.add(row["id"])
                            yield row
                return
            except StoreError as error:
                if last_try or not self._turns.worth_mending(error):
                    raise
            await self._turns.mended()

    async def needs_optimising(self, *, quiet: bool = True) -> bool:
        """Return True if unmerged writes slow searches down.

        Unless `quiet`, only if they slow them down considerably.
        """
        scattered = self._tables.mirror.scattered
        new = len(self._tables.mirror.fresh) + scattered
        return is_due(self.counters.since_optimise, self._tables.mirror.rows, new, scattered, quiet=quiet)

    async def state(self, model: str) -> dict[str, Any]:
        """Return the figures for the status."""
        figures = dict(await self._turns.read(self._tables.memories.state))
        figures["embedded"] = int(self._tables.mirror.embedded_by(model).sum())
        figures["signals"] = await self._turns.read(self._tables[SIGNALS].count)
        figures["bytes"] = await asyncio.to_thread(bytes_in, self.folder)
        figures["commits"] = self.counters.commits
        return figures

    @property
    def erasing(self) -> bool:
        """True while bytes of deleted rows may still be on disk."""
        return erasure_is_due(self.folder)

    def complaints(self) -> list[str]:
        """Return the problems of this store as texts for the status."""
        found = [repair.told() for repair in self.counters.repairs]
        if not self.writable:
            found.append(
                f"written by a newer hunchd (ours has schema {SCHEMA_VERSION}); read-only until hunchd is updated"
            )
        if self._quarantine.ids:
            found.append(f"{len(self._quarantine.ids)} damaged memories are quarantined")
        if self.counters.optimise_failures >= 3:
            found.append(f"optimising failed {self.counters.optimise_failures} times in a row")
        return found

    async def _put(self, rows: Sequence[Row], table: Table) -> Written:
        newest = {row["id"]: row for row in rows}
        there = await self._tables.digests_of(list(newest), table)
        fresh = [row for id_, row in newest.items() if id_ not in there]
        changed = [row for id_, row in newest.items() if id_ in there and there[id_] != row["digest"]]
        if changed and table is self._tables.memories:
            changed = await with_their_vectors(self._tables.memories, changed)
        if (fresh or changed) and table is self._tables.memories:
            rows = await ready([*fresh, *changed])
            fresh, changed = rows[: len(fresh)], rows[len(fresh) :]
        if fresh:
            await table.add(fresh)
        if changed:
            await table.replace(changed)
        if fresh or changed:
            await self._tables.written(table, [*fresh, *changed])
            self._quarantine.release(newest)
        return Written(len(fresh), len(changed), len(newest) - len(fresh) - len(changed))

    async def _delete(self, ids: Sequence[str]) -> int:
        condition = expressions.ids_among(ids)
        found = await self._tables.memories.count(condition)
        if not found:
            return 0
        self._note_erasing(ids)
        await self._tables.memories.delete(condition)
        self._tables.mirror.delete(ids)
        await self._tables.committed()
        self._note_erasing([])  # they may be added again now, and must not be deleted a second time
        self._quarantine.release(ids)
        return found

    async def _delete_signals(self, ids: Sequence[str]) -> None:
        self._note_erasing(ids)
        await self._tables[SIGNALS].delete(expressions.ids_among(ids))
        await self._tables.committed()
        self._note_erasing([])

    async def _forget_signals(self, before: int) -> None:
        await self._tables[SIGNALS].delete(expressions.older(before))
        await self._tables.committed()

    def _note_erasing(self, ids: Sequence[str]) -> None:
        """Record on disk that a purge is due.

        `ids` are deleted before it.
        """
        replace_file(self._files, self.folder / ERASING, json.dumps(list(ids)).encode())

    async def _purge(self) -> None:
        # A crash may have come between the record and the deletion.
        await self._tables.write_anew(without=ids_in(self.folder / ERASING))  # takes seconds, in which others read
        async with self._turns.alone():
            await self._tables.only_now()
            await self._tables.words.erase(self._tables.mirror)
            await asyncio.to_thread(snapshots.forget, self.folder)
            await asyncio.to_thread(rescue.forget, self.folder / SET_ASIDE)
            await self._tables.sync()
        self._files.remove(self.folder / ERASING)
        self._files.sync_folder(self.folder)

    async def _set_vectors(self, vectors: Mapping[str, tuple[bytes, bytes]], model: str) -> int:
        embedded = await with_new_vectors(self._tables.memories, vectors, model)
        if embedded:
            await self._tables.memories.replace(embedded)
            await self._tables.written(self._tables.memories, embedded)
        return len(embedded)

    async def _has_past(self) -> bool:
        return not all([await table.is_only_now() for table in self._tables])

    async def _prune(self) -> bool:
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(PRUNE_PATIENCE):
                    await stack.enter_async_context(self._turns.alone())
            except TimeoutError:
                return False
            try:
                await self._tables.only_now()
            finally:
                await self._tables.sync()
        return True

    async def _mend(self) -> None:
        async with self._turns.alone():
            await self._tables.mend()
