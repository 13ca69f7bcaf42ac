"""Reader for Claude Code's `~/.claude/projects/<folder>/<session>.jsonl`, with one event per line.

Tool calls and their results are content blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from hunchd.ingestion.transcripts.transcript import (
    Transcript,
    extract_text,
    iter_json_objects,
    make_call_message,
    make_result_message,
    make_text_message,
    parse_timestamp,
)

AGENT = "claude-code"


def files(home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    root = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    yield from sorted((root / "projects").glob("*/*.jsonl"))


# Fields that mark what the client itself put into the session.
_PUT: Final = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSynthetic")


def read(file: Path) -> Iterator[Transcript]:
    """Yield the session recorded in a file, if the file has the expected format.

    Messages from subagents and text that the client inserted are skipped. If the session was branched from another
    session whose file is in the same folder, the messages copied from that session are skipped as well. Prompts
    that the user queued while the agent was working are included.
    """
    messages: list[dict[str, Any]] = []
    waiting: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    project = started_at = None
    is_known = False
    for event in iter_json_objects(file):
        is_known = is_known or isinstance(event.get("type"), str)
        if (prompt := _parse_queued_message(event)) is not None:
            waiting.setdefault(prompt["content"], prompt)
            continue
        if event.get("type") not in ("user", "assistant") or any(map(event.get, _PUT)) or _is_copy(event, file):
            continue
        project = project or event.get("cwd")
        started_at = started_at or parse_timestamp(event.get("timestamp"))
        messages += _iter_messages(event, names)
    message_contents = {message.get("content") for message in messages}
    messages += [prompt for text, prompt in waiting.items() if text not in message_contents]
    if messages or is_known:
        yield Transcript(AGENT, file.stem, file, project, started_at, tuple(messages))


def _parse_queued_message(event: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a prompt that the user typed while the agent was working.

    Returns None for any other event.
    """
    attachment = event.get("attachment")
    if event.get("type") == "queue-operation" and event.get("operation") == "enqueue":
        text = event.get("content")
    elif isinstance(attachment, dict) and attachment.get("type") == "queued_command":
        text = attachment.get("prompt") if attachment.get("commandMode", "prompt") == "prompt" else None
    else:
        return None
    ref = f"queued:{event.get('uuid') or event.get('timestamp')}"
    return make_text_message("user", extract_text(text), ref, parse_timestamp(event.get("timestamp")))


def _is_copy(event: Mapping[str, Any], file: Path) -> bool:
    """Return True for a message that was copied from another session.

    The other session's file must still be beside `file`; otherwise the copy is the only record.
    """
    origin = event.get("forkedFrom")
    session = origin.get("sessionId") if isinstance(origin, dict) else None
    return isinstance(session, str) and session != file.stem and (file.parent / f"{Path(session).name}.jsonl").is_file()


def _iter_messages(event: Mapping[str, Any], names: dict[str, str]) -> Iterator[dict[str, Any]]:
    at, ref = parse_timestamp(event.get("timestamp")), str(event.get("uuid") or event.get("timestamp"))
    message_value = event.get("message")
    content = message_value.get("content") if isinstance(message_value, dict) else None
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for index, block in enumerate(blocks if isinstance(blocks, list) else ()):
        block_ref = f"{ref}:{index}"
        match block.get("type") if isinstance(block, dict) else None:
            case "text":
                if (message := make_text_message(str(event["type"]), extract_text(block), block_ref, at)) is not None:
                    yield message
            case "tool_use":
                name = str(block.get("name") or "tool")
                names[str(block.get("id"))] = name
                yield make_call_message(name, block.get("input"), block_ref, at)
            case "tool_result":
                yield make_result_message(
                    names.get(str(block.get("tool_use_id"))), extract_text(block.get("content")), block_ref, at
                )
