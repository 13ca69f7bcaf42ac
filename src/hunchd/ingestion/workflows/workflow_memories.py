"""Conversion between workflows and memories: hint line, steps, origin and triggers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Trust
from hunchd.domain.workflow import Trigger, Workflow, WorkflowStep
from hunchd.ingestion.redaction import redact

SCRIPT_SOURCE: Final = "script"  # source type of workflows from files
HABIT_SOURCE: Final = "habit"  # source type of mined habits
MAX_HINT: Final = 200  # characters of the one-line hint
MAX_HINT_STEPS: Final = 5  # steps in it
MAX_STEPS: Final = 60
MAX_TEXT: Final = 6_000  # characters
_UNINFORMATIVE_COMMAND: Final = re.compile(r"(?:echo|printf)\b|(?:\w+=\S+ )?(?:exec )?[\"']?\$(?!\(|\{\{)")
# tox's placeholder for positional arguments, with a default.
_POSARGS: Final = re.compile(r"\{posargs(?::((?:[^{}]|\{[^{}]*\})*))?\}")
_IMPORTANCE_BY_PURPOSE: Final = {"test": 0.6, "check": 0.6, "release": 0.6, "build": 0.55, "lint": 0.55, "run": 0.5}


def workflow_to_memory(workflow: Workflow, project: str, now: datetime) -> Memory:
    """Convert a workflow to a memory."""
    hint, content = make_hint(workflow), _render_content(workflow)
    habit = workflow.origin == "habit"
    return Memory(
        id=make_workflow_id(workflow, project),
        kind=Kind.WORKFLOW,
        title=_shorten(workflow.name, 120),
        content=content,
        at=datetime.fromtimestamp(workflow.last, UTC) if workflow.last else now,
        created=now,
        updated=now,
        project=project,
        ref=_make_ref(workflow),
        levels=Levels(summary=hint, compressed=_shorten(hint, 100), index=_shorten(workflow.name, 60)),
        category=workflow.purpose or None,
        key=_make_ref(workflow),
        scope=Scope.PROJECT,
        confidence=round(_rate_confidence(workflow), 3),
        importance=0.6 if habit else _IMPORTANCE_BY_PURPOSE.get(workflow.purpose, 0.4),
        tags=tuple(dict.fromkeys(("workflow", workflow.origin, *([workflow.purpose] if workflow.purpose else [])))),
        artifacts=(Artifact("file", workflow.path),) if workflow.path else (),
        # Habits are typed by the user and worded by us; files of the repository are untrusted.
        trust=Trust.DERIVED if habit else Trust.UNTRUSTED,
        source=_build_source(workflow) | {"digest": _hash_text(content)},
    )


def make_workflow_id(workflow: Workflow, project: str) -> str:
    return "m" + blake2b(f"{project}:{_make_ref(workflow)}".encode(), digest_size=10).hexdigest()


def memory_to_workflow(memory: Memory) -> Workflow | None:
    """Convert a memory to a workflow.

    Returns None if the memory is of another kind or has another structure.
    """
    source: Mapping[str, Any] = memory.source
    if memory.kind is not Kind.WORKFLOW or source.get("type") not in (SCRIPT_SOURCE, HABIT_SOURCE):
        return None
    try:
        steps = tuple(
            WorkflowStep(str(one["template"]), str(one["command"]), str(one.get("name", ""))) for one in source["steps"]
        )
        triggers = tuple(
            Trigger(one["cause"], str(one["value"]), float(one["share"]), float(one["usual"]))
            for one in source.get("triggers", ())
        )
        return Workflow(
            name=memory.title,
            steps=steps,
            origin=source["origin"],
            triggers=triggers,
            path=str(source.get("path", "")),
            line=int(source.get("line", 0)),
            about=str(source.get("about", "")),
            purpose=memory.category or "",
            runs=int(source.get("runs", 0)),
            cohesion=float(source.get("cohesion", 1.0)),
            first=float(source.get("first", 0.0)),
            last=float(source.get("last", 0.0)),
        )
    except (KeyError, TypeError, ValueError):
        return None


def make_hint(workflow: Workflow) -> str:
    """Describe the workflow in one line: name, steps and purpose."""
    habit = workflow.origin == "habit"
    parts = [step.template if habit else _get_first_line(step) for step in workflow.steps]
    if not habit:
        parts = (
            [workflow.about]
            if workflow.about and not _fits_hint(parts)
            else [one for one in parts if _is_informative(one)]
        )
    distinct_parts = list(dict.fromkeys(parts))
    if len(distinct_parts) > MAX_HINT_STEPS:
        distinct_parts = [*distinct_parts[: MAX_HINT_STEPS - 1], "…", distinct_parts[-1]]
    line = " → ".join(_shorten(one, 70) for one in distinct_parts)
    when = "; ".join(trigger.description for trigger in workflow.triggers)
    if habit:
        return _shorten(line, MAX_HINT) + (f" ({when})" if when else "")
    name = f"{workflow.name}{f' ({when})' if when else ''}"
    return _shorten(f"{name}: {line}" if line else name, MAX_HINT)


def _get_first_line(step: WorkflowStep) -> str:
    line = step.command.partition("\n")[0].rstrip("\\ ")
    return _POSARGS.sub(lambda match: match[1] or "", line).rstrip() or step.name


def _fits_hint(step_lines: Sequence[str]) -> bool:
    """Return True if the steps fit into the hint and are informative.

    Otherwise the description is more useful.
    """
    return len(" → ".join(step_lines)) <= MAX_HINT and all(map(_is_informative, step_lines))


def _is_informative(command: str) -> bool:
    """Return True if a command is informative.

    A command that only prints, or whose program is a variable of the file, is not.
    """
    return not _UNINFORMATIVE_COMMAND.match(command)


def is_same_workflow(one: Memory, other: Memory) -> bool:
    """Return True if two memories state the same workflow, ignoring run counts."""
    return _comparable_content(one) == _comparable_content(other)


def _comparable_content(memory: Memory) -> tuple[object, ...]:
    volatile_fields = ("runs", "cohesion", "first", "last", "digest")
    source = {name: value for name, value in memory.source.items() if name not in volatile_fields}
    steps = [
        (one.get("template"), one.get("name"), one.get("command") if source.get("type") == SCRIPT_SOURCE else None)
        for one in source.pop("steps", ())
    ]
    triggers = [(one.get("cause"), one.get("value")) for one in source.pop("triggers", ())]
    return (memory.title, memory.category, steps, triggers, tuple(sorted((k, str(v)) for k, v in source.items())))


def _make_ref(workflow: Workflow) -> str:
    if workflow.origin != "habit":
        return f"workflow:{workflow.path}#{workflow.name}"[:200]
    steps = "\x1f".join(step.template for step in workflow.steps)
    return f"workflow:{blake2b(steps.encode(), digest_size=8).hexdigest()}"


def _rate_confidence(workflow: Workflow) -> float:
    """Rate the confidence in a workflow.

    A script is certain; a habit is rated by its number of runs and its cohesion.
    """
    if workflow.origin != "habit":
        return 1.0
    return (workflow.runs + 1) / (workflow.runs + 3) * (0.5 + workflow.cohesion / 2)


def _render_content(workflow: Workflow) -> str:
    lines = [workflow.name]
    if workflow.about:
        lines.append(workflow.about)
    if workflow.path:
        lines.append(f"from {workflow.path}" + (f":{workflow.line}" if workflow.line else ""))
    else:
        first, last = (datetime.fromtimestamp(at, UTC).date() for at in (workflow.first, workflow.last))
        lines.append(f"seen {workflow.runs} times, {first} to {last}")
    for trigger in workflow.triggers:
        share = f" ({trigger.share:.0%} of the runs, else {trigger.usual:.0%})" if workflow.origin == "habit" else ""
        lines.append(f"when: {trigger.description}{share}")
    lines.append("")
    for number, step in enumerate(workflow.steps[:MAX_STEPS], start=1):
        lines.append(_render_step(number, step, habit=workflow.origin == "habit"))
    if len(workflow.steps) > MAX_STEPS:
        lines.append(f"… {len(workflow.steps) - MAX_STEPS} more steps")
    return "\n".join(lines)[:MAX_TEXT]


def _render_step(number: int, step: WorkflowStep, *, habit: bool) -> str:
    if habit:
        example = f"   e.g. {step.command}" if step.command != step.template else ""
        return f"{number}. {step.template}{example}"
    head = f"{number}. {step.name}" if step.name else f"{number}."
    if not step.command:
        return head
    if "\n" in step.command or step.name:
        return head + "".join(f"\n   {line}" for line in step.command.splitlines())
    return f"{head} {step.command}"


def _build_source(workflow: Workflow) -> JsonObject:
    habit = workflow.origin == "habit"
    source: JsonObject = {
        "type": HABIT_SOURCE if habit else SCRIPT_SOURCE,
        "origin": workflow.origin,
        "steps": [
            {"template": step.template, "command": step.command} | ({"name": step.name} if step.name else {})
            for step in workflow.steps[:MAX_STEPS]
        ],
    }
    if workflow.triggers:
        source["triggers"] = [asdict(trigger) for trigger in workflow.triggers]
    if habit:
        return source | {
            "runs": workflow.runs,
            "cohesion": workflow.cohesion,
            "first": workflow.first,
            "last": workflow.last,
        }
    source |= {"path": workflow.path, "line": workflow.line}
    return source | ({"about": workflow.about} if workflow.about else {})


def redact_workflow(workflow: Workflow) -> Workflow:
    """Redact the workflow, since script commands may contain secrets."""
    steps = tuple(
        replace(
            step, template=_redact_text(step.template), command=_redact_text(step.command), name=_redact_text(step.name)
        )
        for step in workflow.steps
    )
    return replace(workflow, name=_redact_text(workflow.name), about=_redact_text(workflow.about), steps=steps)


def _redact_text(text: str) -> str:
    return redact(text).text


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def compare_memories(stored_memories: Sequence[Memory], current: Sequence[Memory]) -> tuple[list[Memory], list[Memory]]:
    """Return the new or changed memories, and the stored ones that disappeared."""
    stored_by_id = {memory.id: memory for memory in stored_memories}
    changed_memories = [
        one for one in current if one.id not in stored_by_id or not is_same_workflow(stored_by_id[one.id], one)
    ]
    current_ids = {one.id for one in current}
    return changed_memories, [memory for memory in stored_memories if memory.id not in current_ids]


def is_edited(memory: Memory) -> bool:
    """Return True if somebody edited the memory's text."""
    return memory.source.get("digest") not in (None, _hash_text(memory.content))


def _hash_text(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()
