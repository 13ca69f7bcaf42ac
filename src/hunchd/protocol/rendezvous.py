"""Rendezvous file with the running daemon's address and token, for clients.

The file is private to the user and is written atomically.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import NamedTuple

from hunchd.config.app_paths import replace_private_file


class Rendezvous(NamedTuple):  # every command reads it: quicker to load than a dataclass
    """Address, token and process ID of the running daemon."""

    protocol: int
    url: str
    socket: str | None
    token: str  # 256 bits, new at each start
    pid: int
    version: str


def read_rendezvous(file: Path) -> Rendezvous | None:
    """Read the file, or return None if it is missing, untrusted or malformed.

    The file is untrusted if it is not a regular file or belongs to another user.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode) or (os.name == "posix" and status.st_uid != os.getuid()):
            return None
        content = stream.read(65_536)
    try:
        fields = json.loads(content)
        return Rendezvous(
            protocol=int(fields["protocol"]),
            url=str(fields["url"]),
            socket=fields.get("socket"),
            token=str(fields["token"]),
            pid=int(fields["pid"]),
            version=str(fields["version"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def write_rendezvous(file: Path, rendezvous: Rendezvous) -> None:
    """Replace the file atomically; only the current user can read it."""
    replace_private_file(file, json.dumps(rendezvous._asdict()))


def remove_rendezvous(file: Path, *, pid: int) -> None:
    """Delete the file if it still belongs to process `pid`."""
    current = read_rendezvous(file)
    if current is not None and current.pid == pid:
        file.unlink(missing_ok=True)


def is_process_alive(pid: int) -> bool:
    """Return True if a process with the ID `pid` exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
