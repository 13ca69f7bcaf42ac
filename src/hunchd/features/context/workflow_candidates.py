"""Candidates from workflows and the predicted next command, one line each."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

from hunchd.core.state.command_history import explain_step
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.context import ContextCandidate, Focus, Level
from hunchd.domain.memory import Memory, Trust
from hunchd.domain.workflow import Trigger, Workflow
from hunchd.features.context.convention_relevance import list_convention_commands, normalize_command
from hunchd.ingestion.workflows.triggers import classify_file, generalize_branch
from hunchd.ingestion.workflows.workflow_memories import make_hint, memory_to_workflow
from hunchd.prediction.next_step import PredictedStep
from hunchd.protocol.predictions import PredictedCommandAnswer, PredictedMemoryAnswer, predict_memory

# Value of each, relative to a file that will certainly be needed (1.0).
NEXT_STEP_VALUE: Final = 0.6  # times its probability
DUE_HABIT_VALUE: Final = 0.45  # a habit whose trigger applies
USUAL_HABIT_VALUE: Final = 0.3  # a habit whose trigger does not apply or is unknown
NEAR_SCRIPT_VALUE: Final = 0.3  # a script near the current file
SCRIPT_VALUE: Final = 0.2
MAX_HABITS: Final = 3
MAX_SCRIPTS: Final = 2
RECENT_SECONDS: Final = 900.0  # seconds in which a command counts as the previous step
# Purposes of scripts shown unasked; others are found by search.
_EVERYDAY_PURPOSES: Final = ("test", "check", "lint", "format", "build", "run")


def build_workflow_candidates(project: Project, focus: Focus, now: datetime) -> list[ContextCandidate]:
    """Build candidates: the likely next command, habits that are due or usual, everyday scripts."""
    workflows = list(_iter_workflows(project))
    return [
        *_build_next_step_candidate(project, focus, [workflow for _, workflow in workflows], now),
        *_build_habit_candidates(workflows, project, focus, now),
        *_build_script_candidates(
            workflows, focus, list_convention_commands(project.facts.values() if workflows else ())
        ),
    ]


def predict_commands(project: Project, tree: WorkingTree, k: int, now: datetime) -> list[PredictedCommandAnswer]:
    """Return the most probable next commands."""
    project_workflows = list(_iter_workflows(project))
    workflows = [workflow for _, workflow in project_workflows if workflow.origin == "habit"]
    commands = []
    for prediction in project.command_history.predict_next(now, tree.branch, k):
        of = _find_habit_of_step(prediction, [one for one in project_workflows if one[1].origin == "habit"], project)
        commands.append(
            PredictedCommandAnswer(
                command=prediction.step,
                example=project.command_history.examples.get(prediction.step, prediction.step),
                confidence=round(prediction.probability, 4),
                reasons=[explain_step(prediction, project.command_history.last, workflows)],
                workflow=of.id if of is not None else None,
            )
        )
    return commands


def predict_workflows(project: Project, focus: Focus, now: datetime) -> list[PredictedMemoryAnswer]:
    """Return the habits that are due now, as predicted memories."""
    memories = []
    for memory, workflow in _iter_workflows(project):
        due = _find_due_trigger(workflow, project, focus, now)
        if workflow.origin == "habit" and due is not None:
            memories.append(
                predict_memory(memory.id, "workflow", memory.title, due.share * memory.confidence, due.description)
            )
    return memories


def _iter_workflows(project: Project) -> Iterator[tuple[Memory, Workflow]]:
    for memory in project.workflows.values():
        if (workflow := memory_to_workflow(memory)) is not None:
            yield memory, workflow


def _build_next_step_candidate(
    project: Project, focus: Focus, workflows: list[Workflow], now: datetime
) -> Iterator[ContextCandidate]:
    routine = project.command_history
    prediction = routine.suggest_next(now, focus.branch)
    if prediction is None:
        return
    example = routine.examples.get(prediction.step, prediction.step)
    text = f"next command: `{prediction.step}`"
    longer = f"{text}\nlast time: {example}" if example != prediction.step else text
    forms: tuple[tuple[Level, str], ...] = (("summary", longer), ("compressed", text))
    yield ContextCandidate(
        id=f"next:{project.id}",
        kind="workflow",
        tier=2,
        value=NEXT_STEP_VALUE * prediction.probability,
        forms=forms if longer != text else forms[1:],
        reasons=(f"{prediction.probability:.0%} likely", explain_step(prediction, routine.last, workflows)),
        source={"type": "habit", "command": prediction.step},
        trust=Trust.DERIVED,
    )


def _build_habit_candidates(
    workflows: list[tuple[Memory, Workflow]], project: Project, focus: Focus, now: datetime
) -> Iterator[ContextCandidate]:
    ranked_habits = []
    for memory, workflow in workflows:
        if workflow.origin == "habit":
            due = _find_due_trigger(workflow, project, focus, now)
            value = (DUE_HABIT_VALUE * due.share if due is not None else USUAL_HABIT_VALUE) * memory.confidence
            ranked_habits.append((value, memory, workflow, due))
    ranked_habits.sort(key=lambda one: (-one[0], -one[2].runs, one[1].id))
    for value, memory, workflow, due in ranked_habits[:MAX_HABITS]:
        hint = make_hint(workflow)
        reasons = (due.description, f"{workflow.runs} times") if due is not None else (f"done {workflow.runs} times",)
        yield ContextCandidate(
            id=memory.id,
            kind="workflow",
            tier=2 if due is not None else 3,
            value=value,
            forms=(("summary", hint), ("compressed", memory.levels.compressed)),
            reasons=reasons,
            source={"type": "habit", "ref": memory.id},
            trust=memory.trust,
        )


def _build_script_candidates(
    workflows: list[tuple[Memory, Workflow]], focus: Focus, shown_commands: Collection[str]
) -> Iterator[ContextCandidate]:
    """Yield everyday scripts that are not in `shown_commands`.

    For each purpose, only the script nearest to the current file is yielded.
    """
    folder = (focus.file or "").rpartition("/")[0]
    ranked_scripts = []
    for memory, workflow in workflows:
        if workflow.origin != "script" or workflow.purpose not in _EVERYDAY_PURPOSES:
            continue
        where = workflow.path.rpartition("/")[0]
        here = bool(where) and (folder == where or folder.startswith(f"{where}/"))
        if where and not here:
            continue  # belongs to another part of the project
        ranked_scripts.append(
            (not here, _EVERYDAY_PURPOSES.index(workflow.purpose), len(workflow.name), memory.id, memory, workflow)
        )
    purposes = {workflow.purpose for _, workflow in workflows if normalize_command(workflow.name) in shown_commands}
    remaining = MAX_SCRIPTS
    for far, _, _, _, memory, workflow in sorted(ranked_scripts, key=lambda one: one[:4]):
        if workflow.purpose in purposes or not remaining:
            continue
        purposes.add(workflow.purpose)
        remaining -= 1
        yield ContextCandidate(
            id=memory.id,
            kind="workflow",
            tier=3,
            value=SCRIPT_VALUE if far else NEAR_SCRIPT_VALUE,
            forms=(("summary", memory.levels.summary), ("compressed", memory.levels.compressed)),
            reasons=(f"from {workflow.path}",),
            source={"type": "script", "path": workflow.path, "ref": memory.id},
            trust=memory.trust,
        )


def _find_due_trigger(workflow: Workflow, project: Project, focus: Focus, now: datetime) -> Trigger | None:
    """Return the strongest trigger of a workflow that is active now, or None."""
    there = [trigger for trigger in workflow.triggers if _is_trigger_active(trigger, project, focus, now)]
    return max(there, key=lambda trigger: trigger.share, default=None)


def _is_trigger_active(trigger: Trigger, project: Project, focus: Focus, now: datetime) -> bool:
    last = project.command_history.last
    local = now.astimezone()
    match trigger.cause:
        case "after" | "failure":
            recent = last is not None and 0 <= now.timestamp() - last.at <= RECENT_SECONDS
            return (
                recent
                and last is not None
                and last.template == trigger.value
                and last.failed == (trigger.cause == "failure")
            )
        case "branch":
            return bool(focus.branch) and generalize_branch(focus.branch) == trigger.value
        case "files":
            return focus.file is not None and classify_file(focus.file) == trigger.value
        case "hours":
            first, _, end = trigger.value.partition("-")
            return (local.hour - int(first)) % 24 <= (int(end) - int(first)) % 24
        case "weekday":
            return local.strftime("%A") == trigger.value
        case _:
            return False


def _find_habit_of_step(
    prediction: PredictedStep, workflows: list[tuple[Memory, Workflow]], project: Project
) -> Memory | None:
    """Return the habit in which the predicted step follows the last command, or None."""
    last = project.command_history.last
    for memory, workflow in workflows:
        templates = [step.template for step in workflow.steps]
        if (
            prediction.step in templates
            and last is not None
            and last.template in templates[: templates.index(prediction.step)]
        ):
            return memory
    return None
