"""Runner for a command whose output is a terminal.

The command gets a pseudo-terminal with the size and settings of the real one, and its input comes from the keyboard. A
session leader runs between `hunch run` and the command, as a shell would; without it, nothing could stop and continue
the command. The real terminal is in raw mode in the meantime, so that only the pseudo-terminal interprets the keys.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import tty

from hunchd.cli.running.child_process import (
    TERMINATION_SIGNALS,
    block_signals,
    exec_command,
    is_in_foreground,
    send_signal,
    stop_like,
    wait_for_signal,
)
from hunchd.cli.running.light_stdlib import run_in_thread, signal, suppress
from hunchd.cli.running.output_copy import copy_output, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any, Final, NoReturn

    from hunchd.cli.running.output_tail import OutputTail

_REPORT: Final = struct.Struct("=i")  # first the command's process id, then its wait statuses
_NOT_STARTED: Final = 126
_MAX_KEY_BYTES: Final = 4096  # bytes read at once
_FOREGROUND_POLL_SECONDS: Final = 0.1  # seconds between two checks for the foreground


def run_on_terminal(words: Sequence[str], tail: OutputTail, while_running: Callable[[], None]) -> tuple[int, bool]:
    """Run the command, and call `while_running` once it has started.

    Returns the command's wait status, and True if the user or a signal asked the command to end.
    """
    keyboard = _open_keyboard()
    outer, inner = os.openpty()
    with suppress(termios.error, OSError):
        termios.tcsetattr(inner, termios.TCSANOW, termios.tcgetattr(1))
        copy_size(1, inner)
    descriptors = {stream: inner for stream in (0, 1, 2) if os.isatty(stream)}
    reports, report = os.pipe()
    leave, leave_end = os.pipe()
    mask = block_signals()
    leader = os.fork()
    if leader == 0:
        for own_end in (outer, reports, leave_end):
            os.close(own_end)
        _lead_session(words, inner, descriptors, mask, report, leave)
    for leader_end in (inner, report, leave):
        os.close(leader_end)
    try:
        session = _TerminalSession(outer, reports, keyboard)
        return session.run(tail, while_running), session.was_terminated
    finally:
        os.close(leave_end)
        os.waitpid(leader, 0)


class _TerminalSession:
    """Terminal session as `hunch run` sees it: screen, keyboard and signals."""

    def __init__(self, outer: int, reports: int, keyboard: int | None) -> None:
        self._outer = outer
        self._reports = reports
        self._keyboard = keyboard
        self._command = 0
        self._saved_settings: list[Any] | None = None  # settings of the terminal before it was made raw
        self.was_terminated = False

    def run(self, tail: OutputTail, while_running: Callable[[], None]) -> int:
        self._command = self._read_report() or 0
        if not self._command:
            return _NOT_STARTED << 8
        end_marker, end = os.pipe()
        self._make_raw()
        wait_for_output = run_in_thread(copy_output, self._outer, 1, tail.add, end_marker)
        if self._keyboard is not None:
            run_in_thread(self._forward_keys, self._keyboard, end_marker)
        try:
            while_running()
            status = self._wait_for_command()
            os.close(end)
            wait_for_output()
            return status
        finally:
            self._restore_terminal()

    def _wait_for_command(self) -> int:
        while True:
            number, from_terminal = wait_for_signal()
            if number == signal.SIGCHLD:
                while (status := self._read_report()) is not None:
                    if not os.WIFSTOPPED(status):
                        return status
                    self._stop_with_command(os.WSTOPSIG(status))
            elif number == signal.SIGWINCH:
                self._resize()
            elif number == signal.SIGCONT:
                self._continue_command()
            elif number not in (signal.SIGTTIN, signal.SIGTTOU):
                self.was_terminated = self.was_terminated or number in TERMINATION_SIGNALS
                if from_terminal:  # pressed before the terminal was raw: for the whole job
                    with suppress(OSError):
                        os.killpg(self._command, number)
                else:
                    send_signal(self._command, number)

    def _read_report(self) -> int | None:
        """Return the session leader's next report, or None if there is none yet.

        The first report is the command's process id, the others are wait statuses. If the leader was killed,
        SIGKILL is returned as the command's wait status.
        """
        if self._command and not select.select([self._reports], [], [], 0)[0]:
            return None
        record = os.read(self._reports, _REPORT.size)
        if len(record) == _REPORT.size:
            return int(_REPORT.unpack(record)[0])
        return signal.SIGKILL if self._command else None

    def _stop_with_command(self, number: int) -> None:
        self._restore_terminal()
        stop_like(number, whole_job=True)
        self._continue_command()

    def _continue_command(self) -> None:
        self._make_raw()
        self._resize()
        with suppress(OSError):
            os.killpg(self._command, signal.SIGCONT)

    def _resize(self) -> None:
        """Copy the real terminal's size to the pseudo-terminal.

        If the size has changed, the kernel sends SIGWINCH to the command.
        """
        with suppress(OSError):
            copy_size(1, self._outer)

    def _make_raw(self) -> None:
        """Put the real terminal into raw mode.

        Does nothing unless this process belongs to the terminal's foreground job.
        """
        if self._keyboard is None or self._saved_settings is not None or not is_in_foreground(self._keyboard):
            return
        with suppress(termios.error):
            self._saved_settings = termios.tcgetattr(self._keyboard)
            tty.setraw(self._keyboard, termios.TCSADRAIN)

    def _restore_terminal(self) -> None:
        settings, self._saved_settings = self._saved_settings, None
        if settings is not None and self._keyboard is not None:
            with suppress(termios.error):
                termios.tcsetattr(self._keyboard, termios.TCSADRAIN, settings)

    def _is_termination_key(self, keys: bytes) -> bool:
        """Return True if the last of these keys asks the command to end.

        The caller keeps only the result for the keys that were typed last. An editor treats Ctrl-C as an ordinary key,
        and a shell only drops its current line; in both cases the user goes on to type other keys.
        """
        settings = termios.tcgetattr(self._outer)
        termination_keys = (settings[6][termios.VINTR], settings[6][termios.VQUIT])
        return bool(settings[3] & termios.ISIG) and keys[-1:] in termination_keys

    def _forward_keys(self, keyboard: int, end_marker: int) -> None:
        """Forward the keys that the user types to the command.

        Keys are read only while this job is in the foreground.
        """
        while end_marker not in select.select([keyboard, end_marker], [], [])[0]:
            if not is_in_foreground(keyboard):
                select.select([end_marker], [], [], _FOREGROUND_POLL_SECONDS)
                continue
            try:
                keys = os.read(keyboard, _MAX_KEY_BYTES)
                if not keys:
                    return
                self.was_terminated = self._is_termination_key(keys)
                write_all(self._outer, keys)
            except (OSError, termios.error):  # the terminal or the command is gone
                return


def copy_size(source: int, target: int) -> None:
    """Copy the number of rows and columns from one terminal to another."""
    fcntl.ioctl(target, termios.TIOCSWINSZ, fcntl.ioctl(source, termios.TIOCGWINSZ, b"\0" * 8))


def _open_keyboard() -> int | None:
    """Return a descriptor for the user's terminal.

    This works even if standard input is not the terminal. Returns None if there is no terminal.
    """
    if os.isatty(0):
        return 0
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None


def _lead_session(
    words: Sequence[str], terminal: int, descriptors: Mapping[int, int], mask: Collection[int], report: int, leave: int
) -> NoReturn:
    """Run the command as the leader of its own session, and never return.

    The leader starts the command in the foreground, and reports when it stops or ends. FORWARDED_SIGNALS stay blocked
    in the leader, for two reasons: a Ctrl-C before the command runs is not meant for the leader, and only a process in
    which these signals are blocked may choose the terminal's foreground job.
    """
    parent_pid = os.getppid()
    try:
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        command = os.fork()
        if command == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(terminal, os.getpid())
            exec_command(words, mask, descriptors)
        with suppress(OSError):  # the command did both already
            os.setpgid(command, command)
            os.tcsetpgrp(terminal, command)
        os.write(report, _REPORT.pack(command))
        while True:
            _, status = os.waitpid(command, os.WUNTRACED)
            os.write(report, _REPORT.pack(status))
            os.kill(parent_pid, signal.SIGCHLD)
            if not os.WIFSTOPPED(status):
                break
        os.read(leave, 1)  # keep the terminal open until all output has been read
    finally:
        os._exit(0)
