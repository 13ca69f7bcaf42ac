"""Functions that find, start and stop the daemon."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hunchd.cli import http
from hunchd.cli.client import PING_TIMEOUT_SECONDS, Client, check_protocol, is_answering, is_connectable
from hunchd.cli.errors import CommandError, NoDaemon
from hunchd.config.app_paths import AppPaths, ensure_private_folder, get_absolute_home, resolve_app_paths
from hunchd.protocol.rendezvous import Rendezvous, is_process_alive, read_rendezvous

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

START_TIMEOUT_SECONDS: Final = (
    30.0  # seconds for a start: the first one reads 200 MB of libraries, maybe from a slow disk
)
STOP_TIMEOUT_SECONDS: Final = 8.0  # seconds for a stop before it is forced; the daemon takes up to 5
_POLL_INTERVAL_SECONDS: Final = 0.02  # seconds between two checks
# Exit code of a daemon that ends because another one is running.
_ALREADY_RUNNING: Final = 3

DAEMON_COMMAND: Final = (sys.executable, "-m", "hunchd.daemon.main")


def connect(*, start: bool = True) -> Client:
    """Return a client for the running daemon.

    If no daemon is running, one is started, or NoDaemon is raised if `start` is False. NoDaemon is also raised if
    the daemon uses a different version of the protocol.
    """
    daemon = find_running()
    if daemon is None:
        if not start:
            raise NoDaemon("no daemon is running.", hint="Run `hunch start` to start it.")
        daemon = launch_daemon()
    check_protocol(daemon)
    return Client(daemon)


def find_running(paths: AppPaths | None = None) -> Rendezvous | None:
    """Return the address of the running daemon, or None if none is running.

    Raises NoDaemon if there is a daemon, but it does not respond.
    """
    daemon = read_rendezvous((paths or resolve_app_paths()).rendezvous_file)
    if daemon is None or is_answering(daemon):
        return daemon
    # A rendezvous file without a daemon is left over from a crash: the next daemon replaces it.
    if not is_process_alive(daemon.pid) or not is_connectable(daemon):
        return None
    raise NoDaemon(
        f"the daemon (pid {daemon.pid}) is not responding ({PING_TIMEOUT_SECONDS:.0f} s).",
        hint="Run `hunch restart` to replace it.",
    )


def launch_daemon() -> Rendezvous:
    """Start the daemon and wait until it answers.

    If several processes call this at once, one of them starts the daemon and the others wait for it.
    """
    paths = resolve_app_paths()
    for folder in (paths.runtime, paths.state):
        ensure_private_folder(folder)
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    with _start_lock(paths, deadline):
        if (daemon := find_running(paths)) is not None:
            return daemon
        return _wait_until_ready(paths, None if _activate_service(paths, deadline) else _start_process(paths), deadline)


def _start_process(paths: AppPaths) -> subprocess.Popen[bytes]:
    import subprocess  # most commands find a running daemon

    with _open_log(paths) as log:
        return subprocess.Popen(
            DAEMON_COMMAND,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
            env=os.environ | get_absolute_home(),
        )


def _activate_service(paths: AppPaths, deadline: float) -> bool:
    """Let the service manager start the daemon, if it is set up to do so.

    Connecting to the socket makes the service manager start the daemon. Returns False if nobody is listening on the
    socket. Raises NoDaemon if the daemon does not start.
    """
    address = http.Address(str(paths.socket_file), "", 0)
    try:
        http.connect(address, timeout=PING_TIMEOUT_SECONDS).close()
    except OSError:  # nobody listens, or the socket was left behind by a killed daemon
        return False
    try:
        http.send_request(address, "GET", "/health", headers={}, timeout=deadline - time.monotonic()).read_body()
    except OSError as error:
        raise NoDaemon(
            "the service manager could not start the daemon.",
            hint="Run `systemctl --user status hunchd` to see the cause.",
        ) from error
    return True


def _wait_until_ready(paths: AppPaths, process: subprocess.Popen[bytes] | None, deadline: float) -> Rendezvous:
    exit_code: int | None = None
    while time.monotonic() < deadline:
        daemon = read_rendezvous(paths.rendezvous_file)
        if daemon is not None and is_process_alive(daemon.pid) and is_answering(daemon):
            return daemon
        # A daemon that exits because another was faster is no failure: the other one will answer in a moment, unless
        # it was about to end itself.
        if process is not None and (exit_code := process.poll()) is not None:
            if exit_code != _ALREADY_RUNNING:
                break
            if find_lock_holder(paths) is None:
                process = _start_process(paths)
        time.sleep(_POLL_INTERVAL_SECONDS)
    outcome = (
        f"did not answer within {START_TIMEOUT_SECONDS:.0f} s"
        if exit_code in (None, _ALREADY_RUNNING)
        else f"ended with code {exit_code}"
    )
    raise NoDaemon(
        f"the daemon {outcome}.{_read_last_log_line(paths)}",
        hint="Run `hunch doctor` to find the cause, or `hunch logs` for details.",
    )


def stop_process(pid: int) -> None:
    """Stop the daemon and wait until its process has ended.

    If the process does not end when asked to, it is killed. Raises CommandError if the process belongs to another user
    or cannot be stopped.
    """
    for signal_number, timeout in ((signal.SIGTERM, STOP_TIMEOUT_SECONDS), (signal.SIGKILL, 2.0)):
        try:
            os.kill(pid, signal_number)
        except ProcessLookupError:
            return
        except PermissionError as error:
            raise CommandError(f"process {pid} belongs to another user.") from error
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if not is_process_alive(pid) or _is_zombie(pid):
                return
            time.sleep(_POLL_INTERVAL_SECONDS)
    raise CommandError(f"process {pid} cannot be stopped.")


def find_lock_holder(paths: AppPaths | None = None) -> int | None:
    """Return the id of the process that holds the daemon's lock, or None.

    The process is certainly a live daemon, even if it does not answer requests: the kernel maintains the lock, so
    neither a crash nor a reused process id can lead to a wrong result. Where there are no such locks (Windows),
    this returns the id of a daemon that answers.
    """
    if os.name != "posix":
        daemon = read_rendezvous((paths or resolve_app_paths()).rendezvous_file)
        return daemon.pid if daemon is not None and is_answering(daemon) else None
    import fcntl

    try:
        descriptor = os.open(
            (paths or resolve_app_paths()).data / "daemon.lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        )
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        content = os.pread(descriptor, 32, 0).strip()
        return int(content) if content.isdigit() else None
    finally:
        os.close(descriptor)
    return None


def _is_zombie(pid: int) -> bool:
    """Return True if the process has ended but has not been reaped yet."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False


@contextmanager
def _start_lock(paths: AppPaths, deadline: float) -> Iterator[None]:
    """Hold the lock for starting the daemon.

    Only one process at a time can hold it. The kernel releases the lock when its holder ends, so it is never stale.
    """
    if os.name != "posix":
        yield  # the daemon's own lock decides
        return
    import fcntl

    descriptor = os.open(paths.runtime / "start.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise NoDaemon(
                        "another command is still starting the daemon.",
                        hint="Try again; if this persists, run `hunch doctor`.",
                    ) from None
                time.sleep(_POLL_INTERVAL_SECONDS)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _open_log(paths: AppPaths) -> Iterator[int]:
    """Open the log file for the daemon's output.

    The file receives what the process prints before its logging is set up, which states the cause if the process ends
    before that.
    """
    descriptor = os.open(paths.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read_last_log_line(paths: AppPaths) -> str:
    """Return a sentence that quotes the log's last line.

    That line usually states the cause of a failure. Returns "" if there is no such line.
    """
    try:
        lines = paths.log_file.read_bytes()[-4096:].decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((f" Its last log line: {line.strip()}" for line in reversed(lines) if line.strip()), "")
