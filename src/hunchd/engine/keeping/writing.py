"""Writer from the journal to the store.

One task writes batches in the order of acceptance, and moves the checkpoint after each.
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
from hunchd.store.client import StoreClient
from hunchd.store.hot import HotTier
from hunchd.store.journal.journal import Journal, Record

logger = logging.getLogger(__name__)

FIRST_PAUSE = 0.5  # seconds before a failed batch is retried; doubled each time
LONGEST_PAUSE = 5.0  # seconds: writing resumes within ten seconds after the problem ends
# A commit costs the store more, the more there were since its last compaction, so streams are batched: this factor
# times the delay that a first record waits for others.
STREAMING = 4
# Longest wait of a client; a full queue takes half a minute on a slow machine.
DRAINED_WITHIN = 60.0  # seconds
# The store writes at least some hundred records a second.
RETRY_AFTER = 2.0  # seconds


@dataclass(frozen=True, slots=True)
class Write:
    """Store operations of one accepted record."""

    sequence: int
    memories: tuple[Memory, ...] = ()
    signals: tuple[dict[str, Any], ...] = ()
    deletions: tuple[tuple[str | None, str], ...] = ()  # (project, memory id)


class Writer:
    """Queue of at most `limit` accepted records that are not stored yet.

    `trouble` is the reason why writing is stuck, if it is. Records of an earlier process are added before `run`
    begins.
    """

    def __init__(
        self, journal: Journal, hot: HotTier, store: StoreClient, *, batch: int, gather: float, most: int
    ) -> None:
        self._journal = journal
        self._hot = hot
        self._store = store
        self._batch = batch
        self._gather = gather  # seconds
        self._most = most
        self._arriving = 0  # records being appended to the journal
        self._waiting: deque[Write] = deque()
        self._seen: set[int] = set()  # accepted since the last checkpoint
        self._accepting: set[asyncio.Task[None]] = set()
        self._gone: set[str] = set()  # removed projects; their ids are never reused
        self._wake = asyncio.Event()
        self._begun = asyncio.Event()
        self._moved = asyncio.Event()
        self._awaited = 0  # callers that wait for the queue to drain
        self._hurry = asyncio.Event()
        self.trouble = ""

    @property
    def pending(self) -> int:
        """Number of records that wait for the store."""
        return len(self._waiting)

    async def accept(self, records: Sequence[Record], then: Callable[[list[int]], None]) -> None:
        """Make `records` durable and call `on_durable` with their sequence numbers.

        Both happen even if the caller is cancelled in between: a record that nobody queues would never reach the
        store. Raises
        Overloaded when too many records wait, and NotFound if a record's project was removed; nothing is stored then.
        """
        if any(record.project in self._gone for record in records):
            raise NotFound("the project was removed", field="project")
        waiting = len(self._waiting) + self._arriving
        if waiting and waiting + len(records) > self._most:
            raise Overloaded(f"{waiting:,} records wait for the store", retry_after=RETRY_AFTER)
        self._arriving += len(records)
        task = asyncio.create_task(self._accept(records, then), name="accept")
        self._accepting.add(task)
        task.add_done_callback(self._accepting.discard)
        await asyncio.shield(task)

    async def _accept(self, records: Sequence[Record], then: Callable[[list[int]], None]) -> None:
        try:
            then(await self._journal.append(records))
        finally:
            self._arriving -= len(records)

    def knows(self, sequence: int) -> bool:
        """Return True if the record was queued before.

        So a repeated event counts once.
        """
        return sequence <= self._journal.checkpointed or sequence in self._seen

    def add(self, write: Write) -> None:
        """Queue an accepted record, at most once."""
        if self.knows(write.sequence):
            return
        self._seen.add(write.sequence)
        self._waiting.append(write)
        self._wake.set()
        if len(self._waiting) >= self._batch:
            self._hurry.set()

    async def leave(self, project: str) -> None:
        """Stop accepting and storing records of a project.

        Writes in progress have ended when this returns.
        """
        self._gone.add(project)
        if self._accepting:
            await asyncio.wait(set(self._accepting))
        await self.drained()

    def has_left(self, project: str) -> bool:
        """Return True if the project was removed."""
        return project in self._gone

    @property
    def has_begun(self) -> bool:
        """True once the records of an earlier process are loaded."""
        return self._begun.is_set()

    async def begun(self) -> None:
        """Wait until the records of an earlier process are loaded.

        Questions about a memory have no correct answer before.
        """
        await self._begun.wait()

    async def drained(self, *, but: int = 0) -> None:
        """Wait until everything accepted so far is stored, except `allowed_pending` records.

        Records accepted meanwhile are not waited for. Raises Unavailable after DRAIN_TIMEOUT_SECONDS.
        """
        self._awaited += 1
        self._hurry.set()
        try:
            async with asyncio.timeout(DRAINED_WITHIN):
                await self._begun.wait()
                last = self._waiting[-1].sequence if self._waiting else 0
                while len(self._waiting) > but and self._waiting[0].sequence <= last:
                    await self._moved.wait()
        except TimeoutError:
            raise Unavailable(self.trouble or "the store has not caught up yet") from None
        finally:
            self._awaited -= 1

    async def run(self) -> None:
        """Write batches forever."""
        # Records accepted since the start are queued before those read from the journal: restore the order.
        self._waiting = deque(sorted(self._waiting, key=lambda write: write.sequence))
        self._begun.set()
        self._wake.set()  # a failed run may have left records
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._gathered(self._gather)
            while self._waiting:
                await self._write_first()
                await self._gathered(STREAMING * self._gather)

    async def _gathered(self, seconds: float) -> None:
        """Wait for more records to fill the batch.

        Returns at once if it is full or somebody waits.
        """
        if self._awaited or len(self._waiting) >= self._batch:
            return
        self._hurry.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), seconds)

    async def _write_first(self) -> None:
        batch = [self._waiting[index] for index in range(min(self._batch, len(self._waiting)))]
        pause = FIRST_PAUSE
        while True:
            try:
                await self._commit(batch)
                break
            except (InvalidInput, NotFound, TooLarge) as error:  # retrying is pointless
                if len(batch) == 1:
                    logger.error("record %d cannot be stored; skipping it: %s", batch[0].sequence, error)
                    break
                batch = batch[:1]  # isolate the invalid record
            except Exception as error:  # accepted records stay queued, whatever the store's problem
                self.trouble = f"writing to the store failed: {error}"
                logger.exception("writing %d records failed; retrying in %.1f s", len(batch), pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
        self.trouble = ""
        for _ in batch:
            self._waiting.popleft()
        self._hot.committed([memory for write in batch for memory in write.memories])
        await self._checkpoint()
        self._moved.set()
        self._moved.clear()

    async def _commit(self, batch: Sequence[Write]) -> None:
        """Store one batch; the last write or deletion of a memory wins."""
        latest: dict[str, Memory | None] = {}
        owners: dict[str, str | None] = {}
        for write in batch:
            for memory in write.memories:
                latest[memory.id], owners[memory.id] = memory, memory.project
            for project, identifier in write.deletions:
                latest[identifier], owners[identifier] = None, project
        latest = {identifier: memory for identifier, memory in latest.items() if owners[identifier] not in self._gone}
        kept = [memory for memory in latest.values() if memory is not None]
        if kept:
            await self._store.put(kept)
        signals = [signal for write in batch for signal in write.signals if signal.get("project") not in self._gone]
        if signals:
            await self._store.put_signals(signals)
        deleted: dict[str | None, list[str]] = {}
        for identifier in (identifier for identifier, memory in latest.items() if memory is None):
            deleted.setdefault(owners[identifier], []).append(identifier)
        for project, identifiers in deleted.items():
            await self._store.delete(identifiers, project)

    async def _checkpoint(self) -> None:
        """Move the journal's checkpoint to just before the oldest waiting record."""
        reached = min((write.sequence for write in self._waiting), default=max(self._seen, default=0) + 1) - 1
        try:
            await self._journal.checkpoint(reached)
        except HunchError as error:  # the next batch retries; replaying is idempotent
            logger.warning("journal checkpoint failed: %s", error.message)
        else:
            self._seen = {sequence for sequence in self._seen if sequence > reached}
