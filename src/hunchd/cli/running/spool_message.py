"""Spool messages about a command that has ended.

The daemon reads them at once if it is running, or else when it starts. This module avoids json, pathlib and re,
because the user waits for each import.
"""

from __future__ import annotations

import os
import stat
import sys
import time

from hunchd.cli.running.light_stdlib import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final

# Signals of a command that was ended by a user, or whose reader has gone, which is not an error.
_DELIBERATE_SIGNALS: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGKILL})
_SIGNAL_EXIT_OFFSET: Final = 128  # added to a signal's number
# Exit codes of programs that handle these signals themselves.
_INTERRUPT_EXIT_CODES: Final = tuple(
    _SIGNAL_EXIT_OFFSET + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)
)
_NOT_STARTED_EXIT_CODES: Final = (126, 127)
_MAX_MESSAGE_BYTES: Final = 56 * 1024  # bytes of a message; the spool accepts 64 KiB
_MAX_COMMAND_CHARACTERS: Final = 2_000  # characters
_ESCAPES: Final = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_].*?\x1b\\|[ -/]*[0-~])"
_BACKSPACES: Final = r"[^\n\x08]\x08"
_JSON_ESCAPES: Final = {ord('"'): '\\"', ord("\\"): "\\\\", **{number: f"\\u{number:04x}" for number in range(32)}}
_SAFE_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def report_command(words: Sequence[str], code: int, output: bytes, *, at: float, seconds: float) -> None:
    """Write the spool messages about a command that has ended.

    `code` is the exit code, or the negative number of the signal that ended the command. `at` is the time at which the
    command started (seconds since the epoch), `seconds` is its duration. If the messages cannot be written, nothing is
    reported, because a failure here must not change how the command ends.
    """
    try:
        end_time = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at + seconds))
        common: dict[str, str | int] = {
            "project": os.getcwd(),
            "at": f"{end_time}.{int((at + seconds) % 1 * 1e6):06}Z",
            "source": "run",
            "command": quote_words(words)[:_MAX_COMMAND_CHARACTERS],
            "exit_code": code if code >= 0 else _SIGNAL_EXIT_OFFSET - code,
        }
        messages: list[Mapping[str, str | int]] = []
        if text := extract_error_text(code, output):
            messages.append({"kind": "error", "text": text, **common})
        messages.append({"kind": "command_finished", "duration_ms": int(seconds * 1_000), **common})
        write_messages(messages, "run")
    except OSError as error:
        if os.environ.get("HUNCH_DEBUG"):
            os.write(2, f"hunch: {error}\n".encode("utf-8", "replace"))


def extract_error_text(code: int, output: bytes) -> str:
    """Return the text of the error that a command printed.

    Returns "" if the command succeeded, was interrupted or could not be started.
    """
    if code in (0, *_INTERRUPT_EXIT_CODES, *_NOT_STARTED_EXIT_CODES) or -code in _DELIBERATE_SIGNALS:
        return ""
    text = to_screen_text(output)
    if code < 0:
        from signal import Signals

        text = f"{text}\nfatal: ended by {Signals(-code).name}".strip()
    return text


def to_screen_text(output: bytes) -> str:
    """Return the output as it finally appeared on the screen.

    Colours and overwritten text are removed, and the text is shortened until it fits into a message.
    """
    text = output.decode("utf-8", "replace")
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
    return truncate_to_message(text.strip("\n"))


def truncate_to_message(text: str) -> str:
    """Return the end of `text` that fits into a spool message."""
    while len(_encode(to_json(text))) > _MAX_MESSAGE_BYTES - 2 * _MAX_COMMAND_CHARACTERS * 4:
        text = text[len(text) // 4 :]
    return text if text.strip() else ""


def quote_words(words: Sequence[str]) -> str:
    """Join the words into a shell command, quoting them where necessary."""
    return " ".join(
        word if word and _SAFE_CHARACTERS.issuperset(word) else "'" + word.replace("'", "'\"'\"'") + "'"
        for word in words
    )


def to_json(value: str | int) -> str:
    return str(value) if isinstance(value, int) else f'"{value.translate(_JSON_ESCAPES)}"'


def write_messages(messages: Sequence[Mapping[str, str | int]], sender: str) -> None:
    """Write messages to the spool, each atomically.

    Raises OSError if a message cannot be written.
    """
    spool = _prepare_spool()
    for number, message in enumerate(messages):
        fields = ", ".join(f'"{name}": {to_json(value)}' for name, value in message.items())
        name = f"{sender}.{time.time_ns()}.{os.getpid()}.{number}"
        descriptor = os.open(f"{spool}/tmp/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb", buffering=0) as file:
            file.write(_encode(f"{{{fields}}}"))
        os.rename(f"{spool}/tmp/{name}", f"{spool}/new/{name}")


def get_spool_folder() -> str:
    """Return the path of the spool folder.

    It must equal the path in `hunchd.config.app_paths`, which takes longer to import.
    """
    if home := os.environ.get("HUNCHD_HOME"):
        return os.path.abspath(os.path.expanduser(home)) + "/state/spool"
    if sys.platform == "linux" and "ANDROID_ROOT" not in os.environ:
        state = os.environ.get("XDG_STATE_HOME", "")
        return os.path.join(state if state.strip() else os.path.expanduser("~/.local/state"), "hunchd", "spool")
    from hunchd.config.app_paths import resolve_app_paths

    return str(resolve_app_paths().spool)


def _prepare_spool() -> str:
    """Create the spool's folders and return the spool's path. Only the user can access the folders."""
    spool = get_spool_folder()
    folders = (spool, f"{spool}/tmp", f"{spool}/new")
    if not all(_is_private(folder) for folder in folders):
        from pathlib import Path

        from hunchd.config.app_paths import ensure_private_folder
        from hunchd.domain.errors import HunchError

        try:
            for folder in folders:
                ensure_private_folder(Path(folder))
        except HunchError as error:
            raise OSError(error.message) from error
    return spool


def _is_private(folder: str) -> bool:
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) == 0o700


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")
