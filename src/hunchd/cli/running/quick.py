"""Lightweight replacements for heavier modules of the standard library, for a fast start."""

from __future__ import annotations

import _thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:  # without the enumerations of `signal`
    import _signal as signal

__all__ = ["beside", "ignoring", "signal"]


class ignoring:
    """Context manager that suppresses errors, like contextlib.suppress, which takes longer to import."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)


def beside(work: Callable[..., object], *given: object) -> Callable[[], object]:
    """Run `work` in a thread.

    Returns a function that waits for its end.
    """
    ended = _thread.allocate_lock()
    ended.acquire()

    def worked() -> None:
        try:
            work(*given)
        finally:
            ended.release()

    _thread.start_new_thread(worked, ())
    return ended.acquire
