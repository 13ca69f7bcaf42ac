"""Buffer for the end of a command's output."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# Enough for a long trace, or the report of many failed tests.
KEPT: Final = 48 * 1024  # bytes


class Tail:
    """Buffer of the last `most` bytes, at times twice as many.

    Two threads may add to it.
    """

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._bytes = bytearray()

    def add(self, piece: bytes) -> None:
        self._bytes += piece
        if len(self._bytes) > 2 * self._most:
            del self._bytes[: -self._most]

    def kept(self) -> bytes:
        """Return the end of the output.

        It begins at the start of a line if anything before it was dropped.
        """
        if len(self._bytes) <= self._most:
            return bytes(self._bytes)
        whole = self._bytes.find(b"\n", len(self._bytes) - self._most - 1) + 1
        return bytes(self._bytes[whole or -self._most :])
