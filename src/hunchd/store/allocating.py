"""How the C library takes memory from the system for large buffers, which is worth changing for a while."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

# A buffer of at least so many bytes is memory of its own, and is gone when it is freed. Questions are quicker where
# theirs are kept for the next one; tidying has hundreds of megabytes pass through some dozens of such buffers.
APART_FROM: Final = 256 * 1024
USUAL: Final = "MALLOC_MMAP_THRESHOLD_"  # the setting in the environment, in bytes
_M_MMAP_THRESHOLD: Final = -3  # its number in malloc.h


@contextmanager
def large_buffers_apart() -> Iterator[None]:
    """Meanwhile large buffers go back to the system one by one. Only where the environment says what is usual, and
    where the C library can be told."""
    usual = os.environ.get(USUAL, "")
    if sys.platform != "linux" or not usual.isdigit() or (tell := _teller()) is None:
        yield
        return
    tell(_M_MMAP_THRESHOLD, APART_FROM)
    try:
        yield
    finally:
        tell(_M_MMAP_THRESHOLD, int(usual))


def _teller() -> Callable[[int, int], object] | None:
    found: Callable[[int, int], object] | None = getattr(ctypes.CDLL(None), "mallopt", None)
    return found
