"""Replacements for parts of the standard library that take long to import."""

from __future__ import annotations

import _thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:  # lacks the enumerations that make `signal` slow to import
    import _signal as signal

__all__ = ["run_in_thread", "signal", "suppress"]


class suppress:
    """Context manager that suppresses errors, like contextlib.suppress but faster to import."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)


def run_in_thread(work: Callable[..., object], *arguments: object) -> Callable[[], object]:
    """Run `work` in a thread; return a function that waits until it has ended."""
    end_lock = _thread.allocate_lock()
    end_lock.acquire()

    def run_work() -> None:
        try:
            work(*arguments)
        finally:
            end_lock.release()

    _thread.start_new_thread(run_work, ())
    return end_lock.acquire
