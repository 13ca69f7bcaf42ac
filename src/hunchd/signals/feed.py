"""Bounded queue between watcher threads and the event loop.

Bursts merge in it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from hunchd.domain.errors import Overloaded
from hunchd.domain.signal import FileClosed, FileDeleted, FileOpened, FileSaved, Signal

# A rejected client retries after this time, in which the journal writes thousands of signals.
RETRY_AFTER = 1.0  # seconds

_Subject = tuple[str, str]


class Feed:
    """Queue of signals, read in batches.

    A batch stays in the queue until it is `done`. A signal about a file replaces the last waiting one of the same
    kind and file, so that the order of events of one file is preserved. A signal that carries an id was
    acknowledged to a client and is never merged.
    """

    def __init__(self, capacity: int = 20_000) -> None:
        self.capacity = capacity
        self._lock = threading.Lock()
        self._queue: OrderedDict[int, tuple[Signal, float]] = OrderedDict()
        self._newest: dict[_Subject, int] = {}  # the last waiting signal about a file
        self._number = 0
        self._reading = 0  # numbers up to this one are being read and no longer merge
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._accepted = self._merged = self._refused = self._most = 0

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, signal: Signal) -> None:
        """Add one signal from any thread.

        Raises Overloaded if the queue is full; waiting signals are never dropped.
        """
        self.put_all((signal,))

    def put_all(self, signals: Sequence[Signal]) -> None:
        """Add all signals, or none if they do not fit. Raises Overloaded."""
        with self._lock:
            if len(self._queue) + len(signals) > self.capacity and not all(map(self._merges, signals)):
                self._refused += len(signals)
                raise Overloaded(f"{len(self._queue):,} signals are waiting", retry_after=RETRY_AFTER)
            for signal in signals:
                self._add(signal)
            self._most = max(self._most, len(self._queue))
            loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._news.set)

    async def batch(self, most: int = 500) -> list[Signal]:
        """Return the oldest signals, at least one.

        Call `done` with their number once they are durable.
        """
        self._loop = asyncio.get_running_loop()
        while True:
            self._news.clear()
            with self._lock:
                numbers = [number for number, _ in zip(self._queue, range(most), strict=False)]
                if numbers:
                    self._reading = numbers[-1]
                    return [self._queue[number][0] for number in numbers]
            await self._news.wait()

    def done(self, count: int) -> None:
        """Remove the oldest `count` signals, which are durable elsewhere."""
        with self._lock:
            for _ in range(count):
                number, (signal, _) = self._queue.popitem(last=False)
                subject = _subject(signal)
                if subject is not None and self._newest.get(subject) == number:
                    del self._newest[subject]

    def status(self) -> dict[str, Any]:
        """Return fill level and counters.

        `oldest` is the age in seconds of the oldest signal.
        """
        with self._lock:
            oldest = next(iter(self._queue.values()), None)
            return {
                "waiting": len(self._queue),
                "capacity": self.capacity,
                "most": self._most,
                "oldest": time.monotonic() - oldest[1] if oldest is not None else 0.0,
                "accepted": self._accepted,
                "merged": self._merged,
                "refused": self._refused,
            }

    def _merges(self, signal: Signal) -> bool:
        subject = _subject(signal)
        number = self._newest.get(subject, 0) if subject is not None else 0
        if signal.id or number <= self._reading:
            return False
        waiting = self._queue[number][0]
        return type(waiting) is type(signal) and not waiting.id

    def _add(self, signal: Signal) -> None:
        self._accepted += 1
        subject = _subject(signal)
        if subject is not None and self._merges(signal):
            number = self._newest[subject]
            self._queue[number] = (signal, self._queue[number][1])
            self._merged += 1
            return
        self._number += 1
        self._queue[self._number] = (signal, time.monotonic())
        if subject is not None:
            self._newest[subject] = self._number


def _subject(signal: Signal) -> _Subject | None:
    """Return the file that a signal is about.

    Returns None for signals that never merge.
    """
    match signal:
        case FileOpened() | FileSaved() | FileClosed() | FileDeleted():
            return signal.project, signal.path
        case _:
            return None
