"""`hunch logs`: prints and follows the daemon's log, as text or JSON Lines."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from hunchd.cli.errors import CommandError
from hunchd.cli.output import strip_controls
from hunchd.config.app_paths import resolve_app_paths

_POLL_INTERVAL_SECONDS: Final = 0.25  # seconds between two checks of a followed log
_BLOCK_BYTES: Final = 65_536  # bytes read at a time from the end
# Format of the daemon's log, set in its `main`.
_ENTRY: Final = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) (?P<level>[A-Z]+) (?P<part>[\w.]+): (?P<message>.*)"
)


def logs(arguments: Namespace) -> int:
    path = resolve_app_paths().log_file
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise CommandError(f"there is no log yet: {path}.", hint="Run `hunch start` to start the daemon.") from None
    with file:
        format_line = to_json_line if arguments.json else strip_controls
        for line in read_last_lines(file, arguments.lines):
            print(format_line(line))
        sys.stdout.flush()  # a pipe is block-buffered: without this nothing appears until there is more
        if not arguments.follow:
            return 0
        _follow_log(path, file, format_line)
    return 0


def to_json_line(line: str) -> str:
    """Convert a line of the log to a JSON object.

    The object contains the time, level, logger and message. If the line continues the previous entry, as in a
    traceback, the object contains only the message.
    """
    entry = _ENTRY.fullmatch(line)
    if entry is None:
        return json.dumps({"message": line}, ensure_ascii=False)
    at = datetime.strptime(entry["at"], "%Y-%m-%d %H:%M:%S,%f").astimezone(UTC)  # the log is in local time
    fields = entry.groupdict() | {"at": at.isoformat().replace("+00:00", "Z")}
    return json.dumps(fields, ensure_ascii=False)


def read_last_lines(file: BinaryIO, count: int) -> list[str]:
    """Return the last `count` lines of the file.

    The file is read backwards from its end, so that a long log takes no more time than a short one.
    """
    position = file.seek(0, os.SEEK_END)
    tail = b""
    while position > 0 and tail.count(b"\n") <= count:
        start = max(0, position - _BLOCK_BYTES)
        file.seek(start)
        tail = file.read(position - start) + tail
        position = start
    file.seek(0, os.SEEK_END)
    lines = tail.decode(errors="replace").splitlines()
    return lines[-count:] if count else []


def _follow_log(path: Path, file: BinaryIO, format_line: Callable[[str], str]) -> None:
    """Print lines as they are appended to the log, until the user interrupts.

    When the log is rotated, printing continues with the new file.
    """
    while True:
        for line in file:
            print(format_line(line.decode(errors="replace").rstrip("\n")), flush=True)
        time.sleep(_POLL_INTERVAL_SECONDS)
        try:
            is_rotated = path.stat().st_ino != os.fstat(file.fileno()).st_ino
        except FileNotFoundError:
            continue
        if is_rotated:
            with path.open("rb") as new_file:
                return _follow_log(path, new_file, format_line)
