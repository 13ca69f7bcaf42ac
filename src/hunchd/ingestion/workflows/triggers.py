"""Triggers of a habit: conditions that are rare otherwise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final

from hunchd.domain.workflow import Cause, Ran, Trigger

MOST: Final = 3  # per habit
LEAST_SHARE: Final = 0.5  # of the runs
LEAST_RUNS: Final = 3
CHANCE: Final = 0.005  # maximum probability of chance
LEAST_LIFT: Final = 1.5
WIDEST_BAND: Final = 3  # hours
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Condition = tuple[Cause, str]


def triggers(
    starts: Sequence[tuple[int, int]], sessions: Sequence[Sequence[Ran]], zone: tzinfo = UTC
) -> tuple[Trigger, ...]:
    """Return the conditions that distinguish the moments at `starts`, most significant first.

    `starts` has pairs of session and position.
    """
    if len(starts) < LEAST_RUNS:
        return ()
    began = set(starts)
    seen: Counter[Condition] = Counter()
    usual: Counter[Condition] = Counter()
    total = 0
    for number, session in enumerate(sessions):
        for position in range(len(session)):
            total += 1
            for condition in set(conditions(session, position, zone)):
                usual[condition] += 1
                if (number, position) in began:
                    seen[condition] += 1
    found = []
    for condition, count in seen.items():
        share, base = count / len(starts), usual[condition] / total
        if share < LEAST_SHARE or count < LEAST_RUNS or share < LEAST_LIFT * base or base >= 1:
            continue
        if tail(count, len(starts), base) <= CHANCE:
            found.append(Trigger(condition[0], condition[1], round(share, 3), round(base, 3)))
    return tuple(_telling(found))


def conditions(session: Sequence[Ran], position: int, zone: tzinfo = UTC) -> Iterator[Condition]:
    """Yield the conditions that hold at one moment."""
    ran = session[position]
    if position == 0:
        yield "start", ""
    else:
        before = session[position - 1]
        yield ("failure" if before.failed else "after"), before.template
    if ran.branch:
        yield "branch", branch_kind(ran.branch)
    for kind in ran.touched:
        yield "files", kind
    moment = datetime.fromtimestamp(ran.at, zone)
    yield "weekday", _DAYS[moment.weekday()]
    for width in range(1, WIDEST_BAND + 1):
        for first in range(moment.hour - width + 1, moment.hour + 1):
            yield "hours", f"{first % 24}-{(first + width - 1) % 24}"


def branch_kind(branch: str) -> str:
    """Generalize a branch name: `feature/login` → `feature/*`.

    Without a folder digits become `#`.
    """
    folder, slash, _ = branch.partition("/")
    return f"{folder}/*" if slash else "".join("#" if each.isdigit() else each for each in branch)


def file_kind(path: str) -> str:
    """Classify a file as tests, by extension, or by name."""
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    if "test" in name.lower() or "/tests/" in f"/{path}" or "/test/" in f"/{path}":
        return "tests"
    return f"*.{ending}" if dot and stem and len(ending) <= 8 else name[:40]


def _telling(found: Sequence[Trigger]) -> list[Trigger]:
    """Select the best trigger per cause.

    Narrow bands of hours rank before wide ones.
    """
    best: dict[Cause, Trigger] = {}
    for trigger in sorted(found, key=_order):
        best.setdefault(trigger.cause, trigger)
    return list(best.values())[:MOST]


def _order(trigger: Trigger) -> tuple[float, int, str]:
    gain = trigger.share * math.log(trigger.share / max(trigger.usual, 1e-3))
    first, _, last = trigger.value.partition("-")
    width = (int(last) - int(first)) % 24 if trigger.cause == "hours" else 0
    return -round(gain, 3), width, trigger.value


def tail(seen: int, tried: int, chance: float) -> float:
    """Return the upper tail of the binomial distribution.

    That is P(X >= `seen`) for `tried` attempts with the given chance.
    """
    chance = min(max(chance, 1e-9), 1 - 1e-9)
    return min(
        1.0,
        sum(
            math.exp(
                math.lgamma(tried + 1)
                - math.lgamma(many + 1)
                - math.lgamma(tried - many + 1)
                + many * math.log(chance)
                + (tried - many) * math.log1p(-chance)
            )
            for many in range(seen, tried + 1)
        ),
    )
