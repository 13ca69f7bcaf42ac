"""Triggers of a habit: conditions that hold when it starts and are rare otherwise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final

from hunchd.domain.workflow import Cause, CommandRun, Trigger

MAX_TRIGGERS: Final = 3  # per habit
MIN_SHARE: Final = 0.5  # of the runs
MIN_RUNS: Final = 3
MAX_CHANCE: Final = 0.005  # maximum probability of chance
MIN_LIFT: Final = 1.5
MAX_BAND_HOURS: Final = 3  # hours
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Condition = tuple[Cause, str]


def find_triggers(
    starts: Sequence[tuple[int, int]], sessions: Sequence[Sequence[CommandRun]], zone: tzinfo = UTC
) -> tuple[Trigger, ...]:
    """Return the conditions that distinguish the moments at `starts`.

    `starts` has pairs of session and position. The most significant condition comes first.
    """
    if len(starts) < MIN_RUNS:
        return ()
    start_set = set(starts)
    start_counts: Counter[Condition] = Counter()
    base_counts: Counter[Condition] = Counter()
    total = 0
    for number, session in enumerate(sessions):
        for position in range(len(session)):
            total += 1
            for condition in set(list_conditions(session, position, zone)):
                base_counts[condition] += 1
                if (number, position) in start_set:
                    start_counts[condition] += 1
    candidates = []
    for condition, count in start_counts.items():
        share, base = count / len(starts), base_counts[condition] / total
        if share < MIN_SHARE or count < MIN_RUNS or share < MIN_LIFT * base or base >= 1:
            continue
        if binomial_tail(count, len(starts), base) <= MAX_CHANCE:
            candidates.append(Trigger(condition[0], condition[1], round(share, 3), round(base, 3)))
    return tuple(_select_best(candidates))


def list_conditions(session: Sequence[CommandRun], position: int, zone: tzinfo = UTC) -> Iterator[Condition]:
    """Yield the conditions that hold when the command at `position` is run."""
    ran = session[position]
    if position == 0:
        yield "start", ""
    else:
        previous = session[position - 1]
        yield ("failure" if previous.failed else "after"), previous.template
    if ran.branch:
        yield "branch", generalize_branch(ran.branch)
    for kind in ran.touched:
        yield "files", kind
    moment = datetime.fromtimestamp(ran.at, zone)
    yield "weekday", _DAYS[moment.weekday()]
    for width in range(1, MAX_BAND_HOURS + 1):
        for first in range(moment.hour - width + 1, moment.hour + 1):
            yield "hours", f"{first % 24}-{(first + width - 1) % 24}"


def generalize_branch(branch: str) -> str:
    """Generalize a branch name: `feature/login` becomes `feature/*`.

    In a name without a folder, digits become `#`.
    """
    folder, slash, _ = branch.partition("/")
    return f"{folder}/*" if slash else "".join("#" if each.isdigit() else each for each in branch)


def classify_file(path: str) -> str:
    """Classify a file: as tests, else by its extension, else by its name."""
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    if "test" in name.lower() or "/tests/" in f"/{path}" or "/test/" in f"/{path}":
        return "tests"
    return f"*.{ending}" if dot and stem and len(ending) <= 8 else name[:40]


def _select_best(candidates: Sequence[Trigger]) -> list[Trigger]:
    """Select the best trigger for each cause.

    Narrow ranges of hours rank before wide ones.
    """
    best_by_cause: dict[Cause, Trigger] = {}
    for trigger in sorted(candidates, key=_sort_key):
        best_by_cause.setdefault(trigger.cause, trigger)
    return list(best_by_cause.values())[:MAX_TRIGGERS]


def _sort_key(trigger: Trigger) -> tuple[float, int, str]:
    gain = trigger.share * math.log(trigger.share / max(trigger.usual, 1e-3))
    first, _, last = trigger.value.partition("-")
    width = (int(last) - int(first)) % 24 if trigger.cause == "hours" else 0
    return -round(gain, 3), width, trigger.value


def binomial_tail(successes: int, trials: int, chance: float) -> float:
    """Return the upper tail of the binomial distribution.

    This is P(X >= `successes`) for `trials` attempts with the given chance.
    """
    chance = min(max(chance, 1e-9), 1 - 1e-9)
    return min(
        1.0,
        sum(
            math.exp(
                math.lgamma(trials + 1)
                - math.lgamma(count + 1)
                - math.lgamma(trials - count + 1)
                + count * math.log(chance)
                + (trials - count) * math.log1p(-chance)
            )
            for count in range(successes, trials + 1)
        ),
    )
