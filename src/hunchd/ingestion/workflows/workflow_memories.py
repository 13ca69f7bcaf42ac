"""Conversion of workflows to memories.

A workflow's memory consists of a hint, which is one line, and its steps, origin and events.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from typing import Final

from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Trust
from hunchd.domain.workflow import Workflow, WorkflowStep
from hunchd.ingestion.redaction import redact

SCRIPT_SOURCE: Final = "script"  # source type of workflows from files
MAX_HINT: Final = 200  # characters of the one-line hint
MAX_HINT_STEPS: Final = 5  # steps in the hint
MAX_STEPS: Final = 60
MAX_TEXT: Final = 6_000  # characters
_UNINFORMATIVE_COMMAND: Final = re.compile(r"(?:echo|printf)\b|(?:\w+=\S+ )?(?:exec )?[\"']?\$(?!\(|\{\{)")
# tox's placeholder for positional arguments, with or without a default.
_POSARGS: Final = re.compile(r"\{posargs(?::((?:[^{}]|\{[^{}]*\})*))?\}")
_IMPORTANCE_BY_PURPOSE: Final = {"test": 0.6, "check": 0.6, "release": 0.6, "build": 0.55, "lint": 0.55, "run": 0.5}


def workflow_to_memory(workflow: Workflow, project: str, now: datetime) -> Memory:
    """Convert a workflow to a memory."""
    hint, content = make_hint(workflow), _render_content(workflow)
    ref = f"workflow:{workflow.path}#{workflow.name}"[:200]
    return Memory(
        id="m" + blake2b(f"{project}:{ref}".encode(), digest_size=10).hexdigest(),
        kind=Kind.WORKFLOW,
        title=_shorten(workflow.name, 120),
        content=content,
        at=now,
        created=now,
        updated=now,
        project=project,
        ref=ref,
        levels=Levels(summary=hint, compressed=_shorten(hint, 100), index=_shorten(workflow.name, 60)),
        category=workflow.purpose or None,
        key=ref,
        scope=Scope.PROJECT,
        confidence=1.0,
        importance=_IMPORTANCE_BY_PURPOSE.get(workflow.purpose, 0.4),
        tags=tuple(dict.fromkeys(("workflow", workflow.origin, *([workflow.purpose] if workflow.purpose else [])))),
        artifacts=(Artifact("file", workflow.path),) if workflow.path else (),
        trust=Trust.UNTRUSTED,  # it comes from files in the repository
        source=_build_source(workflow) | {"digest": _hash_text(content)},
    )


def make_hint(workflow: Workflow) -> str:
    """Describe a workflow in one line: its name, events, and steps or description."""
    lines = [line for step in workflow.steps if (line := _get_first_line(step)) != workflow.name]
    parts = [workflow.about] if workflow.about and not _fits_hint(lines) else list(filter(_is_informative, lines))
    distinct_parts = list(dict.fromkeys(parts))
    if len(distinct_parts) > MAX_HINT_STEPS:
        distinct_parts = [*distinct_parts[: MAX_HINT_STEPS - 1], "…", distinct_parts[-1]]
    line = " → ".join(_shorten(one, 70) for one in distinct_parts)
    when = "; ".join(workflow.events)
    name = f"{workflow.name}{f' ({when})' if when else ''}"
    return _shorten(f"{name}: {line}" if line else name, MAX_HINT)


def _get_first_line(step: WorkflowStep) -> str:
    line = step.command.partition("\n")[0].rstrip("\\ ")
    return _POSARGS.sub(lambda match: match[1] or "", line).rstrip() or step.name


def _fits_hint(step_lines: Sequence[str]) -> bool:
    """Return True if the steps fit into the hint and are all informative.

    If they do not, the description of the workflow is more useful.
    """
    return 0 < len(" → ".join(step_lines)) <= MAX_HINT and all(map(_is_informative, step_lines))


def _is_informative(command: str) -> bool:
    """Return True if a command describes the workflow.

    A command that only prints something, or whose program is a variable, does not.
    """
    return not _UNINFORMATIVE_COMMAND.match(command)


def _render_content(workflow: Workflow) -> str:
    lines = [workflow.name]
    if workflow.about:
        lines.append(workflow.about)
    if workflow.path:
        lines.append(f"from {workflow.path}" + (f":{workflow.line}" if workflow.line else ""))
    lines += [f"when: {event}" for event in workflow.events]
    lines.append("")
    lines += [_render_step(number, step) for number, step in enumerate(workflow.steps[:MAX_STEPS], start=1)]
    if len(workflow.steps) > MAX_STEPS:
        lines.append(f"… {len(workflow.steps) - MAX_STEPS} more steps")
    return "\n".join(lines)[:MAX_TEXT]


def _render_step(number: int, step: WorkflowStep) -> str:
    head = f"{number}. {step.name}" if step.name else f"{number}."
    if not step.command:
        return head
    if "\n" in step.command or step.name:
        return head + "".join(f"\n   {line}" for line in step.command.splitlines())
    return f"{head} {step.command}"


def _build_source(workflow: Workflow) -> JsonObject:
    source: JsonObject = {
        "type": SCRIPT_SOURCE,
        "origin": workflow.origin,
        "path": workflow.path,
        "line": workflow.line,
        "steps": [
            {"template": step.command or step.name, "command": step.command}
            | ({"name": step.name} if step.name else {})
            for step in workflow.steps[:MAX_STEPS]
        ],
    }
    if workflow.events:
        source["triggers"] = [
            {"cause": "event", "value": event, "share": 1.0, "usual": 0.0} for event in workflow.events
        ]
    return source | ({"about": workflow.about} if workflow.about else {})


def redact_workflow(workflow: Workflow) -> Workflow:
    """Redact the texts of a workflow, since commands in scripts may contain secrets."""
    steps = tuple(WorkflowStep(_redact_text(step.command), _redact_text(step.name)) for step in workflow.steps)
    return replace(workflow, name=_redact_text(workflow.name), about=_redact_text(workflow.about), steps=steps)


def _redact_text(text: str) -> str:
    return redact(text).text


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def compare_memories(stored_memories: Sequence[Memory], current: Sequence[Memory]) -> tuple[list[Memory], list[Memory]]:
    """Compare the stored workflow memories with those read now.

    Returns the new or changed memories in `current`, and the stored ones that are no longer among them.
    """
    stored_by_id = {memory.id: memory for memory in stored_memories}
    changed_memories = [
        one for one in current if one.id not in stored_by_id or not _is_same_workflow(stored_by_id[one.id], one)
    ]
    current_ids = {one.id for one in current}
    return changed_memories, [memory for memory in stored_memories if memory.id not in current_ids]


def _is_same_workflow(one: Memory, other: Memory) -> bool:
    return (one.title, one.category, one.content, one.source) == (
        other.title,
        other.category,
        other.content,
        other.source,
    )


def is_edited(memory: Memory) -> bool:
    """Return True if somebody has edited the memory's text since it was built."""
    return memory.source.get("digest") not in (None, _hash_text(memory.content))


def _hash_text(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()
