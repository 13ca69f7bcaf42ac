"""Log file of the commands run in a project.

Each command is appended as a JSON array on its own line. Lines that cannot be parsed are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hunchd.config.app_paths import replace_private_file
from hunchd.domain.workflow import CommandRun

LOG_FILE: Final = "commands.jsonl"  # in a project's cache folder
MAX_COMMANDS: Final = 4_000  # commands read: several months in one project
MAX_BYTES: Final = 16 * 1024 * 1024


def read_commands(folder: Path) -> list[CommandRun]:
    """Return the newest MAX_COMMANDS commands in the log, oldest first.

    Returns an empty list if there is no log, or if the log is larger than MAX_BYTES.
    """
    file = folder / LOG_FILE
    try:
        if file.stat().st_size > MAX_BYTES:
            return []
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    log = []
    for line in lines[-MAX_COMMANDS:]:
        with suppress(ValueError, TypeError):  # an incomplete line
            log.append(_parse_row(json.loads(line)))
    return log


def append_commands(folder: Path, ran: Sequence[CommandRun]) -> None:
    file = folder / LOG_FILE
    if not file.exists():
        file.touch(mode=0o600)
    with file.open("a", encoding="utf-8") as log:
        log.write("".join(map(_format_line, ran)))


def replace_log(folder: Path, ran: Sequence[CommandRun]) -> None:
    """Replace the log atomically."""
    replace_private_file(folder / LOG_FILE, "".join(map(_format_line, ran)))


def _format_line(ran: CommandRun) -> str:
    return json.dumps([ran.at, ran.template, ran.command, int(ran.failed), ran.branch, list(ran.touched)]) + "\n"


def _parse_row(row: Any) -> CommandRun:
    at, template, command, has_failed, branch, touched_kinds = row
    return CommandRun(
        float(at), str(template), str(command), bool(has_failed), str(branch), tuple(map(str, touched_kinds))
    )
