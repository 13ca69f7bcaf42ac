"""Control of the command that `hunch run` runs.

They start the command, forward signals to it, and report when it stops or ends.
"""

from __future__ import annotations

import errno
import os

from hunchd.cli.running.light_stdlib import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Final, NoReturn

# Signals that are meant for the command; SIGCHLD reports the command itself.
FORWARDED_SIGNALS: Final = frozenset(
    {
        *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2),
        *(signal.SIGTSTP, signal.SIGCONT, signal.SIGTTIN, signal.SIGTTOU, signal.SIGWINCH, signal.SIGCHLD),
    }
)
# Signals that ask the command to end.
TERMINATION_SIGNALS: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})
# A terminal sends these to the whole job, so the command has received them already.
_TERMINAL_SIGNALS: Final = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGWINCH})
_SI_KERNEL: Final = 0x80  # si_code of a signal that no process sent
_HANDLED_SIGNALS: Final = frozenset({signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH})
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
# Environment variable that tells the pytest plugin that `hunch run` reports the errors.
RUN_VARIABLE: Final = "HUNCH_RUN"


def block_signals() -> Collection[int]:
    """Block FORWARDED_SIGNALS, so that `wait_for_signal` receives them. Returns the previous signal mask."""
    for number in _HANDLED_SIGNALS:  # an unhandled signal may be discarded instead of blocked
        signal.signal(number, _ignore_signal)
    return signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED_SIGNALS)


def wait_for_signal() -> tuple[int, bool]:
    """Wait for the next signal in FORWARDED_SIGNALS.

    Returns its number, and whether a terminal sent it to the whole job.
    """
    if hasattr(signal, "sigwaitinfo"):
        info = signal.sigwaitinfo(FORWARDED_SIGNALS)
        return info.si_signo, info.si_code == _SI_KERNEL and info.si_signo in _TERMINAL_SIGNALS
    number = signal.sigwait(FORWARDED_SIGNALS)
    return number, number in _TERMINAL_SIGNALS and is_in_foreground(0)


def exec_command(words: Sequence[str], mask: Collection[int], descriptors: Mapping[int, int]) -> NoReturn:
    """Replace the current process, a fork of `hunch run`, with the command.

    `mask` is the signal mask to restore; `descriptors` maps each descriptor of the command to the descriptor in this
    process that is duplicated for it. If the command cannot be executed, the process exits with code 126 or 127.
    """
    code = _NOT_EXECUTABLE
    try:
        for number in (signal.SIGPIPE, getattr(signal, "SIGXFSZ", signal.SIGPIPE)):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        if (
            signal.getsignal(signal.SIGINT) != signal.SIG_IGN
        ):  # otherwise Python would handle a Ctrl-C just before the exec
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        for target, source in descriptors.items():
            os.dup2(source, target)
        os.environ[RUN_VARIABLE] = "1"
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _exec_in_path(list(words))
    except OSError as error:
        code = _NOT_FOUND if error.errno == errno.ENOENT else _NOT_EXECUTABLE
        reason = "command not found" if code == _NOT_FOUND and "/" not in words[0] else error.strerror
        os.write(2, f"hunch: {words[0]}: {reason}\n".encode("utf-8", "surrogateescape"))
    finally:
        os._exit(code)


def _exec_in_path(words: list[str]) -> NoReturn:
    """Search the PATH for the command and execute it, as os.execvp does.

    os.execvp itself is not used, because it imports `warnings` first. A script without a shebang is run with sh.
    """
    last_error: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    folders = [""] if "/" in words[0] else os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        file = words[0] if "/" in words[0] else f"{folder or '.'}/{words[0]}"
        try:
            os.execv(file, words)
        except OSError as error:
            if error.errno == errno.ENOEXEC:
                os.execv("/bin/sh", ["sh", file, *words[1:]])
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                last_error = error
    raise last_error


def stop_like(number: int, *, whole_job: bool) -> None:
    """Stop this process with the signal `number`, which has stopped the command.

    Returns when this process is continued. If `whole_job` is True, the whole job is stopped.
    """
    number = number if number == signal.SIGTSTP else signal.SIGSTOP
    if number == signal.SIGTSTP:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number} - {signal.SIGSTOP})
    os.kill(0 if whole_job else os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_BLOCK, {number} - {signal.SIGSTOP})


def send_signal(process: int, number: int) -> None:
    """Send a signal to a process; do nothing if the process has ended."""
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return


def is_in_foreground(terminal: int) -> bool:
    """Return True if this process belongs to the terminal's foreground job."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False


def wait_for_child(
    child: int, *, forward: Callable[[int, bool], None], on_stop: Callable[[int], None] | None = None
) -> int:
    """Wait until `child` has ended, and return its wait status.

    Each time the child is stopped, `on_stop` is called with the signal that stopped it. All other signals are
    passed to `forward`, with True if a terminal sent them to the whole job.
    """
    while True:
        number, from_terminal = wait_for_signal()
        if number != signal.SIGCHLD:
            forward(number, from_terminal)
            continue
        waited_pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
        if waited_pid == 0:
            continue
        if not os.WIFSTOPPED(status):
            return status
        if on_stop is not None:
            on_stop(os.WSTOPSIG(status))


def _ignore_signal(number: int, frame: object) -> None:
    """Do nothing, because `wait_for_signal` receives the signal instead."""
    del number, frame
