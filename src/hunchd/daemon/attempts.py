"""Guard against files that crash a parser.

A note on disk names the file being parsed. Grammars are C code that reads whatever a repository holds. If one crashes
or never ends, the process dies with it; the next process finds the note and retries once, because the machine may have
been switched off just then. After a second crash the file is stored without an outline, and the others are parsed.
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

LONGEST: Final = 20.0  # seconds of CPU time for one file, after which a signal kills the process
FATAL: Final = 2  # crashes over a file, after which it is not parsed again
_numbers = count()


class Attempts:
    """Crash guard of one parsing run.

    Its note lies beside the cache that the run fills.
    """

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
        """Mark the blob as being parsed for the duration of the block."""
        os.pwrite(self._file, f"{blob} {self._before.get(blob, 0) + 1}".encode().ljust(80), 0)
        _alarm(LONGEST)
        try:
            yield
        finally:
            _alarm(0.0)
            os.ftruncate(self._file, 0)


def _left_behind(cache: Path) -> Iterator[tuple[str, int]]:
    """Yield the blobs that dead processes were parsing, and how often in a row."""
    own = f".parsing-{os.getpid()}-"
    for note in cache.parent.glob(f"{cache.name}.parsing-*"):
        if own in note.name:
            continue
        blob, _, told = note.read_bytes().decode("ascii", "replace").strip().partition(" ")
        note.unlink(missing_ok=True)
        times = int(told) if told.isdecimal() else 1
        if blob and times >= FATAL:
            logger.warning("parsing blob %s crashed the process repeatedly; storing it without an outline", blob)
        if blob:
            yield blob, times


def _alarm(seconds: float) -> None:
    """Set the CPU timer.

    The default action of SIGPROF kills the process even inside C code.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
