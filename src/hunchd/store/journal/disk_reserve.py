"""Reserved disk space, which is released for cleaning up when the disk is full."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from threading import Lock

from hunchd.store.files import DISK_FULL_ERRORS, FileOperations, closing_descriptor

logger = logging.getLogger(__name__)

# Free space needed in addition before the reserve is allocated again, so that it is not allocated and released in turn.
_MIN_FREE_BYTES = 2 * 1024 * 1024


class DiskReserve:
    """File that reserves `size` bytes of disk space.

    It is deleted when the disk is full and recreated when there is enough space.
    """

    def __init__(self, files: FileOperations, path: Path, size: int) -> None:
        self._files = files
        self._path = path
        self._size = size
        self._lock = Lock()  # appends and checkpoints meet here from two threads

    def allocate(self) -> bool:
        """Allocate the reserve if it is missing. Returns True if the reserve exists afterwards."""
        if self._size == 0:
            return True
        with self._lock:
            return self._allocate()

    def release(self) -> bool:
        """Delete the reserve to free its space. Returns False if there was no reserve."""
        with self._lock:
            return self._release()

    def _allocate(self) -> bool:
        try:
            if self._path.exists() and self._path.lstat().st_size >= self._size:
                return True
            if self._files.count_free_bytes(self._path.parent) < self._size + _MIN_FREE_BYTES:
                return False
            self._create_file()
        except OSError as error:
            if error.errno not in DISK_FULL_ERRORS:
                logger.warning("could not allocate the disk reserve %s: %s", self._path, error)
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
            logger.warning("could not release the disk reserve %s: %s", self._path, error)
            return False
        return True

    def _create_file(self) -> None:
        self._files.remove(self._path)
        with closing_descriptor(self._files, self._files.create(self._path)) as descriptor:
            self._files.allocate(descriptor, self._size)
            self._files.sync(descriptor)
