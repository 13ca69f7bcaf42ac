"""Reader for the history files of shells.

Each command gets the time at which it was run, if the file records it, and the folder in which it was run, if the
`cd` commands before it reveal the folder.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Final, Literal

from hunchd.text.encodings import decode_text

Shell = Literal["bash", "zsh", "fish"]
MAX_BYTES: Final = 32 * 1024 * 1024  # read from the end of a file: some hundred thousand commands
MAX_COMMAND: Final = 4_000  # characters of one command

_BASH_TIME = re.compile(r"#(\d{9,11})$")
_ZSH = re.compile(r": (\d{9,11}):\d+;(.*)", re.DOTALL)
_HERE = re.compile(r"(?<!<)<<-?\s*(['\"]?)(?:(?<=['\"])(\w+)(?=\1)|([A-Za-z_]\w*))")
_QUOTED_TEXT = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$", re.MULTILINE)
# Keywords that open or close a compound command, at positions where a command may begin.
_KEYWORD = re.compile(r"(?:^|(?<=[;\n&|(]))\s*(for|while|until|select|if|case|done|fi|esac)\b", re.MULTILINE)
_BRACE = re.compile(r"(?:^|(?<=[\s;)&|]))\{(?=\s|$)")
_DEPTH: Final = {"done": -1, "fi": -1, "esac": -1} | dict.fromkeys(("for", "while", "until", "select", "if", "case"), 1)
MOST_LINES: Final = 200  # per command
_FISH_TIME = re.compile(r"  when: (\d{9,11})$")
_DIRECTORY_CHANGE = re.compile(r"\b(?:cd|pushd|popd|z|j|autojump|zoxide)\b")


@dataclass(frozen=True, slots=True)
class HistoryCommand:
    """Command in a shell's history.

    `at` is in seconds since the epoch, or None if the time was not recorded; `folder` is None if the folder is
    unknown.
    """

    command: str
    at: float | None = None
    folder: str | None = None


def read_history(file: Path, shell: Shell, home: str) -> list[HistoryCommand]:
    """Return the commands in a history file, oldest first.

    `home` is the user's home folder. Raises OSError if the file cannot be read.
    """
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - MAX_BYTES))
        content = stream.read()
    if size > MAX_BYTES:
        content = content.partition(b"\n")[2]
    reader = {"bash": _read_bash, "zsh": _read_zsh, "fish": _read_fish}[shell]
    text = decode_text(_unmetafy(content) if shell == "zsh" else content)
    return list(_add_folders(reader(text.replace("\r\n", "\n").split("\n")), home))


def guess_shell(file: Path) -> Shell:
    """Guess from the name of a history file which shell wrote it."""
    name = file.name.lower()
    return "fish" if "fish" in name else "zsh" if "zsh" in name or name == ".histfile" else "bash"


def default_history_file(shell: Shell, home: str, environment: dict[str, str]) -> Path:
    """Return the default path of a shell's history file."""
    if shell == "fish":
        data = environment.get("XDG_DATA_HOME") or f"{home}/.local/share"
        return Path(data) / "fish" / "fish_history"
    return Path(home) / f".{shell}_history"


def _read_bash(lines: list[str]) -> Iterator[HistoryCommand]:
    at: float | None = None
    entry: list[str] = []
    for line in [*lines, None]:
        match = _BASH_TIME.match(line) if line is not None else None
        if line is None or match is not None:
            yield from (HistoryCommand(command[:MAX_COMMAND], at) for command in commands_of(entry))
            entry = []
            at = float(match[1]) if match is not None else at
        else:
            entry.append(line)


def commands_of(lines: Sequence[str]) -> Iterator[str]:
    """Yield the commands in the lines of a history file.

    Lines that continue a command (a quotation, a here-document, a loop) are joined with the line where it begins.
    """
    start = 0
    while start < len(lines):
        end = next(
            (end for end in range(start + 1, min(len(lines), start + MOST_LINES) + 1) if is_whole(lines[start:end])),
            start + 1,  # never closed, so each line is a command
        )
        command = "\n".join(lines[start:end])
        if command.strip():
            yield command
        start = end


