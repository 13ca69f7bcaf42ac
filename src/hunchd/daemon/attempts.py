"""Files that a parser died over are not tried again: a note on disk says which one it is at.

Grammars are C code that reads whatever a repository holds. Should one crash or never end, the process ends with it; the
next one finds the note and tries once more: the machine may have been switched off just then. After a second time the
file is kept without an outline, and the others go on.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final, Self

logger = logging.getLogger(__name__)

LONGEST: Final = 20.0  # seconds of processor time for one file, after which the process is ended from outside
FATAL: Final = 2  # times that a process ended over a file, after which it is not tried again
_numbers = count()


class Attempts:
    """The note of one piece of work, beside the cache that it fills."""

    def __init__(self, cache: Path) -> None:
        self._own = cache.with_name(f"{cache.name}.parsing-{os.getpid()}-{next(_numbers)}")
        self._before = dict(_left_behind(cache))
        self.fatal = frozenset(blob for blob, times in self._before.items() if times >= FATAL)
        cache.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(self._own, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
        self._own.unlink(missing_ok=True)

    @contextmanager
    def at(self, blob: str) -> Iterator[None]:
        """While this blob is being parsed."""
        os.pwrite(self._file, f"{blob} {self._before.get(blob, 0) + 1}".encode().ljust(80), 0)
        _alarm(LONGEST)
        try:
            yield
        finally:
            _alarm(0.0)
            os.ftruncate(self._file, 0)


def _left_behind(cache: Path) -> Iterator[tuple[str, int]]:
    """The blobs that processes which are no more were at, and how often in a row."""
    own = f".parsing-{os.getpid()}-"
    for note in cache.parent.glob(f"{cache.name}.parsing-*"):
        if own in note.name:
            continue
        blob, _, told = note.read_bytes().decode("ascii", "replace").strip().partition(" ")
        note.unlink(missing_ok=True)
        times = int(told) if told.isdecimal() else 1
        if blob and times >= FATAL:
            logger.warning("parsing the content %s ended the process; it is kept without an outline", blob)
        if blob:
            yield blob, times


def _alarm(seconds: float) -> None:
    """The default action of SIGPROF ends the process, even where C code never comes back to Python."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
