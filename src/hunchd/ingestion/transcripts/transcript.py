"""Result type and helpers that the readers for all agents share.

The result is a session whose messages have the format of the HTTP API.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from hunchd.ingestion.own_words import extract_user_text
from hunchd.ingestion.transcripts.packed import open_transcript
from hunchd.protocol.decoding import without_lone_surrogates

MAX_LINE_BYTES: Final = 16 * 1024 * 1024  # bytes; only images have lines of many megabytes


@dataclass(frozen=True, slots=True)
class Transcript:
    """Session of a coding agent, read from one of its files.

    `messages` have the format that POST /sessions/{id}/messages expects. Each message has a `ref`, which identifies
    it when the file is read again.
    """

    agent: str
    session: str
    file: Path
    project: str | None  # folder in which the agent worked
    started_at: datetime | None
    messages: tuple[Mapping[str, Any], ...]


def make_text_message(role: str, text: str, ref: str, at: datetime | None = None) -> dict[str, Any] | None:
    """Build a message from the user or the assistant.

    Returns None if the text is empty, or if the client wrote all of it.
    """
    stripped_text = extract_user_text(text) if role == "user" else text.strip()
    if not stripped_text:
        return None
    return _add_time({"ref": ref, "role": role, "content": stripped_text}, at)


def make_call_message(name: str, inputs: Any, ref: str, at: datetime | None = None) -> dict[str, Any]:
    data = inputs if isinstance(inputs, dict) else {"arguments": inputs}
    message = {"ref": ref, "role": "assistant", "event_type": "tool_call", "name": name, "event_data": {"input": data}}
    return _add_time(message, at)


def make_result_message(name: str | None, text: str, ref: str, at: datetime | None = None) -> dict[str, Any]:
    message = {"ref": ref, "role": "tool", "event_type": "tool_result", "content": text.strip() or "(nothing)"}
    return _add_time(message | ({"name": name} if name else {}), at)


def extract_text(content: Any) -> str:
    """Return the text in the content of a message.

    The content is a string, a part, or a list of parts. For an image or document, the text only mentions its type.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part for part in (extract_text(each) for each in content) if part)
    if isinstance(content, dict):
        for name in ("text", "output", "content"):
            if content.get(name):
                return extract_text(content[name])
        return f"[{content['type']}]" if content.get("type") in ("image", "input_image", "document") else ""
    return ""


def iter_json_objects(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects in a JSON Lines file.

    Invalid lines are skipped, such as the unfinished last line in the file of a running agent. Lines longer than
    MAX_LINE_BYTES are skipped too.
    """
    with open_transcript(file) as lines:
        for line in lines:
            if len(line) > MAX_LINE_BYTES:
                continue
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield without_lone_surrogates(value) if b"\\u" in line else value


def parse_timestamp(value: Any) -> datetime | None:
    """Parse a timestamp in any of the formats that agents use.

    The timestamp is a string in ISO 8601, or a number of seconds or milliseconds since the epoch. Returns None for
    any other value.
    """
    try:
        if isinstance(value, str):
            timestamp = datetime.fromisoformat(value)
            return timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)
        if isinstance(value, int | float) and value > 0:
            return datetime.fromtimestamp(value / 1_000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _add_time(message: dict[str, Any], at: datetime | None) -> dict[str, Any]:
    return message | ({"at": at.isoformat()} if at is not None else {})
