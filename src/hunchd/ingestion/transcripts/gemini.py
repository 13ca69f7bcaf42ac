"""Reader for Gemini CLI's `~/.gemini/tmp/<hash of the folder>/chats/session-….json`.

Each session is one JSON document or, in newer versions, a log in JSON Lines.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hunchd.ingestion.transcripts.transcript import (
    Transcript,
    extract_text,
    iter_json_objects,
    make_call_message,
    make_result_message,
    make_text_message,
    parse_timestamp,
)

AGENT = "gemini"
MAX_BYTES = 64 * 1024 * 1024  # bytes; the file is read at once
_ROLES = {"user": "user", "gemini": "assistant"}


def files(home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    root = Path(environment.get("GEMINI_CLI_HOME") or home) / ".gemini"
    yield from sorted((root / "tmp").glob("*/chats/session-*.json"))
    yield from sorted((root / "tmp").glob("*/chats/session-*.jsonl"))


def read(file: Path) -> Iterator[Transcript]:
    """Yield the session recorded in a file, if it has messages.

    Gemini CLI records only a hash of the working folder, so the transcript's `project` is "sha256:…" (see
    `hash_folder`).
    """
    document = _of_lines(file) if file.suffix == ".jsonl" else _of_document(file)
    if not isinstance(document, dict) or not isinstance(document.get("messages"), list):
        return
    messages: list[dict[str, Any]] = []
    for number, event in enumerate(document["messages"]):
        if isinstance(event, dict):
            messages += _iter_messages(event, str(event.get("id") or number))
    if messages:
        folder = document.get("projectHash") or file.parent.parent.name
        session = str(document.get("sessionId") or file.stem)
        yield Transcript(
            AGENT, session, file, f"sha256:{folder}", parse_timestamp(document.get("startTime")), tuple(messages)
        )


def _of_document(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes()) if file.stat().st_size <= MAX_BYTES else None
    except ValueError:
        return None


def _of_lines(file: Path) -> dict[str, Any]:
    """Read a log in JSON Lines into one document.

    The lines are a header, messages, and changes to the header. A message replaces any earlier one with the same id.
    """
    session: dict[str, Any] = {}
    messages: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(iter_json_objects(file)):
        if isinstance(changed_fields := line.get("$set"), dict):
            session |= {name: value for name, value in changed_fields.items() if name != "messages"}
        elif line.get("type") is None:
            session |= line
        else:
            messages[str(line.get("id") or number)] = line
    return {**session, "messages": list(messages.values())}


def hash_folder(folder: str) -> str:
    """Return the `project` of transcripts from the working folder `folder`.

    The value contains the hash by which Gemini CLI refers to the folder.
    """
    return f"sha256:{hashlib.sha256(folder.encode()).hexdigest()}"


def _iter_messages(event: Mapping[str, Any], ref: str) -> Iterator[dict[str, Any]]:
    at, role = parse_timestamp(event.get("timestamp")), _ROLES.get(str(event.get("type")))
    if role is None:
        return
    if (message := make_text_message(role, extract_text(event.get("content")), ref, at)) is not None:
        yield message
    for index, call in enumerate(event.get("toolCalls") or ()):
        if isinstance(call, dict):
            name = str(call.get("name") or "tool")
            yield make_call_message(name, call.get("args"), f"{ref}:{index}:call", at)
            yield make_result_message(name, _read_result(call), f"{ref}:{index}:result", at)


def _read_result(call: Mapping[str, Any]) -> str:
    parts = call.get("result")
    texts = []
    for part in parts if isinstance(parts, list) else ():
        response = part.get("functionResponse", {}).get("response", {}) if isinstance(part, dict) else {}
        texts.append(extract_text(response) or extract_text(part))
    return "\n".join(text for text in texts if text) or extract_text(call.get("resultDisplay"))
