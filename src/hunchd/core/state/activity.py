"""Clock that measures the time since a client last sent a request or signal."""

from __future__ import annotations

import time


class ActivityClock:
    """Clock that measures the time since a client last sent a request or signal."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def touch(self) -> None:
        """Record that a client just sent a request or signal."""
        self._last = time.monotonic()

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last request or signal from a client."""
        return time.monotonic() - self._last
