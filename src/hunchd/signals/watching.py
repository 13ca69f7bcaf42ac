"""Watcher thread: an event loop over kernel events, timers and calls."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import logging
import queue
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hunchd.signals.folders import Folders, Listener, folders

logger = logging.getLogger(__name__)

# A stop waits this long for the thread; it is a daemon thread, so one that is still scanning blocks nothing.
_STOP_SECONDS = 1.0


@dataclass(order=True)
class Timer:
    """Call that is due at `at` (monotonic seconds), unless it is cancelled."""

    at: float
    number: int
    call: Callable[[], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


class WatchThread:
    """Event loop in a thread.

    Listeners run on this thread only, so they need no locks.
    """

    def __init__(self, name: str, *, failed: Callable[[], None] | None = None) -> None:
        """Create the thread; `failed` is called on it if it ends unexpectedly."""
        self.name = name
        self._failed = failed
        self.overflows = 0
        self.failures = 0  # exceptions in listeners, all of them logged
        self.stopping = False
        self._closed = False
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._timers: list[Timer] = []
        self._numbers = itertools.count()
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._folders: Folders = folders(self)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def watched(self) -> int:
        """Number of folders that are watched."""
        return len(self._folders)

    @property
    def alive(self) -> bool:
        """True while the thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread and release every watch; returns within a second."""
        self.stopping = True
        self._wake()
        if not self._thread.is_alive():
            self._close()
        elif threading.current_thread() is not self._thread:
            self._thread.join(_STOP_SECONDS)

    def submit(self, call: Callable[[], None]) -> None:
        """Run `call` on the thread soon; thread-safe. After the end nothing runs."""
        self._calls.put(call)
        self._wake()

    def later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Run `call` after `seconds`. Call on the thread only."""
        timer = Timer(time.monotonic() + seconds, next(self._numbers), call)
        heapq.heappush(self._timers, timer)
        return timer

    def watch(self, folder: str, listener: Listener, *, opens: bool = False) -> None:
        """Report changes of the entries of `folder` (not recursively) to `listener`.

        Call on the thread only. Raises Unwatchable.
        """
        self._folders.add(folder, listener, opens=opens)

    def unwatch(self, folder: str, listener: Listener) -> None:
        """Stop reporting changes of `folder` to `listener`."""
        self._folders.remove(folder, listener)

    def overflowed(self) -> None:
        """Tell every listener that events were dropped."""
        self.overflows += 1
        for listener in self._folders.listeners():
            self.report(listener.lost)

    def report(self, call: Callable[..., None], *args: Any, **named: Any) -> None:
        """Call a listener; exceptions are logged and do not end the thread."""
        try:
            call(*args, **named)
        except Exception:
            self.failures += 1
            logger.exception("%s: a listener raised an exception; continuing", self.name)

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # a full pipe wakes the thread as well; with a closed one it has ended
            self._writer.send(b"!")

    def _run(self) -> None:
        try:
            self._loop()
        except Exception:
            self.failures += 1
            logger.exception("%s ended unexpectedly; nothing is watched until it is restarted", self.name)
            if self._failed is not None:
                self._failed()
        finally:
            self._close()

    def _loop(self) -> None:
        wait = _waiter([self._reader.fileno(), *self._folders.descriptors()])
        while not self.stopping:
            wait(self._pause())
            self._drain_calls()
            self._folders.read()
            self._run_timers()

    def _close(self) -> None:
        if self._closed:
            return  # the descriptors may be reused by now
        self._closed = True
        self._folders.close()
        self._reader.close()
        self._writer.close()

    def _pause(self) -> float | None:
        """Return the seconds until the next timer; None to sleep until woken."""
        while self._timers and self._timers[0].cancelled:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0].at - time.monotonic()) if self._timers else None

    def _drain_calls(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._reader.recv(4_096)
        for _ in range(self._calls.qsize()):
            self.report(self._calls.get_nowait())

    def _run_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0].at <= now and not self.stopping:
            timer = heapq.heappop(self._timers)
            if not timer.cancelled:
                self.report(timer.call)


def _waiter(descriptors: list[int]) -> Callable[[float | None], object]:
    """Return a function that waits for descriptors or a timeout."""
    if not hasattr(select, "poll"):
        return lambda seconds: select.select(descriptors, [], [], seconds)
    poller = select.poll()  # unlike select it supports descriptors above 1,023
    for descriptor in descriptors:
        poller.register(descriptor, select.POLLIN)
    # Rounded up: a timer that is due in 0.3 ms must not spin.
    return lambda seconds: poller.poll(None if seconds is None else int(seconds * 1_000) + 1)
