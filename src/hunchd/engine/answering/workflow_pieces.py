"""Candidates from workflows and the predicted next step, one line each."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, Final

from hunchd.domain.context import Focus, Level, Piece
from hunchd.domain.memory import Memory, Trust
from hunchd.domain.workflow import Trigger, Workflow
from hunchd.engine.answering.convention_place import commands_told, plain_command
from hunchd.engine.state.project import Project, Tree
from hunchd.engine.state.routine import reason_of
from hunchd.ingestion.workflows.memories import hint_of, workflow_from
from hunchd.ingestion.workflows.triggers import branch_kind, file_kind
from hunchd.prediction.next_step import Expected

# Value of each, relative to a file that will certainly be needed (1.0).
NEXT_STEP: Final = 0.6  # times its probability
DUE: Final = 0.45  # a habit whose trigger applies
USUAL: Final = 0.3  # a habit whose trigger does not apply or is unknown
SCRIPT_HERE: Final = 0.3  # a script near the current file
SCRIPT: Final = 0.2
MOST_HABITS: Final = 3
MOST_SCRIPTS: Final = 2
RECENT: Final = 900.0  # seconds in which a command counts as the previous step
# Purposes of scripts shown unasked; others are found by search.
_EVERYDAY: Final = ("test", "check", "lint", "format", "build", "run")


def workflow_pieces(project: Project, focus: Focus, now: datetime) -> list[Piece]:
    """Build candidates: a likely next step, due or usual habits, everyday scripts."""
    known = list(_known(project))
    return [
        *_next_step(project, focus, [workflow for _, workflow in known], now),
        *_habits(known, project, focus, now),
        *_scripts(known, focus, commands_told(project.facts.values())),
    ]


def predicted_commands(project: Project, tree: Tree, k: int, now: datetime) -> list[dict[str, Any]]:
    """Return the most probable next commands in the API's form."""
    known = list(_known(project))
    workflows = [workflow for _, workflow in known if workflow.origin == "habit"]
    told = []
    for expected in project.routine.expected(now, tree.branch, k):
        of = _workflow_of(expected, [one for one in known if one[1].origin == "habit"], project)
        told.append(
            {
                "command": expected.step,
                "example": project.routine.examples.get(expected.step, expected.step),
                "confidence": round(expected.probability, 4),
                "reasons": [reason_of(expected, project.routine.last, workflows)],
            }
            | ({"workflow": of.id} if of is not None else {})
        )
    return told


def predicted_workflows(project: Project, focus: Focus, now: datetime) -> list[dict[str, Any]]:
    """Return the habits whose trigger applies now, as predicted memories."""
    told = []
    for memory, workflow in _known(project):
        due = _due(workflow, project, focus, now)
        if workflow.origin == "habit" and due is not None:
            told.append(
                {
                    "id": memory.id,
                    "kind": "workflow",
                    "title": memory.title,
                    "confidence": round(due.share * memory.confidence, 4),
                    "reasons": [due.words],
                }
            )
    return told


def _known(project: Project) -> Iterator[tuple[Memory, Workflow]]:
    for memory in project.workflows.values():
        if (workflow := workflow_from(memory)) is not None:
            yield memory, workflow


def _next_step(project: Project, focus: Focus, workflows: list[Workflow], now: datetime) -> Iterator[Piece]:
    routine = project.routine
    expected = routine.to_show(now, focus.branch)
    if expected is None:
        return
    example = routine.examples.get(expected.step, expected.step)
    text = f"next command: `{expected.step}`"
    longer = f"{text}\nlast time: {example}" if example != expected.step else text
    forms: tuple[tuple[Level, str], ...] = (("summary", longer), ("compressed", text))
    yield Piece(
        id=f"next:{project.id}",
        kind="workflow",
        tier=2,
        value=NEXT_STEP * expected.probability,
        forms=forms if longer != text else forms[1:],
        reasons=(f"{expected.probability:.0%} likely", reason_of(expected, routine.last, workflows)),
        source={"type": "habit", "command": expected.step},
        trust=Trust.DERIVED,
    )


def _habits(known: list[tuple[Memory, Workflow]], project: Project, focus: Focus, now: datetime) -> Iterator[Piece]:
    ranked = []
    for memory, workflow in known:
        if workflow.origin == "habit":
            due = _due(workflow, project, focus, now)
            value = (DUE * due.share if due is not None else USUAL) * memory.confidence
            ranked.append((value, memory, workflow, due))
    ranked.sort(key=lambda one: (-one[0], -one[2].runs, one[1].id))
    for value, memory, workflow, due in ranked[:MOST_HABITS]:
        hint = hint_of(workflow)
        reasons = (due.words, f"{workflow.runs} times") if due is not None else (f"done {workflow.runs} times",)
        yield Piece(
            id=memory.id,
            kind="workflow",
            tier=2 if due is not None else 3,
            value=value,
            forms=(("summary", hint), ("compressed", memory.levels.compressed)),
            reasons=reasons,
            source={"type": "habit", "ref": memory.id},
            trust=memory.trust,
        )


def _scripts(known: list[tuple[Memory, Workflow]], focus: Focus, told: Collection[str]) -> Iterator[Piece]:
    """Yield everyday scripts that are not in `shown_commands` already.

    For each purpose, the one nearest to the current file.
    """
    folder = (focus.file or "").rpartition("/")[0]
    ranked = []
    for memory, workflow in known:
        if workflow.origin != "script" or workflow.purpose not in _EVERYDAY:
            continue
        where = workflow.path.rpartition("/")[0]
        here = bool(where) and (folder == where or folder.startswith(f"{where}/"))
        if where and not here:
            continue  # belongs to another part of the project
        ranked.append((not here, _EVERYDAY.index(workflow.purpose), len(workflow.name), memory.id, memory, workflow))
    purposes = {workflow.purpose for _, workflow in known if plain_command(workflow.name) in told}
    left = MOST_SCRIPTS
    for far, _, _, _, memory, workflow in sorted(ranked, key=lambda one: one[:4]):
        if workflow.purpose in purposes or not left:
            continue
        purposes.add(workflow.purpose)
        left -= 1
        yield Piece(
            id=memory.id,
            kind="workflow",
            tier=3,
            value=SCRIPT if far else SCRIPT_HERE,
            forms=(("summary", memory.levels.summary), ("compressed", memory.levels.compressed)),
            reasons=(f"from {workflow.path}",),
            source={"type": "script", "path": workflow.path, "ref": memory.id},
            trust=memory.trust,
        )


def _due(workflow: Workflow, project: Project, focus: Focus, now: datetime) -> Trigger | None:
    """Return the strongest trigger of a workflow that applies now, or None."""
    there = [trigger for trigger in workflow.triggers if _is_there(trigger, project, focus, now)]
    return max(there, key=lambda trigger: trigger.share, default=None)


def _is_there(trigger: Trigger, project: Project, focus: Focus, now: datetime) -> bool:
    last = project.routine.last
    local = now.astimezone()
    match trigger.cause:
        case "after" | "failure":
            recent = last is not None and 0 <= now.timestamp() - last.at <= RECENT
            return (
                recent
                and last is not None
                and last.template == trigger.value
                and last.failed == (trigger.cause == "failure")
            )
        case "branch":
            return bool(focus.branch) and branch_kind(focus.branch) == trigger.value
        case "files":
            return focus.file is not None and file_kind(focus.file) == trigger.value
        case "hours":
            first, _, end = trigger.value.partition("-")
            return (local.hour - int(first)) % 24 <= (int(end) - int(first)) % 24
        case "weekday":
            return local.strftime("%A") == trigger.value
        case _:
            return False


def _workflow_of(expected: Expected, known: list[tuple[Memory, Workflow]], project: Project) -> Memory | None:
    """Return the habit in which a predicted step follows the last command, or None."""
    last = project.routine.last
    for memory, workflow in known:
        templates = [step.template for step in workflow.steps]
        if (
            expected.step in templates
            and last is not None
            and last.template in templates[: templates.index(expected.step)]
        ):
            return memory
    return None
