"""Mining of recurring sequences with gaps; chance sequences are rejected."""

from __future__ import annotations

import random
from datetime import UTC

from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.domain.workflow import CommandRun
from hunchd.ingestion.workflows.habits import find_habits
from hunchd.ingestion.workflows.mining import MISSING, mine_patterns

RELEASE = ("git tag <version>", "python -m build", "twine upload <path>", "git push --tags")
AROUND = ("ls", "cd <path>", "cat <path>", "git status", "vim <path>", "htop", "git log", "rg <text>")
MONDAY = 1_750_000_000.0 - 1_750_000_000.0 % 604_800 + 4 * 86_400  # a Monday, 0:00 UTC


def stream(
    runs: int, *, noise: float = 0.3, seed: int = 1, hour: int | None = None, branch: str = "main"
) -> list[CommandRun]:
    """Build days with one release each and much unrelated activity."""
    chance = random.Random(seed)
    log: list[CommandRun] = []
    for day in range(runs):
        at = MONDAY + day * 86_400 + (hour if hour is not None else chance.randint(8, 18)) * 3_600
        for template in (*chance.choices(AROUND, k=4), *RELEASE, *chance.choices(AROUND, k=4)):
            log.append(CommandRun(at, template, template, branch=branch if template in RELEASE else "main"))
            at += 60
            while template in RELEASE[:-1] and chance.random() < noise:
                other = chance.choice(AROUND)
                log.append(CommandRun(at, other, other, branch="main"))
                at += 60
    return log


def test_sequence_with_gaps_is_found() -> None:
    [habit] = find_habits(stream(12))

    assert tuple(step.template for step in habit.steps) == RELEASE
    assert habit.runs == 12
    assert habit.first < habit.last


def test_ubiquitous_command_is_no_step() -> None:
    chance = random.Random(3)
    at = MONDAY
    log = []
    for _ in range(600):
        at += 60 if chance.random() < 0.95 else 7_200
        template = chance.choice(AROUND)
        log.append(CommandRun(at, template, template))

    assert find_habits(log) == []


def test_optional_step_belongs_to_pattern() -> None:
    log = [ran for number, ran in enumerate(stream(14, noise=0.1)) if ran.template != RELEASE[0] or number % 3]

    [habit] = find_habits(log)

    assert tuple(step.template for step in habit.steps) == RELEASE


def test_frequent_subsequence_is_its_own_habit() -> None:
    alone = []
    for number in range(30):
        at = MONDAY + 100 * 86_400 + number * 86_400
        for template in (AROUND[number * 3 % 8], AROUND[number * 5 % 7], *RELEASE[1:3], AROUND[number % 8]):
            at += 60
            alone.append(CommandRun(at, template, template))

    found = {tuple(step.template for step in habit.steps) for habit in find_habits([*stream(12), *alone])}

    assert RELEASE in found
    assert RELEASE[1:3] in found


def test_repeated_command_is_one_step() -> None:
    log = [again for ran in stream(8, noise=0.0) for again in ((ran,) * 3 if ran.template == RELEASE[1] else (ran,))]

    [habit] = find_habits(log)

    assert tuple(step.template for step in habit.steps) == RELEASE


def test_branch_hour_and_previous_command_are_triggers() -> None:
    chance = random.Random(5)
    busy = [
        CommandRun(MONDAY + day * 86_400 + hour * 3_600 + minute * 60, chance.choice(AROUND), "x", branch="main")
        for day in range(12)
        for hour in (9, 11, 14, 18)
        for minute in range(5)
    ]
    log = sorted([*stream(12, hour=16, branch="release/1.2"), *busy], key=lambda ran: ran.at)

    [habit] = find_habits(log, zone=UTC)

    causes = {trigger.cause: trigger.value for trigger in habit.triggers}
    assert causes["branch"] == "release/*"
    assert causes["hours"].startswith("16")


def test_failure_trigger_differs_from_after_trigger() -> None:
    log = []
    for day in range(12):
        at = MONDAY + day * 86_400
        for number, template in enumerate(("ls", "pytest", "git diff", "git stash", "htop", "pytest", AROUND[day % 8])):
            at += 60
            log.append(CommandRun(at, template, template, failed=number == 1))

    triggers = [trigger for habit in find_habits(log) for trigger in habit.triggers]

    assert all(trigger.cause != "after" or trigger.value != "pytest" for trigger in triggers)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), max_size=30), max_size=12))
def test_occurrences_are_correct_and_disjoint(sessions: list[list[int]]) -> None:
    for pattern in mine_patterns(sessions):
        ends: dict[int, int] = {}
        for number, positions in sorted(pattern.occurrences, key=lambda place: (place[0], max(place[1]))):
            there = [position for position in positions if position != MISSING]
            assert there == sorted(set(there))
            for symbol, position in zip(pattern.symbols, positions, strict=True):
                assert position == MISSING or sessions[number][position] == symbol
            ends[number] = max(there)
        assert len(set(pattern.symbols)) >= 2
        assert pattern.support >= 3
