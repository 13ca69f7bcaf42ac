"""Write-ahead log of records that are not in the store yet.

Acknowledged means synced. Appends that arrive while the disk is busy share the next write and sync (group commit).
They are written in one thread; checkpoints are written in another, so that they never delay an acknowledgement.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self, TypeVar

from hunchd.domain.errors import HunchError, Overloaded, StorageFull, StoreError, TooLarge, Unavailable
from hunchd.store.files import FULL, Files
from hunchd.store.journal.idlog import Entries
from hunchd.store.journal.segment_log import MAX_PENDING, RESERVE_BYTES, Limits, SegmentLog
from hunchd.store.journal.segments import FRAME_BYTES, Record, frame_bytes, key_of, payload_of, project_key_of

__all__ = ["Journal", "Limits", "Record"]

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

# One write is at most about this long, so that the first record of a burst need not wait for the last.
_GROUP_BYTES = 1024 * 1024
# Seconds until a retry: a sync takes milliseconds, the store catches up in seconds.
_RETRY_WHEN_BUSY = 0.5
_RETRY_WHEN_BEHIND = 5.0


@dataclass(slots=True)
class _Group:
    """Records that are written and synced together, and accepted or rejected together."""

    done: asyncio.Future[Exception | None]
    blocks: list[bytes] = field(default_factory=list)
    entries: Entries = field(default_factory=Entries)
    size: int = 0

    def add(self, sequence: int, id_key: int, project_key: int, payload: bytes) -> int:
        """Add a record; return its size in bytes."""
        block = frame_bytes(sequence, id_key, project_key, payload)
        self.blocks.append(block)
        self.entries.add(sequence, id_key, project_key)
        self.size += len(block)
        return len(block)


class _Timed:
    """Runner of one call at a time that measures its duration."""

    def __init__(self) -> None:
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        since = self._since
        return 0.0 if since is None else time.monotonic() - since

    def __call__(self, work: Callable[..., Result], *args: object) -> Result:
        self._since = time.monotonic()
        try:
            return work(*args)
        finally:
            self._since = None


class Journal:
    """Journal of a process, used from one event loop.

    Close it, or use `async with`. Nothing runs in the background while nothing is appended. `failure` describes the
    current problem, None if there is none.
    """

    def __init__(self, log: SegmentLog, limits: Limits) -> None:
        self._log = log
        self._limits = limits
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._accepting, self._settling = _Timed(), _Timed()
        self._preparation: Future[None] = self._writer.submit(self._accepting, log.prepare)
        self._is_prepared = False
        self._opening = asyncio.Lock()
        self._entering = 0  # appends that wait for the preparation
        self._groups: deque[_Group] = deque()  # gathering, oldest first
        self._being_written: _Group | None = None
        self._waiting: dict[int, tuple[int, _Group]] = {}  # id key → sequence number and group
        self._waiting_bytes = 0
        self._writing: asyncio.Task[None] | None = None
        self._keeping = Lock()
        self._closed = False
        self.failure: str | None = None

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        reserve_bytes: int = RESERVE_BYTES,
        max_pending: int = MAX_PENDING,
        limits: Limits | None = None,
        files: Files | None = None,
    ) -> Journal:
        """Open the journal within milliseconds; older segments are checked in the background.

        The check ends before the first append. Raises Conflict if another process has it open, StoreError if the
        folder cannot be used.
        """
        chosen = limits or Limits(reserve_bytes=reserve_bytes, max_pending=max_pending)
        log = SegmentLog(directory, chosen, files or Files())
        try:
            log.open()
        except OSError as error:
            raise StoreError(f"the journal in {directory} cannot be opened: {error}") from error
        return cls(log, chosen)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # -- accepting ----------------------------------------------------------------------------------------------

    async def append(self, records: Sequence[Record]) -> list[int]:
        """Append records durably; return their sequence numbers.

        A known id gets the number it had. StorageFull, Overloaded, TooLarge, InvalidInput and StoreError mean that
        none of the records was accepted.
        """
        framed = [(key_of(record.id), project_key_of(record.project), payload_of(record)) for record in records]
        await self._prepared()
        self._refuse_beyond_limits(framed)
        numbers, groups = self._join(framed)
        for group in groups:
            error = await asyncio.shield(group.done)
            if error is not None:
                raise _translated(error) from error
        return numbers

    def _join(self, framed: list[tuple[int, int, bytes]]) -> tuple[list[int], list[_Group]]:
        """Assign sequence numbers; return them and the groups to wait for.

        There is no await in here: two appends of one id must see each other.
        """
        self._log.forget_erased()
        numbers, groups = list[int](), list[_Group]()
        own: _Group | None = None
        for id_key, project_key, payload in framed:
            known = self._log.remembered.sequence_of(id_key)
            if known is not None:
                numbers.append(known)
                continue
            sequence, group = self._waiting.get(id_key, (0, None))
            if group is None:
                group = own = own or self._gathering()
                sequence = self._log.next_sequence
                self._log.next_sequence += 1
                self._waiting[id_key] = (sequence, group)
                self._waiting_bytes += group.add(sequence, id_key, project_key, payload)
            numbers.append(sequence)
            if group not in groups:
                groups.append(group)
        self._begin_writing()
        return numbers, groups

    def _begin_writing(self) -> None:
        if self._groups and self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write_groups(), name="journal")
            self._writing.add_done_callback(self._writing_ended)

    def _gathering(self) -> _Group:
        """Return the group that new records join.

        It is the newest, unless that is full.
        """
        if not self._groups or self._groups[-1].size >= _GROUP_BYTES:
            self._groups.append(_Group(asyncio.get_running_loop().create_future()))
        return self._groups[-1]

    def _refuse_beyond_limits(self, framed: list[tuple[int, int, bytes]]) -> None:
        if self._closed:
            raise Unavailable("the journal is closed")
        size = sum(FRAME_BYTES + len(payload) for *_, payload in framed)
        if len(framed) > self._limits.max_pending or size > self._limits.max_pending_bytes:
            raise TooLarge(
                f"{len(framed):,} records with {size:,} bytes at once;"
                f" at most {self._limits.max_pending:,} with {self._limits.max_pending_bytes:,} bytes are taken"
            )
        waiting = len(self._waiting)
        if waiting + len(framed) > self._limits.max_pending or (
            self._waiting_bytes + size > self._limits.max_pending_bytes
        ):
            raise Overloaded(f"{waiting:,} records wait for the disk", retry_after=_RETRY_WHEN_BUSY)
        if self._log.kept_bytes + self._waiting_bytes + size > self._limits.max_kept_bytes:
            raise Overloaded(f"{self.pending:,} records wait for the store", retry_after=_RETRY_WHEN_BEHIND)

    async def _write_groups(self) -> None:
        loop = asyncio.get_running_loop()
        while self._groups:
            group = self._being_written = self._groups.popleft()
            try:
                content = b"".join(group.blocks)
                await loop.run_in_executor(self._writer, self._accepting, self._log.write, content, group.entries)
            except OSError as error:
                self._refuse(group, error)
            except Exception as error:
                logger.exception("unexpected error in the journal; the records are rejected")
                self._refuse(group, error)
            else:
                self._accept(group)

    def _accept(self, group: _Group) -> None:
        if self.failure is not None:
            logger.info("the journal accepts records again")
            self.failure = None
        for sequence, id_key in zip(group.entries.sequences, group.entries.id_keys, strict=True):
            self._log.remembered.add(id_key, sequence)
        self._leave(group)
        group.done.set_result(None)

    def _refuse(self, group: _Group, error: Exception) -> None:
        failure = f"records cannot be written: {error}"
        if self.failure != failure:  # logged once, not for every record of a long outage
            logger.error("%s", failure)
        self.failure = failure
        self._leave(group)
        group.done.set_result(error)

    def _leave(self, group: _Group) -> None:
        self._being_written = None
        for id_key in group.entries.id_keys:
            del self._waiting[id_key]
        self._waiting_bytes -= group.size

    def _writing_ended(self, task: asyncio.Task[None]) -> None:
        self._writing = None
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            self._begin_writing()  # for records that came after the task's last check
            return
        self.failure = f"the journal's write task ended: {error!r}"
        logger.error("%s", self.failure, exc_info=error)
        for group in self._unwritten():
            self._leave(group)
            group.done.set_result(StoreError(self.failure))
        self._groups.clear()

    def _unwritten(self) -> list[_Group]:
        return [*([self._being_written] if self._being_written is not None else []), *self._groups]

    async def _prepared(self) -> None:
        """Wait until opening is finished.

        Appends proceed in the order of their arrival.
        """
        if self._is_prepared and not self._entering:
            return
        self._entering += 1
        try:
            async with self._opening:
                await self._finish_opening()
        finally:
            self._entering -= 1

    async def _finish_opening(self) -> None:
        if self._is_prepared:
            return
        if self._closed:
            raise Unavailable("the journal is closed")
        if self._preparation.done():
            self._preparation = self._writer.submit(self._accepting, self._log.prepare)
        try:
            await asyncio.shield(asyncio.wrap_future(self._preparation))
            self._is_prepared = True
        except OSError as error:
            self.failure = f"the journal cannot be read: {error}"
            raise _translated(error) from error

    # -- replay and checkpoints ---------------------------------------------------------------------------------

    def replay(self, after: int | None = None) -> Iterator[tuple[int, Record]]:
        """Yield accepted records in order after `after` (default: the checkpoint).

        Reads the disk.
        """
        return self._log.read_after(self._log.checkpoint if after is None else after)

    async def checkpoint(self, sequence: int) -> None:
        """Record that everything up to `sequence` is durable elsewhere.

        It is not replayed again, and its segments are dropped.
        """
        if sequence >= self._log.next_sequence:
            raise ValueError(f"no record {sequence} was ever accepted")
        await asyncio.shield(asyncio.to_thread(self._settling, self._settle, sequence))

    async def rewrite(
        self, without: Callable[[Record], bool], *, forget_projects: Collection[str] = (), up_to: int | None = None
    ) -> int:
        """Erase acknowledged records for which `without` is true, and all set-aside bytes.

        With `up_to` only records up to this number. Returns the number of erased records. Their ids count as new
        again; ids of records that left the journal earlier are forgotten by project (`forget_projects`). Appends
        wait meanwhile. `without` runs in another thread.
        """
        projects = frozenset(key_of(project) for project in forget_projects)
        return await asyncio.shield(asyncio.to_thread(self._rewrite, without, projects, up_to))

    async def erase_project(self, project: str) -> int:
        """Erase all records and ids of one project.

        Returns the number of records.
        """
        return await self.rewrite(lambda record: record.project == project, forget_projects=(project,))

    def _settle(self, sequence: int) -> None:
        with self._kept_alone():
            if sequence <= self._log.checkpoint:
                return
            self._log.settle(sequence, self._log.next_sequence)
            if self._log.active_is_settled:
                self._writer.submit(self._seal_if_settled).result()
            try:
                self._log.drop_settled()
            except OSError as error:  # the next checkpoint retries; this one is valid
                logger.warning("checkpointed segments of the journal could not be deleted: %s", error)

    def _seal_if_settled(self) -> None:
        if self._log.active_is_settled:  # records may have come in between
            self._log.seal()

    def _rewrite(self, without: Callable[[Record], bool], projects: frozenset[int], up_to: int | None) -> int:
        with self._kept_alone():
            return self._writer.submit(self._log.rewrite, without, projects, up_to).result()

    @contextmanager
    def _kept_alone(self) -> Iterator[None]:
        try:
            self._preparation.result()
            with self._keeping:
                if self._closed:
                    raise Unavailable("the journal is closed")
                yield
        except OSError as error:
            logger.warning("the journal's files could not be changed: %s", error)
            raise _translated(error) from error

    def make_room(self) -> bool:
        """Release the disk reserve; return False if there was none.

        Nothing is accepted until it is allocated again.
        """
        released = self._log.give_reserve()
        if released:
            self.failure = "the disk is full; the reserve had to be released"
        return released

    async def close(self) -> None:
        """Wait for the active write, then close the files. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._writing is not None:
            await asyncio.wait([self._writing])
        await asyncio.to_thread(self._let_go)

    def _let_go(self) -> None:
        with self._keeping:
            self._writer.submit(self._log.close).result()
            self._writer.shutdown()

    # -- status -------------------------------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        """Number of accepted records after the checkpoint, including those being written."""
        return self._log.unsettled + len(self._waiting)

    @property
    def bytes(self) -> int:
        """Size of the segments on disk."""
        return self._log.kept_bytes

    @property
    def checkpointed(self) -> int:
        """Sequence number up to which the store has everything."""
        return self._log.checkpoint

    @property
    def last(self) -> int:
        """Highest sequence number assigned so far; 0 before the first."""
        return self._log.next_sequence - 1

    @property
    def set_aside(self) -> int:
        """Number of damaged ranges since opening; copies are in the folder `set-aside`."""
        return self._log.damage.count

    @property
    def standstill(self) -> float:
        """Seconds that the current disk operation has taken.

        It is 0 if there is none.
        """
        return max(self._accepting.seconds, self._settling.seconds)

    @property
    def full(self) -> bool:
        """True if the disk had no room for the last record."""
        return self._log.full


def _translated(error: Exception) -> HunchError:
    if isinstance(error, OSError) and error.errno in FULL:
        return StorageFull("the disk is full; nothing was accepted", hint="make room; hunchd continues by itself")
    return StoreError(f"the journal cannot be written: {error}")
