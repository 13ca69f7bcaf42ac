"""`hunch run -- COMMAND`: runs a command transparently.

Passes through exit code, output and terminal, then leaves a spool message.
"""

from __future__ import annotations

import os
import sys
import time

from hunchd.cli.running.quick import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from typing import Final

_OF_SHELLS: Final = 128  # added to the number of the signal that ended a command


def run(arguments: Namespace) -> int:
    words = list(arguments.words)
    return run_command(words[1:] if words[:1] == ["--"] else words)


def run_command(words: Sequence[str]) -> int:
    """Run the command; return its exit code.

    Does not return if a signal ended the command: this process then ends by the same signal.
    """
    if not words:
        from hunchd.cli.errors import WrongUsage

        raise WrongUsage("which command?", hint="hunch run -- pytest -x")
    if os.name != "posix":  # without pseudo-terminals: run it directly, unrecorded
        import subprocess

        return subprocess.call(words)
    from hunchd.cli.running.tail import Tail

    tail, began, at = Tail(), time.monotonic(), time.time()
    if os.isatty(1):
        from hunchd.cli.running.terminal import through_terminal as through
    else:
        from hunchd.cli.running.pipes import through_pipes as through
    status, told_to_end = through(words, tail, _get_ready)
    code = os.waitstatus_to_exitcode(status)
    from hunchd.cli.running.letter import leave_letter

    said = b"" if told_to_end and code >= 0 else tail.kept()
    leave_letter(words, code, said, at=at, seconds=time.monotonic() - began)
    return code if code >= 0 else _ended_by(-code)


def _get_ready() -> None:
    """Import what the message needs while the command runs, rather than after its end."""
    import hunchd.cli.running.letter  # noqa: F401


def _ended_by(number: int) -> int:
    """End by the command's signal, so that the shell reports the same.

    Does not dump core again.
    """
    import resource

    sys.stdout.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return _OF_SHELLS + number
