"""How many threads a library of matrices takes. It asks its environment once, when it is loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THREADS: Final = "OPENBLAS_NUM_THREADS"


@contextmanager
def one_thread_each() -> Iterator[None]:
    """What is loaded meanwhile multiplies with one thread, unless the environment says otherwise: a question's matrices
    are done before a second thread wakes. Child processes are told nothing."""
    if THREADS in os.environ:
        yield
        return
    os.environ[THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[THREADS]
