"""Arguments of the MCP tools, declared once.

`python -m hunchd.protocol.mcp.tool_arguments` renders them to `tools.json`. `hunch mcp` reads that file, because it
must start without msgspec; a test compares the two.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, ClassVar, Final

from msgspec import Meta, Struct

from hunchd.domain.facts import CATEGORIES
from hunchd.protocol.requests import ACTIVITIES, OUTCOMES
from hunchd.protocol.struct_schemas import Schema, build_component_schemas

_READS: Final = {"readOnlyHint": True}
_ADDS: Final = {"destructiveHint": False}


class Arguments(Struct, frozen=True, kw_only=True):
    """Base class for the arguments of a tool.

    Agents read the docstring of the subclass. Limits are not declared here, because the daemon checks them.
    """

    tool: ClassVar[str]
    hints: ClassVar[dict[str, bool]] = _READS

    project: str | None = None  # for servers that do not run inside one


class ContextArguments(Arguments, frozen=True, kw_only=True):
    """Before editing a file or starting a task: files that belong to it, decisions, errors, fixes."""

    tool: ClassVar = "context"

    file: str | None = None
    query: Annotated[str | None, Meta(description="the task")] = None
    error: str | None = None
    activity: Annotated[str, Meta(extra_json_schema={"enum": [each for each in ACTIVITIES if each]})] = ""
    budget: Annotated[int | None, Meta(description="tokens")] = None


class SearchArguments(Arguments, frozen=True, kw_only=True):
    """Code (path:lines), decisions, errors."""

    tool: ClassVar = "search"

    query: str
    k: int | None = None


class RememberArguments(Arguments, frozen=True, kw_only=True):
    """Keep what the user decided or corrected, one statement each."""

    tool: ClassVar = "remember"
    hints: ClassVar = _ADDS

    text: str
    category: Annotated[str, Meta(extra_json_schema={"enum": list(CATEGORIES)})] = ""
    key: Annotated[str | None, Meta(description="one value per key")] = None
    contradicts: Annotated[str | None, Meta(description="id of what it excludes")] = None


class ExpandArguments(Arguments, frozen=True, kw_only=True):
    """Full text behind a topic, id or file."""

    tool: ClassVar = "expand"

    topic: str


class PredictArguments(Arguments, frozen=True, kw_only=True):
    """Files edited next."""

    tool: ClassVar = "predict"

    file: str | None = None
    query: str | None = None
    k: int | None = None


class ReviewArguments(Arguments, frozen=True, kw_only=True):
    """What a change still lacks."""

    tool: ClassVar = "review"


class FeedbackArguments(Arguments, frozen=True, kw_only=True):
    """Say what helped."""

    tool: ClassVar = "feedback"
    hints: ClassVar = _ADDS

    id: str  # id of a memory, or path of a file
    outcome: Annotated[str, Meta(extra_json_schema={"enum": list(OUTCOMES)})]


TOOLS: Final[tuple[type[Arguments], ...]] = (
    ContextArguments,
    SearchArguments,
    RememberArguments,
    ExpandArguments,
    PredictArguments,
    ReviewArguments,
    FeedbackArguments,
)


def tool_definitions() -> list[Schema]:
    """Return the definitions of all tools, as `tools/list` returns them."""
    schemas = build_component_schemas({each.tool: each for each in TOOLS})
    return [_definition(each, schemas[each.tool]) for each in TOOLS]


def _definition(of: type[Arguments], schema: Schema) -> Schema:
    properties = schema["properties"]
    properties["project"] = properties.pop("project")  # moved to the end, because it is used least
    inputs = {key: schema[key] for key in ("type", "properties", "required") if key in schema}
    return {"name": of.tool, "description": schema["description"], "inputSchema": inputs, "annotations": of.hints}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(tool_definitions(), indent=1, ensure_ascii=False) + "\n")
