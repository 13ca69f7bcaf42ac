"""Detailed texts about a topic (files, symbols, past work), and outlines of files."""

from __future__ import annotations

from collections.abc import Sequence

from hunchd.assembly.fencing import show_name
from hunchd.core.state.project import Project
from hunchd.domain.errors import NotFound
from hunchd.domain.memory import Memory
from hunchd.ingestion.redaction import redact
from hunchd.ingestion.skeleton import render_skeleton
from hunchd.ingestion.topics import find_topic_files
from hunchd.protocol.requests import ExpandRequest
from hunchd.protocol.search_results import ExpandAnswer, SearchResult

MAX_SYMBOLS = 12  # definitions shown for a topic
MAX_FILES, MAX_FILE_LINES = 6, 5  # files shown, and lines of each
MAX_OUTLINE_LINES = {"full": 200, "summary": 30, "compressed": 8, "index": 1}


def expand(request: ExpandRequest, project: Project, results: Sequence[SearchResult]) -> ExpandAnswer:
    """Return a detailed text about a topic, or a file's outline.

    Raises NotFound if nothing in the project is known about the topic or file.
    """
    if request.id is not None:
        return _expand_file(request.id.removeprefix("file:"), request, project)
    assert request.topic is not None
    symbols = project.code.find_symbol(request.topic, MAX_SYMBOLS) if project.code is not None else []
    files = (
        find_topic_files(request.topic, project.code.count_symbols_by_file(), MAX_FILES)
        if project.code is not None
        else []
    )
    topic = redact(request.topic).text
    lines = [f"# {topic}"]
    if files:
        lines += ["", "## Files", *(line for path in files for line in _render_file_summary(path, project))]
    if symbols:
        lines += ["", "## Defined in", *(f"- {path}:{symbol.line} {symbol.signature}" for path, symbol in symbols)]
    if results:
        lines += ["", "## Known about it", *(f"- {result.title}: {result.snippet}" for result in results)]
    if len(lines) == 1:
        raise NotFound(f"nothing is known about '{topic}'", field="topic", hint=_format_topics_hint(project))
    return ExpandAnswer(topic=topic, level=request.level, project=project.id, text="\n".join(lines))


def _render_file_summary(path: str, project: Project) -> list[str]:
    """Render a file with its most important lines."""
    outline = project.code.get(path) if project.code is not None else None
    lines = render_skeleton(outline, max_lines=MAX_FILE_LINES).splitlines() if outline is not None else []
    return [f"- {path}", *(f"    {line}" for line in lines)]


def _expand_file(path: str, request: ExpandRequest, project: Project) -> ExpandAnswer:
    outline = project.code.get(path) if project.code is not None else None
    if outline is None:
        raise NotFound(f"{redact(path).text} is not an indexed file", field="id")
    text = render_skeleton(outline, max_lines=MAX_OUTLINE_LINES[request.level])
    return ExpandAnswer(id=f"file:{path}", title=path, level=request.level, project=project.id, text=text)


def _format_topics_hint(project: Project) -> str | None:
    return f"known topics: {', '.join(map(show_name, project.topics[:12]))}" if project.topics else None


def expand_memory(memory: Memory, level: str) -> ExpandAnswer:
    """Return the answer with the text of a memory at a level of detail."""
    return ExpandAnswer(id=memory.id, title=memory.title, level=level, text=get_text_at_level(memory, level))


def get_text_at_level(memory: Memory, level: str) -> str:
    """Return the text of a memory at a level of detail.

    If the memory has no text at this level, a longer text or the title is returned.
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
