"""Bounded queue between the watcher threads and the event loop.

Repeated signals about the same file are merged in the queue.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence

from hunchd.domain.errors import Overloaded
from hunchd.domain.signal import FileClosed, FileDeleted, FileOpened, FileSaved, Signal

# A rejected client retries after this time, in which the journal writes thousands of signals.
RETRY_AFTER_SECONDS = 1.0  # seconds

_Subject = tuple[str, str]


class SignalQueue:
    """Queue of signals that are read in batches.

    The signals of a batch stay in the queue until `mark_done` is called. A signal about a file replaces the last
    waiting signal about the same file if both are of the same kind, so that the order of a file's events is preserved.
    A signal with an id was acknowledged to a client and is never merged.
    """

    def __init__(self, capacity: int = 20_000) -> None:
        self.capacity = capacity
        self._lock = threading.Lock()
        self._queue: OrderedDict[int, Signal] = OrderedDict()
        self._newest: dict[_Subject, int] = {}  # number of the last waiting signal about each file
        self._last_number = 0
        self._last_read = 0  # signals up to this number are being read and are no longer merged
        self._loop: asyncio.AbstractEventLoop | None = None
        self._new_signal = asyncio.Event()

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, signal: Signal) -> None:
        """Add one signal; thread-safe.

        Raises Overloaded if the queue is full. Signals that are already waiting are never dropped.
        """
        self.put_all((signal,))

    def put_all(self, signals: Sequence[Signal]) -> None:
        """Add all signals, or none if the queue has no space for them.

        Raises Overloaded if they were not added.
        """
        with self._lock:
            if len(self._queue) + len(signals) > self.capacity and not all(map(self._can_merge, signals)):
                raise Overloaded(f"{len(self._queue):,} signals are waiting", retry_after=RETRY_AFTER_SECONDS)
            for signal in signals:
                self._add(signal)
            loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._new_signal.set)

    async def read_batch(self, limit: int = 500) -> list[Signal]:
        """Return the oldest signals, waiting until there is at least one.

        At most `limit` signals are returned. Once they are durable, call `mark_done` with their number.
        """
        self._loop = asyncio.get_running_loop()
        while True:
            self._new_signal.clear()
            with self._lock:
                numbers = [number for number, _ in zip(self._queue, range(limit), strict=False)]
                if numbers:
                    self._last_read = numbers[-1]
                    return [self._queue[number] for number in numbers]
            await self._new_signal.wait()

    def mark_done(self, count: int) -> None:
        """Remove the oldest `count` signals, because they are now durable elsewhere."""
        with self._lock:
            for _ in range(count):
                number, signal = self._queue.popitem(last=False)
                subject = _get_subject(signal)
                if subject is not None and self._newest.get(subject) == number:
                    del self._newest[subject]

    def _can_merge(self, signal: Signal) -> bool:
        subject = _get_subject(signal)
        number = self._newest.get(subject, 0) if subject is not None else 0
        if signal.id or number <= self._last_read:
            return False
        waiting = self._queue[number]
        return type(waiting) is type(signal) and not waiting.id

    def _add(self, signal: Signal) -> None:
        subject = _get_subject(signal)
        if subject is not None and self._can_merge(signal):
            self._queue[self._newest[subject]] = signal
            return
        self._last_number += 1
        self._queue[self._last_number] = signal
        if subject is not None:
            self._newest[subject] = self._last_number


def _get_subject(signal: Signal) -> _Subject | None:
    """Return the project and the path that a signal is about.

    Signals about the same path may be merged. Returns None for a signal that is never merged.
    """
    match signal:
        case FileOpened() | FileSaved() | FileClosed() | FileDeleted():
            return signal.project, signal.path
        case _:
            return None
