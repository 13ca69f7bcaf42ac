"""Habits mined from executed commands: which sequences recur, how often and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, tzinfo
from typing import Final

from hunchd.domain.workflow import Ran, Step, Workflow
from hunchd.ingestion.workflows.mining import MISSING, Pattern, patterns
from hunchd.ingestion.workflows.triggers import triggers

# After half an hour of inactivity a new session begins.
IDLE: Final = 1_800.0  # seconds
MOST_HABITS: Final = 40  # of a project
NAMED: Final = 4  # steps in a name


def sessions_of(log: Iterable[Ran]) -> list[list[Ran]]:
    """Split the log at idle periods.

    Immediate repetitions count once, with their last outcome.
    """
    sessions: list[list[Ran]] = []
    last: float | None = None
    for ran in log:
        if last is None or not 0 <= ran.at - last <= IDLE:
            sessions.append([])
        last = ran.at
        session = sessions[-1]
        if session and session[-1].template == ran.template:
            session[-1] = ran
        else:
            session.append(ran)
    return sessions


def habits(log: Sequence[Ran], *, zone: tzinfo = UTC, most: int = MOST_HABITS) -> list[Workflow]:
    """Return the recurring sequences of the log (oldest first), best first."""
    sessions = sessions_of(log)
    numbers: dict[str, int] = {}
    coded = [[numbers.setdefault(ran.template, len(numbers)) for ran in session] for session in sessions]
    templates = list(numbers)
    return [_habit(pattern, templates, sessions, zone) for pattern in patterns(coded, most=most)]


def _habit(pattern: Pattern, templates: Sequence[str], sessions: Sequence[Sequence[Ran]], zone: tzinfo) -> Workflow:
    runs = [
        [None if position == MISSING else sessions[number][position] for position in positions]
        for number, positions in pattern.places
    ]
    steps = []
    for index, symbol in enumerate(pattern.symbols):
        given = [ran.command for run in runs if (ran := run[index]) is not None]
        common, count = Counter(given).most_common(1)[0]
        # The most common command if it has a majority, else the newest one as an example.
        steps.append(Step(templates[symbol], common if 2 * count > len(given) else given[-1]))
    began = [(number, min(at for at in positions if at != MISSING)) for number, positions in pattern.places]
    times = [ran.at for run in runs for ran in run if ran is not None]
    return Workflow(
        name=name_of(steps),
        steps=tuple(steps),
        origin="habit",
        triggers=triggers(began, sessions, zone),
        runs=pattern.support,
        cohesion=round(pattern.cohesion, 3),
        first=min(times),
        last=max(times),
    )


def name_of(steps: Sequence[Step]) -> str:
    """Name a workflow by its steps.

    Of many only the first and the last.
    """
    told = [step.template for step in steps]
    if len(told) > NAMED:
        told = [*told[: NAMED - 1], "…", told[-1]]
    return " → ".join(told)
