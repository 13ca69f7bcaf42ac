"""Settings of the C library's memory allocator: how much freed memory a process keeps."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

# A buffer of at least this many bytes gets a mapping of its own, which is unmapped when it is freed. Queries of the
# store are faster if their buffers are reused; compaction moves hundreds of megabytes through some dozens of buffers.
APART_FROM: Final = 256 * 1024
# Free memory at the top of the heap that is not trimmed: requesting it again and again costs more than the work itself.
KEPT: Final = 4 * 1024 * 1024
ARENAS: Final = 2  # by default there are eight per core, and each keeps freed memory
USUAL: Final = "MALLOC_MMAP_THRESHOLD_"  # environment variable, in bytes
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # numbers in malloc.h


def bound() -> None:
    """Limit the memory that this process keeps after freeing it.

    Only where the C library supports `mallopt`. Call it before any thread is started.
    """
    if (tell := _teller()) is not None:
        for name, value in ((_M_ARENA_MAX, ARENAS), (_M_MMAP_THRESHOLD, APART_FROM), (_M_TRIM_THRESHOLD, KEPT)):
            tell(name, value)


@contextmanager
def large_buffers_apart() -> Iterator[None]:
    """Return each large buffer to the system as soon as it is freed.

    Applies to the block; free memory is returned on entry as well. Does nothing unless the environment names the usual
    threshold (USUAL) and the C library supports `mallopt`.
    """
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
    """Return freed memory to the system, where the C library supports it."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _teller() -> Callable[[int, int], object] | None:
    if sys.platform != "linux":
        return None
    found: Callable[[int, int], object] | None = getattr(ctypes.CDLL(None), "mallopt", None)
    return found
