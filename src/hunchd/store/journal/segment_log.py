"""Files of the journal.

One thread appends to the segments; a segment is dropped once the store has its records. The folder contains:

    00000000000000000001.segment  records from sequence number 1 on; new records go to the newest segment
    checkpoint                    sequence number up to which the store has everything; replaced as a whole
    ids-….log                     ids of records whose segments were dropped
    set-aside/                    damaged bytes, kept for inspection
    reserve                       16 MiB that are released when the disk is full
    lock                          held by the one process that has opened the journal
"""

from __future__ import annotations

import errno
import json
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from hunchd.store.files import DISK_FULL_ERRORS, FileOperations, closing_descriptor, create_private_folder, replace_file
from hunchd.store.journal.damage import DamageRecorder
from hunchd.store.journal.disk_reserve import DiskReserve
from hunchd.store.journal.erasure import erase_records
from hunchd.store.journal.folder_lock import FolderLock
from hunchd.store.journal.id_index import IdIndex
from hunchd.store.journal.id_log import IdEntries, IdLog
from hunchd.store.journal.segments import (
    FRAME_BYTES,
    HEADER_BYTES,
    DamagedRange,
    Frame,
    JournalRecord,
    decode_record,
    encode_frame,
    encode_header,
    iterate_frames,
    read_header,
    scan_segment,
)

# Transient errors that say nothing about the disk: they are raised, for a retry, and nothing is set aside.
_TRANSIENT_ERRORS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})
# A checkpointed segment smaller than this is kept for the next records: creating a file costs two syncs.
_MIN_DROPPED_BYTES = 256 * 1024

# Enough for the store to commit, clean up and write the checkpoint after the disk became full.
RESERVE_BYTES = 16 * 1024 * 1024
# Records waiting for the disk: above this the daemon's own memory would be at stake.
MAX_PENDING = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalLimits:
    """Limits of the journal, in bytes or records."""

    # Small enough that the newest segment, the only one read before the daemon answers, is checked in some 10 ms.
    segment_bytes: int = 1024 * 1024
    reserve_bytes: int = RESERVE_BYTES
    max_pending: int = MAX_PENDING
    max_pending_bytes: int = 32 * 1024 * 1024
    # Records on disk that are not yet in the store: days of work while the store is broken, but a small part of a disk.
    max_stored_bytes: int = 256 * 1024 * 1024
    remembered_ids: int = 100_000


@dataclass(slots=True)
class Segment:
    """Segment: one file of the journal with consecutive records.

    `size` is the number of bytes that are known to be on disk. `entries` lists the records, or is None until the file
    has been read. `last` is the newest sequence number used in the segment, or 0 if there is none; the record with
    this number may have been erased.
    """

    path: Path
    first: int
    size: int
    entries: IdEntries | None = None
    last: int = 0


