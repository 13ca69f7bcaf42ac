"""The scoreboard tells what foresight was worth, to this user, and how deep it pays to build ahead."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.engine.answering import scoreboard
from hunchd.engine.answering.scoreboard import DAY, HOUR, WEEK, WINDOW, Scoreboard

NOW = 1_700_000_000.0


def test_an_open_that_was_suggested_is_a_hit_with_its_lead_time() -> None:
    board = Scoreboard()
    board.suggest("p", [("a.py", 0.8), ("b.py", 0.1)], NOW)
    board.suggest("p", [("b.py", 0.5), ("a.py", 0.3)], NOW + 20)
    board.opened("p", "a.py", NOW + 60)
    board.opened("p", "z.py", NOW + 61)

    figures = board.over(DAY, NOW + 61).figures()
    assert (figures["opened"], figures["hit_rate"], figures["lead_seconds"]) == (2, 0.5, 60.0)
    assert figures["precision"] is None  # b.py may still be taken up


def test_precision_counts_what_was_said_with_confidence_and_ran_out() -> None:
    board = Scoreboard()
    board.suggest("p", [("a.py", 0.8), ("b.py", 0.7), ("c.py", 0.1)], NOW)
    board.opened("p", "a.py", NOW + 5)
    board.opened("p", "other.py", NOW + WINDOW + 5)

    assert board.over(DAY, NOW + WINDOW + 5).figures()["precision"] == 0.5


def test_without_suggestions_nothing_is_judged() -> None:
    board = Scoreboard()
    board.opened("p", "a.py", NOW)
    board.suggest("other", [("a.py", 0.9)], NOW)
    board.opened("p", "b.py", NOW)

    assert board.over(DAY, NOW).figures() == {
        "opened": 0,
        "hit_rate": None,
        "precision": None,
        "lead_seconds": None,
        "warm_rate": None,
        "ahead_bytes": 0,
        "wasted_bytes": 0,
    }


def test_a_day_and_a_week_end() -> None:
    board = Scoreboard()
    board.asked(NOW, warm=True)
    board.asked(NOW + 30 * HOUR, warm=False)
    later = NOW + 31 * HOUR

    assert board.over(DAY, later).asked == 1
    assert board.over(WEEK, later).asked == 2
    assert board.over(WEEK, later + 8 * DAY * HOUR).asked == 0


def test_the_counts_survive_a_restart_and_hold_no_names(tmp_path: Path) -> None:
    kept = tmp_path / "state" / "scoreboard.json"
    board = Scoreboard()
    board.suggest("p", [("secret-plan.py", 0.8)], NOW)
    board.opened("p", "secret-plan.py", NOW + 5)
    scoreboard.keep(kept, board.told(NOW + 5) or "")

    again = Scoreboard.load(kept)
    assert again.over(DAY, NOW + 6) == board.over(DAY, NOW + 6)
    assert again.over(DAY, NOW + 6).foreseen == 1
    assert "secret" not in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_there_is_nothing_to_keep_when_nothing_happened() -> None:
    board = Scoreboard()
    assert board.told(NOW) is None
    assert not board.due(NOW + 10_000)

    board.asked(NOW, warm=True)
    assert board.due(NOW + 10_000)
    assert board.told(NOW + 10_000)
    assert board.told(NOW + 10_000) is None
    assert not board.due(NOW + 99_999)


@pytest.mark.parametrize("text", ["", "[]", '{"hours": 3}', '{"hours": {"x": {}}, "ranks": [], "seen": 0}'])
def test_a_damaged_file_is_a_new_beginning(text: str, tmp_path: Path) -> None:
    kept = tmp_path / "scoreboard.json"
    kept.write_text(text)
    assert Scoreboard.load(kept).over(WEEK, NOW).opened == 0


def test_depth_follows_what_is_really_opened() -> None:
    board, lucky = Scoreboard(), Scoreboard()
    at_first = board.depth(NOW)
    names = [f"{letter}.py" for letter in "abcdef"]
    for number in range(300):
        for each, opened in ((board, "never.py"), (lucky, names[number % 6])):
            each.suggest("p", [(name, 0.1) for name in names], NOW + number)
            each.opened("p", opened, NOW + number)

    assert board.depth(NOW + 300) == 1 < at_first < lucky.depth(NOW + 300) == scoreboard.DEEPEST


def test_waste_is_bounded() -> None:
    board = Scoreboard()
    board.wasted(scoreboard.MOST_WASTED + 1, NOW)
    assert board.depth(NOW) == 1
    assert board.depth(NOW + HOUR) > 1
