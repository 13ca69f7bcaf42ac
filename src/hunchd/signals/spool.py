"""Spool of messages that hooks write, even while no daemon is running.

No message is lost, and none is trusted.

    spool/tmp/      a hook writes a file here …
    spool/new/      … and renames it to here: one JSON object per file
    spool/lines     alternatively, it appends one line of JSON, at most 4 KiB, which needs no program besides the shell
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

from hunchd.config.app_paths import ensure_private_folder
from hunchd.domain.json_values import JsonObject
from hunchd.signals.folder_watches import UnwatchableFolder
from hunchd.signals.watcher_thread import Timer, WatcherThread

logger = logging.getLogger(__name__)

LINES_FILE = "lines"
# Enough for an error with its traceback; larger files are no signals.
MAX_FILE_BYTES = 64 * 1024
# A shell appends a line of this length in one write.
MAX_LINE_BYTES = 4 * 1024
# Some 50,000 lines: months without a daemon.
MAX_LINES_BYTES = 8 * 1024 * 1024
MAX_FILES = 1_000  # read at once; the next drain reads the next ones
MAX_SET_ASIDE = 100
# An interrupted writer leaves an incomplete line; after this time the line is not expected to be completed.
LINE_TIMEOUT = 2.0  # seconds
TEMPORARY_FILE_AGE = 24 * 3600.0  # seconds: a file in tmp that was never renamed
QUIET_SECONDS = 0.05  # seconds: several lines of one hook are read together
POLL_SECONDS = 10.0  # seconds between checks if the folder cannot be watched
# After a drain the folder is checked again: there may be more files than one drain reads, or an incomplete line.
RECHECK_DELAY = 2.5  # seconds


@dataclass(frozen=True, slots=True)
class SpoolMessage:
    """Message from the spool.

    `raw` is its parsed content. If the message is invalid, `raw` is None and `error` is the reason.
    """

    name: str
    raw: JsonObject | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class _ReadFile:
    path: Path
    size: int  # bytes, as it was read


class SpoolReader:
    """Reader for the messages that are in the spool now.

    Iterate over the reader, make the messages durable, then call `acknowledge`, which deletes the files.
    """

    def __init__(self, directory: Path) -> None:
        self.set_aside_count = 0
        self._directory = directory
        self._read_files: list[_ReadFile] = []

    def __iter__(self) -> Iterator[SpoolMessage]:
        self._read_files.clear()
        self._collect_lines()
        for path in self._list_files():
            yield from self._read_messages(path)

    def acknowledge(self) -> None:
        """Delete the files that were read.

        A file that has grown since it was read is kept; the messages that it already contained are read again under
        the same names.
        """
        for read_file in self._read_files:
            with contextlib.suppress(FileNotFoundError):
                if read_file.path.lstat().st_size == read_file.size:
                    read_file.path.unlink()
        self._read_files.clear()
        self._delete_old()

    def _collect_lines(self) -> None:
        """Rename the file of appended lines, so that writers start a new one."""
        lines = self._directory / LINES_FILE
        with contextlib.suppress(OSError):
            if lines.lstat().st_size:
                lines.rename(self._directory / "new" / f"{LINES_FILE}.{time.time_ns()}")

    def _list_files(self) -> list[Path]:
        """Return the files to read, oldest first."""
        entries_by_age: list[tuple[int, str, Path]] = []
        with contextlib.suppress(OSError), os.scandir(self._directory / "new") as entries:
            for entry in entries:
                if len(entries_by_age) >= MAX_FILES:
                    break
                with contextlib.suppress(OSError):
                    entries_by_age.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name, Path(entry.path)))
        return [path for _, _, path in sorted(entries_by_age)]

    def _read_messages(self, path: Path) -> Iterator[SpoolMessage]:
        is_lines_file = path.name.startswith(f"{LINES_FILE}.")
        try:
            content, age = _read_own_file(path, MAX_LINES_BYTES if is_lines_file else MAX_FILE_BYTES)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            yield self._set_aside(path, str(error))
            return
        if not is_lines_file:
            entry = _parse_message(path.name, content)
            if entry.error:
                entry = self._set_aside(path, entry.error)
            else:
                self._read_files.append(_ReadFile(path, len(content)))
            yield entry
            return
        if content and not content.endswith(b"\n") and age < LINE_TIMEOUT:
            return  # the last line is still being written
        self._read_files.append(_ReadFile(path, len(content)))
        yield from self._read_lines(path, content)

    def _read_lines(self, path: Path, content: bytes) -> Iterator[SpoolMessage]:
        invalid_lines: list[bytes] = []
        for number, line in enumerate(content.splitlines()):
            if line.strip():
                name = f"{path.name}:{number}"
                too_long = len(line) > MAX_LINE_BYTES
                entry = (
                    SpoolMessage(name, error=f"the line is longer than {MAX_LINE_BYTES} bytes")
                    if too_long
                    else _parse_message(name, line)
                )
                if entry.error:
                    invalid_lines.append(line)
                yield entry
        if invalid_lines:
            self.set_aside_count += len(invalid_lines)
            target = self._directory / "aside" / f"{path.name}.broken"
            with contextlib.suppress(OSError):
                descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(b"\n".join(invalid_lines))

    def _set_aside(self, path: Path, reason: str) -> SpoolMessage:
        """Move an invalid message unchanged into the folder `aside`."""
        self.set_aside_count += 1
        logger.warning("invalid message %r in the spool: %s; moving it aside", path.name, reason)
        try:
            path.rename(self._directory / "aside" / path.name)
        except OSError:
            logger.warning("spool message %r cannot be moved; leaving it in place", path.name)
        return SpoolMessage(path.name, error=reason)

    def _delete_old(self) -> None:
        """Delete old invalid messages and abandoned temporary files."""
        with contextlib.suppress(OSError):
            old_files = sorted((self._directory / "aside").iterdir(), key=lambda path: path.lstat().st_mtime_ns)
            for path in old_files[:-MAX_SET_ASIDE]:
                path.unlink()
        with contextlib.suppress(OSError):
            for path in (self._directory / "tmp").iterdir():
                if time.time() - path.lstat().st_mtime > TEMPORARY_FILE_AGE:
                    path.unlink()


def open_spool(directory: Path) -> SpoolReader:
    """Return a reader for the messages that are in the spool now."""
    return SpoolReader(directory)


def create_spool_folders(directory: Path) -> None:
    """Create the spool and its folders, accessible by this user only.

    Raises ConfigError if another user could write to one of them.
    """
    for folder in (directory, *(directory / name for name in ("tmp", "new", "aside"))):
        ensure_private_folder(folder)


class SpoolWatcher:
    """Watcher for the spool, which calls `on_new_message` on the watcher thread.

    The function is called once at the start, and whenever there are new messages.
    """

    def __init__(self, directory: Path, on_new_message: Callable[[], None], *, thread: WatcherThread) -> None:
        self._directory = directory
        self._on_new_message = on_new_message
        self._thread = thread
        self._timer: Timer | None = None
        self._recheck_timer: Timer | None = None
        self._is_stopped = False
        self._folders = (os.fspath(directory), os.fspath(directory / "new"))

    def start(self) -> None:
        self._thread.call_soon(self._start_watching)

    def stop(self) -> None:
        self._is_stopped = True
        self._thread.call_soon(self._unwatch_folders)

    def handle_change(self, folder: str, name: str, *, is_dir: bool, is_removed: bool, is_open: bool) -> None:
        is_relevant = folder == self._folders[1] or name == LINES_FILE
        if is_relevant and not (is_dir or is_removed or is_open):
            self._schedule(QUIET_SECONDS)

    def handle_folder_removed(self, folder: str) -> None:
        del folder
        self._schedule(POLL_SECONDS)

    def handle_overflow(self) -> None:
        self._schedule(QUIET_SECONDS)

    def _start_watching(self) -> None:
        if self._is_stopped:
            return
        try:
            for folder in self._folders:
                self._thread.watch_folder(folder, self)
        except UnwatchableFolder as error:
            logger.warning("cannot watch the spool: %s; polling it every %.0f s instead", error, POLL_SECONDS)
            self._schedule(POLL_SECONDS)
        self._notify()

    def _schedule(self, seconds: float) -> None:
        if self._timer is None and not self._is_stopped:
            self._timer = self._thread.call_later(
                seconds, self._on_timer if seconds < POLL_SECONDS else self._retry_watching
            )

    def _on_timer(self) -> None:
        self._timer = None
        self._notify()

    def _notify(self) -> None:
        self._on_new_message()
        if self._recheck_timer is not None:
            self._recheck_timer.cancel()
        self._recheck_timer = self._thread.call_later(RECHECK_DELAY, self._recheck)

    def _recheck(self) -> None:
        """Call `on_new_message` again as long as the spool contains files.

        This ends eventually, because invalid files are moved aside.
        """
        self._recheck_timer = None
        with contextlib.suppress(OSError), os.scandir(self._folders[1]) as entries:
            if not self._is_stopped and next(entries, None) is not None:
                self._notify()

    def _retry_watching(self) -> None:
        self._timer = None
        self._start_watching()

    def _unwatch_folders(self) -> None:
        for folder in self._folders:
            self._thread.unwatch_folder(folder, self)


def _parse_message(name: str, content: bytes) -> SpoolMessage:
    try:
        raw = json.loads(content, parse_constant=_reject_constant, strict=False)  # hooks write tabs unescaped
    except (ValueError, RecursionError) as error:
        return SpoolMessage(name, error=f"the message is not JSON: {error}"[:200])
    return (
        SpoolMessage(name, raw=raw)
        if isinstance(raw, dict)
        else SpoolMessage(name, error="the message is not a JSON object")
    )


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _read_own_file(path: Path, limit: int) -> tuple[bytes, float]:
    """Return the content and the age of a regular file that this user owns.

    The age is in seconds. Raises ValueError for any other file, and for a file larger than `limit` bytes.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if stat.S_ISLNK(path.lstat().st_mode):
        raise ValueError("the file is a symbolic link")
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("the file is not a regular file")
        if status.st_uid != _get_own_uid(status.st_uid):
            raise ValueError("the file was written by another user")
        if os.name == "posix" and status.st_mode & 0o022:
            raise ValueError("other users can write to the file")
        if status.st_size > limit:
            raise ValueError(f"the file is larger than {limit} bytes")
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise ValueError(f"the file is larger than {limit} bytes")
    return content, time.time() - status.st_mtime


def _get_own_uid(default: int) -> int:
    """Return this user's id, or `default` on systems without user ids."""
    return os.getuid() if hasattr(os, "getuid") else default
