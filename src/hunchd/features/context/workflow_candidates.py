"""Candidates for a bundle from workflows and the predicted next command."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

from hunchd.core.state.command_history import explain_step
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.context import ContextCandidate, Focus, Level
from hunchd.domain.memory import Memory, Trust
from hunchd.features.context.convention_relevance import list_convention_commands, normalize_command
from hunchd.protocol.predictions import PredictedCommandAnswer

# Value of each candidate, relative to a file that will certainly be needed (1.0).
NEXT_STEP_VALUE: Final = 0.6  # times its probability
NEAR_SCRIPT_VALUE: Final = 0.3  # a script near the current file
SCRIPT_VALUE: Final = 0.2
MAX_SCRIPTS: Final = 2
# Purposes of scripts shown unprompted, with the convention that makes one superfluous; others are found by search.
_EVERYDAY_PURPOSES: Final = {
    "test": "tests",
    "lint": "lint",
    "format": "format",
    "build": "build",
}


def build_workflow_candidates(project: Project, focus: Focus, now: datetime) -> list[ContextCandidate]:
    """Build candidates for the likely next command and for everyday scripts."""
    return [
        *_build_next_step_candidate(project, focus, now),
        *_build_script_candidates(project.workflows.values(), focus, list(project.facts.values())),
    ]


def predict_commands(project: Project, tree: WorkingTree, k: int, now: datetime) -> list[PredictedCommandAnswer]:
    """Return the `k` most probable next commands."""
    history = project.command_history
    workflow_ids = {memory.title: memory.id for memory in project.workflows.values()}
    return [
        PredictedCommandAnswer(
            command=prediction.step,
            example=history.examples.get(prediction.step, prediction.step),
            confidence=round(prediction.probability, 4),
            reasons=[explain_step(prediction, history.last)],
            workflow=workflow_ids.get(prediction.step),
        )
        for prediction in history.predict_next(now, tree.branch, k)
    ]


def _build_next_step_candidate(project: Project, focus: Focus, now: datetime) -> Iterator[ContextCandidate]:
    history = project.command_history
    prediction = history.suggest_next(now, focus.branch)
    if prediction is None:
        return
    example = history.examples.get(prediction.step, prediction.step)
    text = f"next command: `{prediction.step}`"
    longer = f"{text}\nlast time: {example}" if example != prediction.step else text
    forms: tuple[tuple[Level, str], ...] = (("summary", longer), ("compressed", text))
    yield ContextCandidate(
        id=f"next:{project.id}",
        kind="workflow",
        tier=2,
        value=NEXT_STEP_VALUE * prediction.probability,
        forms=forms if longer != text else forms[1:],
        reasons=(f"{prediction.probability:.0%} likely", explain_step(prediction, history.last)),
        source={"type": "habit", "command": prediction.step},
        trust=Trust.DERIVED,
    )


def _build_script_candidates(
    workflows: Collection[Memory], focus: Focus, facts: Collection[Memory]
) -> Iterator[ContextCandidate]:
    """Yield everyday scripts, at most MAX_SCRIPTS, one for each purpose.

    For each purpose, the script nearest to the current file is chosen. If a convention already names a command for
    a purpose, no script is needed for it.
    """
    shown_commands, keys = list_convention_commands(facts), {fact.key for fact in facts}
    folder = (focus.file or "").rpartition("/")[0]
    ranked_scripts = []
    for memory in workflows:
        if memory.source.get("origin") != "script" or memory.category not in _EVERYDAY_PURPOSES:
            continue
        where = str(memory.source.get("path", "")).rpartition("/")[0]
        here = bool(where) and (folder == where or folder.startswith(f"{where}/"))
        if where and not here:
            continue  # belongs to another part of the project
        rank = (not here, list(_EVERYDAY_PURPOSES).index(memory.category), len(memory.title), memory.id)
        ranked_scripts.append((rank, memory))
    purposes = {memory.category for memory in workflows if normalize_command(memory.title) in shown_commands}
    purposes |= {purpose for purpose, key in _EVERYDAY_PURPOSES.items() if key in keys}
    remaining = MAX_SCRIPTS
    for (far, *_), memory in sorted(ranked_scripts, key=lambda one: one[0]):
        if memory.category in purposes or not remaining:
            continue
        purposes.add(memory.category)
        remaining -= 1
        path = memory.source.get("path")
        yield ContextCandidate(
            id=memory.id,
            kind="workflow",
            tier=3,
            value=SCRIPT_VALUE if far else NEAR_SCRIPT_VALUE,
            forms=(("summary", memory.levels.summary), ("compressed", memory.levels.compressed)),
            reasons=(f"from {path}",),
            source={"type": "script", "path": path, "ref": memory.id},
            trust=memory.trust,
        )
