"""What a command must not wait for: the standard library's heavier modules, done without on the way to its start."""

from __future__ import annotations

import _thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:  # without the enumerations that `signal` wraps around it
    import _signal as signal

__all__ = ["beside", "ignoring", "signal"]


class ignoring:
    """These errors are none here: what contextlib.suppress does, which takes longer to load than to use."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)


def beside(work: Callable[..., object], *given: object) -> Callable[[], object]:
    """Do `work` with what is given on a thread of its own; what is returned waits for its end."""
    ended = _thread.allocate_lock()
    ended.acquire()

    def worked() -> None:
        try:
            work(*given)
        finally:
            ended.release()

    _thread.start_new_thread(worked, ())
    return ended.acquire
