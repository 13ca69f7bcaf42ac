"""Checks that `hunch doctor` runs on the daemon's environment.

They cover parent folders, the port, locks, problems that the daemon reports, the spool, git hooks and the service.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hunchd.cli.checks import Check
from hunchd.cli.client import Client, is_answering
from hunchd.cli.daemon_control import find_lock_holder
from hunchd.cli.errors import CommandError
from hunchd.config.app_paths import AppPaths
from hunchd.config.loading import load_settings
from hunchd.domain.errors import ConfigError
from hunchd.domain.team_address import CREDENTIALS_FILE
from hunchd.protocol.rendezvous import read_rendezvous

_MAX_SPOOL_BYTES: Final = 1_000_000  # bytes: thousands of unread signals


def run_environment_checks(paths: AppPaths) -> Iterator[Check]:
    """Run all checks on the daemon's environment; yield their results."""
    yield from check_parent_folders(paths)
    yield from check_port(paths)
    yield from check_locks(paths)
    yield from check_degraded(paths)
    yield from check_team_credentials(paths)
    yield from check_spool(paths)
    yield from check_hooks(paths)
    yield from check_service(paths)


def check_parent_folders(paths: AppPaths) -> Iterator[Check]:
    """Check that no other user can replace the daemon's folders."""
    if os.name != "posix":
        return
    for folder in dict.fromkeys(_nearest_existing(place.parent) for place in (paths.data, paths.state, paths.runtime)):
        status = folder.stat()
        advice = f"Run `sudo chown $USER {folder}`, or set HUNCHD_HOME to a folder of your own."
        if status.st_uid not in (0, os.getuid()):
            finding = f"{folder} belongs to user {status.st_uid}, who could replace what is in it"
            yield Check("folders", "bad", finding, advice)
        elif status.st_mode & 0o002 and not status.st_mode & stat.S_ISVTX:
            mode = stat.S_IMODE(status.st_mode) & ~0o002
            fix = lambda folder=folder, mode=mode: folder.chmod(mode)  # noqa: E731 - a deferred call, nothing more
            yield Check("folders", "bad", f"anybody can write to {folder}", f"chmod o-w {folder}", fix)
        elif not os.access(folder, os.W_OK | os.X_OK):
            yield Check("folders", "bad", f"no file can be created in {folder}", advice)


def _nearest_existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())


def check_port(paths: AppPaths) -> Iterator[Check]:
    """Check that the port in the settings is free.

    If the settings leave the choice of a port to the system, there is nothing to check, because it always finds a free
    one.
    """
    try:
        serving = load_settings(paths.config_file).serving
    except ConfigError:  # `check_settings` reports it
        return
    if serving.port == 0:
        yield Check("port", "ok", "the system chooses a free one")
        return
    if find_lock_holder(paths) is not None:
        yield Check("port", "ok", f"{serving.port}, as set in the settings")
        return
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as test_socket:
        test_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            test_socket.bind((serving.host, serving.port))
        except OSError as error:
            is_taken = error.errno == errno.EADDRINUSE
            problem = "is in use by another program" if is_taken else f"cannot be used: {error.strerror}"
            advice = f"Set [serving] port = 0 in {paths.config_file}: clients find the daemon in any case."
            yield Check("port", "bad", f"{serving.port} {problem}", advice)
        else:
            yield Check("port", "ok", f"{serving.port} is free")


def check_locks(paths: AppPaths) -> Iterator[Check]:
    """Check for a process that holds a lock but cannot be reached.

    The kernel releases the locks of processes that have ended, so these need no check.
    """
    pid = find_lock_holder(paths)
    rendezvous = read_rendezvous(paths.rendezvous_file)
    if pid is not None and (rendezvous is None or rendezvous.pid != pid):
        finding = f"pid {pid} holds the daemon's lock, but no client can find it"
        yield Check("locks", "bad", finding, "It may be starting; if this persists, run `hunch restart`.")
    elif _is_locked(paths.runtime / "start.lock"):
        yield Check("locks", "note", "a command is starting the daemon", "Check again in ten seconds.")
    else:
        yield Check("locks", "ok", "none is held by an unresponsive process")


