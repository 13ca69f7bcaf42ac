"""Threads for work that nobody waits for: they give way to whoever works at this machine."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Final

NICENESS: Final = 10


def patient_threads(count: int, name: str) -> ThreadPoolExecutor:
    """So many threads at most, of low priority where the system has one for threads."""
    return ThreadPoolExecutor(count, thread_name_prefix=name, initializer=_step_back)


def _step_back() -> None:
    """On Linux a thread has a niceness of its own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
