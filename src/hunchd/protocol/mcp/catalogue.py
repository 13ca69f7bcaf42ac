"""Catalogue of the tools, resources and prompts offered to agents.

There are seven tools, two kinds of resources and two prompts. Agents pay for every word in each session, so the
definitions of all tools together stay below 500 tokens (checked by a test).
"""

from __future__ import annotations

import json
import os
from typing import Final

from hunchd.domain.json_values import JsonObject

INSTRUCTIONS: Final = (
    "hunchd knows this repository's history: which files change together, past decisions, errors and their fixes. "
    "Call context before the first edit of a file or at the start of a task, not on every turn."
)

# Rendered from `tool_arguments`; read as JSON, because `hunch mcp` must start without msgspec and pathlib.
with open(os.path.join(os.path.dirname(__file__), "tools.json"), "rb") as _file:  # noqa: PTH118, PTH120, PTH123
    TOOLS: Final[tuple[JsonObject, ...]] = tuple(json.load(_file))

BUNDLE_URI_PREFIX: Final = "hunch://bundle/"
DOCUMENT_URI_PREFIX: Final = "hunch://documents/"
MARKDOWN_TYPE: Final = "text/markdown"

TEMPLATES: Final[tuple[JsonObject, ...]] = (
    {
        "uriTemplate": BUNDLE_URI_PREFIX + "{+file}",
        "name": "bundle",
        "title": "Context of a file",
        "description": "What belongs to a file; its path relative to the project, or absolute.",
        "mimeType": MARKDOWN_TYPE,
    },
    {
        "uriTemplate": DOCUMENT_URI_PREFIX + "{+path}",
        "name": "document",
        "title": "Knowledge base",
        "description": "A document by its path, such as profile/identity.",
        "mimeType": MARKDOWN_TYPE,
    },
)

PROMPTS: Final[tuple[JsonObject, ...]] = (
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
