"""Tests of open failures: restart, replay, limits."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hunchd.engine.state.runs import SIGHTINGS, Failed, Mended, Passed, Runs
from hunchd.repository.working import Picture

BEGAN = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)
ONE, TWO, THREE = (Picture("a" * 40, {"app.py": text}) for text in ("1", "2", "3"))


def minutes_after(minutes: int) -> datetime:
    return BEGAN + timedelta(minutes=minutes)


def make_failure(error: str, minutes: int, command: str | None = "pytest -x") -> Failed:
    return Failed("/shop", error, command, minutes_after(minutes))


def make_pass(minutes: int, command: str | None = "pytest  -x", errors: tuple[str, ...] = ()) -> Passed:
    return Passed("/shop", errors, command, minutes_after(minutes))


def test_failed_returns_last_open_sighting() -> None:
    runs = Runs()
    assert runs.failed(make_failure("e1", 1), ONE) is None
    again = runs.failed(make_failure("e1", 2), TWO)
    assert again is not None
    assert again.picture == ONE
    assert runs.passed(make_pass(3)) == [Mended("e1", TWO, None)]
    assert runs.passed(make_pass(4)) == []


def test_other_error_ends_previous_one() -> None:
    runs = Runs()
    runs.failed(make_failure("e1", 1), ONE)
    runs.failed(make_failure("e2", 2), TWO)

    assert runs.passed(make_pass(3)) == [Mended("e1", ONE, TWO), Mended("e2", TWO, None)]


def test_other_command_or_tree_fixes_nothing() -> None:
    runs = Runs()
    runs.failed(make_failure("e1", 1), ONE)

    assert runs.passed(make_pass(2, "pytest -v")) == []
    assert runs.passed(Passed("/elsewhere", (), "pytest -x", minutes_after(2))) == []


def test_error_without_command_is_fixed_by_id() -> None:
    runs = Runs()
    runs.failed(make_failure("e1", 1, None), ONE)
    runs.failed(make_failure("e2", 1, None), ONE)

    assert runs.passed(make_pass(2, None, ("e1",))) == [Mended("e1", ONE, None)]


def test_restart_and_replay_change_nothing() -> None:
    runs = Runs()
    runs.failed(make_failure("e1", 1), ONE)
    runs.failed(make_failure("e2", 2), ONE)

    taken_up = Runs.from_json(json.loads(json.dumps(runs.json())))

    assert taken_up == runs
    assert taken_up.heard(make_failure("e2", 2))
    assert not taken_up.heard(make_pass(3))


def test_old_and_excess_failures_are_dropped() -> None:
    runs = Runs()
    runs.failed(make_failure("old", 0), ONE)
    for number in range(1, 4 * SIGHTINGS):
        runs.failed(make_failure(f"e{number}", 60 * 24 * 8 + number), ONE)

    assert len(runs.passed(make_pass(60 * 24 * 8 + 60))) == SIGHTINGS


def test_named_pass_fixes_only_named_errors() -> None:
    runs = Runs()
    several = [make_failure("e1", 1, "editor diagnostics"), make_failure("e2", 1, "editor diagnostics")]
    for one in several:
        assert not runs.heard(one)
        runs.failed(one, ONE)
    assert all(runs.heard(one) for one in several)

    gone = Passed("/shop", ("e1",), "editor diagnostics", minutes_after(2), named=True)

    assert runs.passed(gone) == [Mended("e1", ONE, None)]
    assert runs.passed(make_pass(3, "editor diagnostics")) == [Mended("e2", ONE, None)]
