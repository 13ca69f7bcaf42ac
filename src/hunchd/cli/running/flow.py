"""Copy loop for a command's output.

Output is passed on at once and unchanged, and its end is recorded.
"""

from __future__ import annotations

import errno
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

PIECE: Final = 64 * 1024  # bytes read at once: the capacity of a pipe


def flow(source: int, target: int, heard: Callable[[bytes], None], ended: int) -> bool:
    """Copy until the source ends.

    Returns False if somebody else keeps the source open after the command. The command has ended once the other
    side of `ended` is closed; then copies what is left. If the target has no reader, returns True, and the caller
    closes the source so that the writer notices.
    """
    while True:
        if source not in select.select([source, ended], [], [])[0]:
            return False
        if not (piece := read(source)):
            return True
        heard(piece)
        try:
            write(target, piece)
        except OSError:  # no reader, or disk full: the writer notices when its end is closed
            return True


def read(source: int) -> bytes:
    """Read what is available.

    Returns b"" at the end, which a closed pseudo-terminal reports as EIO.
    """
    try:
        return os.read(source, PIECE)
    except OSError as error:
        if error.errno == errno.EIO:
            return b""
        raise


def write(target: int, piece: bytes) -> None:
    """Write all of `piece`.

    Waits for a slow reader, even if the target is non-blocking.
    """
    rest = memoryview(piece)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            select.select([], [target], [])
