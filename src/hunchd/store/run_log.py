"""What a consolidation changed, a file a run, written before it is done: so that it can be gone on with or taken back.

One JSON object a line. A torn last line, from a crash while it was written, was never acted upon and is not read.
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
_CHANGE: Final = b'{"type":"change",'  # how a line of a change begins
_READ_BACK: Final = 64 * 1024  # bytes at a time


class RunLog:
    """The files of all runs. Every call blocks: use it in a thread, or in several."""

    def __init__(self, folder: Path, files: Files | None = None) -> None:
        self._folder = folder
        self._files = files or Files()
        self._writing = Lock()  # what is added to a file while it is written anew would be lost

    def runs(self) -> list[str]:
        """Ids, the newest first: they sort by time."""
        if not self._folder.is_dir():
            return []
        return sorted((path.stem for path in self._folder.glob(f"*{ENDING}")), reverse=True)

    def append(self, run: str, lines: Sequence[Line]) -> None:
        """On the device when this returns. Raises StorageFull; a part of the lines may be in the file then."""
        private_folder(self._folder)
        path = self._path(run)
        content = b"".join(_encoded(line) for line in lines)
        try:
            with self._writing:
                self._append(path, content)
        except OSError as error:
            if error.errno in FULL:
                raise StorageFull("the disk is full: what is changed could not be taken back") from error
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
        """Where a plan waits until it is carried out; no run knows it after a crash. Raises StorageFull."""
        return Aside(self._folder)

    def lines(self, run: str, *, changes: bool = True) -> Iterator[Line]:
        """In the order in which they were written; the `changes`, nearly all, only if wanted. Raises NotFound."""
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
        """The last whole line, without reading the others; None where there is none. Raises NotFound."""
        path = self._path(run)
        try:
            with path.open("rb") as file:
                end, size = file.seek(0, os.SEEK_END), _READ_BACK
                while True:
                    begin = file.seek(max(0, end - size))
                    parts = file.read(end - begin).split(b"\n")  # what is behind the last line's end is torn
                    if begin == 0 or len(parts) > 2:
                        return _read(parts[-2], path) if len(parts) > 1 else None
                    size *= 8
        except FileNotFoundError:
            raise _unknown(run) from None

    def backwards(self, run: str) -> Iterator[Line]:
        """The same, the last first, without holding all of them."""
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
        """The newest changes of one memory, with the runs that made them and their numbers there."""
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
        """The newest runs stay."""
        for run in self.runs()[max(keep, 1) :]:
            self._files.remove(self._path(run))

    def rewrite(self, change: Callable[[Line], Line | None]) -> None:
        """Put `change` of each line in its place, or nothing: what was erased must not stand here either."""
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
    """The line; None when it is damaged: what it says cannot be taken back, the others can."""
    try:
        line = json.loads(raw)
        return line if isinstance(line, dict) and "type" in line else None
    except ValueError:
        logger.warning("a line of %s is damaged and passed over", path)
        return None


def _encoded(line: Line) -> bytes:
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _whole_until(descriptor: int) -> int | None:
    """Where the last whole line ends; None when nothing is torn."""
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
