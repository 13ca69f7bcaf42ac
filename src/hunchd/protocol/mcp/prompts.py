"""MCP prompts: instructions for a way of working, together with stored knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hunchd.domain.errors import HunchError, InvalidInput
from hunchd.domain.json_values import JsonObject
from hunchd.protocol.mcp.catalogue import PROMPTS
from hunchd.protocol.mcp.project_resolver import ProjectResolver
from hunchd.protocol.mcp.tools import render_context

_DEBUG = """Find the cause of this error, then fix it.

{subject}

1. Read what is known below: the same error may have been fixed before, or a decision may explain it.
2. Reproduce it, and say what you expected and what happened, before you change anything.
3. Fix the cause, not the symptom. Add a test that failed before.
4. When it is solved, call the remember tool once with the cause and the fix."""

_START_FEATURE = """Plan this feature before you write it.

{subject}

1. Read what is known below: decisions that bind it, files that change together, similar past work.
2. Name the files you will touch and why, and what is still open; ask where a decision is missing.
3. Follow the project's conventions; write the tests with it.
4. When something was decided, call the remember tool with it, category decision."""


async def get_prompt(name: str, arguments: Mapping[str, Any], focus: ProjectResolver) -> JsonObject:
    """Build the messages of a prompt.

    Raises InvalidInput if an argument is missing or unknown.
    """
    prompt = next(each for each in PROMPTS if each["name"] == name)
    argument_names = [argument["name"] for argument in prompt["arguments"]]
    for name_given, value in arguments.items():
        if name_given not in argument_names or not isinstance(value, str):
            raise InvalidInput(
                f"'{name_given}' is not a string argument of {name}; allowed: {', '.join(argument_names)}"
            )
    required_name = argument_names[0]
    if not arguments.get(required_name, "").strip():
        raise InvalidInput(f"'{required_name}' is missing", hint=f"{name} requires this argument")
    subject, file = arguments[required_name], arguments.get("file") or None
    signals = (
        {"error": subject, "activity": "debugging"}
        if name == "debug"
        else {"query": subject[:1000], "activity": "new_feature"}
    )
    text = (_DEBUG if name == "debug" else _START_FEATURE).format(subject=subject)
    try:
        root = await focus.resolve_root(None, file)
        known_context = await render_context(root, {**signals, "file": file}, focus)
    except HunchError as trouble:  # the prompt is useful without it
        known_context = f"(What is known could not be retrieved: {trouble.message}.)"
    messages = [
        {"role": "user", "content": {"type": "text", "text": part}}
        for part in (text, f"What is known:\n\n{known_context}")
    ]
    return {"description": prompt["description"], "messages": messages}
