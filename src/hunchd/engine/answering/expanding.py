"""Detailed text of a topic (files, symbols, past work) or of a file's outline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hunchd.domain.errors import NotFound
from hunchd.domain.memory import Memory
from hunchd.engine.state.project import Project
from hunchd.ingestion.redaction import redact
from hunchd.ingestion.skeleton import skeleton
from hunchd.ingestion.topics import files_about
from hunchd.protocol.requests import ExpandRequest

SYMBOLS = 12  # definitions shown for a topic
FILES, FILE_LINES = 6, 5  # files shown, and lines of each
OUTLINE_LINES = {"full": 200, "summary": 30, "compressed": 8, "index": 1}


def expanded(request: ExpandRequest, project: Project, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Expand a topic or file in the API's form.

    Raises NotFound when the project has nothing about it.
    """
    if request.id is not None:
        return _file(request.id.removeprefix("file:"), request, project)
    assert request.topic is not None
    symbols = project.code.find_symbol(request.topic, SYMBOLS) if project.code is not None else []
    files = files_about(request.topic, project.code.defined(), FILES) if project.code is not None else []
    topic = redact(request.topic).text
    lines = [f"# {topic}"]
    if files:
        lines += ["", "## Files", *(line for path in files for line in _in_short(path, project))]
    if symbols:
        lines += ["", "## Defined in", *(f"- {path}:{symbol.line} {symbol.signature}" for path, symbol in symbols)]
    if found:
        lines += ["", "## Known about it", *(f"- {result['title']}: {result['snippet']}" for result in found)]
    if len(lines) == 1:
        raise NotFound(f"nothing is known about '{topic}'", field="topic", hint=_others(project))
    return {"topic": topic, "level": request.level, "project": project.id, "text": "\n".join(lines)}


def _in_short(path: str, project: Project) -> list[str]:
    """Render a file with its most important lines."""
    outline = project.code.get(path) if project.code is not None else None
    lines = skeleton(outline, max_lines=FILE_LINES).splitlines() if outline is not None else []
    return [f"- {path}", *(f"    {line}" for line in lines)]


def _file(path: str, request: ExpandRequest, project: Project) -> dict[str, Any]:
    outline = project.code.get(path) if project.code is not None else None
    if outline is None:
        raise NotFound(f"{redact(path).text} is not an indexed file", field="id")
    text = skeleton(outline, max_lines=OUTLINE_LINES[request.level])
    return {"id": f"file:{path}", "title": path, "level": request.level, "project": project.id, "text": text}


def _others(project: Project) -> str | None:
    return f"known topics: {', '.join(project.topics[:12])}" if project.topics else None


def memory_at(memory: Memory, level: str) -> dict[str, Any]:
    """Render a memory at a level, in the API's form."""
    return {"id": memory.id, "title": memory.title, "level": level, "text": text_at(memory, level)}


def text_at(memory: Memory, level: str) -> str:
    """Return the text of a memory at a level.

    Falls back to the next longer level that exists.
    """
    match level:
        case "summary":
            return memory.levels.summary or memory.content
        case "compressed":
            return memory.levels.compressed or memory.levels.summary or memory.title
        case "index":
            return memory.levels.index or memory.title
        case _:
            return memory.content
