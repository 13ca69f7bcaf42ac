"""Clock of what clients do: how long nobody has asked or reported anything."""

from __future__ import annotations

import time


class ActivityClock:
    """Time of the last request."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def touch(self) -> None:
        """Note that a client asked or reported something."""
        self._last = time.monotonic()

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last request."""
        return time.monotonic() - self._last
