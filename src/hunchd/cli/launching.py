"""Lifecycle of the daemon: finds it, starts it if there is none, stops it."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hunchd.cli import http
from hunchd.cli.client import PING, Client, answers, check_protocol, is_connectable
from hunchd.cli.errors import CommandError, NoDaemon
from hunchd.config.places import Places, absolute_home, make_private, places
from hunchd.protocol.rendezvous import Rendezvous, is_alive, read

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

READY: Final = 30.0  # seconds for a start: the first one reads 200 MB of libraries, maybe from a slow disk
GRACEFUL: Final = 8.0  # seconds for a stop before it is forced; the daemon takes up to 5
_PAUSE: Final = 0.02  # seconds between two checks
# The daemon's exit code for "another one runs".
_ALREADY: Final = 3

DAEMON: Final = (sys.executable, "-m", "hunchd.daemon.main")


def connect(*, start: bool = True) -> Client:
    """Return a client of the running daemon.

    Start one first if there is none and `start` allows it.
    """
    daemon = running()
    if daemon is None:
        if not start:
            raise NoDaemon("no daemon is running.", hint="hunch start starts it.")
        daemon = launch()
    check_protocol(daemon)
    return Client(daemon)


def running(where: Places | None = None) -> Rendezvous | None:
    """Return the running daemon, or None if there is none.

    Raises NoDaemon if it hangs.
    """
    daemon = read((where or places()).rendezvous_file)
    if daemon is None or answers(daemon):
        return daemon
    # A rendezvous file without a daemon is left over from a crash: the next daemon replaces it.
    if not is_alive(daemon.pid) or not is_connectable(daemon):
        return None
    raise NoDaemon(
        f"the daemon (pid {daemon.pid}) is not responding ({PING:.0f} s).", hint="hunch restart replaces it."
    )


def launch() -> Rendezvous:
    """Start a daemon and wait until it answers.

    Of several callers one starts it, the others wait.
    """
    where = places()
    for folder in (where.runtime, where.state):
        make_private(folder)
    deadline = time.monotonic() + READY
    with _turn(where, deadline):
        if (daemon := running(where)) is not None:
            return daemon
        return _until_ready(where, None if _activated(where, deadline) else _started(where), deadline)


def _started(where: Places) -> subprocess.Popen[bytes]:
    import subprocess  # most commands find a running daemon

    with _log_end(where) as log:
        return subprocess.Popen(
            DAEMON,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
            env=os.environ | absolute_home(),
        )


def _activated(where: Places, deadline: float) -> bool:
    """Return True if the service manager listens for the daemon.

    The connection makes it start the daemon.
    """
    address = http.Address(str(where.socket_file), "", 0)
    try:
        http.connect(address, timeout=PING).close()
    except OSError:  # nobody listens, or the socket of a killed daemon
        return False
    try:
        http.request(address, "GET", "/health", headers={}, timeout=deadline - time.monotonic()).read()
    except OSError as error:
        raise NoDaemon(
            "the service manager could not start the daemon.", hint="systemctl --user status hunchd shows the cause."
        ) from error
    return True


def _until_ready(where: Places, process: subprocess.Popen[bytes] | None, deadline: float) -> Rendezvous:
    ended: int | None = None
    while time.monotonic() < deadline:
        daemon = read(where.rendezvous_file)
        if daemon is not None and is_alive(daemon.pid) and answers(daemon):
            return daemon
        # A daemon that exits because another was faster is no failure: the other one will answer in a moment, unless
        # it was about to end itself.
        if process is not None and (ended := process.poll()) is not None:
            if ended != _ALREADY:
                break
            if holder(where) is None:
                process = _started(where)
        time.sleep(_PAUSE)
    what = f"did not answer within {READY:.0f} s" if ended in (None, _ALREADY) else f"ended with code {ended}"
    raise NoDaemon(
        f"the daemon {what}.{_last_words(where)}", hint="hunch doctor looks for the cause; hunch logs shows details."
    )


def end(pid: int) -> None:
    """Stop the daemon, by force if needed.

    Returns when the process is gone.
    """
    for request, patience in ((signal.SIGTERM, GRACEFUL), (signal.SIGKILL, 2.0)):
        try:
            os.kill(pid, request)
        except ProcessLookupError:
            return
        except PermissionError as error:
            raise CommandError(f"process {pid} belongs to another user.") from error
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if not is_alive(pid) or _is_zombie(pid):
                return
            time.sleep(_PAUSE)
    raise CommandError(f"process {pid} cannot be stopped.")


def holder(where: Places | None = None) -> int | None:
    """Return the process that holds the daemon's lock.

    It is certainly a live daemon, even if it does not answer. The kernel keeps the lock, so neither a crash nor a
    reused
    process id can mislead us.
    """
    if os.name != "posix":
        daemon = read((where or places()).rendezvous_file)
        return daemon.pid if daemon is not None and answers(daemon) else None
    import fcntl

    try:
        descriptor = os.open((where or places()).data / "daemon.lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        told = os.pread(descriptor, 32, 0).strip()
        return int(told) if told.isdigit() else None
    finally:
        os.close(descriptor)
    return None


def _is_zombie(pid: int) -> bool:
    """Return True if the process has ended, but its parent has not noticed yet."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False


@contextmanager
def _turn(where: Places, deadline: float) -> Iterator[None]:
    """Let one process at a time start the daemon.

    The kernel's lock ends with its holder, so it is never stale.
    """
    if os.name != "posix":
        yield  # the daemon's own lock decides
        return
    import fcntl

    descriptor = os.open(where.runtime / "start.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise NoDaemon("another command has been starting the daemon for too long.") from None
                time.sleep(_PAUSE)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _log_end(where: Places) -> Iterator[int]:
    """Open the log file for a process's output.

    That is what it prints before, or instead of, its own logging.
    """
    descriptor = os.open(where.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _last_words(where: Places) -> str:
    """Return the log's last line, which usually states the cause."""
    try:
        lines = where.log_file.read_bytes()[-4096:].decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((f" Its last log line: {line.strip()}" for line in reversed(lines) if line.strip()), "")
