"""Spool message about a command that ended.

It is read at once or when a daemon starts. Written without json, pathlib and re, because the user waits for each
import.
"""

from __future__ import annotations

import os
import stat
import sys
import time

from hunchd.cli.running.quick import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final

# Ended by a user, or the reader of its output has gone: not an error.
_ENDED_ON_PURPOSE: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGKILL})
_OF_SHELLS: Final = 128  # added to a signal's number
# Exit codes of programs that handle these signals themselves.
_INTERRUPTED: Final = tuple(
    _OF_SHELLS + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)
)
_NOT_STARTED: Final = (126, 127)
_LONGEST: Final = 56 * 1024  # bytes of a message; the spool accepts 64 KiB
_COMMAND: Final = 2_000  # characters
_ESCAPES: Final = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_].*?\x1b\\|[ -/]*[0-~])"
_BACKSPACES: Final = r"[^\n\x08]\x08"
_IN_JSON: Final = {ord('"'): '\\"', ord("\\"): "\\\\", **{number: f"\\u{number:04x}" for number in range(32)}}
_UNQUOTED: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def leave_letter(words: Sequence[str], code: int, said: bytes, *, at: float, seconds: float) -> None:
    """Write the spool messages about a command that ended.

    `code` is its exit code, or a signal's number below zero; `at` and `seconds` are its start and duration. Errors are
    ignored: the command itself has ended regardless.
    """
    try:
        ended = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at + seconds))
        common: dict[str, str | int] = {
            "project": os.getcwd(),
            "at": f"{ended}.{int((at + seconds) % 1 * 1e6):06}Z",
            "source": "run",
            "command": command_line(words)[:_COMMAND],
            "exit_code": code if code >= 0 else _OF_SHELLS - code,
        }
        letters: list[Mapping[str, str | int]] = []
        if text := went_wrong(code, said):
            letters.append({"kind": "error", "text": text, **common})
        letters.append({"kind": "command_finished", "duration_ms": int(seconds * 1_000), **common})
        post(letters, "run")
    except OSError as error:
        if os.environ.get("HUNCH_DEBUG"):
            os.write(2, f"hunch: {error}\n".encode("utf-8", "replace"))


def went_wrong(code: int, said: bytes) -> str:
    """Return the text of the error.

    Returns "" if the command succeeded, was interrupted or did not start.
    """
    if code in (0, *_INTERRUPTED, *_NOT_STARTED) or -code in _ENDED_ON_PURPOSE:
        return ""
    text = readable(said)
    if code < 0:
        from signal import Signals

        text = f"{text}\nfatal: ended by {Signals(-code).name}".strip()
    return text


def readable(said: bytes) -> str:
    """Return the output as it finally looked on the screen.

    Removes colours and overwritten lines; the result is short enough for a message.
    """
    text = said.decode("utf-8", "replace")
    if "\x1b" in text:
        import re

        text = re.sub(_ESCAPES, "", text, flags=re.DOTALL)
    text = text.replace("\r\n", "\n")
    if "\r" in text:  # a progress bar overwrites its line
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    text = text.replace("\0", "")
    if "\b" in text:
        import re

        while (without := re.sub(_BACKSPACES, "", text)) != text:
            text = without
    return fitting(text.strip("\n"))


def fitting(text: str) -> str:
    """Return the end of `text` that fits into a message."""
    while len(_bytes(in_json(text))) > _LONGEST - 2 * _COMMAND * 4:
        text = text[len(text) // 4 :]
    return text if text.strip() else ""


def command_line(words: Sequence[str]) -> str:
    """Quote the words as in a shell."""
    return " ".join(
        word if word and _UNQUOTED.issuperset(word) else "'" + word.replace("'", "'\"'\"'") + "'" for word in words
    )


def in_json(value: str | int) -> str:
    return str(value) if isinstance(value, int) else f'"{value.translate(_IN_JSON)}"'


def post(letters: Sequence[Mapping[str, str | int]], sender: str) -> None:
    """Write messages into the spool, each atomically. Raises OSError."""
    spool = _spool()
    for number, letter in enumerate(letters):
        told = ", ".join(f'"{name}": {in_json(value)}' for name, value in letter.items())
        name = f"{sender}.{time.time_ns()}.{os.getpid()}.{number}"
        descriptor = os.open(f"{spool}/tmp/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb", buffering=0) as file:
            file.write(_bytes(f"{{{told}}}"))
        os.rename(f"{spool}/tmp/{name}", f"{spool}/new/{name}")


def spool_folder() -> str:
    """Return the path of the spool, like `hunchd.config.places`, which takes longer to import."""
    if home := os.environ.get("HUNCHD_HOME"):
        return os.path.abspath(os.path.expanduser(home)) + "/state/spool"
    if sys.platform == "linux" and "ANDROID_ROOT" not in os.environ:
        state = os.environ.get("XDG_STATE_HOME", "")
        return os.path.join(state if state.strip() else os.path.expanduser("~/.local/state"), "hunchd", "spool")
    from hunchd.config.places import places

    return str(places().spool)


def _spool() -> str:
    """Create the spool with private folders; return its path."""
    spool = spool_folder()
    folders = (spool, f"{spool}/tmp", f"{spool}/new")
    if not all(_is_private(folder) for folder in folders):
        from pathlib import Path

        from hunchd.config.places import make_private
        from hunchd.domain.errors import HunchError

        try:
            for folder in folders:
                make_private(Path(folder))
        except HunchError as error:
            raise OSError(error.message) from error
    return spool


def _is_private(folder: str) -> bool:
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) == 0o700


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
