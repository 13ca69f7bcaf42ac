"""Watcher for configured log files, which reports the errors found in new lines."""

from __future__ import annotations

import asyncio
import glob
import logging
import stat
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hunchd.config.app_paths import expand_path
from hunchd.core.state.dependencies import TaskSupervisor
from hunchd.core.state.feature import Feature
from hunchd.domain.errors import HunchError
from hunchd.ingestion.log_errors import close_block, split_errors

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 2.0  # seconds between two polls, which cost a few stat calls
MAX_FILES: Final = 50  # in one project
MAX_READ_BYTES: Final = 1 << 20  # bytes read from a file in one poll; of more, only the end is read
MAX_ERRORS: Final = 10  # newest errors reported from a file in one poll: a burst usually repeats one error


@dataclass(slots=True)
class _ReadPosition:
    """Read position in a log file."""

    inode: int
    offset: int
    partial_line: bytes = b""  # incomplete last line
    open_block: list[str] = field(default_factory=list)  # lines of an error that may continue


class LogWatcher(Feature):
    """Watcher that reports errors from log files.

    It watches the files that match `patterns` below any root folder.
    """

    def __init__(
        self,
        patterns: Sequence[str],
        get_roots: Callable[[], Iterable[Path]],
        report: Callable[[Sequence[dict[str, Any]]], Awaitable[object]],
    ) -> None:
        self._patterns = patterns
        self._get_roots = get_roots
        self._report = report
        self._positions: dict[Path, _ReadPosition] = {}
        self._polled_roots: set[Path] = set()  # roots that were polled before

    def start(self, tasks: TaskSupervisor) -> None:
        if self._patterns:
            tasks.start("logs", self.run)

    async def run(self) -> None:
        """Poll the files forever, if any patterns are configured."""
        while self._patterns:
            errors = await asyncio.to_thread(self.poll)
            if errors:
                try:
                    await self._report(errors)
                except HunchError as error:  # full disk or queue: the error is still in the log file
                    logger.warning("could not store errors from a log file: %s", error.message)
            await asyncio.sleep(POLL_SECONDS)

    def poll(self) -> list[dict[str, Any]]:
        """Return the errors written to the files since the last call.

        Text that was already in a file before its project was first polled is ignored.
        """
        roots = list(self._get_roots())
        errors = [
            {"kind": "error", "project": str(root), "text": text, "source": "log"}
            for root in roots
            for file in self._iter_files(root)
            for text in self._read_new_errors(file, from_end=root not in self._polled_roots)[-MAX_ERRORS:]
        ]
        self._polled_roots = set(roots)
        return errors

    def _iter_files(self, root: Path) -> Iterator[Path]:
        """Yield the files of a project that match a pattern, at most MAX_FILES.

        A file that matches an absolute pattern belongs to the project that contains it.
        """
        count = 0
        for pattern in self._patterns:
            # Path.glob does not accept absolute patterns.
            full_pattern = str(Path(glob.escape(str(root))) / expand_path(pattern))
            for name in sorted(glob.glob(full_pattern, recursive=True)):  # noqa: PTH207
                if Path(name).is_relative_to(root) and count < MAX_FILES:
                    count += 1
                    yield Path(name)

    def _read_new_errors(self, file: Path, *, from_end: bool) -> list[str]:
        try:
            file_stat = file.stat()
            if not stat.S_ISREG(file_stat.st_mode):
                return []
            position = self._positions.get(file)
            if (
                position is None or position.inode != file_stat.st_ino or position.offset > file_stat.st_size
            ):  # new or truncated
                start_offset = file_stat.st_size if position is None and from_end else 0
                position = self._positions[file] = _ReadPosition(file_stat.st_ino, start_offset)
            if file_stat.st_size == position.offset:
                block, position.open_block = position.open_block, []
                return close_block(block)
            with file.open("rb") as opened_file:
                opened_file.seek(max(position.offset, file_stat.st_size - MAX_READ_BYTES))
                new = opened_file.read(MAX_READ_BYTES)
                position.offset = opened_file.tell()
        except OSError as error:
            logger.debug("could not read %s: %s", file, error)
            return []
        *lines, position.partial_line = (position.partial_line + new).split(b"\n")
        position.partial_line = position.partial_line[-MAX_READ_BYTES:]
        texts = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
        errors, position.open_block = split_errors([*position.open_block, *texts])
        return errors
