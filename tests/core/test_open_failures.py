"""Tests of open failures: restart, replay, limits."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hunchd.core.state.open_failures import MAX_SIGHTINGS, ErrorEvent, FixedError, OpenFailures, PassEvent
from hunchd.repository.tree_snapshots import TreeSnapshot

BEGAN = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)
ONE, TWO, THREE = (TreeSnapshot("a" * 40, {"app.py": text}) for text in ("1", "2", "3"))


def minutes_after(minutes: int) -> datetime:
    return BEGAN + timedelta(minutes=minutes)


def make_failure(error: str, minutes: int, command: str | None = "pytest -x") -> ErrorEvent:
    return ErrorEvent("/shop", error, command, minutes_after(minutes))


def make_pass(minutes: int, command: str | None = "pytest  -x", errors: tuple[str, ...] = ()) -> PassEvent:
    return PassEvent("/shop", errors, command, minutes_after(minutes))


def test_failed_returns_last_open_sighting() -> None:
    runs = OpenFailures()
    assert runs.record_failure(make_failure("e1", 1), ONE) is None
    again = runs.record_failure(make_failure("e1", 2), TWO)
    assert again is not None
    assert again.picture == ONE
    assert runs.record_pass(make_pass(3)) == [FixedError("e1", TWO, None)]
    assert runs.record_pass(make_pass(4)) == []


def test_other_error_ends_previous_one() -> None:
    runs = OpenFailures()
    runs.record_failure(make_failure("e1", 1), ONE)
    runs.record_failure(make_failure("e2", 2), TWO)

    assert runs.record_pass(make_pass(3)) == [FixedError("e1", ONE, TWO), FixedError("e2", TWO, None)]


def test_other_command_or_tree_fixes_nothing() -> None:
    runs = OpenFailures()
    runs.record_failure(make_failure("e1", 1), ONE)

    assert runs.record_pass(make_pass(2, "pytest -v")) == []
    assert runs.record_pass(PassEvent("/elsewhere", (), "pytest -x", minutes_after(2))) == []


def test_error_without_command_is_fixed_by_id() -> None:
    runs = OpenFailures()
    runs.record_failure(make_failure("e1", 1, None), ONE)
    runs.record_failure(make_failure("e2", 1, None), ONE)

    assert runs.record_pass(make_pass(2, None, ("e1",))) == [FixedError("e1", ONE, None)]


def test_restart_and_replay_change_nothing() -> None:
    runs = OpenFailures()
    runs.record_failure(make_failure("e1", 1), ONE)
    runs.record_failure(make_failure("e2", 2), ONE)

    taken_up = OpenFailures.from_json(json.loads(json.dumps(runs.to_json())))

    assert taken_up == runs
    assert taken_up.is_recorded(make_failure("e2", 2))
    assert not taken_up.is_recorded(make_pass(3))


def test_old_and_excess_failures_are_dropped() -> None:
    runs = OpenFailures()
    runs.record_failure(make_failure("old", 0), ONE)
    for number in range(1, 4 * MAX_SIGHTINGS):
        runs.record_failure(make_failure(f"e{number}", 60 * 24 * 8 + number), ONE)

    assert len(runs.record_pass(make_pass(60 * 24 * 8 + 60))) == MAX_SIGHTINGS


def test_named_pass_fixes_only_named_errors() -> None:
    runs = OpenFailures()
    several = [make_failure("e1", 1, "editor diagnostics"), make_failure("e2", 1, "editor diagnostics")]
    for one in several:
        assert not runs.is_recorded(one)
        runs.record_failure(one, ONE)
    assert all(runs.is_recorded(one) for one in several)

    gone = PassEvent("/shop", ("e1",), "editor diagnostics", minutes_after(2), only_these_errors=True)

    assert runs.record_pass(gone) == [FixedError("e1", ONE, None)]
    assert runs.record_pass(make_pass(3, "editor diagnostics")) == [FixedError("e2", ONE, None)]
