"""Settings that make the C library keep less freed memory in a process."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

# A buffer of at least this many bytes gets a mapping of its own, which is unmapped when it is freed. Queries of the
# store are faster if their buffers are reused; compaction moves hundreds of megabytes through some dozens of buffers.
MMAP_THRESHOLD_BYTES: Final = 256 * 1024
# Free memory at the top of the heap that is not trimmed: requesting it again and again costs more than the work itself.
TRIM_THRESHOLD_BYTES: Final = 4 * 1024 * 1024
MAX_ARENAS: Final = 2  # by default there are eight per core, and each keeps freed memory
MMAP_THRESHOLD_VARIABLE: Final = "MALLOC_MMAP_THRESHOLD_"  # environment variable, in bytes
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # numbers in malloc.h


def limit_malloc() -> None:
    """Limit the memory that this process keeps after freeing it.

    This has an effect only if the C library supports `mallopt`. It must be called before any thread is started.
    """
    if (mallopt := _load_mallopt()) is not None:
        for name, value in (
            (_M_ARENA_MAX, MAX_ARENAS),
            (_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES),
            (_M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES),
        ):
            mallopt(name, value)


@contextmanager
def unmap_large_buffers() -> Iterator[None]:
    """Return large buffers to the system as soon as they are freed.

    This applies while the `with` block runs. On entry to the block, memory that is already free is returned as well.
    Does nothing unless the environment specifies the usual threshold (MMAP_THRESHOLD_VARIABLE) and the C library
    supports `mallopt`.
    """
    default_threshold = os.environ.get(MMAP_THRESHOLD_VARIABLE, "")
    if not default_threshold.isdigit() or (mallopt := _load_mallopt()) is None:
        yield
        return
    release_free_memory()
    mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
    try:
        yield
    finally:
        mallopt(_M_MMAP_THRESHOLD, int(default_threshold))


def release_free_memory() -> None:
    """Return freed memory to the system if the C library supports it."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _load_mallopt() -> Callable[[int, int], object] | None:
    if sys.platform != "linux":
        return None
    mallopt: Callable[[int, int], object] | None = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt
