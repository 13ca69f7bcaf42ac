"""Reader of Gemini CLI's `~/.gemini/tmp/<hash of the folder>/chats/session-….json`, one document per session."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hunchd.ingestion.transcripts.transcript import Transcript, called, moment, objects_in, resulted, spoken, text_of

AGENT = "gemini"
LARGEST = 64 * 1024 * 1024  # bytes; the file is read at once
_ROLES = {"user": "user", "gemini": "assistant"}


def files(home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    root = Path(environment.get("GEMINI_CLI_HOME") or home) / ".gemini"
    yield from sorted((root / "tmp").glob("*/chats/session-*.json"))
    yield from sorted((root / "tmp").glob("*/chats/session-*.jsonl"))


def read(file: Path) -> Iterator[Transcript]:
    """Read the session of a file.

    Only the hash of the folder is known: `project` is "sha256:…", see `folder_hash`.
    """
    told = _of_lines(file) if file.suffix == ".jsonl" else _of_document(file)
    if not isinstance(told, dict) or not isinstance(told.get("messages"), list):
        return
    messages: list[dict[str, Any]] = []
    for number, event in enumerate(told["messages"]):
        if isinstance(event, dict):
            messages += _messages(event, str(event.get("id") or number))
    if messages:
        folder = told.get("projectHash") or file.parent.parent.name
        session = str(told.get("sessionId") or file.stem)
        yield Transcript(AGENT, session, file, f"sha256:{folder}", moment(told.get("startTime")), tuple(messages))


def _of_document(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes()) if file.stat().st_size <= LARGEST else None
    except ValueError:
        return None


def _of_lines(file: Path) -> dict[str, Any]:
    """Read a log of lines: a head, messages, of which a later one with the same id replaces an earlier one, changes."""
    told: dict[str, Any] = {}
    messages: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(objects_in(file)):
        if isinstance(changed := line.get("$set"), dict):
            told |= {name: value for name, value in changed.items() if name != "messages"}
        elif line.get("type") is None:
            told |= line
        else:
            messages[str(line.get("id") or number)] = line
    return {**told, "messages": list(messages.values())}


def folder_hash(folder: str) -> str:
    """Return Gemini CLI's name for a working folder."""
    return f"sha256:{hashlib.sha256(folder.encode()).hexdigest()}"


def _messages(event: Mapping[str, Any], ref: str) -> Iterator[dict[str, Any]]:
    at, role = moment(event.get("timestamp")), _ROLES.get(str(event.get("type")))
    if role is None:
        return
    if (message := spoken(role, text_of(event.get("content")), ref, at)) is not None:
        yield message
    for index, call in enumerate(event.get("toolCalls") or ()):
        if isinstance(call, dict):
            name = str(call.get("name") or "tool")
            yield called(name, call.get("args"), f"{ref}:{index}:call", at)
            yield resulted(name, _result(call), f"{ref}:{index}:result", at)


def _result(call: Mapping[str, Any]) -> str:
    parts = call.get("result")
    told = []
    for part in parts if isinstance(parts, list) else ():
        response = part.get("functionResponse", {}).get("response", {}) if isinstance(part, dict) else {}
        told.append(text_of(response) or text_of(part))
    return "\n".join(text for text in told if text) or text_of(call.get("resultDisplay"))
