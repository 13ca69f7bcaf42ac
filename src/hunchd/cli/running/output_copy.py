"""Copying of a command's output without delay or changes.

The caller can record each piece that is copied.
"""

from __future__ import annotations

import errno
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

PIECE_BYTES: Final = 64 * 1024  # bytes read at once: the capacity of a pipe


def copy_output(source: int, target: int, on_piece: Callable[[bytes], None], end_marker: int) -> bool:
    """Copy from `source` to `target` until the source ends.

    Each piece is passed to `on_piece` before it is copied. When the command ends, the runner closes the other side of
    `end_marker`, and the rest of the command's output is copied. Returns False if another process still keeps the
    source open at that point. Returns True if the source has ended, or if the target cannot be written (no reader,
    full disk); the caller then closes the source, so that the command notices.
    """
    while True:
        if source not in select.select([source, end_marker], [], [])[0]:
            return False
        if not (piece := read_piece(source)):
            return True
        on_piece(piece)
        try:
            write_all(target, piece)
        except OSError:  # no reader, or disk full: the writer notices when its end is closed
            return True


def read_piece(source: int) -> bytes:
    """Read the bytes that are available.

    Returns b"" at the end of the output, which a closed pseudo-terminal reports as the error EIO.
    """
    try:
        return os.read(source, PIECE_BYTES)
    except OSError as error:
        if error.errno == errno.EIO:
            return b""
        raise


def write_all(target: int, piece: bytes) -> None:
    """Write all of `piece`.

    This waits for a slow reader, even if the target is non-blocking.
    """
    rest = memoryview(piece)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            select.select([], [target], [])
