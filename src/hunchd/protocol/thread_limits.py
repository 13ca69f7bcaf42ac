"""Thread limit for the matrix library (OpenBLAS).

The library reads the environment only once, when it is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THREADS_VARIABLE: Final = "OPENBLAS_NUM_THREADS"


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Limit libraries imported in the `with` block to one thread.

    A setting in the environment takes precedence. The matrices of a single query are so small that the work is done
    before a second thread wakes up. Child processes do not inherit the limit.
    """
    if THREADS_VARIABLE in os.environ:
        yield
        return
    os.environ[THREADS_VARIABLE] = "1"
    try:
        yield
    finally:
        del os.environ[THREADS_VARIABLE]
