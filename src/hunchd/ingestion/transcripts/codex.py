"""Reader for Codex's `~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl`.

Each line wraps an item in an object; older versions of Codex wrote the item itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hunchd.ingestion.own_words import extract_user_text
from hunchd.ingestion.transcripts.transcript import (
    Transcript,
    extract_text,
    iter_json_objects,
    make_call_message,
    make_result_message,
    make_text_message,
    parse_timestamp,
)

AGENT = "codex"


def files(home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    root = Path(environment.get("CODEX_HOME") or home / ".codex")
    for folder in ("sessions", "archived_sessions"):
        yield from sorted((root / folder).rglob("rollout-*.jsonl"))
        yield from sorted((root / folder).rglob("rollout-*.jsonl.zst"))


def read(file: Path) -> Iterator[Transcript]:
    messages: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    session, project, started_at = file.name.partition(".jsonl")[0], None, None
    for number, line in enumerate(iter_json_objects(file)):
        item = line.get("payload") if isinstance(line.get("payload"), dict) else line
        assert isinstance(item, dict)
        if line.get("type") == "session_meta" or (number == 0 and "id" in line and "type" not in line):
            session, project = str(item.get("id") or session), item.get("cwd")
            started_at = parse_timestamp(item.get("timestamp") or line.get("timestamp"))
        elif line.get("type") in ("response_item", None) or "payload" not in line:
            message = _build_message(item, names, f"{number}", line.get("timestamp"))
            if message is not None:
                messages.append(message)
    if messages:
        yield Transcript(AGENT, session, file, project, started_at, tuple(messages))


def _build_message(item: Mapping[str, Any], names: dict[str, str], ref: str, stamp: Any) -> dict[str, Any] | None:
    at = parse_timestamp(stamp)
    match item.get("type"):
        case "message" if item.get("role") in ("user", "assistant"):
            return make_text_message(str(item["role"]), _extract_text(item), ref, at)
        case "function_call" | "custom_tool_call":
            name = names[str(item.get("call_id"))] = str(item.get("name") or "tool")
            return make_call_message(name, _parse_inputs(item.get("arguments", item.get("input"))), ref, at)
        case "local_shell_call":
            names[str(item.get("call_id"))] = "shell"
            action = item.get("action")
            return make_call_message("shell", action if isinstance(action, dict) else {}, ref, at)
        case "function_call_output" | "custom_tool_call_output":
            return make_result_message(names.get(str(item.get("call_id"))), _read_output(item.get("output")), ref, at)
        case _:
            return None


def _extract_text(item: Mapping[str, Any]) -> str:
    """Return the text of a message.

    Each part of a user's message is examined separately, because the client adds parts of its own.
    """
    parts = item.get("content")
    if item.get("role") != "user" or not isinstance(parts, list):
        return extract_text(parts)
    return "\n".join(filter(None, (extract_user_text(extract_text(part)) for part in parts)))


def _parse_inputs(arguments: Any) -> Any:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return {"input": arguments}


def _read_output(output: Any) -> str:
    """Return the text of a tool's output.

    Older versions of Codex wrap the text in JSON, together with the exit code.
    """
    if isinstance(output, str) and output.startswith("{"):
        try:
            return extract_text(json.loads(output)) or output
        except ValueError:
            return output
    return extract_text(output)
