"""Watcher of configured log files: new lines, and the errors in them."""

from __future__ import annotations

import asyncio
import glob
import logging
import stat
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hunchd.config.places import expanded
from hunchd.domain.errors import HunchError
from hunchd.engine.state.feature import Feature
from hunchd.engine.state.parts import Tasks
from hunchd.ingestion.logged import ended, errors_in

logger = logging.getLogger(__name__)

LOOK: Final = 2.0  # seconds between two polls, which cost a few stat calls
MOST_FILES: Final = 50  # a project
MOST_READ: Final = 1 << 20  # bytes read from a file in one poll; only the end of more is read
MOST_ERRORS: Final = 10  # newest errors reported from a file in one poll: a burst is one error many times


@dataclass(slots=True)
class _Read:
    """Read position in a log file."""

    inode: int
    offset: int
    half: bytes = b""  # incomplete last line
    block: list[str] = field(default_factory=list)  # lines of an error that may continue


class Logs(Feature):
    """Watcher that reports errors in the files that match `patterns` below each root."""

    def __init__(
        self,
        patterns: Sequence[str],
        roots: Callable[[], Iterable[Path]],
        tell: Callable[[Sequence[dict[str, Any]]], Awaitable[object]],
    ) -> None:
        self._patterns = patterns
        self._roots = roots
        self._tell = tell
        self._read: dict[Path, _Read] = {}
        self._known: set[Path] = set()  # roots that were polled before

    def start(self, tasks: Tasks) -> None:
        if self._patterns:
            tasks.start("logs", self.run)

    async def run(self) -> None:
        """Poll the files forever, if any patterns are configured."""
        while self._patterns:
            told = await asyncio.to_thread(self.look)
            if told:
                try:
                    await self._tell(told)
                except HunchError as error:  # full disk or queue: the error is still in the log file
                    logger.warning("errors of a log file could not be stored: %s", error.message)
            await asyncio.sleep(LOOK)

    def look(self) -> list[dict[str, Any]]:
        """Return the errors written since the last call.

        Contents from before the first call are ignored.
        """
        roots = list(self._roots())
        found = [
            {"kind": "error", "project": str(root), "text": text, "source": "log"}
            for root in roots
            for file in self._files(root)
            for text in self._news(file, from_end=root not in self._known)[-MOST_ERRORS:]
        ]
        self._known = set(roots)
        return found

    def _files(self, root: Path) -> Iterator[Path]:
        """Yield the matching files of a project.

        A file matched by an absolute pattern belongs to the project that contains it.
        """
        count = 0
        for pattern in self._patterns:
            # Path.glob takes no absolute pattern.
            wanted = str(Path(glob.escape(str(root))) / expanded(pattern))
            for name in sorted(glob.glob(wanted, recursive=True)):  # noqa: PTH207
                if Path(name).is_relative_to(root) and count < MOST_FILES:
                    count += 1
                    yield Path(name)

    def _news(self, file: Path, *, from_end: bool) -> list[str]:
        try:
            found = file.stat()
            if not stat.S_ISREG(found.st_mode):
                return []
            read = self._read.get(file)
            if read is None or read.inode != found.st_ino or read.offset > found.st_size:  # new or truncated
                seen = found.st_size if read is None and from_end else 0
                read = self._read[file] = _Read(found.st_ino, seen)
            if found.st_size == read.offset:
                block, read.block = read.block, []
                return ended(block)
            with file.open("rb") as opened:
                opened.seek(max(read.offset, found.st_size - MOST_READ))
                new = opened.read(MOST_READ)
                read.offset = opened.tell()
        except OSError as error:
            logger.debug("%s cannot be read: %s", file, error)
            return []
        *lines, read.half = (read.half + new).split(b"\n")
        read.half = read.half[-MOST_READ:]
        texts = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
        errors, read.block = errors_in([*read.block, *texts])
        return errors
