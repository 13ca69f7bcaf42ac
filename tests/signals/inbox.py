"""Collector of a watcher's signals for tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from hunchd.domain.signal import Signal

T = TypeVar("T", bound=Signal)


class Inbox:
    """Callable that collects signals, with methods to wait for some or for none."""

    def __init__(self) -> None:
        self.signals: list[Signal] = []
        self._news = threading.Condition()

    def __call__(self, signal: Signal) -> None:
        with self._news:
            self.signals.append(signal)
            self._news.notify_all()

    def of(self, kind: type[T]) -> list[T]:
        return [signal for signal in self.signals if isinstance(signal, kind)]

    def kinds(self) -> list[str]:
        return [type(signal).__name__ for signal in self.signals]

    def wait(self, happened: Callable[[], object], seconds: float = 10.0) -> None:
        """Wait until `happened()` is true; fail after `seconds`."""
        with self._news:
            assert self._news.wait_for(happened, seconds), f"told so far: {self.signals}"

    def rest(self, seconds: float = 0.6) -> list[Signal]:
        """Return all signals once none came for `seconds`."""
        with self._news:
            while self._news.wait(seconds):
                pass
            return self.signals

    def clear(self) -> None:
        with self._news:
            self.signals = []


def eventually(happened: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until `happened()` is true; fail after `seconds`."""
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)
