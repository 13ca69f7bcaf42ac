"""The end of what a command said, however much it says."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# A long trace, or the report of a test run that failed in many places.
KEPT: Final = 48 * 1024  # bytes


class Tail:
    """Holds the last `most` bytes, at times twice as many. Two threads may add to it."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._bytes = bytearray()

    def add(self, piece: bytes) -> None:
        self._bytes += piece
        if len(self._bytes) > 2 * self._most:
            del self._bytes[: -self._most]

    def kept(self) -> bytes:
        """The end, from the beginning of a line if something is left out before it."""
        if len(self._bytes) <= self._most:
            return bytes(self._bytes)
        whole = self._bytes.find(b"\n", len(self._bytes) - self._most - 1) + 1
        return bytes(self._bytes[whole or -self._most :])
