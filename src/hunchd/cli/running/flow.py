"""What a command says goes where it would have gone, at once and unchanged, and its end is kept."""

from __future__ import annotations

import errno
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

PIECE: Final = 64 * 1024  # bytes read at once: what a pipe holds


def flow(source: int, target: int, heard: Callable[[bytes], None], ended: int) -> bool:
    """Pass on what comes until its end. Once `ended` is closed on the other side, until nothing is left: then False,
    because somebody else holds the source open. Where nobody reads any more, the writer is told so."""
    while True:
        if source not in select.select([source, ended], [], [])[0]:
            return False
        if not (piece := read(source)):
            return True
        heard(piece)
        try:
            write(target, piece)
        except OSError:  # nobody reads, or the disk is full: the writer learns it as it would from its own end
            return True


def read(source: int) -> bytes:
    """What is there; nothing at the end. A pseudo-terminal that nobody holds open any more says so by EIO."""
    try:
        return os.read(source, PIECE)
    except OSError as error:
        if error.errno == errno.EIO:
            return b""
        raise


def write(target: int, piece: bytes) -> None:
    """All of `piece`, however long its reader takes, even if somebody made the other end not wait."""
    rest = memoryview(piece)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            select.select([], [target], [])
