"""How the C library takes memory from the system and gives it back: bounded for a process, otherwise for a while."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

# A buffer of at least so many bytes is memory of its own, and is gone when it is freed. Questions to the store are
# quicker where theirs are kept for the next one; tidying has hundreds of megabytes pass through some dozens of such
# buffers.
APART_FROM: Final = 256 * 1024
# Free memory at the end that is kept: asking for it again and again takes longer than what it serves.
KEPT: Final = 4 * 1024 * 1024
ARENAS: Final = 2  # the usual eight a core each keep what was freed in them
USUAL: Final = "MALLOC_MMAP_THRESHOLD_"  # the setting in the environment, in bytes
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # numbers in malloc.h


def bound() -> None:
    """From now on this process keeps less of what it has freed. Where the C library can be told; to be called before
    there are threads."""
    if (tell := _teller()) is not None:
        for name, value in ((_M_ARENA_MAX, ARENAS), (_M_MMAP_THRESHOLD, APART_FROM), (_M_TRIM_THRESHOLD, KEPT)):
            tell(name, value)


@contextmanager
def large_buffers_apart() -> Iterator[None]:
    """What is free goes back now, and meanwhile each large buffer as soon as it is. Only where the environment says
    what is usual, and where the C library can be told."""
    usual = os.environ.get(USUAL, "")
    if not usual.isdigit() or (tell := _teller()) is None:
        yield
        return
    give_memory_back()
    tell(_M_MMAP_THRESHOLD, APART_FROM)
    try:
        yield
    finally:
        tell(_M_MMAP_THRESHOLD, int(usual))


def give_memory_back() -> None:
    """Return freed memory to the system, where the C library can."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _teller() -> Callable[[int, int], object] | None:
    if sys.platform != "linux":
        return None
    found: Callable[[int, int], object] | None = getattr(ctypes.CDLL(None), "mallopt", None)
    return found
