"""Low-priority threads for background work, so that the user's own programs come first."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Final

NICENESS: Final = 10


def create_low_priority_pool(count: int, name: str) -> ThreadPoolExecutor:
    """Return a pool of at most `count` low-priority threads.

    On systems without per-thread priorities, the threads run at normal priority.
    """
    return ThreadPoolExecutor(count, thread_name_prefix=name, initializer=_lower_thread_priority)


def _lower_thread_priority() -> None:
    """Lower the priority of the calling thread.

    This has an effect only on Linux, where each thread has its own niceness.
    """
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
