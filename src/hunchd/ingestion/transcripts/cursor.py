"""Reader of Cursor's SQLite store `state.vscdb`: conversations `composerData:<id>`, messages `bubbleId:…`.

The file is opened read-only and may be gigabytes large, so rows are queried by their keys.
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

from hunchd.ingestion.transcripts.transcript import Transcript, called, moment, objects_in, resulted, spoken, text_of

AGENT = "cursor"
DATABASE = "state.vscdb"
_ROOTS = (".config/Cursor/User", "Library/Application Support/Cursor/User", "AppData/Roaming/Cursor/User")
_USER, _ASSISTANT = 1, 2


def files(home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    for root in _ROOTS:
        file = home / root / "globalStorage" / DATABASE
        if file.is_file():
            yield file
    yield from sorted((home / ".cursor" / "projects").glob("*/agent-transcripts/**/*.jsonl"))


def read(file: Path) -> Iterator[Transcript]:
    """Read every conversation of the store, ordered by id; or that of a log of lines."""
    if file.suffix == ".jsonl":
        yield from _read_log(file)
        return
    folders = _folders(file.parent.parent / "workspaceStorage")
    with closing(_opened(file)) as database:
        # A range of keys uses the index; LIKE would read every row.
        rows = database.execute(
            "SELECT key, value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY key"
        )
        for key, value in rows:
            session = str(key).partition(":")[2]
            told = _object(value)
            messages = tuple(_messages(database, session, told))
            if messages:
                began = moment(told.get("createdAt"))
                yield Transcript(AGENT, session, file, folders.get(session), began, messages)


def folder_name(folder: str) -> str:
    """Return the name under which Cursor keeps the logs of a folder."""
    return f"cursor:{re.sub(r'[^A-Za-z0-9]+', '-', folder).strip('-')}"


def _read_log(file: Path) -> Iterator[Transcript]:
    """Read a log of lines. It tells no times: all that is known is when it was written last."""
    written = moment(file.stat().st_mtime)
    messages = [
        message
        for number, line in enumerate(objects_in(file))
        if line.get("role") in ("user", "assistant")
        for message in _logged(line, str(number), written)
    ]
    place = next((parent for parent in file.parents if parent.parent.name == "projects"), None)
    if messages:
        project = folder_name(place.name) if place is not None else None
        yield Transcript(AGENT, file.stem, file, project, written, tuple(messages))


def _logged(line: Mapping[str, Any], ref: str, at: datetime | None) -> Iterator[dict[str, Any]]:
    told = line.get("message")
    content = told.get("content") if isinstance(told, dict) else None
    for index, part in enumerate(content if isinstance(content, list) else [{"type": "text", "text": content}]):
        match part.get("type") if isinstance(part, dict) else None:
            case "text":
                if (message := spoken(str(line["role"]), text_of(part), f"{ref}:{index}", at)) is not None:
                    yield message
            case "tool_use":
                yield called(str(part.get("name") or "tool"), part.get("input"), f"{ref}:{index}", at)
            case "tool_result":
                yield resulted(None, text_of(part.get("content")), f"{ref}:{index}", at)


def _messages(database: sqlite3.Connection, session: str, told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    listed = told.get("fullConversationHeadersOnly") or told.get("conversation") or ()
    for header in listed:
        if not isinstance(header, dict):
            continue
        bubble, ref = header, str(header.get("bubbleId"))
        if "text" not in header:  # since 2025 messages are in separate rows
            row = database.execute(
                "SELECT value FROM cursorDiskKV WHERE key = ?", (f"bubbleId:{session}:{ref}",)
            ).fetchone()
            bubble = _object(row[0]) if row is not None else {}
        yield from _said(bubble, header.get("type", bubble.get("type")), ref)


def _said(bubble: Mapping[str, Any], kind: Any, ref: str) -> Iterator[dict[str, Any]]:
    at = moment(bubble.get("createdAt"))
    role = {_USER: "user", _ASSISTANT: "assistant"}.get(kind)
    if role is not None and (message := spoken(role, text_of(bubble.get("text")), ref, at)) is not None:
        yield message
    tool = bubble.get("toolFormerData")
    if isinstance(tool, dict) and tool.get("name"):
        name = str(tool["name"])
        yield called(name, _object(tool.get("rawArgs") or tool.get("params")), f"{ref}:call", at)
        if tool.get("result"):
            result = tool["result"]
            yield resulted(name, text_of(_object(result)) or str(result), f"{ref}:result", at)


def _folders(workspaces: Path) -> dict[str, str]:
    """Map conversations to their folders, as far as a workspace lists them."""
    found: dict[str, str] = {}
    for file in sorted(workspaces.glob(f"*/{DATABASE}")):
        try:
            folder = json.loads((file.parent / "workspace.json").read_bytes()).get("folder")
            with closing(_opened(file)) as database:
                row = database.execute("SELECT value FROM ItemTable WHERE key = 'composer.composerData'").fetchone()
        except (OSError, ValueError, sqlite3.Error):
            continue
        path = unquote(urlsplit(folder).path) if isinstance(folder, str) else ""
        for composer in _object(row[0]).get("allComposers", ()) if row is not None and path else ():
            found[str(composer.get("composerId"))] = path
    return found


def _opened(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=2)


def _object(value: Any) -> dict[str, Any]:
    try:
        told = json.loads(value) if isinstance(value, str | bytes) else value
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
