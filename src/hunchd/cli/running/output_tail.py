"""Buffer for the last part of a command's output."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# Enough for a long trace, or the report of many failed tests.
MAX_TAIL_BYTES: Final = 48 * 1024  # bytes


class OutputTail:
    """Buffer that keeps the last `max_bytes` bytes of a command's output.

    It may hold up to twice that many bytes. Two threads may append to it concurrently.
    """

    def __init__(self, max_bytes: int = MAX_TAIL_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = bytearray()

    def add(self, piece: bytes) -> None:
        self._bytes += piece
        if len(self._bytes) > 2 * self._max_bytes:
            del self._bytes[: -self._max_bytes]

    def get_tail(self) -> bytes:
        """Return the last part of the output.

        If earlier output has been dropped, the result begins at the start of a line where possible.
        """
        if len(self._bytes) <= self._max_bytes:
            return bytes(self._bytes)
        line_start = self._bytes.find(b"\n", len(self._bytes) - self._max_bytes - 1) + 1
        return bytes(self._bytes[line_start or -self._max_bytes :])
