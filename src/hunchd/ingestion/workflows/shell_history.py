"""Reader of shell history files.

Commands get their time and, as far as `cd` reveals it, their folder.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Final, Literal

Shell = Literal["bash", "zsh", "fish"]
MOST_BYTES: Final = 32 * 1024 * 1024  # of the end of a file: some hundred thousand commands
LONGEST: Final = 4_000  # characters of one command

_BASH_TIME = re.compile(r"#(\d{9,11})$")
_ZSH = re.compile(r": (\d{9,11}):\d+;(.*)", re.DOTALL)
_HERE = re.compile(r"(?<!<)<<-?\s*(['\"]?)(?:(?<=['\"])(\w+)(?=\1)|([A-Za-z_]\w*))")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$", re.MULTILINE)
# What opens and closes a compound command, where a command may begin.
_KEYWORD = re.compile(r"(?:^|(?<=[;\n&|(]))\s*(for|while|until|select|if|case|done|fi|esac)\b", re.MULTILINE)
_DEPTH: Final = {"done": -1, "fi": -1, "esac": -1} | dict.fromkeys(("for", "while", "until", "select", "if", "case"), 1)
MOST_LINES: Final = 200  # of one command
_FISH_TIME = re.compile(r"  when: (\d{9,11})$")
_MOVES = re.compile(r"\b(?:cd|pushd|popd|z|j|autojump|zoxide)\b")


@dataclass(frozen=True, slots=True)
class Past:
    """Command of a shell history.

    `at` is in seconds since the epoch, None if not recorded; `folder` is None if unknown.
    """

    command: str
    at: float | None = None
    folder: str | None = None


def past(file: Path, shell: Shell, home: str) -> list[Past]:
    """Read a history file, oldest command first.

    Raises OSError if the file cannot be read.
    """
    with file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - MOST_BYTES))
        content = opened.read()
    if size > MOST_BYTES:
        content = content.partition(b"\n")[2]
    read = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    text = (_unmetafied(content) if shell == "zsh" else content).decode("utf-8", "replace")
    return list(_placed(read(text.splitlines()), home))


def shell_of(file: Path) -> Shell:
    """Guess the shell of a history file by its name."""
    name = file.name.lower()
    return "fish" if "fish" in name else "zsh" if "zsh" in name or name == ".histfile" else "bash"


def usual_file(shell: Shell, home: str, environment: dict[str, str]) -> Path:
    """Return the default path of a shell's history."""
    if shell == "fish":
        data = environment.get("XDG_DATA_HOME") or f"{home}/.local/share"
        return Path(data) / "fish" / "fish_history"
    return Path(home) / f".{shell}_history"


def _bash(lines: list[str]) -> Iterator[Past]:
    at: float | None = None
    entry: list[str] = []
    for line in [*lines, None]:
        found = _BASH_TIME.match(line) if line is not None else None
        if line is None or found is not None:
            yield from (Past(command[:LONGEST], at) for command in commands_of(entry))
            entry = []
            at = float(found[1]) if found is not None else at
        else:
            entry.append(line)


def commands_of(lines: Sequence[str]) -> Iterator[str]:
    """Yield the commands of an entry: lines that go on (a quotation, a here document, a loop) are one."""
    start = 0
    while start < len(lines):
        end = next(
            (end for end in range(start + 1, min(len(lines), start + MOST_LINES) + 1) if is_whole(lines[start:end])),
            start + 1,  # never closed: each line is a command
        )
        command = "\n".join(lines[start:end])
        if command.strip():
            yield command
        start = end


def is_whole(lines: Sequence[str]) -> bool:
    """Return True if a shell would run these lines, rather than wait for more."""
    code: list[str] = []
    ends: list[str] = []  # words that end the here documents begun
    for line in lines:
        if ends:
            if line.strip("\t ") == ends[0]:
                ends.pop(0)
            continue
        code.append(line)
        if not _is_quoting("\n".join(code)):
            ends += [
                found[2] or found[3] for found in _HERE.finditer(_QUOTED.sub("", line) if "'" not in line else line)
            ]
    text = "\n".join(code)
    if ends or _is_quoting(text) or (len(text) - len(text.rstrip("\\"))) % 2:
        return False
    plain = _COMMENT.sub("", _QUOTED.sub("''", text))
    words = _KEYWORD.findall(plain)
    return sum(_DEPTH[word] for word in words) <= 0 and plain.count("{ ") <= len(re.findall(r"(?:^|[;\n]) *\}", plain))


def _is_quoting(text: str) -> bool:
    """Return True if a quotation is open at the end."""
    rest = _QUOTED.sub("", _COMMENT.sub("", re.sub(r"\\.", "", text)))
    return "'" in rest or '"' in rest


def _zsh(lines: list[str]) -> Iterator[Past]:
    whole = ""
    for line in lines:
        whole = f"{whole}\n{line}" if whole else line
        if (len(whole) - len(whole.rstrip("\\"))) % 2:  # two of them are one at the end of the command
            whole = whole[:-1]
            continue
        found = _ZSH.match(whole)
        command = found[2] if found else whole
        if command.strip():
            yield Past(command[:LONGEST], float(found[1]) if found else None)
        whole = ""


def _fish(lines: list[str]) -> Iterator[Past]:
    command = ""
    for line in lines:
        if line.startswith("- cmd: "):
            if command.strip():
                yield Past(command[:LONGEST])
            command = re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], line[7:])
        elif command and (found := _FISH_TIME.match(line)) is not None:
            yield Past(command[:LONGEST], float(found[1]))
            command = ""
    if command.strip():
        yield Past(command[:LONGEST])


def _unmetafied(content: bytes) -> bytes:
    """Decode zsh's encoding of special bytes.

    0x83 precedes a byte with its sixth bit flipped.
    """
    return re.sub(rb"\x83(.)", lambda found: bytes([found[1][0] ^ 32]), content, flags=re.DOTALL)


def _placed(commands: Iterator[Past], home: str) -> Iterator[Past]:
    """Add the folder that the preceding `cd` led to.

    Returns None if it cannot be known.
    """
    folder: str | None = None
    before: str | None = None
    for one in commands:
        yield replace(one, folder=folder)
        if not _MOVES.search(one.command):
            continue
        for part in re.split(r"&&|;|\n", one.command):
            moved = _moved(part, folder, before, home)
            if moved != folder:
                folder, before = moved, folder


def _moved(command: str, folder: str | None, before: str | None, home: str) -> str | None:
    """Return the working folder after a command."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None if _MOVES.search(command) else folder
    if not words or words[0] not in ("cd", "pushd", "popd", "z", "j", "autojump", "zoxide"):
        return folder
    if words[0] not in ("cd", "pushd") or len(words) > 2:
        return None
    if len(words) == 1:
        return home
    target = words[1]
    if target == "-":
        return before
    target = home + target[1:] if target == "~" or target.startswith("~/") else target
    if any(mark in target for mark in "$*?`~"):
        return None
    if not PurePath(target).is_absolute():
        if folder is None:
            return None
        target = f"{folder}/{target}"
    return os.path.normpath(target)
