"""Spool of messages that hooks write while no daemon runs.

They are read without loss or trust.

    spool/tmp/      a hook writes a file here …
    spool/new/      … and renames it to here: one JSON object in each
    spool/lines     or it appends one line of JSON, at most 4 KiB, which needs no other program than the shell
    spool/aside/    messages that could not be parsed, kept for `hunch doctor`

Each message has a stable name, so that the receiver recognises a message that is read again after a crash.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hunchd.config.places import make_private
from hunchd.signals.folders import Unwatchable
from hunchd.signals.watching import Timer, WatchThread

logger = logging.getLogger(__name__)

LINES = "lines"
# Enough for an error with its traceback; larger files are no signals.
MAX_FILE_BYTES = 64 * 1024
# A shell appends a line of this length in one write.
MAX_LINE_BYTES = 4 * 1024
# Some 50,000 lines: months without a daemon.
MAX_LINES_BYTES = 8 * 1024 * 1024
MOST_FILES = 1_000  # read in one go; the next drain takes the next
MOST_ASIDE = 100
# An interrupted writer leaves an incomplete line; after this time it will not be completed any more.
FINISHED = 2.0  # seconds
ABANDONED = 24 * 3600.0  # seconds: a file in tmp that was never renamed
REST = 0.05  # seconds: several lines of one hook are read together
POLL = 10.0  # seconds between checks if the folder cannot be watched
# After a drain the folder is checked once more: there may be more files than one drain reads, or a line was incomplete.
SECOND_LOOK = 2.5  # seconds


@dataclass(frozen=True, slots=True)
class Entry:
    """Spool message.

    Its content is in `raw`, or the reason why it is invalid in `error`.
    """

    name: str
    raw: dict[str, Any] | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Read:
    path: Path
    size: int  # bytes, as it was read


class Drain:
    """Reader of the current spool messages.

    Iterate, make the messages durable, then `acknowledge`: only then the files are deleted.
    """

    def __init__(self, directory: Path) -> None:
        self.set_aside = 0
        self._directory = directory
        self._read: list[_Read] = []

    def __iter__(self) -> Iterator[Entry]:
        self._read.clear()
        self._collect_lines()
        for path in self._files():
            yield from self._entries(path)

    def acknowledge(self) -> None:
        """Delete the files that were read.

        A file that grew meanwhile stays, and its old messages come again under their names.
        """
        for read in self._read:
            with contextlib.suppress(FileNotFoundError):
                if read.path.lstat().st_size == read.size:
                    read.path.unlink()
        self._read.clear()
        self._sweep()

    def _collect_lines(self) -> None:
        """Rename the file of appended lines.

        Writers begin a new one then.
        """
        lines = self._directory / LINES
        with contextlib.suppress(OSError):
            if lines.lstat().st_size:
                lines.rename(self._directory / "new" / f"{LINES}.{time.time_ns()}")

    def _files(self) -> list[Path]:
        """Return the files to read, oldest first."""
        found: list[tuple[int, str, Path]] = []
        with contextlib.suppress(OSError), os.scandir(self._directory / "new") as entries:
            for entry in entries:
                if len(found) >= MOST_FILES:
                    break
                with contextlib.suppress(OSError):
                    found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name, Path(entry.path)))
        return [path for _, _, path in sorted(found)]

    def _entries(self, path: Path) -> Iterator[Entry]:
        lines = path.name.startswith(f"{LINES}.")
        try:
            content, age = _read_own(path, MAX_LINES_BYTES if lines else MAX_FILE_BYTES)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            yield self._aside(path, str(error))
            return
        if not lines:
            entry = _entry(path.name, content)
            if entry.error:
                entry = self._aside(path, entry.error)
            else:
                self._read.append(_Read(path, len(content)))
            yield entry
            return
        if content and not content.endswith(b"\n") and age < FINISHED:
            return  # the last line is still being written
        self._read.append(_Read(path, len(content)))
        yield from self._lines(path, content)

    def _lines(self, path: Path, content: bytes) -> Iterator[Entry]:
        broken: list[bytes] = []
        for number, line in enumerate(content.splitlines()):
            if line.strip():
                name = f"{path.name}:{number}"
                too_long = len(line) > MAX_LINE_BYTES
                entry = Entry(name, error=f"more than {MAX_LINE_BYTES} bytes") if too_long else _entry(name, line)
                if entry.error:
                    broken.append(line)
                yield entry
        if broken:
            self.set_aside += len(broken)
            aside = self._directory / "aside" / f"{path.name}.broken"
            with contextlib.suppress(OSError):
                descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(b"\n".join(broken))

    def _aside(self, path: Path, reason: str) -> Entry:
        """Move an invalid message aside, unchanged."""
        self.set_aside += 1
        logger.warning("invalid message %r in the spool: %s; moving it aside", path.name, reason)
        try:
            path.rename(self._directory / "aside" / path.name)
        except OSError:
            logger.warning("spool message %r cannot be moved; leaving it in place", path.name)
        return Entry(path.name, error=reason)

    def _sweep(self) -> None:
        """Delete old set-aside messages and abandoned temporary files."""
        with contextlib.suppress(OSError):
            aside = sorted((self._directory / "aside").iterdir(), key=lambda path: path.lstat().st_mtime_ns)
            for path in aside[:-MOST_ASIDE]:
                path.unlink()
        with contextlib.suppress(OSError):
            for path in (self._directory / "tmp").iterdir():
                if time.time() - path.lstat().st_mtime > ABANDONED:
                    path.unlink()


def drain(directory: Path) -> Drain:
    """Return a reader of the messages in the spool."""
    return Drain(directory)


def prepare(directory: Path) -> None:
    """Create the spool and its folders with private modes.

    Raises ConfigError if another user could write there.
    """
    for folder in (directory, *(directory / name for name in ("tmp", "new", "aside"))):
        make_private(folder)


class SpoolWatcher:
    """Watcher that calls `news` on the watcher thread.

    It does so for new messages, and once at the start.
    """

    def __init__(self, directory: Path, news: Callable[[], None], *, thread: WatchThread) -> None:
        self._directory = directory
        self._news = news
        self._thread = thread
        self._timer: Timer | None = None
        self._second: Timer | None = None
        self._stopped = False
        self._folders = (os.fspath(directory), os.fspath(directory / "new"))

    def start(self) -> None:
        self._thread.submit(self._begin)

    def stop(self) -> None:
        self._stopped = True
        self._thread.submit(self._unwatch)

    def changed(self, folder: str, name: str, *, is_dir: bool, gone: bool, opened: bool) -> None:
        wanted = folder == self._folders[1] or name == LINES
        if wanted and not (is_dir or gone or opened):
            self._plan(REST)

    def vanished(self, folder: str) -> None:
        del folder
        self._plan(POLL)

    def lost(self) -> None:
        self._plan(REST)

    def _begin(self) -> None:
        if self._stopped:
            return
        try:
            for folder in self._folders:
                self._thread.watch(folder, self)
        except Unwatchable as error:
            logger.warning("the spool cannot be watched; polling it every %.0f s: %s", POLL, error)
            self._plan(POLL)
        self._tell()

    def _plan(self, seconds: float) -> None:
        if self._timer is None and not self._stopped:
            self._timer = self._thread.later(seconds, self._due if seconds < POLL else self._again)

    def _due(self) -> None:
        self._timer = None
        self._tell()

    def _tell(self) -> None:
        self._news()
        if self._second is not None:
            self._second.cancel()
        self._second = self._thread.later(SECOND_LOOK, self._look_again)

    def _look_again(self) -> None:
        """Notify again while files are left.

        This ends because invalid ones are set aside.
        """
        self._second = None
        with contextlib.suppress(OSError), os.scandir(self._folders[1]) as entries:
            if not self._stopped and next(entries, None) is not None:
                self._tell()

    def _again(self) -> None:
        self._timer = None
        self._begin()

    def _unwatch(self) -> None:
        for folder in self._folders:
            self._thread.unwatch(folder, self)


def _entry(name: str, content: bytes) -> Entry:
    try:
        raw = json.loads(content, parse_constant=_no_constant, strict=False)  # hooks write tabs unescaped
    except (ValueError, RecursionError) as error:
        return Entry(name, error=f"not JSON: {error}"[:200])
    return Entry(name, raw=raw) if isinstance(raw, dict) else Entry(name, error="not a JSON object")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _read_own(path: Path, limit: int) -> tuple[bytes, float]:
    """Return content and age of a regular file of ours.

    The age is in seconds. Raises ValueError for any other file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if stat.S_ISLNK(path.lstat().st_mode):
        raise ValueError("it is a symbolic link")
    descriptor = os.open(path, flags)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        if found.st_uid != _own_uid(found.st_uid):
            raise ValueError("it was written by another user")
        if os.name == "posix" and found.st_mode & 0o022:
            raise ValueError("other users can write to it")
        if found.st_size > limit:
            raise ValueError(f"more than {limit} bytes")
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise ValueError(f"more than {limit} bytes")
    return content, time.time() - found.st_mtime


def _own_uid(default: int) -> int:
    """Return our user id, or `default` on systems without user ids."""
    return os.getuid() if hasattr(os, "getuid") else default
