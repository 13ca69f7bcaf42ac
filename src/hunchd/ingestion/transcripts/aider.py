"""Reader of aider's `.aider.chat.history.md`: `####` marks the user, `>` aider's own output."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from hunchd.ingestion.transcripts.transcript import Transcript, resulted, spoken

AGENT = "aider"
HISTORY = ".aider.chat.history.md"
_STARTED = "# aider chat started at "


def files(home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the history file that the environment names.

    Other history files are in projects; callers that know the projects ask for them.
    """
    if named := environment.get("AIDER_CHAT_HISTORY_FILE"):
        file = Path(named)
        if file.is_file():
            yield file


def read(file: Path) -> Iterator[Transcript]:
    """Yield one session per start that the file records."""
    began: str | None = None
    lines: list[str] = []
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(_STARTED):
            yield from _session(file, began, lines)
            began, lines = line.removeprefix(_STARTED).strip(), []
        else:
            lines.append(line)
    yield from _session(file, began, lines)


def _session(file: Path, began: str | None, lines: list[str]) -> Iterator[Transcript]:
    messages = [message for message in _messages(lines) if message is not None]
    if began is None or not messages:
        return
    name = hashlib.blake2b(f"{file.parent.resolve()}\0{began}".encode(), digest_size=8).hexdigest()
    yield Transcript(AGENT, f"aider-{name}", file, str(file.parent.resolve()), _local(began), tuple(messages))


def _messages(lines: list[str]) -> Iterator[dict[str, Any] | None]:
    speaker, said, number = "", list[str](), 0
    for line in [*lines, None]:
        now = "" if line is None else _speaker(line)
        if line is not None and (now == speaker or (not line.strip() and speaker)):
            said.append(_plain(line))
            continue
        if said:
            number += 1
            yield _message(speaker, "\n".join(said), str(number))
        speaker, said = now, [_plain(line)] if line is not None else []


def _message(speaker: str, text: str, ref: str) -> dict[str, Any] | None:
    if speaker == "tool":
        return resulted("aider", text, ref) if text.strip() else None
    return spoken(speaker, text, ref)


def _speaker(line: str) -> str:
    if line.startswith("#### "):
        return "user"
    return "tool" if line.startswith("> ") or line == ">" else "assistant"


def _plain(line: str) -> str:
    return line.removeprefix("#### ").removeprefix("> ").rstrip() if line != ">" else ""


def _local(began: str) -> datetime | None:
    try:
        return datetime.fromisoformat(began).astimezone()
    except ValueError:
        return None
