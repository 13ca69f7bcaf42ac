"""Log of the changes of consolidation runs.

It is written ahead so that a run can be resumed or undone. There is one file for each run, with one JSON object a
line. A torn last line, from a crash while it was written, was never acted upon and is not read.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final

from hunchd.domain.errors import NotFound, StorageFull
from hunchd.store.aside import Aside
from hunchd.store.files import FULL, Files, private_folder, replace_file

logger = logging.getLogger(__name__)

Line = dict[str, Any]
ENDING: Final = ".jsonl"
_CHANGE: Final = b'{"type":"change",'  # prefix of the line of a change
_READ_BACK: Final = 64 * 1024  # bytes at a time


class RunLog:
    """Files of all runs.

    It is thread-safe; every call blocks, so use it in threads.
    """

    def __init__(self, folder: Path, files: Files | None = None) -> None:
        self._folder = folder
        self._files = files or Files()
        self._writing = Lock()  # an append during a rewrite would be lost

    def runs(self) -> list[str]:
        """Return the run ids, newest first: they sort by time."""
        if not self._folder.is_dir():
            return []
        return sorted((path.stem for path in self._folder.glob(f"*{ENDING}")), reverse=True)

    def append(self, run: str, lines: Sequence[Line]) -> None:
        """Append lines durably.

        Raises StorageFull; a part of the lines may be in the file then.
        """
        private_folder(self._folder)
        path = self._path(run)
        content = b"".join(_encoded(line) for line in lines)
        try:
            with self._writing:
                self._append(path, content)
        except OSError as error:
            if error.errno in FULL:
                raise StorageFull("the disk is full; changes could not be undone, so none was made") from error
            raise

    def _append(self, path: Path, content: bytes) -> None:
        fresh = not path.exists()
        descriptor = self._files.append_to(path)
        try:
            end = _whole_until(descriptor)
            if end is not None:
                self._files.truncate(descriptor, end)
            self._files.write(descriptor, content)
            self._files.sync(descriptor)
        finally:
            self._files.close(descriptor)
        if fresh:
            self._files.sync_folder(self._folder)

    def aside(self) -> Aside:
        """Open a spill file for a plan.

        It is lost in a crash. Raises StorageFull.
        """
        return Aside(self._folder)

    def lines(self, run: str, *, changes: bool = True) -> Iterator[Line]:
        """Yield lines in the order they were written. Raises NotFound.

        `changes=False` skips the lines of changes, which are nearly all.
        """
        path = self._path(run)
        try:
            with path.open("rb") as file:
                for raw in file:
                    if not changes and raw.startswith(_CHANGE):
                        continue
                    if raw.endswith(b"\n") and (line := _read(raw, path)) is not None:
                        yield line
        except FileNotFoundError:
            raise _unknown(run) from None

    def last(self, run: str) -> Line | None:
        """Return the last whole line, or None.

        The other lines are not read. Raises NotFound.
        """
        path = self._path(run)
        try:
            with path.open("rb") as file:
                end, size = file.seek(0, os.SEEK_END), _READ_BACK
                while True:
                    begin = file.seek(max(0, end - size))
                    parts = file.read(end - begin).split(b"\n")  # bytes after the last line break are torn
                    if begin == 0 or len(parts) > 2:
                        return _read(parts[-2], path) if len(parts) > 1 else None
                    size *= 8
        except FileNotFoundError:
            raise _unknown(run) from None

    def backwards(self, run: str) -> Iterator[Line]:
        """Yield lines, last first, in bounded memory. Raises NotFound."""
        path = self._path(run)
        try:
            with path.open("rb") as file:
                places, at = [], 0
                for raw in file:
                    if raw.endswith(b"\n"):
                        places.append(at)
                    at += len(raw)
                for place in reversed(places):
                    file.seek(place)
                    if (line := _read(file.readline(), path)) is not None:
                        yield line
        except FileNotFoundError:
            raise _unknown(run) from None

    def about(self, identifier: str, most: int) -> list[tuple[str, int, Line]]:
        """Return up to `most` newest changes of a memory.

        Each comes with its run id and its number in the run.
        """
        found: list[tuple[str, int, Line]] = []
        told = json.dumps(identifier).encode()
        for run in self.runs():
            with suppress(NotFound), self._path(run).open("rb") as file:
                changes = (raw for raw in file if raw.startswith(_CHANGE) and raw.endswith(b"\n"))
                mine = [(number, _read(raw, self._path(run))) for number, raw in enumerate(changes) if told in raw]
                found += [(run, number, line) for number, line in reversed(mine) if line is not None]
            if len(found) >= most:
                break
        return found[:most]

    def prune(self, keep: int) -> None:
        """Delete all runs but the newest `keep`."""
        for run in self.runs()[max(keep, 1) :]:
            self._files.remove(self._path(run))

    def rewrite(self, change: Callable[[Line], Line | None]) -> None:
        """Replace each line by `change(line)`, or remove it for None.

        Used by erasure: what was erased must not stand here either.
        """
        for run in self.runs():
            with self._writing, suppress(NotFound):  # pruned meanwhile
                if any(change(line) != line for line in self.lines(run)):
                    after = (changed for line in self.lines(run) if (changed := change(line)) is not None)
                    replace_file(self._files, self._path(run), map(_encoded, after))

    def _path(self, run: str) -> Path:
        if not run.isalnum() or len(run) > 60:
            raise _unknown(run[:60])
        return self._folder / f"{run}{ENDING}"


def _unknown(run: str) -> NotFound:
    return NotFound(f"there is no run '{run}'", field="id", hint="GET /consolidate lists them")


def _read(raw: bytes, path: Path) -> Line | None:
    """Parse a line; None if it is damaged.

    A damaged change cannot be undone, the others can.
    """
    try:
        line = json.loads(raw)
        return line if isinstance(line, dict) and "type" in line else None
    except ValueError:
        logger.warning("skipping a damaged line of %s", path)
        return None


def _encoded(line: Line) -> bytes:
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _whole_until(descriptor: int) -> int | None:
    """Return the end of the last whole line.

    Returns None if nothing is torn.
    """
    end = os.fstat(descriptor).st_size
    if end == 0 or os.pread(descriptor, 1, end - 1) == b"\n":
        return None
    at = end
    while at > 0:
        begin = max(0, at - _READ_BACK)
        found = os.pread(descriptor, at - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        at = begin
    return 0
