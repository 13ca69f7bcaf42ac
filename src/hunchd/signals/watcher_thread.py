"""Watcher thread: an event loop for kernel events, timers and calls from other threads."""

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

from hunchd.signals.folder_watches import FolderBackend, FolderListener, create_backend

logger = logging.getLogger(__name__)

# `stop` waits this long for the thread; it is a daemon thread, so it blocks nothing even if it is still scanning.
_STOP_TIMEOUT = 1.0


@dataclass(order=True)
class Timer:
    """Callback to run at `due_at` (in monotonic seconds), unless it is cancelled."""

    due_at: float
    number: int
    callback: Callable[[], None] = field(compare=False)
    is_cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.is_cancelled = True


class WatcherThread:
    """Thread with an event loop, which is shared by the watchers.

    Listeners are called only on this thread, so they need no locks.
    """

    def __init__(self, name: str, *, on_failure: Callable[[], None] | None = None) -> None:
        """Create the thread.

        `on_failure` is called on the thread if it ends unexpectedly.
        """
        self.name = name
        self._on_failure = on_failure
        self.failure_count = 0  # exceptions in listeners, all of them logged
        self.is_stopping = False
        self._is_closed = False
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._timers: list[Timer] = []
        self._timer_numbers = itertools.count()
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._backend: FolderBackend = create_backend(self)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def is_alive(self) -> bool:
        """True while the thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and release every watch.

        Returns within a second.
        """
        self.is_stopping = True
        self._wake_up()
        if not self._thread.is_alive():
            self._close()
        elif threading.current_thread() is not self._thread:
            self._thread.join(_STOP_TIMEOUT)

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` on the thread soon; thread-safe.

        If the thread has ended, `callback` is not run.
        """
        self._calls.put(callback)
        self._wake_up()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Run `callback` after `seconds`.

        Call this only on the thread itself.
        """
        timer = Timer(time.monotonic() + seconds, next(self._timer_numbers), callback)
        heapq.heappush(self._timers, timer)
        return timer

    def watch_folder(self, folder: str, listener: FolderListener, *, opens: bool = False) -> None:
        """Report changes to the entries of `folder` (not recursively) to `listener`.

        With `opens`, opened files are reported too. Call this only on the thread itself. Raises UnwatchableFolder if
        the folder cannot be watched.
        """
        self._backend.add_watch(folder, listener, opens=opens)

    def unwatch_folder(self, folder: str, listener: FolderListener) -> None:
        """Stop reporting changes in `folder` to `listener`."""
        self._backend.remove_watch(folder, listener)

    def handle_overflow(self) -> None:
        """Notify every listener that events were dropped."""
        for listener in self._backend.list_listeners():
            self.call_listener(listener.handle_overflow)

    def call_listener(self, call: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        """Call a function of a listener.

        Exceptions are logged and do not end the thread.
        """
        try:
            call(*args, **kwargs)
        except Exception:
            self.failure_count += 1
            logger.exception("%s: a listener raised an exception; continuing", self.name)

    def _wake_up(self) -> None:
        with contextlib.suppress(
            OSError
        ):  # a full pipe wakes the thread as well; if the pipe is closed, the thread has ended
            self._writer.send(b"!")

    def _run(self) -> None:
        try:
            self._run_loop()
        except Exception:
            self.failure_count += 1
            logger.exception("%s ended unexpectedly; nothing is watched until it is restarted", self.name)
            if self._on_failure is not None:
                self._on_failure()
        finally:
            self._close()

    def _run_loop(self) -> None:
        wait = _create_waiter([self._reader.fileno(), *self._backend.list_descriptors()])
        while not self.is_stopping:
            wait(self._compute_timeout())
            self._drain_calls()
            self._backend.dispatch_events()
            self._run_timers()

    def _close(self) -> None:
        if self._is_closed:
            return  # the descriptors may be reused by now
        self._is_closed = True
        self._backend.close()
        self._reader.close()
        self._writer.close()

    def _compute_timeout(self) -> float | None:
        """Return the number of seconds until the next timer is due.

        Returns None if there is no timer, so that the thread sleeps until it is woken.
        """
        while self._timers and self._timers[0].is_cancelled:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0].due_at - time.monotonic()) if self._timers else None

    def _drain_calls(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._reader.recv(4_096)
        for _ in range(self._calls.qsize()):
            self.call_listener(self._calls.get_nowait())

    def _run_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0].due_at <= now and not self.is_stopping:
            timer = heapq.heappop(self._timers)
            if not timer.is_cancelled:
                self.call_listener(timer.callback)


def _create_waiter(descriptors: list[int]) -> Callable[[float | None], object]:
    """Return a function that waits until a descriptor is readable or the timeout has passed."""
    if not hasattr(select, "poll"):
        return lambda seconds: select.select(descriptors, [], [], seconds)
    poller = select.poll()  # unlike select it supports descriptors above 1,023
    for descriptor in descriptors:
        poller.register(descriptor, select.POLLIN)
    # Rounded up: a timer that is due in 0.3 ms must not spin.
    return lambda seconds: poller.poll(None if seconds is None else int(seconds * 1_000) + 1)
