"""Writer that moves accepted records from the journal to the store.

A single task writes batches in the order of acceptance and moves the journal's checkpoint after each batch.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hunchd.domain.errors import HunchError, InvalidInput, NotFound, Overloaded, TooLarge, Unavailable
from hunchd.domain.memory import Memory
from hunchd.store.journal.journal import Journal, JournalRecord
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.port import MemoryStore

logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 0.5  # seconds before a failed batch is retried; doubled each time
MAX_BATCH_RECORDS = 256  # records sent to the store at once
MAX_PAUSE_SECONDS = 5.0  # seconds: writing resumes within ten seconds after the problem ends
# A commit costs more, the more commits there were since the store's last compaction. Records in a stream are therefore
# batched: they wait for further records this many times as long as the first record does.
STREAM_DELAY_FACTOR = 4
# Longest time that a client waits; storing a full queue takes half a minute on a slow machine.
DRAIN_TIMEOUT_SECONDS = 60.0  # seconds
# The store writes at least some hundred records a second.
RETRY_AFTER_SECONDS = 2.0  # seconds


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """Operations on the store that one accepted record requires."""

    sequence: int
    memories: tuple[Memory, ...] = ()
    signals: tuple[dict[str, Any], ...] = ()
    deletions: tuple[tuple[str | None, str], ...] = ()  # (project, memory id)


class StoreWriter:
    """Writer that stores accepted records from a queue.

    The queue holds at most `limit` records. `trouble` is the reason why writing is stuck; it is empty while writing
    works. Records left by an earlier process must be added before `run` is called.
    """

    def __init__(
        self,
        journal: Journal,
        memory_cache: MemoryCache,
        store: MemoryStore,
        *,
        batch_size: int = MAX_BATCH_RECORDS,
        gather_seconds: float,
        limit: int,
    ) -> None:
        self._journal = journal
        self._memory_cache = memory_cache
        self._store = store
        self._batch_size = batch_size
        self._gather_seconds = gather_seconds  # seconds
        self._queue_limit = limit
        self._appending_count = 0  # records being appended to the journal
        self._queue: deque[PendingWrite] = deque()
        self._queued_sequences: set[int] = set()  # accepted since the last checkpoint
        self._accept_tasks: set[asyncio.Task[None]] = set()
        self._removed_projects: set[str] = set()  # removed projects; their ids are never reused
        self._wake = asyncio.Event()
        self._start_event = asyncio.Event()
        self._progress_event = asyncio.Event()
        self._drain_waiters = 0  # callers that wait for the queue to drain
        self._hurry = asyncio.Event()
        self.trouble = ""

    @property
    def pending(self) -> int:
        """Number of records waiting to be stored."""
        return len(self._queue)

    async def accept(self, records: Sequence[JournalRecord], on_durable: Callable[[list[int]], None]) -> None:
        """Make `records` durable and call `on_durable` with their sequence numbers.

        Both steps happen even if the caller is cancelled in between, since a record that is never queued would
        never reach the store. Raises Overloaded if too many records are waiting, and NotFound if a record's project
        was removed; in both cases nothing is stored.
        """
        if any(record.project in self._removed_projects for record in records):
            raise NotFound("the project was removed", field="project")
        queue_length = len(self._queue) + self._appending_count
        if queue_length and queue_length + len(records) > self._queue_limit:
            raise Overloaded(f"{queue_length:,} records are waiting for the store", retry_after=RETRY_AFTER_SECONDS)
        self._appending_count += len(records)
        task = asyncio.create_task(self._append_and_queue(records, on_durable), name="accept")
        self._accept_tasks.add(task)
        task.add_done_callback(self._accept_tasks.discard)
        await asyncio.shield(task)

    async def _append_and_queue(
        self, records: Sequence[JournalRecord], on_durable: Callable[[list[int]], None]
    ) -> None:
        try:
            on_durable(await self._journal.append(records))
        finally:
            self._appending_count -= len(records)

    def is_queued(self, sequence: int) -> bool:
        """Return True if the record is already queued or stored.

        A repeated event therefore counts only once.
        """
        return sequence <= self._journal.checkpoint_sequence or sequence in self._queued_sequences

    def add(self, write: PendingWrite) -> None:
        """Queue an accepted record, at most once."""
        if self.is_queued(write.sequence):
            return
        self._queued_sequences.add(write.sequence)
        self._queue.append(write)
        self._wake.set()
        if len(self._queue) >= self._batch_size:
            self._hurry.set()

    async def remove_project(self, project: str) -> None:
        """Stop accepting and storing records of a project.

        Returns when the writes in progress have ended.
        """
        self._removed_projects.add(project)
        if self._accept_tasks:
            await asyncio.wait(set(self._accept_tasks))
        await self.drain()

    def is_removed(self, project: str) -> bool:
        """Return True if the project was removed."""
        return project in self._removed_projects

    @property
    def has_started(self) -> bool:
        """True once the records left by an earlier process are loaded."""
        return self._start_event.is_set()

    async def wait_until_started(self) -> None:
        """Wait until the records left by an earlier process are loaded.

        Answers about a memory may be wrong until then.
        """
        await self._start_event.wait()

    async def drain(self, *, allowed_pending: int = 0) -> None:
        """Wait until the records accepted so far are stored.

        Returns as soon as at most `allowed_pending` of them are left. Records accepted in the meantime are not
        waited for. Raises Unavailable after DRAIN_TIMEOUT_SECONDS.
        """
        self._drain_waiters += 1
        self._hurry.set()
        try:
            async with asyncio.timeout(DRAIN_TIMEOUT_SECONDS):
                await self._start_event.wait()
                last = self._queue[-1].sequence if self._queue else 0
                while len(self._queue) > allowed_pending and self._queue[0].sequence <= last:
                    await self._progress_event.wait()
        except TimeoutError:
            raise Unavailable(self.trouble or "the store has not caught up yet") from None
        finally:
            self._drain_waiters -= 1

    async def run(self) -> None:
        """Write batches to the store forever."""
        # Records accepted since the start are queued before those read from the journal: restore the order.
        self._queue = deque(sorted(self._queue, key=lambda write: write.sequence))
        self._start_event.set()
        self._wake.set()  # a failed run may have left records
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._wait_for_batch(self._gather_seconds)
            while self._queue:
                await self._write_batch()
                await self._wait_for_batch(STREAM_DELAY_FACTOR * self._gather_seconds)

    async def _wait_for_batch(self, seconds: float) -> None:
        """Wait for more records to fill the batch.

        Returns immediately if the batch is full or a caller is waiting for it.
        """
        if self._drain_waiters or len(self._queue) >= self._batch_size:
            return
        self._hurry.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), seconds)

    async def _write_batch(self) -> None:
        batch = [self._queue[index] for index in range(min(self._batch_size, len(self._queue)))]
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                await self._commit(batch)
                break
            except (InvalidInput, NotFound, TooLarge) as error:  # retrying is pointless
                if len(batch) == 1:
                    logger.error("record %d cannot be stored; skipping it: %s", batch[0].sequence, error)
                    break
                batch = batch[:1]  # isolate the invalid record
            except Exception as error:  # accepted records stay queued, whatever problem the store has
                self.trouble = f"writing to the store failed: {error}"
                logger.exception("writing %d records failed; retrying in %.1f s", len(batch), pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, MAX_PAUSE_SECONDS)
        self.trouble = ""
        for _ in batch:
            self._queue.popleft()
        self._memory_cache.mark_committed([memory for write in batch for memory in write.memories])
        await self._checkpoint()
        self._progress_event.set()
        self._progress_event.clear()

    async def _commit(self, batch: Sequence[PendingWrite]) -> None:
        """Store one batch.

        If the batch changes a memory several times, only the last change is stored.
        """
        latest: dict[str, Memory | None] = {}
        owners: dict[str, str | None] = {}
        for write in batch:
            for memory in write.memories:
                latest[memory.id], owners[memory.id] = memory, memory.project
            for project, identifier in write.deletions:
                latest[identifier], owners[identifier] = None, project
        latest = {
            identifier: memory
            for identifier, memory in latest.items()
            if owners[identifier] not in self._removed_projects
        }
        memories_to_store = [memory for memory in latest.values() if memory is not None]
        if memories_to_store:
            await self._store.put(memories_to_store)
        signals = [
            signal for write in batch for signal in write.signals if signal.get("project") not in self._removed_projects
        ]
        if signals:
            await self._store.put_signals(signals)
        deleted_ids: dict[str | None, list[str]] = {}
        for identifier in (identifier for identifier, memory in latest.items() if memory is None):
            deleted_ids.setdefault(owners[identifier], []).append(identifier)
        for project, identifiers in deleted_ids.items():
            await self._store.delete(identifiers, project)

    async def _checkpoint(self) -> None:
        """Move the journal's checkpoint to just before the oldest waiting record."""
        stored_sequence = (
            min((write.sequence for write in self._queue), default=max(self._queued_sequences, default=0) + 1) - 1
        )
        try:
            await self._journal.write_checkpoint(stored_sequence)
        except HunchError as error:  # the next batch retries; replaying is idempotent
            logger.warning("could not write the journal checkpoint: %s", error.message)
        else:
            self._queued_sequences = {sequence for sequence in self._queued_sequences if sequence > stored_sequence}
