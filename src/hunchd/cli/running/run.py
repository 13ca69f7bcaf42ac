"""`hunch run -- COMMAND`: runs a command as if it had been started directly.

Exit code, output and terminal are passed through; afterwards, a spool message about the command is written.
"""

from __future__ import annotations

import os
import sys
import time

from hunchd.cli.running.light_stdlib import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from typing import Final

_SIGNAL_EXIT_OFFSET: Final = 128  # added to the number of the signal that ended a command


def run(arguments: Namespace) -> int:
    words = list(arguments.words)
    return run_command(words[1:] if words[:1] == ["--"] else words)


def run_command(words: Sequence[str]) -> int:
    """Run the command and return its exit code.

    If a signal ended the command, this function does not return: the same signal ends this process.
    """
    if not words:
        from hunchd.cli.errors import WrongUsage

        raise WrongUsage("the COMMAND is missing.", hint="For example: `hunch run -- pytest -x`")
    if os.name != "posix":  # without pseudo-terminals: run it directly, unrecorded
        import subprocess

        return subprocess.call(words)
    from hunchd.cli.running.output_tail import OutputTail

    tail, started_at, at = OutputTail(), time.monotonic(), time.time()
    if os.isatty(1):
        from hunchd.cli.running.terminal_runner import run_on_terminal as through
    else:
        from hunchd.cli.running.pipe_runner import run_with_pipes as through
    status, was_terminated = through(words, tail, _preload_modules)
    code = os.waitstatus_to_exitcode(status)
    from hunchd.cli.running.spool_message import report_command

    output = b"" if was_terminated and code >= 0 else tail.get_tail()
    report_command(words, code, output, at=at, seconds=time.monotonic() - started_at)
    return code if code >= 0 else _end_by_signal(-code)


def _preload_modules() -> None:
    """Import the modules for the spool message while the command is running.

    This saves time after the command has ended.
    """
    import hunchd.cli.running.spool_message  # noqa: F401


def _end_by_signal(number: int) -> int:
    """End this process with the signal that ended the command.

    The shell then reports that signal. No second core dump is written. Returns the exit code for the signal if the
    process survives it.
    """
    import resource

    sys.stdout.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return _SIGNAL_EXIT_OFFSET + number