def is_whole(lines: Sequence[str]) -> bool:
    """Return True if a shell would run these lines without waiting for more."""
    code: list[str] = []
    ends: list[str] = []  # words that end the here-documents that are still open
    for line in lines:
        if ends:
            if line.strip("\t ") == ends[0]:
                ends.pop(0)
            continue
        code.append(line)
        if not _is_quoting("\n".join(code)):
            ends += [
                heredoc_match[2] or heredoc_match[3]
                for heredoc_match in _HERE.finditer(_QUOTED_TEXT.sub("", line) if "'" not in line else line)
            ]
    text = "\n".join(code)
    if ends or _is_quoting(text) or (len(text) - len(text.rstrip("\\"))) % 2:
        return False
    plain = _COMMENT.sub("", _QUOTED_TEXT.sub("''", text))
    words = _KEYWORD.findall(plain)
    return sum(_DEPTH[word] for word in words) <= 0 and len(_BRACE.findall(plain)) <= len(
        re.findall(r"(?:^|[;\n]) *\}", plain)
    )


def _is_quoting(text: str) -> bool:
    """Return True if a quotation is still open at the end of the text."""
    rest = _QUOTED_TEXT.sub("", _COMMENT.sub("", re.sub(r"\\.", "", text)))
    return "'" in rest or '"' in rest


def _read_zsh(lines: list[str]) -> Iterator[HistoryCommand]:
    joined_line = ""
    for line in lines:
        joined_line = f"{joined_line}\n{line}" if joined_line else line
        if (len(joined_line) - len(joined_line.rstrip("\\"))) % 2:  # an even number is literal
            joined_line = joined_line[:-1]
            continue
        match = _ZSH.match(joined_line)
        command = match[2] if match else joined_line
        if command.strip():
            yield HistoryCommand(command[:MAX_COMMAND], float(match[1]) if match else None)
        joined_line = ""


def _read_fish(lines: list[str]) -> Iterator[HistoryCommand]:
    command = ""
    for line in lines:
        if line.startswith("- cmd: "):
            if command.strip():
                yield HistoryCommand(command[:MAX_COMMAND])
            command = re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], line[7:])
        elif command and (match := _FISH_TIME.match(line)) is not None:
            yield HistoryCommand(command[:MAX_COMMAND], float(match[1]))
            command = ""
    if command.strip():
        yield HistoryCommand(command[:MAX_COMMAND])


def _unmetafy(content: bytes) -> bytes:
    """Decode the escapes that zsh writes for special bytes.

    The byte 0x83 is followed by the special byte with its sixth bit flipped.
    """
    return re.sub(rb"\x83(.)", lambda match: bytes([match[1][0] ^ 32]), content, flags=re.DOTALL)


def _add_folders(commands: Iterator[HistoryCommand], home: str) -> Iterator[HistoryCommand]:
    """Yield each command with the folder where it was run.

    The folder is the one to which the `cd` commands before it led, or None if it cannot be determined.
    """
    folder: str | None = None
    previous_folder: str | None = None
    for entry in commands:
        yield replace(entry, folder=folder)
        if not _DIRECTORY_CHANGE.search(entry.command):
            continue
        for part in re.split(r"&&|;|\n", entry.command):
            next_folder = _next_folder(part, folder, previous_folder, home)
            if next_folder != folder:
                folder, previous_folder = next_folder, folder


def _next_folder(command: str, folder: str | None, previous_folder: str | None, home: str) -> str | None:
    """Return the working folder after a command, or None if it is unknown.

    `folder` is the working folder before the command, and `previous_folder` the working folder before that (for `cd
    -`).
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return None if _DIRECTORY_CHANGE.search(command) else folder
    if not words or words[0] not in ("cd", "pushd", "popd", "z", "j", "autojump", "zoxide"):
        return folder
    if words[0] not in ("cd", "pushd") or len(words) > 2:
        return None
    if len(words) == 1:
        return home
    target = words[1]
    if target == "-":
        return previous_folder
    target = home + target[1:] if target == "~" or target.startswith("~/") else target
    if any(mark in target for mark in "$*?`~"):
        return None
    if not PurePath(target).is_absolute():
        if folder is None:
            return None
        target = f"{folder}/{target}"
    return os.path.normpath(target)
