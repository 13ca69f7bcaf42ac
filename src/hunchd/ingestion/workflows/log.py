"""Log file of a project's commands: one JSON array per line, appended.

Unreadable lines are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hunchd.domain.workflow import Ran

LOG: Final = "commands.jsonl"  # in a project's cache folder
FORGOTTEN: Final = "forgotten.json"  # beside it: ids of workflows that must not be mined again
MOST: Final = 4_000  # commands read: some months of one project
MOST_BYTES: Final = 16 * 1024 * 1024


def read(folder: Path) -> list[Ran]:
    """Return the newest commands, oldest first."""
    file = folder / LOG
    try:
        if file.stat().st_size > MOST_BYTES:
            return []
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    log = []
    for line in lines[-MOST:]:
        with suppress(ValueError, TypeError):  # an incomplete line
            log.append(_ran(json.loads(line)))
    return log


def forgotten(folder: Path) -> set[str]:
    with suppress(FileNotFoundError, ValueError, TypeError):
        return set(map(str, json.loads((folder / FORGOTTEN).read_bytes())))
    return set()


def append(folder: Path, ran: Sequence[Ran]) -> None:
    file = folder / LOG
    if not file.exists():
        file.touch(mode=0o600)
    with file.open("a", encoding="utf-8") as log:
        log.write("".join(map(_line, ran)))


def rewrite(folder: Path, ran: Sequence[Ran], forgotten: Sequence[str]) -> None:
    """Replace the contents of both files, each atomically."""
    for name, text in ((LOG, "".join(map(_line, ran))), (FORGOTTEN, json.dumps(list(forgotten)))):
        draft = folder / f".{name}"
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)
        draft.write_text(text, encoding="utf-8")
        draft.replace(folder / name)


def _line(ran: Ran) -> str:
    return json.dumps([ran.at, ran.template, ran.command, int(ran.failed), ran.branch, list(ran.touched)]) + "\n"


def _ran(row: Any) -> Ran:
    at, template, command, failed, branch, touched = row
    return Ran(float(at), str(template), str(command), bool(failed), str(branch), tuple(map(str, touched)))
