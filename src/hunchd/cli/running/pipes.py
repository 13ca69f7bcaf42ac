"""Runner for a command whose output goes to files and pipes.

Each stream is copied separately, in the order written. The command stays in our job: it receives a terminal's signals
directly.
"""

from __future__ import annotations

import fcntl
import os

from hunchd.cli.running.child import TO_END, become, send, stop_as, watch_over, watched
from hunchd.cli.running.flow import PIECE, flow, read, write
from hunchd.cli.running.quick import beside, ignoring, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Final

    from hunchd.cli.running.tail import Tail

_OUT, _ERR = 1, 2
_FIRST_FREE: Final = 3  # lower numbers are the standard streams, which may be closed


def through_pipes(words: Sequence[str], tail: Tail, meanwhile: Callable[[], None]) -> tuple[int, bool]:
    """Run the command and `meanwhile`.

    Returns its wait status, and True if somebody told it to end.
    """
    channels = _channels()
    mask = watched()
    child = os.fork()
    if child == 0:
        become(words, mask, {its: channels[ours][1] for its, ours in _routes(channels).items()})
    for _, inner in channels.values():
        os.close(inner)
    ended, end = os.pipe()
    open_still: list[int] = []
    flows = [beside(_flow, target, source, tail, ended, open_still) for target, (source, _) in channels.items()]
    meanwhile()

    told: list[int] = []

    def forward(number: int, from_terminal: bool) -> None:
        told.extend({number} & TO_END)
        if not from_terminal:
            send(child, number)

    def stopped(number: int) -> None:
        stop_as(number, whole_job=False)
        send(child, signal.SIGCONT)

    status = watch_over(child, forward=forward, stopped=stopped)
    os.close(end)
    for all_read in flows:
        all_read()
    if open_still:
        _stay_behind({channels[target][0]: target for target in open_still})
    return status, bool(told)


def _channels() -> dict[int, tuple[int, int]]:
    """Map each of our streams to (our read end, the command's write end).

    Two streams with the same destination share a channel.
    """
    wanted = [stream for stream in (_OUT, _ERR) if _is_open(stream)]
    if wanted == [_OUT, _ERR] and os.path.sameopenfile(_OUT, _ERR):
        wanted = [_OUT]
    return {stream: _terminal_like(stream) if os.isatty(stream) else _pipe() for stream in wanted}


def _routes(channels: Mapping[int, object]) -> dict[int, int]:
    """Map each stream of the command to its channel."""
    both = _OUT in channels and _ERR not in channels and _is_open(_ERR)
    return {stream: stream for stream in channels} | ({_ERR: _OUT} if both else {})


def _flow(target: int, source: int, tail: Tail, ended: int, open_still: list[int]) -> None:
    if flow(source, target, tail.add, ended):
        os.close(source)
    else:
        open_still.append(target)


def _stay_behind(sources: Mapping[int, int]) -> None:
    """Fork a process that passes on the output of background processes until they end."""
    if os.fork() != 0:
        return
    try:
        os.setsid()
        rest = [beside(_pass_on, source, target) for source, target in sources.items()]
        for passed_on in rest:
            passed_on()
    finally:
        os._exit(0)


def _pass_on(source: int, target: int) -> None:
    with ignoring(OSError):
        while piece := read(source):
            write(target, piece)
    os.close(source)


def _pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    with ignoring(AttributeError, OSError):  # fewer switches for large outputs
        fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, PIECE)
    return _above_standard(reading), _above_standard(writing)


def _terminal_like(stream: int) -> tuple[int, int]:
    """Create a pseudo-terminal for output only.

    Colours stay; the real terminal does the rest.
    """
    outer, inner = os.openpty()
    import tty

    tty.setraw(inner)
    with ignoring(OSError):
        from hunchd.cli.running.terminal import copy_size

        copy_size(stream, inner)
    return _above_standard(outer), _above_standard(inner)


def _above_standard(end: int) -> int:
    """Move a descriptor above the numbers of the standard streams."""
    if end >= _FIRST_FREE:
        return end
    moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
    os.close(end)
    return moved


def _is_open(stream: int) -> bool:
    try:
        os.fstat(stream)
    except OSError:
        return False
    return True
