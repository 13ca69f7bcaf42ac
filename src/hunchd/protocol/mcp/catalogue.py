"""Catalogue for agents: six tools, two kinds of resources, two prompts.

Agents pay for every word in each session, so the definitions of all tools together stay below 500 tokens (checked by a
test).
"""

from __future__ import annotations

from typing import Any, Final

INSTRUCTIONS: Final = (
    "hunchd knows this repository's history: which files change together, past decisions, errors and their fixes. "
    "Call context before the first edit of a file or at the start of a task, not on every turn."
)

_CATEGORIES: Final = ("identity", "preference", "constraint", "instruction", "decision", "convention")
_OUTCOMES: Final = ("cited", "ignored", "wrong", "missed")
ACTIVITIES: Final = ("coding", "debugging", "new_feature", "reviewing")

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}


def _one_of(choices: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "string", "enum": list(choices)}


def _tool(
    name: str, description: str, required: tuple[str, ...], *, hints: dict[str, bool], **properties: dict[str, Any]
) -> dict[str, Any]:
    """Build a tool definition.

    All tools accept `project`, for servers that do not run inside one.
    """
    schema = {"type": "object", "properties": {**properties, "project": _TEXT}}
    return {
        "name": name,
        "description": description,
        "inputSchema": schema | ({"required": list(required)} if required else {}),
        "annotations": hints,
    }


_READS: Final = {"readOnlyHint": True}
_ADDS: Final = {"destructiveHint": False}

TOOLS: Final[tuple[dict[str, Any], ...]] = (
    _tool(
        "context",
        "Before editing a file or starting a task: files that belong to it, decisions, errors, fixes.",
        (),
        hints=_READS,
        file=_TEXT,
        query={"type": "string", "description": "the task"},
        error=_TEXT,
        activity=_one_of(ACTIVITIES),
        budget={"type": "integer", "description": "tokens"},
    ),
    _tool("search", "Code (path:lines), decisions, errors.", ("query",), hints=_READS, query=_TEXT, k=_NUMBER),
    _tool(
        "remember",
        "Keep what the user decided or corrected, one statement each.",
        ("text",),
        hints=_ADDS,
        text=_TEXT,
        category=_one_of(_CATEGORIES),
        key={"type": "string", "description": "one value per key"},
        contradicts={"type": "string", "description": "id of what it excludes"},
    ),
    _tool("expand", "Full text behind a topic, id or file.", ("topic",), hints=_READS, topic=_TEXT),
    _tool("predict", "Files edited next.", (), hints=_READS, file=_TEXT, query=_TEXT, k=_NUMBER),
    _tool("review", "What a change still lacks.", (), hints=_READS),
    _tool(
        "feedback",
        "Say what helped.",
        ("id", "outcome"),
        hints=_ADDS,
        id=_TEXT,
        outcome=_one_of(_OUTCOMES),
    ),
)

BUNDLES: Final = "hunch://bundle/"
DOCUMENTS: Final = "hunch://documents/"
MARKDOWN: Final = "text/markdown"

TEMPLATES: Final[tuple[dict[str, Any], ...]] = (
    {
        "uriTemplate": BUNDLES + "{+file}",
        "name": "bundle",
        "title": "Context of a file",
        "description": "What belongs to a file; its path relative to the project, or absolute.",
        "mimeType": MARKDOWN,
    },
    {
        "uriTemplate": DOCUMENTS + "{+path}",
        "name": "document",
        "title": "Knowledge base",
        "description": "A document by its path, such as profile/identity.",
        "mimeType": MARKDOWN,
    },
)

PROMPTS: Final[tuple[dict[str, Any], ...]] = (
    {
        "name": "debug",
        "title": "Debug an error",
        "description": "Find the cause of an error, beginning with what is known about it.",
        "arguments": [
            {"name": "error", "description": "the message or trace", "required": True},
            {"name": "file", "description": "where it happens, if you know", "required": False},
        ],
    },
    {
        "name": "start_feature",
        "title": "Start a feature",
        "description": "Plan a feature on what the project has decided and done before.",
        "arguments": [
            {"name": "feature", "description": "what it should do", "required": True},
            {"name": "file", "description": "where it probably begins", "required": False},
        ],
    },
)
