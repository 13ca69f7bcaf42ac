"""Bounded reading of files in untrusted trees.

Reading never blocks and never leaves the root of the tree.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

# Source files worth reading are smaller; data and generated files are not.
MAX_FILE_BYTES = 1_000_000
RACY_SECONDS = 2.0  # seconds: a file written this recently may change again without a new stamp

# O_NONBLOCK: opening a FIFO or a device must not wait for its other end.
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_SUPPORTS_DIR_FD = os.open in os.supports_dir_fd


def read_bounded(path: str | Path, *, limit: int, follow: bool = True) -> bytes | None:
    """Read a regular file of at most `limit` bytes.

    Returns None if the file is absent, larger or not regular.
    """
    try:
        descriptor = os.open(path, _OPEN_FLAGS | (0 if follow else _NOFOLLOW))
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
    return _read_and_close(descriptor, limit)


def read_file(root: Path, relpath: str, *, limit: int = MAX_FILE_BYTES) -> bytes | None:
    """Read the file `relpath` below `root`, if it has at most `limit` bytes.

    Returns None if the file cannot be read, or if any component of the path is a symbolic link or leads upwards. Each
    component is checked while it is being opened, so a link that appears in the meantime is not followed either.
    """
    parts = relpath.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return None
    if not _SUPPORTS_DIR_FD:
        return _read_below(root, parts, limit)
    try:
        folder = os.open(root, _OPEN_FLAGS | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return None
    try:
        for part in parts[:-1]:
            inner = os.open(part, _OPEN_FLAGS | _NOFOLLOW | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        descriptor = os.open(parts[-1], _OPEN_FLAGS | _NOFOLLOW, dir_fd=folder)
    except OSError:
        return None
    finally:
        os.close(folder)
    return _read_and_close(descriptor, limit)


def read_link(root: Path, relpath: str) -> str | None:
    """Return the target of the symbolic link `relpath` below `root`.

    Returns None if it is not a symbolic link.
    """
    try:
        return (root / relpath).readlink().as_posix()
    except (OSError, ValueError):
        return None


def make_stamp(status: os.stat_result) -> int:
    """Return a number that changes whenever the file changes.

    Returns 0 if the file was modified so recently that a further change might leave the number unchanged.
    """
    if time.time() - max(status.st_mtime, status.st_ctime) < RACY_SECONDS:
        return 0
    return (status.st_mtime_ns * 31 + status.st_ctime_ns * 17 + status.st_size) & (2**62 - 1) or 1


def _read_below(root: Path, parts: list[str], limit: int) -> bytes | None:
    """Read a file below `root` on Windows.

    On Windows, a file cannot be opened relative to an open folder.
    """
    path = root.joinpath(*parts)
    try:
        if path.resolve().is_relative_to(root.resolve()):
            return read_bounded(path, limit=limit, follow=False)
    except OSError:
        pass
    return None


def _read_and_close(descriptor: int, limit: int) -> bytes | None:
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(limit + 1)  # files in /proc have content although their size is 0
        return content if len(content) <= limit else None
    except OSError:
        return None
    finally:
        os.close(descriptor)
