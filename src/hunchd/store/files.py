"""File operations for durable storage: private modes, no symlinks, explicit syncs."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

# Error numbers of a full disk: no blocks, no quota, or a limit on the size of one file.
DISK_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
# A symlink planted under one of our names must not redirect a write; children must not inherit our files.
_OPEN_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class FileOperations:
    """File operations that raise the system's OSError. Tests replace them with operations that fail."""

    def create(self, path: Path) -> int:
        """Create a new file with mode 0600, regardless of the umask.

        The returned descriptor is opened for appending.
        """
        return self._restrict_mode(
            os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _OPEN_FLAGS, _FILE_MODE)
        )

    def open_for_append(self, path: Path) -> int:
        """Open the file for appending, creating it if it is missing."""
        return self._restrict_mode(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _OPEN_FLAGS, _FILE_MODE))

    def read(self, path: Path) -> bytes:
        descriptor = os.open(path, os.O_RDONLY | _OPEN_FLAGS)
        with os.fdopen(descriptor, "rb") as file:
            return file.read()

    def write(self, descriptor: int, content: bytes) -> None:
        """Write all of `content`, or raise OSError. After an error, the file may contain part of the content."""
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    def sync(self, descriptor: int) -> None:
        """Flush the content and size of a file to disk."""
        if sys.platform == "darwin":
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # on macOS, fsync alone stops at the drive's cache
        elif hasattr(os, "fdatasync"):
            os.fdatasync(descriptor)
        else:
            os.fsync(descriptor)

    def sync_folder(self, path: Path) -> None:
        """Flush the folder `path` to disk, so that its file names survive a crash.

        This concerns files that were created or renamed in the folder.
        """
        if sys.platform == "win32":
            return  # on Windows, a folder cannot be opened; NTFS journals its names
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _OPEN_FLAGS)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def allocate(self, descriptor: int, size: int) -> None:
        """Reserve disk space for the first `size` bytes of the file."""
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        else:
            self.write(descriptor, bytes(size))

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def count_free_bytes(self, folder: Path) -> int:
        """Return the space on the file system that this user can use, in bytes."""
        if sys.platform == "win32":
            return sys.maxsize
        system = os.statvfs(folder)
        return system.f_bavail * system.f_frsize

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    @staticmethod
    def _restrict_mode(descriptor: int) -> int:
        if sys.platform != "win32":
            os.fchmod(descriptor, _FILE_MODE)
        return descriptor


def replace_file(files: FileOperations, path: Path, content: bytes | Iterable[bytes]) -> None:
    """Replace the content of `path` atomically, even if the power fails.

    The new content may be given as several parts.
    """
    temporary_file = temporary_path(path)
    files.remove(temporary_file)
    descriptor = files.create(temporary_file)
    try:
        try:
            for part in (content,) if isinstance(content, bytes) else content:
                files.write(descriptor, part)
            files.sync(descriptor)
        finally:
            files.close(descriptor)
        files.rename(temporary_file, path)
    except OSError:
        with suppress(OSError):
            files.remove(temporary_file)
        raise
    files.sync_folder(path.parent)


def temporary_path(path: Path) -> Path:
    """Return the path of the temporary file that replaces `path`.

    After a crash, the temporary file may be left behind.
    """
    return path.with_name(path.name + ".tmp")


def create_private_folder(path: Path) -> Path:
    """Create `path` as a folder with mode 0700, regardless of the umask.

    Raises NotADirectoryError for a symlink and PermissionError for another user's folder.
    """
    path.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "a private folder must not be a symbolic link", str(path))
    if sys.platform == "win32":
        return path
    if status.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "the folder belongs to another user", str(path))
    if stat.S_IMODE(status.st_mode) != _FOLDER_MODE:
        path.chmod(_FOLDER_MODE)
    return path


@contextmanager
def closing_descriptor(files: FileOperations, descriptor: int) -> Iterator[int]:
    """Yield the descriptor, and close it at the end of the block."""
    try:
        yield descriptor
    finally:
        files.close(descriptor)