def _is_locked(file: Path) -> bool:
    if os.name != "posix":
        return False
    import fcntl

    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def check_degraded(paths: AppPaths) -> Iterator[Check]:
    """Report the problems that the running daemon lists in its status."""
    rendezvous = read_rendezvous(paths.rendezvous_file)
    if rendezvous is None or not is_answering(rendezvous):
        return
    try:
        status = Client(rendezvous, timeout=10.0).get("/status")
    except CommandError as error:
        yield Check("status", "bad", f"the daemon does not report its status: {error.message}", "hunch logs")
        return
    for problem in status.get("degraded") or ():
        yield Check("status", "note", str(problem), "Run `hunch status` for details, or `hunch logs` for the cause.")
    for project in status.get("projects") or ():
        if project.get("state") == "missing":
            advice = f"If it was deleted for good, run `hunch remove {project['id']}`."
            yield Check("status", "note", f"{project['path']} does not exist", advice)
        team = project.get("team") or {}
        if team.get("failure"):
            advice = "Nothing is lost meanwhile; run `hunch team status` in the project to see what waits."
            yield Check("team", "note", f"{project['path']}: {team['state']}: {team['failure']}", advice)
        elif team:
            yield Check("team", "ok", f"{project['path']}: {team['state']}")


def check_team_credentials(paths: AppPaths) -> Iterator[Check]:
    """Name the file with the credentials of teams' object stores, and check that it is private."""
    file = paths.config / CREDENTIALS_FILE
    if not file.exists():
        yield Check("team", "ok", f"no credentials in a file ({file} does not exist)")
    elif os.name == "posix" and file.stat().st_mode & 0o077:
        yield Check("team", "bad", f"other users can read {file}", f"chmod 600 {file}", lambda: file.chmod(0o600))
    else:
        yield Check("team", "ok", f"credentials in {file}")


def check_spool(paths: AppPaths) -> Iterator[Check]:
    """Check for spool messages that are invalid or that nobody has read yet."""
    invalid = _list_entries(paths.spool / "aside")
    if invalid:
        finding = f"{len(invalid)} invalid messages from hooks are in {paths.spool / 'aside'}"
        yield Check("spool", "note", finding, "Inspect them, then delete them.")
    pending_bytes = sum(
        file.stat().st_size for file in (paths.spool / "lines", *_list_entries(paths.spool / "new")) if file.exists()
    )
    if pending_bytes > _MAX_SPOOL_BYTES:
        yield Check(
            "spool",
            "note",
            f"{pending_bytes / 1e6:.1f} MB of messages from hooks and shells are waiting for the daemon",
            "hunch start",
        )


def _list_entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def check_hooks(paths: AppPaths) -> Iterator[Check]:
    """Check for git hooks that were changed or removed after they were installed."""
    from hunchd.cli.hook_files import find_hooks_folder, list_hooks
    from hunchd.cli.hooks import load_records

    for record in load_records(paths).values():
        root = Path(record["root"])
        if not root.is_dir():
            continue
        try:
            states = {hook.event: hook.state for hook in list_hooks(find_hooks_folder(root), paths)}
        except CommandError as error:
            yield Check("hooks", "note", error.message, error.hint or "")
            continue
        missing = [event for event, state in states.items() if state not in ("installed", "tracked")]
        if missing:
            advice = f"Another tool has rewritten them. Run `hunch hooks install {root}`."
            yield Check("hooks", "note", f"{root}: {', '.join(missing)} no longer report to hunchd", advice)
        else:
            yield Check("hooks", "ok", f"installed in {root}")


def check_service(paths: AppPaths) -> Iterator[Check]:
    from hunchd.cli.service import UNITS, build_service_files, find_installed_manager, get_service_state

    manager = find_installed_manager(paths)
    if manager is None:
        return
    report = get_service_state(manager, build_service_files(manager, paths, os.environ))
    failed_units = [unit for unit in UNITS if report.get(unit, {}).get("active") == "failed"]
    if failed_units:
        advice = "Run `systemctl --user status hunchd` to see the cause, then `hunch service install`."
        yield Check("service", "bad", f"{', '.join(failed_units)} failed", advice)
    elif not report["up_to_date"]:
        yield Check("service", "note", f"{manager} starts another installation of hunchd", "hunch service install")
    else:
        yield Check("service", "ok", f"installed with {manager}")
