"""Child process of `hunch run`.

Starts the command, forwards signals, reports its stops and its end.
"""

from __future__ import annotations

import errno
import os

from hunchd.cli.running.quick import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Final, NoReturn

# Signals that are meant for the command; SIGCHLD reports the command itself.
WATCHED: Final = frozenset(
    {
        *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2),
        *(signal.SIGTSTP, signal.SIGCONT, signal.SIGTTIN, signal.SIGTTOU, signal.SIGWINCH, signal.SIGCHLD),
    }
)
# Signals that ask the command to end.
TO_END: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})
# A terminal sends these to the whole job, so the command has received them already.
_FROM_TERMINAL: Final = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGWINCH})
_BY_KERNEL: Final = 0x80  # si_code of a signal that no process sent
_RESTARTED: Final = frozenset({signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH})
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
# Environment variable that tells the pytest plugin that errors are reported already.
KNOWN: Final = "HUNCH_RUN"


def watched() -> Collection[int]:
    """Block WATCHED for `next_signal`; return the previous signal mask."""
    for number in _RESTARTED:  # an unhandled signal may be discarded instead of blocked
        signal.signal(number, _noted)
    return signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)


def next_signal() -> tuple[int, bool]:
    """Wait for the next of WATCHED.

    Returns it, and True if a terminal sent it to the whole job.
    """
    if hasattr(signal, "sigwaitinfo"):
        told = signal.sigwaitinfo(WATCHED)
        return told.si_signo, told.si_code == _BY_KERNEL and told.si_signo in _FROM_TERMINAL
    number = signal.sigwait(WATCHED)
    return number, number in _FROM_TERMINAL and in_foreground(0)


def become(words: Sequence[str], mask: Collection[int], ends: Mapping[int, int]) -> NoReturn:
    """Replace a forked process by the command.

    `ends` maps its descriptors to ours.
    """
    code = _NOT_EXECUTABLE
    try:
        for number in (signal.SIGPIPE, getattr(signal, "SIGXFSZ", signal.SIGPIPE)):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        if (
            signal.getsignal(signal.SIGINT) != signal.SIG_IGN
        ):  # otherwise Python would handle a Ctrl-C just before the exec
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        for its, ours in ends.items():
            os.dup2(ours, its)
        os.environ[KNOWN] = "1"
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _turn_into(list(words))
    except OSError as error:
        code = _NOT_FOUND if error.errno == errno.ENOENT else _NOT_EXECUTABLE
        reason = "command not found" if code == _NOT_FOUND and "/" not in words[0] else error.strerror
        os.write(2, f"hunch: {words[0]}: {reason}\n".encode("utf-8", "surrogateescape"))
    finally:
        os._exit(code)


def _turn_into(words: list[str]) -> NoReturn:
    """Do what os.execvp does, which imports `warnings` first.

    Run a script without a shebang with sh.
    """
    trouble: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    folders = [""] if "/" in words[0] else os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        file = words[0] if "/" in words[0] else f"{folder or '.'}/{words[0]}"
        try:
            os.execv(file, words)
        except OSError as error:
            if error.errno == errno.ENOEXEC:
                os.execv("/bin/sh", ["sh", file, *words[1:]])
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                trouble = error
    raise trouble


def stop_as(number: int, *, whole_job: bool) -> None:
    """Stop this process like the command, until it is continued."""
    number = number if number == signal.SIGTSTP else signal.SIGSTOP
    if number == signal.SIGTSTP:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number} - {signal.SIGSTOP})
    os.kill(0 if whole_job else os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_BLOCK, {number} - {signal.SIGSTOP})


def send(process: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return


def in_foreground(terminal: int) -> bool:
    """Return True if this job is the terminal's foreground job."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False


def watch_over(
    child: int, *, forward: Callable[[int, bool], None], stopped: Callable[[int], None] | None = None
) -> int:
    """Wait until `child` has ended; return its wait status.

    Other signals are passed to `forward`, its stops to `stopped`.
    """
    while True:
        number, from_terminal = next_signal()
        if number != signal.SIGCHLD:
            forward(number, from_terminal)
            continue
        found, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
        if found == 0:
            continue
        if not os.WIFSTOPPED(status):
            return status
        if stopped is not None:
            stopped(os.WSTOPSIG(status))


def _noted(number: int, frame: object) -> None:
    """Ignore the signal here; `next_signal` receives it."""
    del number, frame
