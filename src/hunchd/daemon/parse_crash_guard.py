"""Guard against source files that crash a parser.

Grammars are C code that reads whatever a repository contains; if a grammar crashes or never returns, the process dies.
A note on disk therefore records which file is being parsed. The next process finds the note and tries the file once
more, because the machine may simply have been switched off at that moment. After a second crash, the file is stored
without an outline, so that the other files can be parsed.
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

MAX_CPU_SECONDS: Final = 20.0  # seconds of CPU time for one file, after which a signal kills the process
MAX_CRASHES: Final = 2  # crashes caused by a file, after which it is not parsed again
_numbers = count()


class ParseCrashGuard:
    """Crash guard for one parsing run.

    It stores its note beside the cache that the parsing run fills. `crashing_blobs` are the git blob ids of the file
    contents that must not be parsed again.
    """

    def __init__(self, cache: Path) -> None:
        self._note = cache.with_name(f"{cache.name}.parsing-{os.getpid()}-{next(_numbers)}")
        self._crash_counts = dict(_read_stale_notes(cache))
        self.crashing_blobs = frozenset(blob for blob, times in self._crash_counts.items() if times >= MAX_CRASHES)
        cache.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(self._note, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
        self._note.unlink(missing_ok=True)

    @contextmanager
    def guard_blob(self, blob: str) -> Iterator[None]:
        """Record that `blob` is being parsed while the `with` block runs."""
        os.pwrite(self._file, f"{blob} {self._crash_counts.get(blob, 0) + 1}".encode().ljust(80), 0)
        _set_cpu_timer(MAX_CPU_SECONDS)
        try:
            yield
        finally:
            _set_cpu_timer(0.0)
            os.ftruncate(self._file, 0)


def _read_stale_notes(cache: Path) -> Iterator[tuple[str, int]]:
    """Yield the blobs being parsed when their process died.

    Each blob comes with its number of consecutive crashes. The notes are deleted.
    """
    own_marker = f".parsing-{os.getpid()}-"
    for note in cache.parent.glob(f"{cache.name}.parsing-*"):
        if own_marker in note.name:
            continue
        blob, _, count_text = note.read_bytes().decode("ascii", "replace").strip().partition(" ")
        note.unlink(missing_ok=True)
        times = int(count_text) if count_text.isdecimal() else 1
        if blob and times >= MAX_CRASHES:
            logger.warning("parsing blob %s crashed the process repeatedly; storing it without an outline", blob)
        if blob:
            yield blob, times


def _set_cpu_timer(seconds: float) -> None:
    """Kill this process after `seconds` of CPU time; 0 switches the timer off.

    The default action of SIGPROF kills the process even inside C code.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
