"""What failed is remembered until it passes, through a restart and a replay."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hunchd.engine.state.runs import SIGHTINGS, Failed, Mended, Passed, Runs
from hunchd.repository.working import Picture

BEGAN = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)
ONE, TWO, THREE = (Picture("a" * 40, {"app.py": text}) for text in ("1", "2", "3"))


def at(minutes: int) -> datetime:
    return BEGAN + timedelta(minutes=minutes)


def failed(error: str, minutes: int, command: str | None = "pytest -x") -> Failed:
    return Failed("/shop", error, command, at(minutes))


def passed(minutes: int, command: str | None = "pytest  -x", errors: tuple[str, ...] = ()) -> Passed:
    return Passed("/shop", errors, command, at(minutes))


def test_an_error_is_compared_with_the_tree_of_its_last_sighting() -> None:
    runs = Runs()
    assert runs.failed(failed("e1", 1), ONE) is None
    again = runs.failed(failed("e1", 2), TWO)
    assert again is not None
    assert again.picture == ONE
    assert runs.passed(passed(3)) == [Mended("e1", TWO, None)]
    assert runs.passed(passed(4)) == []


def test_another_error_of_the_same_command_ends_the_one_before() -> None:
    runs = Runs()
    runs.failed(failed("e1", 1), ONE)
    runs.failed(failed("e2", 2), TWO)

    assert runs.passed(passed(3)) == [Mended("e1", ONE, TWO), Mended("e2", TWO, None)]


def test_another_command_or_tree_mends_nothing() -> None:
    runs = Runs()
    runs.failed(failed("e1", 1), ONE)

    assert runs.passed(passed(2, "pytest -v")) == []
    assert runs.passed(Passed("/elsewhere", (), "pytest -x", at(2))) == []


def test_an_error_without_a_command_is_mended_by_its_name() -> None:
    runs = Runs()
    runs.failed(failed("e1", 1, None), ONE)
    runs.failed(failed("e2", 1, None), ONE)

    assert runs.passed(passed(2, None, ("e1",))) == [Mended("e1", ONE, None)]


def test_a_restart_and_a_replay_change_nothing() -> None:
    runs = Runs()
    runs.failed(failed("e1", 1), ONE)
    runs.failed(failed("e2", 2), ONE)

    taken_up = Runs.from_json(json.loads(json.dumps(runs.json())))

    assert taken_up == runs
    assert taken_up.heard(failed("e2", 2))
    assert not taken_up.heard(passed(3))


def test_what_failed_long_ago_or_too_often_is_not_kept() -> None:
    runs = Runs()
    runs.failed(failed("old", 0), ONE)
    for number in range(1, 4 * SIGHTINGS):
        runs.failed(failed(f"e{number}", 60 * 24 * 8 + number), ONE)

    assert len(runs.passed(passed(60 * 24 * 8 + 60))) == SIGHTINGS


def test_of_several_errors_of_one_editor_those_are_mended_that_it_names() -> None:
    runs = Runs()
    several = [failed("e1", 1, "editor diagnostics"), failed("e2", 1, "editor diagnostics")]
    for one in several:
        assert not runs.heard(one)
        runs.failed(one, ONE)
    assert all(runs.heard(one) for one in several)

    gone = Passed("/shop", ("e1",), "editor diagnostics", at(2), named=True)

    assert runs.passed(gone) == [Mended("e1", ONE, None)]
    assert runs.passed(passed(3, "editor diagnostics")) == [Mended("e2", ONE, None)]
