"""Collection: the memories and signals of one project, or of the user.

It consists of two tables in a folder and has a single writer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from hunchd.domain.errors import StoreError
from hunchd.store.database import rescue, snapshots, sql_conditions
from hunchd.store.database.counters import WriteResult, is_compaction_due
from hunchd.store.database.folders import ERASURE_MARKER, is_erasure_pending, measure_folder
from hunchd.store.database.mirrored_tables import MirroredTables
from hunchd.store.database.quarantine import Quarantine, load_ids
from hunchd.store.database.queries import CollectionQueries
from hunchd.store.database.repair import DAMAGED_FOLDER, repair_table
from hunchd.store.database.row_preparation import prepare_rows
from hunchd.store.database.store_lock import StoreLock, under_write_lock
from hunchd.store.database.tables import MEMORIES, SCHEMA_VERSION, SERVED_COLUMNS, SIGNALS, Row
from hunchd.store.database.vectors import apply_vectors, keep_vectors, load_vectors
from hunchd.store.database.word_index_lifecycle import CountTerms, count_all_terms
from hunchd.store.files import FileOperations, create_private_folder, replace_file

logger = logging.getLogger(__name__)

PRUNE_WAIT_SECONDS: Final = 0.5  # seconds; an export may read one version for much longer
_IN_USE_MARKER: Final = "in-use"
_QUARANTINE_FILE: Final = "quarantine.json"


class Collection(CollectionQueries):
    """Memories and signals of one project, or of the user, in two tables.

    Every write is on disk when it returns. Create a collection with `await Collection.open(folder, session)` and close
    it when done.
    """

    def __init__(self, folder: Path, tables: MirroredTables, files: FileOperations) -> None:
        self.folder = folder
        self.writable = tables.writable
        self.counters = tables.counters
        self._tables = tables
        self._files = files
        quarantine = Quarantine(folder / _QUARANTINE_FILE, files)
        lock = StoreLock(folder, self._repair, writable=tables.writable)
        super().__init__(lambda: tables.mirror, quarantine, lock)

    @classmethod
    async def open(cls, folder: Path, session: Any) -> Collection:
        """Open the tables in `folder`.

        This repairs crash damage and completes an interrupted erasure. `session` holds the caches
        that the tables share.
        """
        create_private_folder(folder)
        rescue.finish_rebuild(folder)
        repairs = [repair_table(folder / f"{name}.lance") for name in (MEMORIES, SIGNALS)]
        has_crashed = (folder / _IN_USE_MARKER).exists()
        (folder / _IN_USE_MARKER).touch(mode=0o600)
        files = FileOperations()
        tables = await MirroredTables.open(folder, session, files)
        self = cls(folder, tables, files)
        self.counters.repairs = [repair for repair in (*repairs, *tables.repairs) if repair.is_needed]
        for repair in self.counters.repairs:
            if repair.damaged_files:
                await tables.rebuild_table(repair.table)
        try:
            await tables.reload_mirror()
        except StoreError:
            logger.exception("%s cannot be read; repairing it", folder)
            await self._repair()
        self.counters.since_optimise = await tables.memories.count_unmerged()  # left by an earlier process
        if self.writable:
            await tables.clean_up_after_crash() if has_crashed else await tables.sync_tables()
            if self.is_erasure_pending:
                await self.purge()
        return self

    async def close(self) -> None:
        """Close the tables once the work in progress is done; later calls raise StoreClosed."""

        def end() -> None:
            self._tables.close()
            (self.folder / _IN_USE_MARKER).unlink(missing_ok=True)

        await self.lock.close(end)

    # -- writing ---------------------------------------------------------------------------------------------------

    @under_write_lock(retry_after_repair=True)
    async def put(self, rows: Sequence[Row], *, into: str = MEMORIES) -> WriteResult:
        """Add new rows to the table `into` and overwrite rows that have changed.

        Storing the same rows again changes nothing.
        """
        table = self._tables[into]
        rows_by_id = {row["id"]: row for row in rows}
        stored_digests = await self._tables.load_digests(list(rows_by_id), table)
        new_rows = [row for id_, row in rows_by_id.items() if id_ not in stored_digests]
        changed_rows = [
            row for id_, row in rows_by_id.items() if id_ in stored_digests and stored_digests[id_] != row["digest"]
        ]
        if changed_rows and table is self._tables.memories:
            changed_rows = await keep_vectors(self._tables.memories, changed_rows)
        if (new_rows or changed_rows) and table is self._tables.memories:
            rows = await prepare_rows([*new_rows, *changed_rows])
            new_rows, changed_rows = rows[: len(new_rows)], rows[len(new_rows) :]
        if new_rows:
            await table.add(new_rows)
        if changed_rows:
            await table.replace(changed_rows)
        if new_rows or changed_rows:
            await self._tables.record_written(table, [*new_rows, *changed_rows])
            self._quarantine.release(rows_by_id)
        return WriteResult(len(new_rows), len(changed_rows))

    @under_write_lock(retry_after_repair=True)
    async def delete(self, ids: Sequence[str]) -> int:
        """Delete memories; return how many of them existed.

        Their data leaves the disk with the next `purge`, even if the process crashes in between.
        """
        condition = sql_conditions.match_ids(ids)
        count = await self._tables.memories.count_rows(condition)
        if not count:
            return 0
        self._record_erasure(ids)
        await self._tables.memories.delete(condition)
        self._tables.mirror.delete(ids)
        await self._tables.record_commit()
        self._record_erasure([])  # they may be added again now, and must not be deleted a second time
        self._quarantine.release(ids)
        return count

    @under_write_lock(retry_after_repair=True)
    async def delete_signals(self, ids: Sequence[str]) -> None:
        """Delete signals by id.

        Their data leaves the disk with the next `purge`, even if the process crashes in between.
        """
        self._record_erasure(ids)
        await self._tables[SIGNALS].delete(sql_conditions.match_ids(ids))
        await self._tables.record_commit()
        self._record_erasure([])

    @under_write_lock(retry_after_repair=True)
    async def delete_signals_before(self, before: int) -> None:
        """Delete signals older than `before` (in microseconds); compaction frees their space."""
        await self._tables[SIGNALS].delete(sql_conditions.match_older_than(before))
        await self._tables.record_commit()

    @under_write_lock(retry_after_repair=False)
    async def purge(self) -> None:
        """Remove the data of deleted rows from the disk. Afterwards, no file contains their texts or vectors."""
        # A crash may have come between the record and the deletion.
        await self._tables.rewrite_tables(
            without=load_ids(self.folder / ERASURE_MARKER)
        )  # takes seconds, during which others can read
        async with self.lock.hold_exclusive():
            await self._tables.keep_newest_versions()
            await self._tables.word_index.erase(self._tables.mirror)
            await asyncio.to_thread(snapshots.delete_snapshots, self.folder)
            await asyncio.to_thread(rescue.delete_folder, self.folder / DAMAGED_FOLDER)
            await self._tables.sync_tables()
        self._files.remove(self.folder / ERASURE_MARKER)
        self._files.sync_folder(self.folder)

    @under_write_lock(retry_after_repair=True)
    async def set_vectors(self, vectors: Mapping[str, tuple[bytes, bytes]], model: str) -> int:
        """Store the vectors of rows; return how many rows were updated.

        `vectors` maps an id to a vector and the digest of the text from which it was computed. Rows whose text has
        changed in the meantime are skipped.
        """
        updated_count = await apply_vectors(self._tables.memories, vectors, model)
        if updated_count:
            await self._tables.memories.replace(updated_count)
            await self._tables.record_written(self._tables.memories, updated_count)
        return len(updated_count)

    async def optimise(self, *, force: bool = False, quiet: bool = True) -> bool:
        """Merge files and remove old versions if enough has changed, or if forced.

        `quiet` means that there are no queries at the moment, so that smaller changes are enough. Returns True if
        anything was done.
        """
        if not self.writable or not (force or await self.needs_compaction(quiet=quiet)):
            return False
        await self.lock.run_write(self._tables.optimise)
        return True

    async def compact_and_prune(self) -> bool:
        """Merge files and remove old versions; return True if any version was removed.

        Versions that a reader still uses are kept. Call this while there are no queries, because queries have to wait
        while the old versions are removed.
        """
        if not self.writable or not await self.lock.run_read(self._has_old_versions):
            return False
        await self.lock.run_write(self._tables.optimise)  # takes seconds, during which others can read
        return await self.prune()

    @under_write_lock(retry_after_repair=False)
    async def prune(self) -> bool:
        """Remove all versions except the newest.

        Returns False, without removing any version, if a reader is still active after PRUNE_WAIT_SECONDS. Queries that
        arrive in the meantime wait for a quarter of a second. Call this right after compaction, because writes that
        have not been merged by then are merged by this call, while queries wait.
        """
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(PRUNE_WAIT_SECONDS):
                    await stack.enter_async_context(self.lock.hold_exclusive())
            except TimeoutError:
                return False
            try:
                await self._tables.keep_newest_versions()
            finally:
                await self._tables.sync_tables()
        return True

    async def index_words(self, count: CountTerms = count_all_terms) -> bool:
        """Add more rows to the word index; return True if unindexed rows remain.

        There may be unindexed rows after an update of hunchd, for example.
        """
        if not self.writable or self._tables.mirror.words.is_complete:
            return False
        return await self.lock.run_write(
            lambda: self._tables.word_index.index_missing(self._tables.mirror, count), retry_after_repair=True
        )

    async def snapshot(self, *, keep: int) -> Path:
        """Take a snapshot of the tables, and delete all but the newest `keep` snapshots."""
        return await self.lock.run_write(lambda: asyncio.to_thread(snapshots.take_snapshot, self.folder, keep=keep))

    # -- reading ---------------------------------------------------------------------------------------------------

    async def load_vectors(self, digests: Sequence[bytes], model: str) -> dict[bytes, bytes]:
        """Return vectors that `model` computed earlier, keyed by the text's digest."""
        return await self.lock.run_read(lambda: load_vectors(self._tables.memories, digests, model))

    async def iterate_rows(self, table: str = MEMORIES) -> AsyncIterator[Row]:
        """Yield every intact row once, even if the table is repaired in the meantime."""
        yielded_ids: set[str] = set()
        for last_try in (False, True):
            try:
                async with self.lock.hold_shared():
                    async for batch in self._tables[table].scan_rows(
                        columns=SERVED_COLUMNS if table == MEMORIES else None
                    ):
                        for row in self._quarantine.filter_intact(
                            [row for row in batch if row["id"] not in yielded_ids]
                        ):
                            yielded_ids.add(row["id"])
                            yield row
                return
            except StoreError as error:
                if last_try or not self.lock.should_repair(error):
                    raise
            await self.lock.run_repair()

    async def needs_compaction(self, *, quiet: bool = True) -> bool:
        """Return True if unmerged writes slow down searches.

        If `quiet` is False, returns True only if they slow down searches considerably.
        """
        mirror = self._tables.mirror
        return is_compaction_due(self.counters.since_optimise, mirror.row_count, len(mirror.fresh_slots), idle=quiet)

    async def load_state(self, model: str) -> dict[str, int]:
        """Return the statistics of the collection that the status reports."""
        figures = dict(await self.lock.run_read(self._tables.memories.load_state))
        figures["embedded"] = int(self._tables.mirror.mask_embedded(model).sum())
        figures["signals"] = await self.lock.run_read(self._tables[SIGNALS].count_rows)
        figures["bytes"] = await asyncio.to_thread(measure_folder, self.folder)
        figures["commits"] = self.counters.commits
        return figures

    @property
    def is_word_index_complete(self) -> bool:
        """True unless the word index is being rebuilt and still lacks some texts."""
        return self._tables.mirror.words.is_complete

    @property
    def is_erasure_pending(self) -> bool:
        """True while data of deleted rows may still be on disk."""
        return is_erasure_pending(self.folder)

    def list_problems(self) -> list[str]:
        """Return descriptions of the collection's problems, for the status."""
        problems = [repair.describe() for repair in self.counters.repairs]
        if not self.writable:
            problems.append(
                f"written by a newer hunchd (this one has schema {SCHEMA_VERSION}); read-only until hunchd is updated"
            )
        if self._quarantine.ids:
            problems.append(f"{len(self._quarantine.ids)} damaged memories are quarantined")
        if self.counters.optimise_failures >= 3:
            problems.append(f"merging and pruning failed {self.counters.optimise_failures} times in a row")
        return problems

    def _record_erasure(self, ids: Sequence[str]) -> None:
        """Record on disk that a purge is due and must delete `ids` first."""
        replace_file(self._files, self.folder / ERASURE_MARKER, json.dumps(list(ids)).encode())

    async def _has_old_versions(self) -> bool:
        return not all([await table.has_one_version() for table in self._tables])

    async def _repair(self) -> None:
        async with self.lock.hold_exclusive():
            await self._tables.repair_tables()
