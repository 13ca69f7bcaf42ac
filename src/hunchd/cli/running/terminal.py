"""Runner for a command at a terminal.

The command gets a pseudo-terminal of the same size and kind, and the keyboard. Between us and the command stands a
session leader, as a shell would: without one nothing could stop and continue the command. Our own terminal is raw
meanwhile, so that each key means to the command what it means there.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import tty

from hunchd.cli.running.child import TO_END, become, in_foreground, next_signal, send, stop_as, watched
from hunchd.cli.running.flow import flow, write
from hunchd.cli.running.quick import beside, ignoring, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any, Final, NoReturn

    from hunchd.cli.running.tail import Tail

_REPORT: Final = struct.Struct("=i")  # first the command's process id, then its wait statuses
_NOT_STARTED: Final = 126
_KEYS: Final = 4096  # bytes read at once
_BACKGROUND: Final = 0.1  # seconds between two checks for the foreground


def through_terminal(words: Sequence[str], tail: Tail, meanwhile: Callable[[], None]) -> tuple[int, bool]:
    """Run the command and `meanwhile`.

    Returns its wait status, and True if somebody told it to end.
    """
    keyboard = _keyboard()
    outer, inner = os.openpty()
    with ignoring(termios.error, OSError):
        termios.tcsetattr(inner, termios.TCSANOW, termios.tcgetattr(1))
        copy_size(1, inner)
    ends = {stream: inner for stream in (0, 1, 2) if os.isatty(stream)}
    reports, report = os.pipe()
    leave, left = os.pipe()
    mask = watched()
    leader = os.fork()
    if leader == 0:
        for mine in (outer, reports, left):
            os.close(mine)
        _lead(words, inner, ends, mask, report, leave)
    for its in (inner, report, leave):
        os.close(its)
    try:
        session = _Session(leader, outer, reports, keyboard)
        return session.run(tail, meanwhile), session.told_to_end
    finally:
        os.close(left)
        os.waitpid(leader, 0)


class _Session:
    """Our side of the session: screen, keyboard, signals."""

    def __init__(self, leader: int, outer: int, reports: int, keyboard: int | None) -> None:
        self._leader = leader
        self._outer = outer
        self._reports = reports
        self._keyboard = keyboard
        self._command = 0
        self._before: list[Any] | None = None  # settings of the terminal before it was made raw
        self.told_to_end = False

    def run(self, tail: Tail, meanwhile: Callable[[], None]) -> int:
        self._command = self._report() or 0
        if not self._command:
            return _NOT_STARTED << 8
        ended, end = os.pipe()
        self._take()
        all_shown = beside(flow, self._outer, 1, tail.add, ended)
        if self._keyboard is not None:
            beside(self._type, self._keyboard, ended)
        try:
            meanwhile()
            status = self._watch_over()
            os.close(end)
            all_shown()
            return status
        finally:
            self._give_back()

    def _watch_over(self) -> int:
        while True:
            number, from_terminal = next_signal()
            if number == signal.SIGCHLD:
                while (status := self._report()) is not None:
                    if not os.WIFSTOPPED(status):
                        return status
                    self._stop(os.WSTOPSIG(status))
            elif number == signal.SIGWINCH:
                self._resize()
            elif number == signal.SIGCONT:
                self._continue()
            elif number not in (signal.SIGTTIN, signal.SIGTTOU):
                self.told_to_end = self.told_to_end or number in TO_END
                if from_terminal:  # pressed before the terminal was raw: for the whole job
                    with ignoring(OSError):
                        os.killpg(self._command, number)
                else:
                    send(self._command, number)

    def _report(self) -> int | None:
        """Return the leader's next report, or None if there is none yet.

        A killed leader reports its own end.
        """
        if self._command and not select.select([self._reports], [], [], 0)[0]:
            return None
        told = os.read(self._reports, _REPORT.size)
        if len(told) == _REPORT.size:
            return int(_REPORT.unpack(told)[0])
        return signal.SIGKILL if self._command else None

    def _stop(self, number: int) -> None:
        self._give_back()
        stop_as(number, whole_job=True)
        self._continue()

    def _continue(self) -> None:
        self._take()
        self._resize()
        with ignoring(OSError):
            os.killpg(self._command, signal.SIGCONT)

    def _resize(self) -> None:
        """Copy the size; the kernel sends the command SIGWINCH if it changed."""
        with ignoring(OSError):
            copy_size(1, self._outer)

    def _take(self) -> None:
        """Make our terminal raw, if this job is in its foreground."""
        if self._keyboard is None or self._before is not None or not in_foreground(self._keyboard):
            return
        with ignoring(termios.error):
            self._before = termios.tcgetattr(self._keyboard)
            tty.setraw(self._keyboard, termios.TCSADRAIN)

    def _give_back(self) -> None:
        before, self._before = self._before, None
        if before is not None and self._keyboard is not None:
            with ignoring(termios.error):
                termios.tcsetattr(self._keyboard, termios.TCSADRAIN, before)

    def _ends(self, keys: bytes) -> bool:
        """Return True if these keys tell the command to end.

        Only if no others follow: an editor takes Ctrl-C as a key like any other, and a shell only drops its current
        line.
        """
        settings = termios.tcgetattr(self._outer)
        signs = (settings[6][termios.VINTR], settings[6][termios.VQUIT])
        return bool(settings[3] & termios.ISIG) and keys[-1:] in signs

    def _type(self, keyboard: int, ended: int) -> None:
        """Forward typed keys to the command while our job is in the foreground."""
        while ended not in select.select([keyboard, ended], [], [])[0]:
            if not in_foreground(keyboard):
                select.select([ended], [], [], _BACKGROUND)
                continue
            try:
                keys = os.read(keyboard, _KEYS)
                if not keys:
                    return
                self.told_to_end = self._ends(keys)
                write(self._outer, keys)
            except (OSError, termios.error):  # the terminal or the command is gone
                return


def copy_size(source: int, target: int) -> None:
    """Copy the rows and columns of a terminal to another."""
    fcntl.ioctl(target, termios.TIOCSWINSZ, fcntl.ioctl(source, termios.TIOCGWINSZ, b"\0" * 8))


def _keyboard() -> int | None:
    """Return the terminal that keys come from, whatever standard input is."""
    if os.isatty(0):
        return 0
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None


def _lead(
    words: Sequence[str], terminal: int, ends: Mapping[int, int], mask: Collection[int], report: int, leave: int
) -> NoReturn:
    """Lead the command's session.

    Starts it in the foreground, and reports its stops and its end. WATCHED stay blocked here: a Ctrl-C before the
    command
    runs is not for the leader, and the terminal lets the leader choose its foreground job.
    """
    us = os.getppid()
    try:
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        command = os.fork()
        if command == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(terminal, os.getpid())
            become(words, mask, ends)
        with ignoring(OSError):  # the command did both already
            os.setpgid(command, command)
            os.tcsetpgrp(terminal, command)
        os.write(report, _REPORT.pack(command))
        while True:
            _, status = os.waitpid(command, os.WUNTRACED)
            os.write(report, _REPORT.pack(status))
            os.kill(us, signal.SIGCHLD)
            if not os.WIFSTOPPED(status):
                break
        os.read(leave, 1)  # keep the terminal open until all output has been read
    finally:
        os._exit(0)
