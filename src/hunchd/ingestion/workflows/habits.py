"""Habits mined from executed commands: sequences that recur, how often and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, tzinfo
from typing import Final

from hunchd.domain.workflow import CommandRun, Workflow, WorkflowStep
from hunchd.ingestion.workflows.mining import MISSING, SequencePattern, mine_patterns
from hunchd.ingestion.workflows.triggers import find_triggers

# After half an hour of inactivity a new session begins.
IDLE_SECONDS: Final = 1_800.0  # seconds
MAX_HABITS: Final = 40  # of a project
MAX_NAME_STEPS: Final = 4  # steps in a name


def split_sessions(log: Iterable[CommandRun]) -> list[list[CommandRun]]:
    """Split the log at idle periods.

    Immediate repetitions of a command count once, with the outcome of the last one.
    """
    sessions: list[list[CommandRun]] = []
    last: float | None = None
    for ran in log:
        if last is None or not 0 <= ran.at - last <= IDLE_SECONDS:
            sessions.append([])
        last = ran.at
        session = sessions[-1]
        if session and session[-1].template == ran.template:
            session[-1] = ran
        else:
            session.append(ran)
    return sessions


def find_habits(log: Sequence[CommandRun], *, zone: tzinfo = UTC, limit: int = MAX_HABITS) -> list[Workflow]:
    """Return the recurring sequences of commands, best first.

    The log must be sorted oldest first.
    """
    sessions = split_sessions(log)
    numbers: dict[str, int] = {}
    coded_sessions = [[numbers.setdefault(ran.template, len(numbers)) for ran in session] for session in sessions]
    templates = list(numbers)
    return [
        _build_habit(pattern, templates, sessions, zone)
        for pattern in mine_patterns(coded_sessions, max_patterns=limit)
    ]


def _build_habit(
    pattern: SequencePattern, templates: Sequence[str], sessions: Sequence[Sequence[CommandRun]], zone: tzinfo
) -> Workflow:
    runs = [
        [None if position == MISSING else sessions[number][position] for position in positions]
        for number, positions in pattern.occurrences
    ]
    steps = []
    for index, symbol in enumerate(pattern.symbols):
        commands = [ran.command for run in runs if (ran := run[index]) is not None]
        common, count = Counter(commands).most_common(1)[0]
        # The most common command if it has a majority, else the newest one as an example.
        steps.append(WorkflowStep(templates[symbol], common if 2 * count > len(commands) else commands[-1]))
    starts = [(number, min(at for at in positions if at != MISSING)) for number, positions in pattern.occurrences]
    times = [ran.at for run in runs for ran in run if ran is not None]
    return Workflow(
        name=make_name(steps),
        steps=tuple(steps),
        origin="habit",
        triggers=find_triggers(starts, sessions, zone),
        runs=pattern.support,
        cohesion=round(pattern.cohesion, 3),
        first=min(times),
        last=max(times),
    )


def make_name(steps: Sequence[WorkflowStep]) -> str:
    """Build the name of a workflow from its steps.

    If there are too many steps, the middle is replaced by "…".
    """
    templates = [step.template for step in steps]
    if len(templates) > MAX_NAME_STEPS:
        templates = [*templates[: MAX_NAME_STEPS - 1], "…", templates[-1]]
    return " → ".join(templates)
