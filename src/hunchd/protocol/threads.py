"""Thread limit of the matrix library (OpenBLAS), which reads its environment once, on import."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THREADS: Final = "OPENBLAS_NUM_THREADS"


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Limit libraries imported in the block to one thread.

    The environment's own setting takes precedence. A question's matrices are done before a second thread wakes. Child
    processes do not inherit the setting.
    """
    if THREADS in os.environ:
        yield
        return
    os.environ[THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[THREADS]
