"""Checks of `hunch doctor` on the environment.

Covers parent folders, port, locks, spool, hooks and service.
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
from hunchd.cli.client import Client, answers
from hunchd.cli.errors import CommandError
from hunchd.cli.launching import holder
from hunchd.config.loading import load
from hunchd.config.places import Places
from hunchd.domain.errors import ConfigError
from hunchd.protocol.rendezvous import read

_MANY_LETTERS: Final = 1_000_000  # bytes: thousands of unread signals


def surroundings(where: Places) -> Iterator[Check]:
    """Run all checks on the environment."""
    yield from above(where)
    yield from port(where)
    yield from locks(where)
    yield from degraded(where)
    yield from letters(where)
    yield from hooks(where)
    yield from service(where)


def above(where: Places) -> Iterator[Check]:
    """Check that nobody else can replace the daemon's folders."""
    if os.name != "posix":
        return
    for folder in dict.fromkeys(_existing(place.parent) for place in (where.data, where.state, where.runtime)):
        found = folder.stat()
        to_be_ours = f"sudo chown $USER {folder}, or point HUNCHD_HOME to a folder of yours"
        if found.st_uid not in (0, os.getuid()):
            finding = f"{folder} belongs to user {found.st_uid}, who could replace what is in it"
            yield Check("folders", "bad", finding, to_be_ours)
        elif found.st_mode & 0o002 and not found.st_mode & stat.S_ISVTX:
            mode = stat.S_IMODE(found.st_mode) & ~0o002
            mend = lambda folder=folder, mode=mode: folder.chmod(mode)  # noqa: E731 - a deferred call, nothing more
            yield Check("folders", "bad", f"{folder} can be written by everybody", f"chmod o-w {folder}", mend)
        elif not os.access(folder, os.W_OK | os.X_OK):
            yield Check("folders", "bad", f"no file can be created in {folder}", to_be_ours)


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())


def port(where: Places) -> Iterator[Check]:
    """Check that a fixed port is free.

    One that the system chooses always is.
    """
    try:
        serving = load(where.config_file).serving
    except ConfigError:  # reported by the check of the settings
        return
    if serving.port == 0:
        yield Check("port", "ok", "the system chooses a free one")
        return
    if holder(where) is not None:
        yield Check("port", "ok", f"{serving.port}, as the settings say")
        return
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((serving.host, serving.port))
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            why = "is taken by another program" if taken else f"cannot be used: {error.strerror}"
            advice = f"Set [serving] port = 0 in {where.config_file}: clients find the daemon in any case."
            yield Check("port", "bad", f"{serving.port} {why}", advice)
        else:
            yield Check("port", "ok", f"{serving.port} is free")


def locks(where: Places) -> Iterator[Check]:
    """Check for a process that holds a lock without answering.

    The kernel releases locks of dead processes.
    """
    pid = holder(where)
    told = read(where.rendezvous_file)
    if pid is not None and (told is None or told.pid != pid):
        finding = f"pid {pid} holds the daemon's lock, but no client can find it"
        yield Check("locks", "bad", finding, "It may be starting; if this persists: hunch restart")
    elif _is_held(where.runtime / "start.lock"):
        yield Check("locks", "note", "a command is starting the daemon", "Check again in ten seconds.")
    else:
        yield Check("locks", "ok", "none is held by an unresponsive process")


def _is_held(file: Path) -> bool:
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


def degraded(where: Places) -> Iterator[Check]:
    """Report the problems that the running daemon knows itself."""
    told = read(where.rendezvous_file)
    if told is None or not answers(told):
        return
    try:
        status = Client(told, timeout=10.0).get("/status")
    except CommandError as error:
        yield Check("status", "bad", f"the daemon does not report its status: {error.message}", "hunch logs")
        return
    for trouble in status.get("degraded") or ():
        yield Check("status", "note", str(trouble), "hunch status shows more; hunch logs shows the cause.")
    for project in status.get("projects") or ():
        if project.get("state") == "missing":
            advice = f"hunch remove {project['id']}, if it was deleted for good"
            yield Check("status", "note", f"{project['path']} does not exist", advice)


def letters(where: Places) -> Iterator[Check]:
    """Check for messages in the spool that are invalid or not read."""
    aside = _entries(where.spool / "aside")
    if aside:
        finding = f"{len(aside)} messages of hooks are invalid; they are in {where.spool / 'aside'}"
        yield Check("letters", "note", finding, "Inspect them, then delete them.")
    waiting = sum(
        file.stat().st_size for file in (where.spool / "lines", *_entries(where.spool / "new")) if file.exists()
    )
    if waiting > _MANY_LETTERS:
        yield Check(
            "letters",
            "note",
            f"{waiting / 1e6:.1f} MB of messages from hooks and shells wait for the daemon",
            "hunch start",
        )


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def hooks(where: Places) -> Iterator[Check]:
    """Check for installed hooks that were changed or removed since."""
    from hunchd.cli.hook_files import look, place_of
    from hunchd.cli.hooks import recorded

    for told in recorded(where).values():
        root = Path(told["root"])
        if not root.is_dir():
            continue
        try:
            states = {hook.event: hook.state for hook in look(place_of(root), where)}
        except CommandError as error:
            yield Check("hooks", "note", error.message, error.hint or "")
            continue
        lost = [event for event, state in states.items() if state not in ("installed", "tracked")]
        if lost:
            advice = f"Another tool has rewritten them: hunch hooks install {root}"
            yield Check("hooks", "note", f"{root}: {', '.join(lost)} no longer report to hunchd", advice)
        else:
            yield Check("hooks", "ok", f"installed in {root}")


def service(where: Places) -> Iterator[Check]:
    from hunchd.cli.service import UNITS, installed, state, wanted_files

    manager = installed(where)
    if manager is None:
        return
    told = state(manager, wanted_files(manager, where, os.environ))
    failed = [unit for unit in UNITS if told.get(unit, {}).get("active") == "failed"]
    if failed:
        advice = "systemctl --user status hunchd shows the cause; then: hunch service install"
        yield Check("service", "bad", f"{', '.join(failed)} failed", advice)
    elif not told["up_to_date"]:
        yield Check("service", "note", f"{manager} starts another installation of hunchd", "hunch service install")
    else:
        yield Check("service", "ok", f"installed with {manager}")
