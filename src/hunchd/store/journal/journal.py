"""Write-ahead log of records that are not in the store yet.

A record is acknowledged only after it is synced to disk. Appends that arrive while the disk is busy share the next
write and sync (group commit). Records are written in one thread and checkpoints in another, so that checkpoints
never delay an acknowledgement. A checkpoint is the number of the record up to which everything is in the store.
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
from hunchd.store.files import DISK_FULL_ERRORS, FileOperations
from hunchd.store.journal.id_log import IdEntries
from hunchd.store.journal.segment_log import MAX_PENDING, RESERVE_BYTES, JournalLimits, SegmentLog
from hunchd.store.journal.segments import (
    FRAME_BYTES,
    JournalRecord,
    encode_frame,
    encode_record,
    hash_key,
    hash_project,
)

__all__ = ["Journal", "JournalLimits", "JournalRecord"]

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

    done_future: asyncio.Future[Exception | None]
    blocks: list[bytes] = field(default_factory=list)
    entries: IdEntries = field(default_factory=IdEntries)
    size: int = 0

    def add(self, sequence: int, id_key: int, project_key: int, payload: bytes) -> int:
        """Add a record; return its size in bytes."""
        block = encode_frame(sequence, id_key, project_key, payload)
        self.blocks.append(block)
        self.entries.add(sequence, id_key, project_key)
        self.size += len(block)
        return len(block)


class _TimedRunner:
    """Runner for one call at a time, which measures how long the call takes."""

    def __init__(self) -> None:
        self._started_at: float | None = None

    @property
    def running_seconds(self) -> float:
        since = self._started_at
        return 0.0 if since is None else time.monotonic() - since

    def __call__(self, work: Callable[..., Result], *args: object) -> Result:
        self._started_at = time.monotonic()
        try:
            return work(*args)
        finally:
            self._started_at = None


class Journal:
    """Journal of a process, to be used from one event loop.

    Close it after use, or use `async with`. As long as nothing is appended, nothing runs in the background. `failure`
    describes the current problem, or is None if there is none.
    """

    def __init__(self, log: SegmentLog, limits: JournalLimits) -> None:
        self._log = log
        self._limits = limits
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._accept_runner, self._checkpoint_runner = _TimedRunner(), _TimedRunner()
        self._preparation: Future[None] = self._writer.submit(self._accept_runner, log.prepare)
        self._is_prepared = False
        self._open_lock = asyncio.Lock()
        self._waiting_appends = 0  # appends that wait for the preparation
        self._groups: deque[_Group] = deque()  # gathering, oldest first
        self._active_group: _Group | None = None
        self._pending_ids: dict[int, tuple[int, _Group]] = {}  # id key → sequence number and group
        self._pending_bytes = 0
        self._write_task: asyncio.Task[None] | None = None
        self._files_lock = Lock()
        self._is_closed = False
        self.failure: str | None = None

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        reserve_bytes: int = RESERVE_BYTES,
        max_pending: int = MAX_PENDING,
        limits: JournalLimits | None = None,
        files: FileOperations | None = None,
    ) -> Journal:
        """Open the journal within milliseconds, leaving older segments to be checked later.

        They are checked in the background, before the first record is appended. Raises Conflict if another process has
        opened the journal, and StoreError if the folder cannot be used.
        """
        journal_limits = limits or JournalLimits(reserve_bytes=reserve_bytes, max_pending=max_pending)
        log = SegmentLog(directory, journal_limits, files or FileOperations())
        try:
            log.open()
        except OSError as error:
            raise StoreError(f"the journal in {directory} cannot be opened: {error}") from error
        return cls(log, journal_limits)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # -- accepting ----------------------------------------------------------------------------------------------

    async def append(self, records: Sequence[JournalRecord]) -> list[int]:
        """Append records durably; return their sequence numbers.

        A record whose id is known is not stored again; its earlier number is returned. If StorageFull, Overloaded,
        TooLarge, InvalidInput or StoreError is raised, none of the new records has been accepted.
        """
        frames = [(hash_key(record.id), hash_project(record.project), encode_record(record)) for record in records]
        await self._wait_until_prepared()
        self._check_limits(frames)
        numbers, groups = self._join_groups(frames)
        for group in groups:
            error = await asyncio.shield(group.done_future)
            if error is not None:
                raise _translate_error(error) from error
        return numbers

    def _join_groups(self, frames: list[tuple[int, int, bytes]]) -> tuple[list[int], list[_Group]]:
        """Assign sequence numbers to records; return the numbers and the groups to wait for.

        This must not await anything, because an append must see the ids of the append before it.
        """
        self._log.forget_erased()
        numbers, groups = list[int](), list[_Group]()
        new_group: _Group | None = None
        for id_key, project_key, payload in frames:
            known_sequence = self._log.id_index.get_sequence(id_key)
            if known_sequence is not None:
                numbers.append(known_sequence)
                continue
            sequence, group = self._pending_ids.get(id_key, (0, None))
            if group is None:
                group = new_group = new_group or self._get_open_group()
                sequence = self._log.next_sequence
                self._log.next_sequence += 1
                self._pending_ids[id_key] = (sequence, group)
                self._pending_bytes += group.add(sequence, id_key, project_key, payload)
            numbers.append(sequence)
            if group not in groups:
                groups.append(group)
        self._start_writing()
        return numbers, groups

    def _start_writing(self) -> None:
        if self._groups and self._write_task is None:
            self._write_task = asyncio.get_running_loop().create_task(self._write_groups(), name="journal")
            self._write_task.add_done_callback(self._on_write_task_done)

    def _get_open_group(self) -> _Group:
        """Return the group that new records join.

        It is the newest group, or a new one if there is none or it is full.
        """
        if not self._groups or self._groups[-1].size >= _GROUP_BYTES:
            self._groups.append(_Group(asyncio.get_running_loop().create_future()))
        return self._groups[-1]

    def _check_limits(self, frames: list[tuple[int, int, bytes]]) -> None:
        if self._is_closed:
            raise Unavailable("the journal is closed")
        size = sum(FRAME_BYTES + len(payload) for *_, payload in frames)
        if len(frames) > self._limits.max_pending or size > self._limits.max_pending_bytes:
            raise TooLarge(
                f"the batch contains {len(frames):,} records with {size:,} bytes; at most {self._limits.max_pending:,}"
                f" records with {self._limits.max_pending_bytes:,} bytes are accepted at once"
            )
        waiting = len(self._pending_ids)
        if waiting + len(frames) > self._limits.max_pending or (
            self._pending_bytes + size > self._limits.max_pending_bytes
        ):
            raise Overloaded(f"{waiting:,} records are waiting for the disk", retry_after=_RETRY_WHEN_BUSY)
        if self._log.stored_bytes + self._pending_bytes + size > self._limits.max_stored_bytes:
            raise Overloaded(
                f"{self.pending_count:,} records are waiting for the store", retry_after=_RETRY_WHEN_BEHIND
            )

    async def _write_groups(self) -> None:
        loop = asyncio.get_running_loop()
        while self._groups:
            group = self._active_group = self._groups.popleft()
            try:
                content = b"".join(group.blocks)
                await loop.run_in_executor(
                    self._writer, self._accept_runner, self._log.append_block, content, group.entries
                )
            except OSError as error:
                self._reject_group(group, error)
            except Exception as error:
                logger.exception("unexpected error in the journal; the records are rejected")
                self._reject_group(group, error)
            else:
                self._accept_group(group)

    def _accept_group(self, group: _Group) -> None:
        if self.failure is not None:
            logger.info("the journal accepts records again")
            self.failure = None
        for sequence, id_key in zip(group.entries.sequences, group.entries.id_keys, strict=True):
            self._log.id_index.add(id_key, sequence)
        self._remove_group(group)
        group.done_future.set_result(None)

    def _reject_group(self, group: _Group, error: Exception) -> None:
        failure = f"records cannot be written: {error}"
        if self.failure != failure:  # logged once, not for every record of a long outage
            logger.error("%s", failure)
        self.failure = failure
        self._remove_group(group)
        group.done_future.set_result(error)

    def _remove_group(self, group: _Group) -> None:
        self._active_group = None
        for id_key in group.entries.id_keys:
            del self._pending_ids[id_key]
        self._pending_bytes -= group.size

    def _on_write_task_done(self, task: asyncio.Task[None]) -> None:
        self._write_task = None
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            self._start_writing()  # for records that came after the task's last check
            return
        self.failure = f"the journal's write task ended: {error!r}"
        logger.error("%s", self.failure, exc_info=error)
        for group in self._list_unwritten():
            self._remove_group(group)
            group.done_future.set_result(StoreError(self.failure))
        self._groups.clear()

    def _list_unwritten(self) -> list[_Group]:
        return [*([self._active_group] if self._active_group is not None else []), *self._groups]

    async def _wait_until_prepared(self) -> None:
        """Wait until the journal is completely open.

        Appends that were waiting then continue in the order in which they arrived.
        """
        if self._is_prepared and not self._waiting_appends:
            return
        self._waiting_appends += 1
        try:
            async with self._open_lock:
                await self._finish_opening()
        finally:
            self._waiting_appends -= 1

    async def _finish_opening(self) -> None:
        if self._is_prepared:
            return
        if self._is_closed:
            raise Unavailable("the journal is closed")
        if self._preparation.done():
            self._preparation = self._writer.submit(self._accept_runner, self._log.prepare)
        try:
            await asyncio.shield(asyncio.wrap_future(self._preparation))
            self._is_prepared = True
        except OSError as error:
            self.failure = f"the journal cannot be read: {error}"
            raise _translate_error(error) from error

    # -- replay and checkpoints ---------------------------------------------------------------------------------

    def iterate_records(self, after: int | None = None) -> Iterator[tuple[int, JournalRecord]]:
        """Yield accepted records after the sequence number `after`, in order.

        By default, the records after the checkpoint are yielded. This reads from disk, so it blocks.
        """
        return self._log.iterate_after(self._log.checkpoint if after is None else after)

    async def write_checkpoint(self, sequence: int) -> None:
        """Record that everything up to `sequence` is durable in the store.

        These records are not replayed again, and segments that contain only such records are dropped.
        """
        if sequence >= self._log.next_sequence:
            raise ValueError(f"record {sequence} has not been accepted")
        await asyncio.shield(asyncio.to_thread(self._checkpoint_runner, self._write_checkpoint, sequence))

    async def erase_records(
        self,
        should_erase: Callable[[JournalRecord], bool],
        *,
        forget_projects: Collection[str] = (),
        up_to: int | None = None,
    ) -> int:
        """Erase the acknowledged records selected by `should_erase`.

        All damaged bytes that were set aside are erased as well. With `up_to`, only records up to this number are
        erased. Returns the number of erased records; their ids count as new again. The ids of records that left the
        journal earlier can only be forgotten by project (`forget_projects`). Appends have to wait in the meantime.
        `should_erase` is called in another thread.
        """
        projects = frozenset(hash_key(project) for project in forget_projects)
        return await asyncio.shield(asyncio.to_thread(self._erase_records, should_erase, projects, up_to))

    async def erase_project(self, project: str) -> int:
        """Erase all records and ids of one project. Returns the number of erased records."""
        return await self.erase_records(lambda record: record.project == project, forget_projects=(project,))

    def _write_checkpoint(self, sequence: int) -> None:
        with self._hold_files_lock():
            if sequence <= self._log.checkpoint:
                return
            self._log.write_checkpoint(sequence, self._log.next_sequence)
            if self._log.is_active_checkpointed:
                self._writer.submit(self._seal_if_checkpointed).result()
            try:
                self._log.drop_checkpointed()
            except OSError as error:  # the next checkpoint retries; this one is valid
                logger.warning("could not delete checkpointed segments of the journal: %s", error)

    def _seal_if_checkpointed(self) -> None:
        if self._log.is_active_checkpointed:  # records may have come in between
            self._log.close_active()

    def _erase_records(
        self, should_erase: Callable[[JournalRecord], bool], projects: frozenset[int], up_to: int | None
    ) -> int:
        with self._hold_files_lock():
            return self._writer.submit(self._log.erase_records, should_erase, projects, up_to).result()

    @contextmanager
    def _hold_files_lock(self) -> Iterator[None]:
        try:
            self._preparation.result()
            with self._files_lock:
                if self._is_closed:
                    raise Unavailable("the journal is closed")
                yield
        except OSError as error:
            logger.warning("could not write the journal files: %s", error)
            raise _translate_error(error) from error

    def release_reserve(self) -> bool:
        """Release the disk reserve; return False if there was none.

        No record is accepted until the reserve is allocated again.
        """
        has_released = self._log.release_reserve()
        if has_released:
            self.failure = "the disk is full; the reserve had to be released"
        return has_released

    async def close(self) -> None:
        """Wait for the active write, then close the files. Closing the journal again does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._write_task is not None:
            await asyncio.wait([self._write_task])
        await asyncio.to_thread(self._close_files)

    def _close_files(self) -> None:
        with self._files_lock:
            self._writer.submit(self._log.close).result()
            self._writer.shutdown()

    # -- status -------------------------------------------------------------------------------------------------

    @property
    def pending_count(self) -> int:
        """Number of accepted records after the checkpoint, including those being written."""
        return self._log.pending_count + len(self._pending_ids)

    @property
    def bytes(self) -> int:
        """Size of the segments on disk, in bytes."""
        return self._log.stored_bytes

    @property
    def checkpoint_sequence(self) -> int:
        """Sequence number of the checkpoint: all records up to it are in the store."""
        return self._log.checkpoint

    @property
    def last_sequence(self) -> int:
        """Highest sequence number assigned so far, or 0 if none has been assigned."""
        return self._log.next_sequence - 1

    @property
    def damage_count(self) -> int:
        """Number of damaged ranges and files found since the journal was opened.

        Copies of them are in the folder `set-aside`.
        """
        return self._log.damage.count

    @property
    def stalled_seconds(self) -> float:
        """Seconds since the current disk operation started, or 0 if there is none."""
        return max(self._accept_runner.running_seconds, self._checkpoint_runner.running_seconds)

    @property
    def is_disk_full(self) -> bool:
        """True if the disk had no space for the record that was written last."""
        return self._log.is_disk_full


def _translate_error(error: Exception) -> HunchError:
    if isinstance(error, OSError) and error.errno in DISK_FULL_ERRORS:
        return StorageFull(
            "the disk is full; nothing was accepted", hint="free some disk space; hunchd then continues by itself"
        )
    return StoreError(f"the journal cannot be written: {error}")
