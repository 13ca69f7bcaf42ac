"""Reader for Cursor's SQLite database `state.vscdb`, and for its logs in JSON Lines.

In the database, conversations have keys such as `composerData:<id>`, and messages keys such as `bubbleId:…`. The
file is opened read-only; it may be gigabytes large, so rows are selected by their keys.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from hunchd.ingestion.transcripts.transcript import (
    Transcript,
    extract_text,
    iter_json_objects,
    make_call_message,
    make_result_message,
    make_text_message,
    parse_timestamp,
)

AGENT = "cursor"
DATABASE = "state.vscdb"
_USER_FOLDERS = (".config/Cursor/User", "Library/Application Support/Cursor/User", "AppData/Roaming/Cursor/User")
_USER, _ASSISTANT = 1, 2


def files(home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    for root in _USER_FOLDERS:
        file = home / root / "globalStorage" / DATABASE
        if file.is_file():
            yield file
    yield from sorted((home / ".cursor" / "projects").glob("*/agent-transcripts/**/*.jsonl"))


def read(file: Path) -> Iterator[Transcript]:
    """Yield every conversation in the database, ordered by id.

    `file` may also be a log in JSON Lines, which contains one conversation.
    """
    if file.suffix == ".jsonl":
        yield from _read_log(file)
        return
    folders = _map_folders(file.parent.parent / "workspaceStorage")
    with closing(_open_readonly(file)) as database:
        # A range of keys uses the index; LIKE would read every row.
        rows = database.execute(
            "SELECT key, value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY key"
        )
        for key, value in rows:
            session = str(key).partition(":")[2]
            conversation = _parse_object(value)
            messages = tuple(_iter_messages(database, session, conversation))
            if messages:
                started_at = parse_timestamp(conversation.get("createdAt"))
                yield Transcript(AGENT, session, file, folders.get(session), started_at, messages)


def folder_name(folder: str) -> str:
    """Return the name that identifies a project's folder in Cursor's logs.

    Cursor's logs do not contain the path itself, only this form of it.
    """
    return f"cursor:{re.sub(r'[^A-Za-z0-9]+', '-', folder).strip('-')}"


def _read_log(file: Path) -> Iterator[Transcript]:
    """Yield the conversation in a JSON Lines log, if it has messages.

    The log contains no times, so each message gets the time at which the file was last modified.
    """
    modification_time = parse_timestamp(file.stat().st_mtime)
    messages = [
        message
        for number, line in enumerate(iter_json_objects(file))
        if line.get("role") in ("user", "assistant")
        for message in _parse_log_line(line, str(number), modification_time)
    ]
    place = next((parent for parent in file.parents if parent.parent.name == "projects"), None)
    if messages:
        project = folder_name(place.name) if place is not None else None
        yield Transcript(AGENT, file.stem, file, project, modification_time, tuple(messages))


def _parse_log_line(line: Mapping[str, Any], ref: str, at: datetime | None) -> Iterator[dict[str, Any]]:
    message_body = line.get("message")
    content = message_body.get("content") if isinstance(message_body, dict) else None
    for index, part in enumerate(content if isinstance(content, list) else [{"type": "text", "text": content}]):
        match part.get("type") if isinstance(part, dict) else None:
            case "text":
                if (
                    message := make_text_message(str(line["role"]), extract_text(part), f"{ref}:{index}", at)
                ) is not None:
                    yield message
            case "tool_use":
                yield make_call_message(str(part.get("name") or "tool"), part.get("input"), f"{ref}:{index}", at)
            case "tool_result":
                yield make_result_message(None, extract_text(part.get("content")), f"{ref}:{index}", at)


def _iter_messages(
    database: sqlite3.Connection, session: str, conversation: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    headers = conversation.get("fullConversationHeadersOnly") or conversation.get("conversation") or ()
    for header in headers:
        if not isinstance(header, dict):
            continue
        bubble, ref = header, str(header.get("bubbleId"))
        if "text" not in header:  # since 2025 messages are in separate rows
            row = database.execute(
                "SELECT value FROM cursorDiskKV WHERE key = ?", (f"bubbleId:{session}:{ref}",)
            ).fetchone()
            bubble = _parse_object(row[0]) if row is not None else {}
        yield from _read_bubble(bubble, header.get("type", bubble.get("type")), ref)


def _read_bubble(bubble: Mapping[str, Any], kind: Any, ref: str) -> Iterator[dict[str, Any]]:
    at = parse_timestamp(bubble.get("createdAt"))
    role = {_USER: "user", _ASSISTANT: "assistant"}.get(kind)
    if role is not None and (message := make_text_message(role, extract_text(bubble.get("text")), ref, at)) is not None:
        yield message
    tool = bubble.get("toolFormerData")
    if isinstance(tool, dict) and tool.get("name"):
        name = str(tool["name"])
        yield make_call_message(name, _parse_object(tool.get("rawArgs") or tool.get("params")), f"{ref}:call", at)
        if tool.get("result"):
            result = tool["result"]
            yield make_result_message(name, extract_text(_parse_object(result)) or str(result), f"{ref}:result", at)


def _map_folders(workspaces: Path) -> dict[str, str]:
    """Map the ids of conversations to the project folders of their workspaces.

    Conversations that no workspace lists are left out.
    """
    folder_by_conversation: dict[str, str] = {}
    for file in sorted(workspaces.glob(f"*/{DATABASE}")):
        try:
            folder = json.loads((file.parent / "workspace.json").read_bytes()).get("folder")
            with closing(_open_readonly(file)) as database:
                row = database.execute("SELECT value FROM ItemTable WHERE key = 'composer.composerData'").fetchone()
        except (OSError, ValueError, sqlite3.Error):
            continue
        path = unquote(urlsplit(folder).path) if isinstance(folder, str) else ""
        for composer in _parse_object(row[0]).get("allComposers", ()) if row is not None and path else ():
            folder_by_conversation[str(composer.get("composerId"))] = path
    return folder_by_conversation


def _open_readonly(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=2)


def _parse_object(value: Any) -> dict[str, Any]:
    try:
        parsed_value = json.loads(value) if isinstance(value, str | bytes) else value
    except ValueError:
        return {}
    return parsed_value if isinstance(parsed_value, dict) else {}
