"""Conversion between workflows and memories: hint line, steps, origin and triggers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Trust
from hunchd.domain.workflow import Step, Trigger, Workflow
from hunchd.ingestion.redaction import redact

BY_FILES: Final = "script"  # source type of workflows from files
BY_HABIT: Final = "habit"  # source type of mined habits
LINE: Final = 200  # characters of the one-line hint
HINTED: Final = 5  # steps in it
MOST_STEPS: Final = 60
MOST_TEXT: Final = 6_000  # characters
_SAYS_NOTHING: Final = re.compile(r"(?:echo|printf)\b|(?:\w+=\S+ )?(?:exec )?[\"']?\$(?!\(|\{\{)")
# tox's placeholder for positional arguments, with a default.
_POSARGS: Final = re.compile(r"\{posargs(?::((?:[^{}]|\{[^{}]*\})*))?\}")
_IMPORTANCE: Final = {"test": 0.6, "check": 0.6, "release": 0.6, "build": 0.55, "lint": 0.55, "run": 0.5}


def memory_of(workflow: Workflow, project: str, now: datetime) -> Memory:
    """Convert a workflow to a memory."""
    hint, content = hint_of(workflow), _content(workflow)
    habit = workflow.origin == "habit"
    return Memory(
        id=identifier(workflow, project),
        kind=Kind.WORKFLOW,
        title=_cut(workflow.name, 120),
        content=content,
        at=datetime.fromtimestamp(workflow.last, UTC) if workflow.last else now,
        created=now,
        updated=now,
        project=project,
        ref=_ref(workflow),
        levels=Levels(summary=hint, compressed=_cut(hint, 100), index=_cut(workflow.name, 60)),
        category=workflow.purpose or None,
        key=_ref(workflow),
        scope=Scope.PROJECT,
        confidence=round(_confidence(workflow), 3),
        importance=0.6 if habit else _IMPORTANCE.get(workflow.purpose, 0.4),
        tags=tuple(dict.fromkeys(("workflow", workflow.origin, *([workflow.purpose] if workflow.purpose else [])))),
        artifacts=(Artifact("file", workflow.path),) if workflow.path else (),
        # Habits are typed by the user and worded by us; files of the repository are untrusted.
        trust=Trust.DERIVED if habit else Trust.UNTRUSTED,
        source=_source(workflow) | {"digest": _digest(content)},
    )


def identifier(workflow: Workflow, project: str) -> str:
    return "m" + blake2b(f"{project}:{_ref(workflow)}".encode(), digest_size=10).hexdigest()


def workflow_from(memory: Memory) -> Workflow | None:
    """Convert a memory to a workflow.

    Returns None if it has another kind or shape.
    """
    told: Mapping[str, Any] = memory.source
    if memory.kind is not Kind.WORKFLOW or told.get("type") not in (BY_FILES, BY_HABIT):
        return None
    try:
        steps = tuple(
            Step(str(one["template"]), str(one["command"]), str(one.get("name", ""))) for one in told["steps"]
        )
        triggers = tuple(
            Trigger(one["cause"], str(one["value"]), float(one["share"]), float(one["usual"]))
            for one in told.get("triggers", ())
        )
        return Workflow(
            name=memory.title,
            steps=steps,
            origin=told["origin"],
            triggers=triggers,
            path=str(told.get("path", "")),
            line=int(told.get("line", 0)),
            about=str(told.get("about", "")),
            purpose=memory.category or "",
            runs=int(told.get("runs", 0)),
            cohesion=float(told.get("cohesion", 1.0)),
            first=float(told.get("first", 0.0)),
            last=float(told.get("last", 0.0)),
        )
    except (KeyError, TypeError, ValueError):
        return None


def hint_of(workflow: Workflow) -> str:
    """Describe the workflow in one line: name, steps and purpose."""
    habit = workflow.origin == "habit"
    done = [step.template if habit else _first_line(step) for step in workflow.steps]
    if not habit:
        done = [workflow.about] if workflow.about and not _is_short(done) else [one for one in done if _tells(one)]
    shown = list(dict.fromkeys(done))
    if len(shown) > HINTED:
        shown = [*shown[: HINTED - 1], "…", shown[-1]]
    line = " → ".join(_cut(one, 70) for one in shown)
    when = "; ".join(trigger.words for trigger in workflow.triggers)
    if habit:
        return _cut(line, LINE) + (f" ({when})" if when else "")
    name = f"{workflow.name}{f' ({when})' if when else ''}"
    return _cut(f"{name}: {line}" if line else name, LINE)


def _first_line(step: Step) -> str:
    line = step.command.partition("\n")[0].rstrip("\\ ")
    return _POSARGS.sub(lambda found: found[1] or "", line).rstrip() or step.name


def _is_short(done: Sequence[str]) -> bool:
    """Return True if the steps fit into the hint.

    Otherwise the description says more.
    """
    return len(" → ".join(done)) <= LINE and all(map(_tells, done))


def _tells(command: str) -> bool:
    """Return True if a command is informative.

    Commands that only print, or whose program is a variable of the file, are not.
    """
    return not _SAYS_NOTHING.match(command)


def same(one: Memory, other: Memory) -> bool:
    """Return True if two memories state the same workflow, run counts aside."""
    return _said(one) == _said(other)


def _said(memory: Memory) -> tuple[object, ...]:
    counted = ("runs", "cohesion", "first", "last", "digest")
    source = {name: told for name, told in memory.source.items() if name not in counted}
    steps = [
        (one.get("template"), one.get("name"), one.get("command") if source.get("type") == BY_FILES else None)
        for one in source.pop("steps", ())
    ]
    triggers = [(one.get("cause"), one.get("value")) for one in source.pop("triggers", ())]
    return (memory.title, memory.category, steps, triggers, tuple(sorted((k, str(v)) for k, v in source.items())))


def _ref(workflow: Workflow) -> str:
    if workflow.origin != "habit":
        return f"workflow:{workflow.path}#{workflow.name}"[:200]
    steps = "\x1f".join(step.template for step in workflow.steps)
    return f"workflow:{blake2b(steps.encode(), digest_size=8).hexdigest()}"


def _confidence(workflow: Workflow) -> float:
    """Rate a habit by its runs and cohesion.

    A script is certain.
    """
    if workflow.origin != "habit":
        return 1.0
    return (workflow.runs + 1) / (workflow.runs + 3) * (0.5 + workflow.cohesion / 2)


def _content(workflow: Workflow) -> str:
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
        lines.append(f"when: {trigger.words}{share}")
    lines.append("")
    for number, step in enumerate(workflow.steps[:MOST_STEPS], start=1):
        lines.append(_step_line(number, step, habit=workflow.origin == "habit"))
    if len(workflow.steps) > MOST_STEPS:
        lines.append(f"… {len(workflow.steps) - MOST_STEPS} more steps")
    return "\n".join(lines)[:MOST_TEXT]


def _step_line(number: int, step: Step, *, habit: bool) -> str:
    if habit:
        example = f"   e.g. {step.command}" if step.command != step.template else ""
        return f"{number}. {step.template}{example}"
    head = f"{number}. {step.name}" if step.name else f"{number}."
    if not step.command:
        return head
    if "\n" in step.command or step.name:
        return head + "".join(f"\n   {line}" for line in step.command.splitlines())
    return f"{head} {step.command}"


def _source(workflow: Workflow) -> dict[str, Any]:
    habit = workflow.origin == "habit"
    told: dict[str, Any] = {
        "type": BY_HABIT if habit else BY_FILES,
        "origin": workflow.origin,
        "steps": [
            {"template": step.template, "command": step.command} | ({"name": step.name} if step.name else {})
            for step in workflow.steps[:MOST_STEPS]
        ],
    }
    if workflow.triggers:
        told["triggers"] = [asdict(trigger) for trigger in workflow.triggers]
    if habit:
        return told | {
            "runs": workflow.runs,
            "cohesion": workflow.cohesion,
            "first": workflow.first,
            "last": workflow.last,
        }
    told |= {"path": workflow.path, "line": workflow.line}
    return told | ({"about": workflow.about} if workflow.about else {})


def without_secrets(workflow: Workflow) -> Workflow:
    """Redact the workflow: script commands may contain secrets."""
    steps = tuple(
        replace(step, template=_clean(step.template), command=_clean(step.command), name=_clean(step.name))
        for step in workflow.steps
    )
    return replace(workflow, name=_clean(workflow.name), about=_clean(workflow.about), steps=steps)


def _clean(text: str) -> str:
    return redact(text).text


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def differences(known: Sequence[Memory], found: Sequence[Memory]) -> tuple[list[Memory], list[Memory]]:
    """Return new or changed memories, and known ones that disappeared."""
    before = {memory.id: memory for memory in known}
    changed = [one for one in found if one.id not in before or not same(before[one.id], one)]
    said = {one.id for one in found}
    return changed, [memory for memory in known if memory.id not in said]


def is_edited(memory: Memory) -> bool:
    """Return True if somebody edited the text."""
    return memory.source.get("digest") not in (None, _digest(memory.content))


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()