class SegmentLog:
    """Files of the journal; all calls block.

    `prepare`, `append_block`, `close_active` and `erase_records` must be called from a single thread, and
    `write_checkpoint` from a single thread, which may be another one. Any thread may read.
    """

    def __init__(self, folder: Path, limits: JournalLimits, files: FileOperations) -> None:
        self._folder = folder
        self._limits = limits
        self._files = files
        self._reserve = DiskReserve(files, folder / "reserve", limits.reserve_bytes)
        self._ids = IdLog(files, folder, limits.remembered_ids, on_unreadable=self._record_unreadable)
        self._segments: list[Segment] = []
        self._active: Segment | None = None
        self._descriptor: int | None = None
        self._rejected_tails: list[
            Segment
        ] = []  # segments with rejected bytes after `size` that could not be truncated yet
        self._erased_keys: deque[int] = deque()
        self._newest_sequence = 0
        self._lock = FolderLock(folder / "lock")
        self.damage = DamageRecorder(files, folder / "set-aside")
        self.id_index = IdIndex(limits.remembered_ids)
        self.next_sequence = 1
        self.checkpoint = 0
        self.is_disk_full = False

    # -- opening ------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Lock the folder and read the checkpoint and the newest segment.

        Raises OSError if the folder cannot be used.
        """
        create_private_folder(self._folder)
        self._lock.acquire()
        try:
            for temporary_file in self._folder.glob("*.tmp"):
                self._files.remove(temporary_file)
            paths = sorted(self._folder.glob("*.segment"))
            self._segments = [
                Segment(path, int(path.stem), path.lstat().st_size) for path in paths if path.stem.isdigit()
            ]
            self._read_checkpoint()
            if self._segments:
                self._prepare_newest(self._segments[-1])
            self._newest_sequence = max([self.checkpoint, *(segment.last for segment in self._segments[-1:])])
        except BaseException:
            self._lock.release()
            raise

    def prepare(self) -> None:
        """Finish opening the journal: check older segments, load ids, reserve disk space."""
        self.id_index = IdIndex(self._limits.remembered_ids)
        self._ids.load_into(self.id_index)
        before = self.checkpoint
        for segment in list(self._segments):
            content = self._read_segment(segment)
            if content is None:
                self._move_aside(segment)
                continue
            if segment.entries is None:
                self._scan_segment(segment, content)
            header = read_header(content)
            if header is not None and header.previous > max(before, self.checkpoint):
                self.damage.record_gap(segment.path, before + 1, header.previous)
            before = max(before, segment.last)
            if segment.entries is not None:
                columns = segment.entries.to_array()
                self.id_index.add_many(columns[1], columns[0])
        self._reserve.allocate()

    def _read_checkpoint(self) -> None:
        path = self._folder / "checkpoint"
        try:
            content = self._files.read(path)
            for frame in iterate_frames(content):
                state = json.loads(bytes(frame.payload))
                self.checkpoint, self.next_sequence = state["checkpoint"], state["next"]
                return
            self.damage.record_range(path, content, DamagedRange(0, len(content), is_torn=False))
        except OSError as error:
            self._record_unreadable(path, error)
        # Lost, or never written: everything that is still here is replayed, and no number is used twice.
        self._ids.load_into(self.id_index)
        self.next_sequence = self._ids.newest_sequence + 1
        self.checkpoint = min(
            self._ids.newest_sequence, self._segments[0].first - 1 if self._segments else self._ids.newest_sequence
        )

    def _prepare_newest(self, segment: Segment) -> None:
        """Prepare the newest segment for appending.

        An incomplete write at its end is cut off, and the rest is synced.
        """
        content = self._read_segment(segment)
        if content is None:
            self._move_aside(segment)
            self.next_sequence = max(self.next_sequence, segment.first + segment.size // FRAME_BYTES + 1)
            return
        damage = self._scan_segment(segment, content)
        lost_records = sum((piece.end - piece.offset) // FRAME_BYTES + 1 for piece in damage)
        self.next_sequence = max(self.next_sequence, (segment.last or segment.first - 1) + lost_records + 1)
        intact_size = damage[-1].offset if damage and damage[-1].end == len(content) else len(content)
        with closing_descriptor(self._files, self._files.open_for_append(segment.path)) as descriptor:
            if intact_size < len(content):
                self._files.truncate(descriptor, intact_size)
            # Records of a process killed before its sync may be in the page cache only; from now on they count.
            self._files.sync(descriptor)
        segment.size = intact_size
        if intact_size < HEADER_BYTES:
            self._files.remove(segment.path)
            self._segments.remove(segment)
        elif read_header(content) is not None:
            self._active = segment

    def _scan_segment(self, segment: Segment, content: bytes) -> list[DamagedRange]:
        entries, damage = IdEntries(), list[DamagedRange]()
        for item in scan_segment(content):
            if isinstance(item, DamagedRange):
                damage.append(item)
                self.damage.record_range(segment.path, content, item)
                continue
            segment.last = item.sequence
            if item.id_key:
                entries.add(item.sequence, item.id_key, item.project_key)
        segment.entries = entries
        return damage

    def _read_segment(self, segment: Segment) -> bytes | None:
        """Return the durable bytes of a segment. Returns None if the file is missing or cannot be read."""
        try:
            return self._files.read(segment.path)[: segment.size]
        except OSError as error:
            self._record_unreadable(segment.path, error)
            return None

    def _record_unreadable(self, path: Path, error: OSError) -> None:
        if error.errno in _TRANSIENT_ERRORS:
            raise error
        if not isinstance(error, FileNotFoundError):  # never written, or settled in the meantime
            self.damage.record_unreadable(path, error)

    def _move_aside(self, segment: Segment) -> None:
        self._segments.remove(segment)
        if segment.path.exists():
            self.damage.move_file(segment.path)

    # -- writing ------------------------------------------------------------------------------------------------

    def append_block(self, block: bytes, entries: IdEntries) -> None:
        """Write and sync a block of records. If OSError is raised, no part of the block has been kept."""
        if self.is_disk_full:
            if not self._reserve.allocate():
                raise OSError(errno.ENOSPC, "the disk is full")
            self.is_disk_full = False
        self._truncate_rejected_tails()
        try:
            segment, descriptor = self._get_writable(len(block), entries.sequences[0])
            try:
                self._files.write(descriptor, block)
                self._files.sync(descriptor)
            except BaseException:
                self._undo_write(segment)
                raise
        except OSError as error:
            if error.errno in DISK_FULL_ERRORS:
                self.is_disk_full = True
                self._reserve.release()
            raise
        segment.size += len(block)
        if segment.entries is not None:
            segment.entries.extend(entries)
        segment.last = self._newest_sequence = entries.sequences[-1]

    def close_active(self) -> None:
        """Close the active segment; the next record starts a new one."""
        descriptor, self._descriptor, self._active = self._descriptor, None, None
        if descriptor is not None:
            self._files.close(descriptor)

    def close(self) -> None:
        self.close_active()
        self._lock.release()

    def _get_writable(self, size: int, first: int) -> tuple[Segment, int]:
        active = self._active
        if active is not None and active.size + size > self._limits.segment_bytes and active.size > HEADER_BYTES:
            self.close_active()
            active = None
        if active is None:
            return self._begin_segment(first)
        if self._descriptor is None:
            self._descriptor = self._files.open_for_append(active.path)
        return active, self._descriptor

    def _begin_segment(self, first: int) -> tuple[Segment, int]:
        path = self._folder / f"{first:020d}.segment"
        header = encode_header(first, self._newest_sequence)
        descriptor = self._files.create(path)
        try:
            self._files.write(descriptor, header)
            self._files.sync_folder(self._folder)
        except OSError:
            self._files.close(descriptor)
            with suppress(OSError):
                self._files.remove(path)
            raise
        segment = Segment(path, first, len(header), IdEntries())
        self._segments.append(segment)
        self._active, self._descriptor = segment, descriptor
        return segment, descriptor

    def _undo_write(self, segment: Segment) -> None:
        """Undo a failed write, and append nothing more to the segment.

        After a failed sync, the cached pages of the file may differ from what is on disk.
        """
        self.close_active()
        self._rejected_tails.append(segment)
        with suppress(OSError):  # retried before the next write, which fails if this does
            self._truncate_rejected_tails()

    def _truncate_rejected_tails(self) -> None:
        while self._rejected_tails:
            segment = self._rejected_tails[-1]
            if segment.last:
                with closing_descriptor(self._files, self._files.open_for_append(segment.path)) as descriptor:
                    self._files.truncate(descriptor, segment.size)
                    self._files.sync(descriptor)
            else:
                self._files.remove(segment.path)
                with suppress(ValueError):
                    self._segments.remove(segment)
            self._rejected_tails.pop()

    # -- reading ------------------------------------------------------------------------------------------------

    def iterate_after(self, sequence: int) -> Iterator[tuple[int, JournalRecord]]:
        """Yield the readable records after `sequence`, oldest first."""
        for segment in list(self._segments):
            if segment.entries is not None and segment.last <= sequence:
                continue
            for frame in iterate_frames(self._read_segment(segment) or b""):
                if frame.sequence > sequence and frame.id_key:
                    record = self._decode_record(segment, frame)
                    if record is not None:
                        yield frame.sequence, record

    def _decode_record(self, segment: Segment, frame: Frame) -> JournalRecord | None:
        try:
            return decode_record(frame.payload)
        except (ValueError, KeyError, TypeError):
            # Its checksum is right, but it is not one of our records; it is copied for inspection, like other damage.
            payload = bytes(frame.payload)
            self.damage.record_range(
                segment.path, payload, DamagedRange(0, len(payload), is_torn=False), base_offset=frame.offset
            )
            return None

    @property
    def stored_bytes(self) -> int:
        """Size of all segments in bytes."""
        return sum(segment.size for segment in list(self._segments))

    @property
    def pending_count(self) -> int:
        """Number of records after the checkpoint.

        If some segments have not been read yet, the number is an upper bound.
        """
        segments = list(self._segments)
        ends = [*(segment.first for segment in segments), self._newest_sequence + 1][1:]
        return sum(_count_pending(segment, end, self.checkpoint) for segment, end in zip(segments, ends, strict=True))

    # -- checkpoints --------------------------------------------------------------------------------------------

    def write_checkpoint(self, checkpoint: int, next_sequence: int) -> None:
        """Record durably that everything up to `checkpoint` is in the store.

        `next_sequence` is stored too, so that no sequence number is used twice.
        """
        state = json.dumps({"checkpoint": checkpoint, "next": next_sequence}).encode("ascii")
        content = encode_header(1, 0) + encode_frame(1, 0, 0, state)
        write = partial(replace_file, self._files, self._folder / "checkpoint", content)
        try:
            self._with_reserve(write)
        except OSError as error:
            if error.errno not in DISK_FULL_ERRORS or not self._drop_oldest(checkpoint):
                raise
            write()
        self.checkpoint = checkpoint
        if not self.is_disk_full:
            self._reserve.allocate()

    def drop_checkpointed(self) -> None:
        """Delete the segments whose records are all covered by the checkpoint.

        The ids of their records are logged first.
        """
        for segment in list(self._segments):
            entries = segment.entries
            if entries is None or segment.last > self.checkpoint or segment is self._active:
                return
            if segment in self._rejected_tails:
                return
            self._with_reserve(partial(self._ids.add, entries))
            self._files.remove(segment.path)
            self._segments.remove(segment)

    def _drop_oldest(self, checkpoint: int) -> bool:
        """Delete the oldest segment if it is no longer needed; then log its ids.

        The ids are logged after the deletion, because the disk is full and not even the reserve is left. A crash in
        between loses them, but the store, which has the records, still recognises duplicates. Returns False if nothing
        was deleted.
        """
        oldest = self._segments[0] if self._segments else None
        if oldest is None or oldest is self._active or oldest.entries is None or oldest.last > checkpoint:
            return False
        self._files.remove(oldest.path)
        self._segments.remove(oldest)
        self._ids.add(oldest.entries)
        return True

    @property
    def is_active_checkpointed(self) -> bool:
        """True if the active segment could be dropped once a new segment replaces it."""
        active = self._active
        return active is not None and active.size >= _MIN_DROPPED_BYTES and active.last <= self.checkpoint

    def erase_records(
        self, should_erase: Callable[[JournalRecord], bool], project_keys: frozenset[int], up_to: int | None = None
    ) -> int:
        """Erase records from the segments; return how many were erased.

        The ids of records whose segments were dropped earlier are erased by project (`project_keys`).
        """
        self.close_active()
        self._truncate_rejected_tails()
        erased_count = sum(self._erase_from_segment(segment, should_erase, up_to) for segment in list(self._segments))
        self.damage.delete_copies()
        projects = np.fromiter(project_keys, np.uint64, len(project_keys))
        erased_keys = self._ids.erase_entries(lambda columns: np.isin(columns[2], projects))
        self._erased_keys.extend(erased_keys.tolist())
        return erased_count

    def forget_erased(self) -> None:
        """Forget the ids of erased records, so that these ids count as new again.

        The thread that uses `id_index` must call this method before it uses the index.
        """
        if self._erased_keys:
            self.id_index.remove_ids(self._erased_keys.popleft() for _ in range(len(self._erased_keys)))

    def _erase_from_segment(
        self, segment: Segment, should_erase: Callable[[JournalRecord], bool], up_to: int | None
    ) -> int:
        content = self._files.read(segment.path)[: segment.size]
        remainder = erase_records(content, segment.first, should_erase, up_to=up_to)
        if remainder is None:
            return 0
        self._with_reserve(lambda: replace_file(self._files, segment.path, remainder.content))
        segment.size, segment.entries, segment.last = len(remainder.content), remainder.entries, remainder.last
        self._erased_keys.extend(remainder.erased_keys)
        return len(remainder.erased_keys)

    def release_reserve(self) -> bool:
        """Release the disk reserve; return False if there was none."""
        if not self._reserve.release():
            return False
        self.is_disk_full = True
        return True

    def _with_reserve(self, work: Callable[[], None]) -> None:
        """Run `work`; if the disk is full, release the reserve and run it again."""
        try:
            work()
        except OSError as error:
            if error.errno not in DISK_FULL_ERRORS or not self._reserve.release():
                raise
            self.is_disk_full = True
            work()


def _count_pending(segment: Segment, end: int, checkpoint: int) -> int:
    if segment.entries is None:
        return max(end - max(segment.first, checkpoint + 1), 0)
    return len(segment.entries) - bisect_right(segment.entries.sequences, checkpoint)
