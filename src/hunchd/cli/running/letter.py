"""What the daemon is told of a command that ended: a letter in its spool, read at once or when a daemon starts."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hunchd.config.places import make_private, places
from hunchd.domain.errors import HunchError
from hunchd.repository.layout import find

# Somebody ended it, or it had nobody to write to: nothing went wrong in it.
_ENDED_ON_PURPOSE: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGKILL})
_OF_SHELLS: Final = 128  # added to a signal's number
_INTERRUPTED: Final = _OF_SHELLS + signal.SIGINT  # what programs return that handle it themselves
_NOT_STARTED: Final = (126, 127)
_LONGEST: Final = 56 * 1024  # bytes of a letter; the spool takes 64 KiB
_COMMAND: Final = 2_000  # characters
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_].*?\x1b\\|[ -/]*[0-~])", re.DOTALL
)
_BACKSPACES = re.compile(r"[^\n\x08]\x08")


def leave_letter(words: Sequence[str], code: int, said: bytes, *, at: float, seconds: float) -> None:
    """Tell of `words`, which ended with `code` (a signal's number below zero) after `seconds` since `at`. What cannot
    be told is left out: the command has ended well or not without us."""
    folder = Path.cwd()
    layout = find(folder)
    ended = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at + seconds))
    common = {
        "project": str(layout.root if layout is not None else folder),
        "at": f"{ended}.{int((at + seconds) % 1 * 1e6):06}Z",
        "source": "run",
        "command": shlex.join(words)[:_COMMAND],
        "exit_code": code if code >= 0 else _OF_SHELLS - code,
    }
    letters: list[dict[str, Any]] = []
    if text := went_wrong(code, said):
        letters.append({"kind": "error", "text": text, **common})
    letters.append({"kind": "command_finished", "duration_ms": int(seconds * 1_000), **common})
    try:
        _post(letters)
    except (OSError, HunchError) as error:
        if os.environ.get("HUNCH_DEBUG"):
            os.write(2, f"hunch: {error}\n".encode("utf-8", "replace"))


def went_wrong(code: int, said: bytes) -> str:
    """The text of an error, or nothing where there is none to speak of."""
    if code in (0, _INTERRUPTED, *_NOT_STARTED) or -code in _ENDED_ON_PURPOSE:
        return ""
    text = readable(said)
    if code < 0:
        text = f"{text}\nfatal: ended by {signal.Signals(-code).name}".strip()
    return text


def readable(said: bytes) -> str:
    """What stood on the screen in the end: no colours, no overwritten lines; short enough for a letter."""
    text = _ESCAPES.sub("", said.decode("utf-8", "replace")).replace("\r\n", "\n")
    # A progress bar writes its line again and again.
    text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")).replace("\0", "")
    while "\b" in text and (without := _BACKSPACES.sub("", text)) != text:
        text = without
    text = text.strip("\n")
    while len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")) > _LONGEST - 2 * _COMMAND * 4:
        text = text[len(text) // 4 :]
    return text if text.strip() else ""


def _post(letters: Sequence[dict[str, Any]]) -> None:
    spool = places().spool
    draft, new = make_private(spool / "tmp"), make_private(spool / "new")
    for number, letter in enumerate(letters):
        name = f"run.{time.time_ns()}.{os.getpid()}.{number}"
        descriptor = os.open(draft / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps(letter, ensure_ascii=False).encode("utf-8", "replace"))
        (draft / name).rename(new / name)
