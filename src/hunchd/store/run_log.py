"""Log of the changes made by consolidation runs.

Changes are logged before they are made, so that a run can be resumed or undone. There is one file per run, with one
JSON object per line. If a crash interrupts the writing of the last line, its change was not made, and the
incomplete line is ignored.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Final, TypeVar

from msgspec import DecodeError
from msgspec.json import Decoder

from hunchd.domain.errors import NotFound, StorageFull
from hunchd.store.files import DISK_FULL_ERRORS, FileOperations, create_private_folder, replace_file
from hunchd.store.spill_file import SpillFile

logger = logging.getLogger(__name__)

Line = dict[str, Any]
LineT = TypeVar("LineT")
FILE_SUFFIX: Final = ".jsonl"
_CHANGE_PREFIX: Final = b'{"type":"change",'  # prefix of the line of a change
_LINE_DECODER: Final = Decoder(Line)
_READ_BACK_BYTES: Final = 64 * 1024  # bytes at a time


class RunLog:
    """Log files of all consolidation runs. Thread-safe. Every call blocks, so make it in a worker thread."""

    def __init__(self, folder: Path, files: FileOperations | None = None) -> None:
        self._folder = folder
        self._files = files or FileOperations()
        self._write_lock = Lock()  # an append during a rewrite would be lost

    def list_runs(self) -> list[str]:
        """Return the run ids, which sort by time, newest first."""
        if not self._folder.is_dir():
            return []
        return sorted((path.stem for path in self._folder.glob(f"*{FILE_SUFFIX}")), reverse=True)

    def get_version(self, run: str) -> tuple[int, int, int]:
        """Return a value that changes with every write to a log."""
        try:
            stat = self._path(run).stat()
        except FileNotFoundError:
            raise _unknown_run(run) from None
        return stat.st_size, stat.st_mtime_ns, stat.st_ino

    def append(self, run: str, lines: Sequence[Line]) -> None:
        """Append lines to the log of `run` durably.

        Raises StorageFull if the disk is full; some of the lines may be in the file in that case.
        """
        create_private_folder(self._folder)
        path = self._path(run)
        content = b"".join(_encode_line(line) for line in lines)
        try:
            with self._write_lock:
                self._append(path, content)
        except OSError as error:
            if error.errno in DISK_FULL_ERRORS:
                raise StorageFull(
                    "the disk is full; no change was made, because it could not be undone later"
                ) from error
            raise

    def _append(self, path: Path, content: bytes) -> None:
        is_new = not path.exists()
        descriptor = self._files.open_for_append(path)
        try:
            end = _find_torn_end(descriptor)
            if end is not None:
                self._files.truncate(descriptor, end)
            self._files.write(descriptor, content)
            self._files.sync(descriptor)
        finally:
            self._files.close(descriptor)
        if is_new:
            self._files.sync_folder(self._folder)

    def open_spill_file(self) -> SpillFile:
        """Open a temporary file for a plan that is too large for memory.

        The file does not survive a crash. Raises StorageFull if the disk is full.
        """
        return SpillFile(self._folder)

    def read_lines(self, run: str) -> Iterator[Line]:
        """Yield the lines of a run in the order of writing. Raises NotFound if there is no such run."""
        with self._open(run) as file:
            for raw in file:
                if raw.endswith(b"\n") and (line := _parse_line(raw, file.name)) is not None:
                    yield line

    def decode_lines(self, run: str, decoder: Decoder[LineT]) -> Iterator[LineT]:
        """Yield the lines of a run, and skip those that do not decode."""
        with self._open(run) as file:
            for raw in file:
                if raw.endswith(b"\n") and (line := _decode_line(raw, decoder, file.name)) is not None:
                    yield line

    def read_changes(
        self, run: str, form: type[LineT], numbers: Collection[int] | None = None
    ) -> Iterator[tuple[int, LineT]]:
        """Yield the selected changes with their numbers; a log may have 100,000 others."""
        decoder = Decoder(form)
        end = None if numbers is None else max(numbers, default=-1) + 1
        with self._open(run) as file:
            for number, raw in enumerate(islice(_select_changes(file), end)):
                if numbers is not None and number not in numbers:
                    continue
                if (line := _decode_line(raw, decoder, file.name)) is not None:
                    yield number, line

    def read_last_line(self, run: str) -> Line | None:
        """Return the last complete line of a run, or None if there is none.

        Only the end of the file is read. Raises NotFound if there is no such run.
        """
        with self._open(run) as file:
            end, size = file.seek(0, os.SEEK_END), _READ_BACK_BYTES
            while True:
                begin = file.seek(max(0, end - size))
                parts = file.read(end - begin).split(b"\n")  # bytes after the last line break are torn
                if begin == 0 or len(parts) > 2:
                    return _parse_line(parts[-2], file.name) if len(parts) > 1 else None
                size *= 8

    def read_backwards(self, run: str) -> Iterator[Line]:
        """Yield the lines of a run backwards, in bounded memory."""
        with self._open(run) as file:
            places, at = [], 0
            for raw in file:
                if raw.endswith(b"\n"):
                    places.append(at)
                at += len(raw)
            for place in reversed(places):
                file.seek(place)
                if (line := _parse_line(file.readline(), file.name)) is not None:
                    yield line

    def find_changes(self, identifier: str, limit: int) -> list[tuple[str, int, Line]]:
        """Return up to `limit` changes to a memory, newest first.

        Each change is returned as (run id, number of the change in the run, line).
        """
        matches: list[tuple[str, int, Line]] = []
        needle = json.dumps(identifier).encode()
        for run in self.list_runs():
            with suppress(NotFound), self._open(run) as file:
                numbered = [(number, raw) for number, raw in enumerate(_select_changes(file)) if needle in raw]
                lines = [(number, _parse_line(raw, file.name)) for number, raw in reversed(numbered)]
                matches += [(run, number, line) for number, line in lines if line and _changes_memory(line, identifier)]
            if len(matches) >= limit:
                break
        return matches[:limit]

    def delete_old_runs(self, keep: int) -> None:
        """Delete all runs except the newest `keep`."""
        for run in self.list_runs()[max(keep, 1) :]:
            self._files.remove(self._path(run))

    def rewrite_lines(self, change: Callable[[Line], Line | None]) -> None:
        """Replace each line of all runs with `change(line)`.

        A line for which `change` returns None is removed. Erasure uses this, because erased data must not remain in
        the log.
        """
        for run in self.list_runs():
            with self._write_lock, suppress(NotFound):  # the run was deleted in the meantime
                if any(change(line) != line for line in self.read_lines(run)):
                    after = (new_line for line in self.read_lines(run) if (new_line := change(line)) is not None)
                    replace_file(self._files, self._path(run), map(_encode_line, after))

    def _open(self, run: str) -> BinaryIO:
        try:
            return self._path(run).open("rb")
        except FileNotFoundError:
            raise _unknown_run(run) from None

    def _path(self, run: str) -> Path:
        if not run.isalnum() or len(run) > 60:
            raise _unknown_run(run[:60])
        return self._folder / f"{run}{FILE_SUFFIX}"


def _unknown_run(run: str) -> NotFound:
    return NotFound(f"there is no run '{run}'", field="id", hint="GET /consolidate lists them")


def _changes_memory(line: Line, identifier: str) -> bool:
    return any(edit["id"] == identifier for edit in line.get("edits", ()))  # others only refer to it


def _select_changes(file: Iterable[bytes]) -> Iterator[bytes]:
    return (raw for raw in file if raw.startswith(_CHANGE_PREFIX) and raw.endswith(b"\n"))


def _parse_line(raw: bytes, path: str) -> Line | None:
    """Parse a line; return None if it is damaged."""
    line = _decode_line(raw, _LINE_DECODER, path)
    return line if line is not None and "type" in line else None


def _decode_line(raw: bytes, decoder: Decoder[LineT], path: str) -> LineT | None:
    try:
        return decoder.decode(raw)
    except DecodeError:
        logger.warning("skipping a damaged line of %s", path)
        return None


def _encode_line(line: Line) -> bytes:
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _find_torn_end(descriptor: int) -> int | None:
    """Return the offset of an incomplete last line, or None."""
    end = os.fstat(descriptor).st_size
    if end == 0 or os.pread(descriptor, 1, end - 1) == b"\n":
        return None
    at = end
    while at > 0:
        begin = max(0, at - _READ_BACK_BYTES)
        position = os.pread(descriptor, at - begin, begin).rfind(b"\n")
        if position >= 0:
            return begin + position + 1
        at = begin
    return 0
