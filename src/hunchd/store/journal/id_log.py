"""Log of the ids of records whose segments were dropped.

With this log, duplicates are detected even after a restart.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hunchd.store.files import FileOperations, closing_descriptor, replace_file
from hunchd.store.journal.id_index import IdIndex, Numbers
from hunchd.store.journal.segments import encode_frame, encode_header, iterate_frames

_ENTRY_BYTES = 24


def _create_number_array() -> array[int]:
    return array("Q")


@dataclass(slots=True)
class IdEntries:
    """Ids as three columns of equal length.

    The columns contain ascending sequence numbers, the keys (hashes) of the ids, and the keys of the projects.
    """

    sequences: array[int] = field(default_factory=_create_number_array)
    id_keys: array[int] = field(default_factory=_create_number_array)
    project_keys: array[int] = field(default_factory=_create_number_array)

    def __len__(self) -> int:
        return len(self.sequences)

    def add(self, sequence: int, id_key: int, project_key: int) -> None:
        self.sequences.append(sequence)
        self.id_keys.append(id_key)
        self.project_keys.append(project_key)

    def extend(self, other: IdEntries) -> None:
        self.sequences.extend(other.sequences)
        self.id_keys.extend(other.id_keys)
        self.project_keys.extend(other.project_keys)

    def to_array(self) -> Numbers:
        """Return an array with three rows: sequence numbers, id keys, project keys."""
        return np.array([self.sequences, self.id_keys, self.project_keys], dtype="<u8").reshape(3, -1)


class IdLog:
    """Log of ids, with a new file after every `limit` ids.

    The ids in one file are a generation. An old generation is deleted once the newer ones contain `limit` ids.
    """

    def __init__(
        self, files: FileOperations, folder: Path, limit: int, *, on_unreadable: Callable[[Path, OSError], None]
    ) -> None:
        """Create the log.

        `on_unreadable` is called with each file that cannot be read; if it raises an exception, the exception is
        propagated.
        """
        self._on_unreadable = on_unreadable
        self._files = files
        self._folder = folder
        self._limit = limit
        self._counts: dict[Path, int] = {}  # oldest first
        self._newest_sequence = 0

    @property
    def newest_sequence(self) -> int:
        """Highest sequence number in the log, or 0 if it is empty."""
        return self._newest_sequence

    def load_into(self, id_index: IdIndex) -> None:
        """Load the ids of all generations into `id_index`, oldest file first."""
        self._counts = {}
        for path in sorted(self._folder.glob("ids-*.log")):
            newest, entries = self._read_generation(path)
            self._counts[path] = entries.shape[1]
            self._newest_sequence = max(self._newest_sequence, newest)
            id_index.add_many(entries[1], entries[0])

    def add(self, entries: IdEntries) -> None:
        """Append entries and sync them to disk. Entries that are already in the log are skipped."""
        if not entries or entries.sequences[-1] <= self._newest_sequence:
            return
        path, count = next(reversed(self._counts.items()), (None, 0))
        block = encode_frame(entries.sequences[-1], 0, 0, entries.to_array().tobytes())
        if path is None or count >= self._limit:
            path, count = self._folder / f"ids-{entries.sequences[0]:020d}.log", 0
            replace_file(self._files, path, encode_header(entries.sequences[0], self._newest_sequence) + block)
        else:
            with closing_descriptor(self._files, self._files.open_for_append(path)) as descriptor:
                self._files.write(descriptor, block)
                self._files.sync(descriptor)
        self._counts[path] = count + len(entries)
        self._newest_sequence = entries.sequences[-1]
        self._drop_old_generations()

    def erase_entries(self, should_erase: Callable[[Numbers], np.ndarray[tuple[int], np.dtype[np.bool_]]]) -> Numbers:
        """Erase the entries that `should_erase` selects, and return their id keys.

        `should_erase` gets the columns of a generation as an array and returns a mask.
        """
        erased_keys = [np.empty(0, np.uint64)]
        for path in list(self._counts):
            newest, entries = self._read_generation(path)
            drop = should_erase(entries)
            if not drop.any():
                continue
            erased_keys.append(entries[1][drop])
            remaining = entries[:, ~drop]
            # The block keeps its last sequence number, so that entries logged before are not logged again.
            content = encode_header(newest, 0) + encode_frame(newest, 0, 0, remaining.tobytes())
            replace_file(self._files, path, content)
            self._counts[path] = remaining.shape[1]
        return np.concatenate(erased_keys)

    def _read_generation(self, path: Path) -> tuple[int, Numbers]:
        """Return the entries of a generation, preceded by its newest sequence number."""
        try:
            content = self._files.read(path)
        except OSError as error:
            self._on_unreadable(path, error)
            content = b""
        newest, blocks = 0, [np.empty((3, 0), np.uint64)]
        for frame in iterate_frames(content):
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
