"""Disk space kept in hand, so that a full disk can still be cleaned up."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from threading import Lock

from hunchd.store.files import FULL, Files, opened

logger = logging.getLogger(__name__)

# Room that must be left beside the reserve before it is taken again: else it would be taken and given back in turn.
_ROOM_BYTES = 2 * 1024 * 1024


class Reserve:
    """A file of `size` bytes that is given up when the disk is full and made again when there is room."""

    def __init__(self, files: Files, path: Path, size: int) -> None:
        self._files = files
        self._path = path
        self._size = size
        self._one_at_a_time = Lock()  # appends and checkpoints meet here from two threads

    def hold(self) -> bool:
        """Whether the space is in hand now; makes the file if it is not there."""
        if self._size == 0:
            return True
        with self._one_at_a_time:
            return self._hold()

    def release(self) -> bool:
        """Gives the space back to the disk; False when there was none."""
        with self._one_at_a_time:
            return self._release()

    def _hold(self) -> bool:
        try:
            if self._path.exists() and self._path.lstat().st_size >= self._size:
                return True
            if self._files.free_bytes(self._path.parent) < self._size + _ROOM_BYTES:
                return False
            self._take()
        except OSError as error:
            if error.errno not in FULL:
                logger.warning("no disk space could be set aside in %s: %s", self._path, error)
            with suppress(OSError):
                self._files.remove(self._path)
            return False
        return True

    def _release(self) -> bool:
        try:
            if not self._path.exists():
                return False
            self._files.remove(self._path)
        except OSError as error:
            logger.warning("the reserve %s could not be released: %s", self._path, error)
            return False
        return True

    def _take(self) -> None:
        self._files.remove(self._path)
        with opened(self._files, self._files.create(self._path)) as descriptor:
            self._files.allocate(descriptor, self._size)
            self._files.sync(descriptor)
