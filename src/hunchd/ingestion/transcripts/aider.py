"""Reader for aider's `.aider.chat.history.md`.

In this file, `####` marks the user's messages and `>` aider's own output.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from hunchd.ingestion.transcripts.transcript import Transcript, make_result_message, make_text_message

AGENT = "aider"
HISTORY = ".aider.chat.history.md"
_START_MARK = "# aider chat started at "


def files(home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the history file that an environment variable names, if it exists.

    Other history files are in the projects' folders; callers that know the projects look for those files.
    """
    if history_path := environment.get("AIDER_CHAT_HISTORY_FILE"):
        file = Path(history_path)
        if file.is_file():
            yield file


def read(file: Path) -> Iterator[Transcript]:
    """Yield a transcript for each time that aider was started, as recorded in the file."""
    started_at: str | None = None
    lines: list[str] = []
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(_START_MARK):
            yield from _build_session(file, started_at, lines)
            started_at, lines = line.removeprefix(_START_MARK).strip(), []
        else:
            lines.append(line)
    yield from _build_session(file, started_at, lines)


def _build_session(file: Path, started_at: str | None, lines: list[str]) -> Iterator[Transcript]:
    messages = [message for message in _iter_messages(lines) if message is not None]
    if started_at is None or not messages:
        return
    name = hashlib.blake2b(f"{file.parent.resolve()}\0{started_at}".encode(), digest_size=8).hexdigest()
    yield Transcript(
        AGENT, f"aider-{name}", file, str(file.parent.resolve()), _parse_local_time(started_at), tuple(messages)
    )


def _iter_messages(lines: list[str]) -> Iterator[dict[str, Any] | None]:
    speaker, texts, number = "", list[str](), 0
    for line in [*lines, None]:
        line_speaker = "" if line is None else _find_speaker(line)
        if line is not None and (line_speaker == speaker or (not line.strip() and speaker)):
            texts.append(_strip_mark(line))
            continue
        if texts:
            number += 1
            yield _build_message(speaker, "\n".join(texts), str(number))
        speaker, texts = line_speaker, [_strip_mark(line)] if line is not None else []


def _build_message(speaker: str, text: str, ref: str) -> dict[str, Any] | None:
    if speaker == "tool":
        return make_result_message("aider", text, ref) if text.strip() else None
    return make_text_message(speaker, text, ref)


def _find_speaker(line: str) -> str:
    if line.startswith("#### "):
        return "user"
    return "tool" if line.startswith("> ") or line == ">" else "assistant"


def _strip_mark(line: str) -> str:
    return line.removeprefix("#### ").removeprefix("> ").rstrip() if line != ">" else ""


def _parse_local_time(started_at: str) -> datetime | None:
    try:
        return datetime.fromisoformat(started_at).astimezone()
    except ValueError:
        return None
