"""Common result of all transcript readers.

A session with messages in the API's format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from hunchd.ingestion.own_words import own_words
from hunchd.ingestion.transcripts.packed import open_transcript
from hunchd.protocol.decoding import without_lone_surrogates

LONGEST_LINE: Final = 16 * 1024 * 1024  # bytes; only images have lines of many megabytes


@dataclass(frozen=True, slots=True)
class Transcript:
    """Session of an agent.

    `messages` are those of POST /sessions/{id}/messages with refs.
    """

    agent: str
    session: str
    file: Path
    project: str | None  # the folder that the agent worked in
    began: datetime | None
    messages: tuple[Mapping[str, Any], ...]


def spoken(role: str, text: str, ref: str, at: datetime | None = None) -> dict[str, Any] | None:
    """Build a message of a user or assistant.

    Returns None for empty text and for what the client alone says.
    """
    said = own_words(text) if role == "user" else text.strip()
    if not said:
        return None
    return _timed({"ref": ref, "role": role, "content": said}, at)


def called(name: str, inputs: Any, ref: str, at: datetime | None = None) -> dict[str, Any]:
    data = inputs if isinstance(inputs, dict) else {"arguments": inputs}
    message = {"ref": ref, "role": "assistant", "event_type": "tool_call", "name": name, "event_data": {"input": data}}
    return _timed(message, at)


def resulted(name: str | None, text: str, ref: str, at: datetime | None = None) -> dict[str, Any]:
    message = {"ref": ref, "role": "tool", "event_type": "tool_result", "content": text.strip() or "(nothing)"}
    return _timed(message | ({"name": name} if name else {}), at)


def text_of(content: Any) -> str:
    """Return the text of a message's content.

    The content is a string, a list of parts, or one part. Other media are named, not stored.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part for part in (text_of(each) for each in content) if part)
    if isinstance(content, dict):
        for name in ("text", "output", "content"):
            if content.get(name):
                return text_of(content[name])
        return f"[{content['type']}]" if content.get("type") in ("image", "input_image", "document") else ""
    return ""


def objects_in(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON Lines file.

    Broken lines are skipped, such as the last one of a running agent.
    """
    with open_transcript(file) as lines:
        for line in lines:
            if len(line) > LONGEST_LINE:
                continue
            try:
                told = json.loads(line)
            except ValueError:
                continue
            if isinstance(told, dict):
                yield without_lone_surrogates(told) if b"\\u" in line else told


def moment(value: Any) -> datetime | None:
    """Parse a timestamp: ISO 8601 or milliseconds since the epoch."""
    try:
        if isinstance(value, str):
            parsed = datetime.fromisoformat(value)
            return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
        if isinstance(value, int | float) and value > 0:
            return datetime.fromtimestamp(value / 1_000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _timed(message: dict[str, Any], at: datetime | None) -> dict[str, Any]:
    return message | ({"at": at.isoformat()} if at is not None else {})
