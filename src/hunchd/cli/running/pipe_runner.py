"""Runner for a command whose standard output is not a terminal.

Standard output and standard error are copied separately, each in the order in which it was written. The command
stays in the job of `hunch run`, so it receives the terminal's signals directly.
"""

from __future__ import annotations

import fcntl
import os

from hunchd.cli.running.child_process import (
    TERMINATION_SIGNALS,
    block_signals,
    exec_command,
    send_signal,
    stop_like,
    wait_for_child,
)
from hunchd.cli.running.light_stdlib import run_in_thread, signal, suppress
from hunchd.cli.running.output_copy import PIECE_BYTES, copy_output, read_piece, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Final

    from hunchd.cli.running.output_tail import OutputTail

_OUT, _ERR = 1, 2
_FIRST_FREE: Final = 3  # lower numbers are the standard streams, which may be closed


def run_with_pipes(words: Sequence[str], tail: OutputTail, while_running: Callable[[], None]) -> tuple[int, bool]:
    """Run the command, and call `while_running` once it has started.

    Returns the command's wait status, and True if `hunch run` received a signal that asks the command to end.
    """
    channels = _create_channels()
    mask = block_signals()
    child = os.fork()
    if child == 0:
        exec_command(
            words, mask, {its: channels[our_stream][1] for its, our_stream in _route_streams(channels).items()}
        )
    for _, inner in channels.values():
        os.close(inner)
    end_marker, end = os.pipe()
    still_open: list[int] = []
    copies = [
        run_in_thread(_copy_channel, target, source, tail, end_marker, still_open)
        for target, (source, _) in channels.items()
    ]
    while_running()

    termination_signals: list[int] = []

    def forward(number: int, from_terminal: bool) -> None:
        termination_signals.extend({number} & TERMINATION_SIGNALS)
        if not from_terminal:
            send_signal(child, number)

    def on_stop(number: int) -> None:
        stop_like(number, whole_job=False)
        send_signal(child, signal.SIGCONT)

    status = wait_for_child(child, forward=forward, on_stop=on_stop)
    os.close(end)
    for wait_for_copy in copies:
        wait_for_copy()
    if still_open:
        _fork_forwarder({channels[target][0]: target for target in still_open})
    return status, bool(termination_signals)


def _create_channels() -> dict[int, tuple[int, int]]:
    """Create the pipes or pseudo-terminals for the command's output.

    Returns the read end and the command's write end for each output stream that is open in this process. If both
    streams have the same destination, they share the channel of standard output.
    """
    open_streams = [stream for stream in (_OUT, _ERR) if _is_open(stream)]
    if open_streams == [_OUT, _ERR] and os.path.sameopenfile(_OUT, _ERR):
        open_streams = [_OUT]
    return {stream: _create_pty(stream) if os.isatty(stream) else _create_pipe() for stream in open_streams}


def _route_streams(channels: Mapping[int, object]) -> dict[int, int]:
    """Map each output stream of the command to the channel that it uses.

    A channel is identified by the number of this process's stream.
    """
    shares_channel = _OUT in channels and _ERR not in channels and _is_open(_ERR)
    return {stream: stream for stream in channels} | ({_ERR: _OUT} if shares_channel else {})


def _copy_channel(target: int, source: int, tail: OutputTail, end_marker: int, still_open: list[int]) -> None:
    if copy_output(source, target, tail.add, end_marker):
        os.close(source)
    else:
        still_open.append(target)


def _fork_forwarder(sources: Mapping[int, int]) -> None:
    """Fork a process that forwards the output of the command's background processes.

    The forked process runs until they have ended.
    """
    if os.fork() != 0:
        return
    try:
        os.setsid()
        copies = [run_in_thread(_forward_output, source, target) for source, target in sources.items()]
        for wait_for_copy in copies:
            wait_for_copy()
    finally:
        os._exit(0)


def _forward_output(source: int, target: int) -> None:
    with suppress(OSError):
        while piece := read_piece(source):
            write_all(target, piece)
    os.close(source)


def _create_pipe() -> tuple[int, int]:
    read_end, write_end = os.pipe()
    with suppress(AttributeError, OSError):  # a larger pipe means fewer context switches for large outputs
        fcntl.fcntl(read_end, fcntl.F_SETPIPE_SZ, PIECE_BYTES)
    return _move_above_standard(read_end), _move_above_standard(write_end)


def _create_pty(stream: int) -> tuple[int, int]:
    """Create a pseudo-terminal for one output stream.

    Because the command writes to a terminal, it keeps its colours. The pseudo-terminal is raw, so that only the
    real terminal processes the output.
    """
    outer, inner = os.openpty()
    import tty

    tty.setraw(inner)
    with suppress(OSError):
        from hunchd.cli.running.terminal_runner import copy_size

        copy_size(stream, inner)
    return _move_above_standard(outer), _move_above_standard(inner)


def _move_above_standard(end: int) -> int:
    """Move a descriptor above the numbers of the standard streams; return its new number."""
    if end >= _FIRST_FREE:
        return end
    new_descriptor = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
    os.close(end)
    return new_descriptor


def _is_open(stream: int) -> bool:
    try:
        os.fstat(stream)
    except OSError:
        return False
    return True
