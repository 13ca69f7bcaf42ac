"""Log of the ids of records whose segments were dropped.

It is used for deduplication after a restart.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hunchd.store.files import Files, opened, replace_file
from hunchd.store.journal.remembered import Numbers, RememberedIds
from hunchd.store.journal.segments import frame_bytes, frames, header_bytes

_ENTRY_BYTES = 24


def _numbers() -> array[int]:
    return array("Q")


@dataclass(slots=True)
class Entries:
    """Columns of equal length: ascending sequence numbers, id keys, project keys."""

    sequences: array[int] = field(default_factory=_numbers)
    id_keys: array[int] = field(default_factory=_numbers)
    project_keys: array[int] = field(default_factory=_numbers)

    def __len__(self) -> int:
        return len(self.sequences)

    def add(self, sequence: int, id_key: int, project_key: int) -> None:
        self.sequences.append(sequence)
        self.id_keys.append(id_key)
        self.project_keys.append(project_key)

    def extend(self, other: Entries) -> None:
        self.sequences.extend(other.sequences)
        self.id_keys.extend(other.id_keys)
        self.project_keys.extend(other.project_keys)

    def columns(self) -> Numbers:
        """Return an array of 3 rows: sequence numbers, id keys, project keys."""
        return np.array([self.sequences, self.id_keys, self.project_keys], dtype="<u8").reshape(3, -1)


class IdLog:
    """Log with one file for each generation of `limit` ids.

    An old generation is deleted when the newer ones hold `limit` ids by themselves.
    """

    def __init__(self, files: Files, folder: Path, limit: int, *, unreadable: Callable[[Path, OSError], None]) -> None:
        """Create the log.

        `unreadable` is called with each file that cannot be read. What it raises is propagated.
        """
        self._unreadable = unreadable
        self._files = files
        self._folder = folder
        self._limit = limit
        self._counts: dict[Path, int] = {}  # oldest first
        self._newest = 0

    @property
    def newest(self) -> int:
        """Highest sequence number in the log; 0 if it is empty."""
        return self._newest

    def load_into(self, remembered: RememberedIds) -> None:
        """Load the ids of all generations, oldest file first."""
        self._counts = {}
        for path in sorted(self._folder.glob("ids-*.log")):
            newest, entries = self._read(path)
            self._counts[path] = entries.shape[1]
            self._newest = max(self._newest, newest)
            remembered.load(entries[1], entries[0])

    def add(self, entries: Entries) -> None:
        """Append entries and sync.

        Entries that are in the log already are skipped.
        """
        if not entries or entries.sequences[-1] <= self._newest:
            return
        path, count = next(reversed(self._counts.items()), (None, 0))
        block = frame_bytes(entries.sequences[-1], 0, 0, entries.columns().tobytes())
        if path is None or count >= self._limit:
            path, count = self._folder / f"ids-{entries.sequences[0]:020d}.log", 0
            replace_file(self._files, path, header_bytes(entries.sequences[0], self._newest) + block)
        else:
            with opened(self._files, self._files.append_to(path)) as descriptor:
                self._files.write(descriptor, block)
                self._files.sync(descriptor)
        self._counts[path] = count + len(entries)
        self._newest = entries.sequences[-1]
        self._drop_old_generations()

    def forget(self, unwanted: Callable[[Numbers], np.ndarray[tuple[int], np.dtype[np.bool_]]]) -> Numbers:
        """Erase the entries for which `unwanted(columns)` is true; return their id keys."""
        gone = [np.empty(0, np.uint64)]
        for path in list(self._counts):
            newest, entries = self._read(path)
            drop = unwanted(entries)
            if not drop.any():
                continue
            gone.append(entries[1][drop])
            kept = entries[:, ~drop]
            # The last number stays the block's own, so that what was logged is not logged again.
            content = header_bytes(newest, 0) + frame_bytes(newest, 0, 0, kept.tobytes())
            replace_file(self._files, path, content)
            self._counts[path] = kept.shape[1]
        return np.concatenate(gone)

    def _read(self, path: Path) -> tuple[int, Numbers]:
        """Return the newest sequence number of a generation, and its entries."""
        try:
            content = self._files.read(path)
        except OSError as error:
            self._unreadable(path, error)
            content = b""
        newest, blocks = 0, [np.empty((3, 0), np.uint64)]
        for frame in frames(content):
            newest = frame.sequence
            if frame.payload and len(frame.payload) % _ENTRY_BYTES == 0:
                blocks.append(np.frombuffer(frame.payload, dtype="<u8").reshape(3, -1))
        return newest, np.concatenate(blocks, axis=1)

    def _drop_old_generations(self) -> None:
        newer = sum(self._counts.values())
        for path, count in list(self._counts.items()):
            newer -= count
            if newer < self._limit:
                return
            self._files.remove(path)
            del self._counts[path]
