"""Lock that protects a folder against other processes. The system releases the lock when the process exits."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from hunchd.domain.errors import Conflict

if sys.platform != "win32":
    import fcntl


class FolderLock:
    """Exclusive lock file that contains the process id of its holder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Acquire the lock. Raises Conflict with the holder's process id if another process holds it."""
        guards = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | guards, 0o600)
        if sys.platform != "win32":
            try:
                os.fchmod(descriptor, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
                os.close(descriptor)
                raise Conflict(f"{self._path.parent} is in use by process {holder}") from error
            except OSError:
                os.close(descriptor)
                raise
        self._descriptor = descriptor
        with suppress(OSError):  # on a full disk, the lock is held without the number
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode("ascii"))

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
