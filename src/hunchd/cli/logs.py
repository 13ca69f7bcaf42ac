"""`hunch logs`: the end of the daemon's log, and what comes after it."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import BinaryIO, Final

from hunchd.cli.errors import CommandError
from hunchd.cli.output import clean
from hunchd.config.places import places

_LOOK: Final = 0.25  # seconds between two looks at a log that is followed
_BLOCK: Final = 65_536  # bytes read at a time from the end


def logs(arguments: Namespace) -> int:
    path = places().log_file
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise CommandError(f"there is no log yet: {path}.", hint="hunch start starts the daemon.") from None
    with file:
        for line in last_lines(file, arguments.lines):
            print(clean(line))
        sys.stdout.flush()  # a pipe is not a terminal: without it nothing is seen until there is more
        if not arguments.follow:
            return 0
        _follow(path, file)
    return 0


def last_lines(file: BinaryIO, count: int) -> list[str]:
    """The last `count` lines, read from the end so that a long log costs no more than a short one."""
    position = file.seek(0, os.SEEK_END)
    tail = b""
    while position > 0 and tail.count(b"\n") <= count:
        start = max(0, position - _BLOCK)
        file.seek(start)
        tail = file.read(position - start) + tail
        position = start
    file.seek(0, os.SEEK_END)
    lines = tail.decode(errors="replace").splitlines()
    return lines[-count:] if count else []


def _follow(path: Path, file: BinaryIO) -> None:
    """Print what is appended, for ever; a log that was rotated is followed in its new file."""
    while True:
        for line in file:
            print(clean(line.decode(errors="replace").rstrip("\n")), flush=True)
        time.sleep(_LOOK)
        try:
            rotated = path.stat().st_ino != os.fstat(file.fileno()).st_ino
        except FileNotFoundError:
            continue
        if rotated:
            with path.open("rb") as newer:
                return _follow(path, newer)
