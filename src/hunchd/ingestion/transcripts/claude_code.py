"""Reader of Claude Code's `~/.claude/projects/<folder>/<session>.jsonl`: one event per line.

Tool calls and results are content blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hunchd.ingestion.transcripts.transcript import (
    Transcript,
    called,
    moment,
    objects_in,
    resulted,
    spoken,
    text_of,
)

AGENT = "claude-code"


def files(home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    root = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    yield from sorted((root / "projects").glob("*/*.jsonl"))


def read(file: Path) -> Iterator[Transcript]:
    """Read the session of a file, without the messages of sub-agents."""
    messages: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    project = began = None
    for event in objects_in(file):
        if event.get("type") not in ("user", "assistant") or event.get("isSidechain") or event.get("isMeta"):
            continue
        project = project or event.get("cwd")
        began = began or moment(event.get("timestamp"))
        messages += _messages(event, names)
    if messages:
        yield Transcript(AGENT, file.stem, file, project, began, tuple(messages))


def _messages(event: Mapping[str, Any], names: dict[str, str]) -> Iterator[dict[str, Any]]:
    at, ref = moment(event.get("timestamp")), str(event.get("uuid") or event.get("timestamp"))
    told = event.get("message")
    content = told.get("content") if isinstance(told, dict) else None
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for index, block in enumerate(blocks if isinstance(blocks, list) else ()):
        own = f"{ref}:{index}"
        match block.get("type") if isinstance(block, dict) else None:
            case "text":
                if (message := spoken(str(event["type"]), text_of(block), own, at)) is not None:
                    yield message
            case "tool_use":
                name = str(block.get("name") or "tool")
                names[str(block.get("id"))] = name
                yield called(name, block.get("input"), own, at)
            case "tool_result":
                yield resulted(names.get(str(block.get("tool_use_id"))), text_of(block.get("content")), own, at)
