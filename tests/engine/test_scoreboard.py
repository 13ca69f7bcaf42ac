"""Tests of the prefetch metrics and the prefetch depth."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hunchd.engine.answering import scoreboard
from hunchd.engine.answering.scoreboard import DAY, HOUR, WEEK, WINDOW, Scoreboard

NOW = 1_700_000_000.0


def test_suggested_open_counts_hit_and_lead_time() -> None:
    board = Scoreboard()
    board.suggest("p", [("a.py", 0.8), ("b.py", 0.1)], NOW)
    board.suggest("p", [("b.py", 0.5), ("a.py", 0.3)], NOW + 20)
    board.opened("p", "a.py", NOW + 60)
    board.opened("p", "z.py", NOW + 61)

    figures = board.over(DAY, NOW + 61).figures()
    assert (figures["opened"], figures["hit_rate"], figures["lead_seconds"]) == (2, 0.5, 60.0)
    assert figures["precision"] is None  # b.py may still be taken up


def test_precision_counts_expired_confident_suggestions() -> None:
    board = Scoreboard()
    board.suggest("p", [("a.py", 0.8), ("b.py", 0.7), ("c.py", 0.1)], NOW)
    board.opened("p", "a.py", NOW + 5)
    board.opened("p", "other.py", NOW + WINDOW + 5)

    assert board.over(DAY, NOW + WINDOW + 5).figures()["precision"] == 0.5


def test_open_without_suggestions_is_ignored() -> None:
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


def test_day_and_week_counts_expire() -> None:
    board = Scoreboard()
    board.asked(NOW, warm=True)
    board.asked(NOW + 30 * HOUR, warm=False)
    later = NOW + 31 * HOUR

    assert board.over(DAY, later).asked == 1
    assert board.over(WEEK, later).asked == 2
    assert board.over(WEEK, later + 8 * DAY * HOUR).asked == 0


def test_counts_survive_restart_without_paths(tmp_path: Path) -> None:
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


def test_dump_without_changes_returns_none() -> None:
    board = Scoreboard()
    assert board.told(NOW) is None
    assert not board.due(NOW + 10_000)

    board.asked(NOW, warm=True)
    assert board.due(NOW + 10_000)
    assert board.told(NOW + 10_000)
    assert board.told(NOW + 10_000) is None
    assert not board.due(NOW + 99_999)


def test_week_with_restarts_matches_manual_count(tmp_path: Path) -> None:
    kept = tmp_path / "state" / "scoreboard.json"
    monday = datetime(2025, 10, 20, tzinfo=ZoneInfo("Europe/Berlin"))  # on Sunday an hour comes twice
    for day in range(7):
        board = Scoreboard.load(kept)
        nine = (monday + timedelta(days=day, hours=9)).timestamp()
        board.opened("p", "first.py", nine - 60)  # nothing was suggested since the start: not judged
        board.suggest("p", [("a.py", 0.8), ("b.py", 0.6), ("c.py", 0.1)], nine)
        board.opened("p", "a.py", nine + 60)  # a hit, expected for 60 s
        board.opened("p", "z.py", nine + 120)  # a miss
        board.suggest("p", [("d.py", 0.7), ("c.py", 0.1), ("a.py", 0.1)], nine + 180)
        board.opened("p", "c.py", nine + 210)  # a hit, expected for 210 s
        board.opened("p", "a.py", nine + 240)  # closed meanwhile: a hit again, expected for 180 s
        board.opened("p", "d.py", nine + 4 * HOUR)  # suggested before lunch: not judged
        for number in range(4):
            board.asked(nine + number, warm=number > 0)
        board.built(1_000, nine)
        board.wasted(250, nine + 12 * HOUR)
        scoreboard.keep(kept, board.told(nine + 12 * HOUR) or "")

    night = nine + 13 * HOUR
    board = Scoreboard.load(kept)
    of_a_day = {
        "opened": 4,
        "hit_rate": 0.75,
        "precision": round(1 / 3, 3),  # of a.py, b.py and d.py
        "lead_seconds": 150.0,
        "warm_rate": 0.75,
        "ahead_bytes": 1_000,
        "wasted_bytes": 250,
    }
    assert board.over(DAY, night).figures() == of_a_day
    assert board.over(WEEK, night).figures() == of_a_day | {
        "opened": 28,
        "ahead_bytes": 7_000,
        "wasted_bytes": 1_750,
    }
    assert board.over(WEEK, night + DAY * HOUR).opened == 24, "Monday is over"


def test_pending_suggestions_are_counted_after_idle(tmp_path: Path) -> None:
    board = Scoreboard()
    board.suggest("p", [("a.py", 0.8), ("b.py", 0.8)], NOW)
    board.opened("p", "a.py", NOW + 60)
    scoreboard.keep(tmp_path / "kept", board.told(NOW + HOUR) or "")

    assert Scoreboard.load(tmp_path / "kept").over(DAY, NOW + HOUR).figures()["precision"] == 0.5


def test_late_reading_counts_expired_suggestions() -> None:
    board = Scoreboard()
    board.suggest("p", [("a.py", 0.8)], NOW)

    assert board.over(DAY, NOW + 60).suggested == 0
    assert board.over(DAY, NOW + 3 * HOUR).suggested == 1


@pytest.mark.parametrize("later", [2 * HOUR, 9 * DAY * HOUR])
def test_long_expired_suggestions_count_in_past(later: int) -> None:
    board = Scoreboard()
    board.suggest("p", [("a.py", 0.8)], NOW)
    board.asked(NOW + later, warm=True)
    board.suggest("p", [("a.py", 0.8)], NOW + later + 60)

    assert board.over(DAY, NOW + later + 60).asked == 1


@pytest.mark.parametrize("text", ["", "[]", '{"hours": 3}', '{"hours": {"x": {}}, "ranks": [], "seen": 0}'])
def test_load_damaged_file_starts_empty(text: str, tmp_path: Path) -> None:
    kept = tmp_path / "scoreboard.json"
    kept.write_text(text)
    assert Scoreboard.load(kept).over(WEEK, NOW).opened == 0


def test_depth_follows_observed_opens() -> None:
    board, lucky = Scoreboard(), Scoreboard()
    at_first = board.depth(NOW)
    names = [f"{letter}.py" for letter in "abcdef"]
    for number in range(300):
        for each, opened in ((board, "never.py"), (lucky, names[number % 6])):
            each.suggest("p", [(name, 0.1) for name in names], NOW + number)
            each.opened("p", opened, NOW + number)

    assert board.depth(NOW + 300) == 1 < at_first < lucky.depth(NOW + 300) == scoreboard.DEEPEST


def test_wasted_bytes_limit_depth() -> None:
    board = Scoreboard()
    board.wasted(scoreboard.MOST_WASTED + 1, NOW)
    assert board.depth(NOW) == 1
    assert board.depth(NOW + HOUR) > 1
