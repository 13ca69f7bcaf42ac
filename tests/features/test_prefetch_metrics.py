"""Tests of the prefetch metrics and the prefetch depth."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hunchd.config.app_paths import replace_private_file
from hunchd.features.context import prefetch_metrics
from hunchd.features.context.prefetch_metrics import DAY, HOUR, WEEK, WINDOW_SECONDS, PrefetchMetrics
from hunchd.protocol.responses import to_json

NOW = 1_700_000_000.0


def test_suggested_open_counts_hit_and_lead_time() -> None:
    board = PrefetchMetrics()
    board.record_suggestions("p", [("a.py", 0.8), ("b.py", 0.1)], NOW)
    board.record_suggestions("p", [("b.py", 0.5), ("a.py", 0.3)], NOW + 20)
    board.record_open("p", "a.py", NOW + 60)
    board.record_open("p", "z.py", NOW + 61)

    figures = to_json(board.sum_hours(DAY, NOW + 61).to_answer())
    assert (figures["opened"], figures["hit_rate"], figures["lead_seconds"]) == (2, 0.5, 60.0)
    assert figures["precision"] is None  # b.py may still be taken up


def test_precision_counts_expired_confident_suggestions() -> None:
    board = PrefetchMetrics()
    board.record_suggestions("p", [("a.py", 0.8), ("b.py", 0.7), ("c.py", 0.1)], NOW)
    board.record_open("p", "a.py", NOW + 5)
    board.record_open("p", "other.py", NOW + WINDOW_SECONDS + 5)

    assert to_json(board.sum_hours(DAY, NOW + WINDOW_SECONDS + 5).to_answer())["precision"] == 0.5


def test_open_without_suggestions_is_ignored() -> None:
    board = PrefetchMetrics()
    board.record_open("p", "a.py", NOW)
    board.record_suggestions("other", [("a.py", 0.9)], NOW)
    board.record_open("p", "b.py", NOW)

    figures = to_json(board.sum_hours(DAY, NOW).to_answer())
    assert figures["baselines"] == {"opened": 0, "foreseen": 0, "recent": 0, "frequent": 0}
    assert {name: value for name, value in figures.items() if name not in ("baselines", "calibration")} == {
        "opened": 0,
        "hit_rate": None,
        "precision": None,
        "lead_seconds": None,
        "warm_rate": None,
        "ahead_bytes": 0,
        "wasted_bytes": 0,
    }


def test_day_and_week_counts_expire() -> None:
    board = PrefetchMetrics()
    board.record_request(NOW, is_hit=True)
    board.record_request(NOW + 30 * HOUR, is_hit=False)
    later = NOW + 31 * HOUR

    assert board.sum_hours(DAY, later).asked == 1
    assert board.sum_hours(WEEK, later).asked == 2
    assert board.sum_hours(WEEK, later + 8 * DAY * HOUR).asked == 0


def test_counts_survive_restart_without_paths(tmp_path: Path) -> None:
    kept = tmp_path / "state" / "scoreboard.json"
    board = PrefetchMetrics()
    board.record_suggestions("p", [("secret-plan.py", 0.8)], NOW)
    board.record_open("p", "secret-plan.py", NOW + 5)
    replace_private_file(kept, board.dump(NOW + 5) or "")

    again = PrefetchMetrics.load(kept)
    assert again.sum_hours(DAY, NOW + 6) == board.sum_hours(DAY, NOW + 6)
    assert again.sum_hours(DAY, NOW + 6).foreseen == 1
    assert "secret" not in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_dump_without_changes_returns_none() -> None:
    board = PrefetchMetrics()
    assert board.dump(NOW) is None
    assert not board.is_save_due(NOW + 10_000)

    board.record_request(NOW, is_hit=True)
    assert board.is_save_due(NOW + 10_000)
    assert board.dump(NOW + 10_000)
    assert board.dump(NOW + 10_000) is None
    assert not board.is_save_due(NOW + 99_999)


def test_week_with_restarts_matches_manual_count(tmp_path: Path) -> None:
    kept = tmp_path / "state" / "scoreboard.json"
    monday = datetime(2025, 10, 20, tzinfo=ZoneInfo("Europe/Berlin"))  # on Sunday an hour comes twice
    for day in range(7):
        board = PrefetchMetrics.load(kept)
        nine = (monday + timedelta(days=day, hours=9)).timestamp()
        board.record_open("p", "first.py", nine - 60)  # nothing was suggested since the start: not judged
        board.record_suggestions("p", [("a.py", 0.8), ("b.py", 0.6), ("c.py", 0.1)], nine)
        board.record_open("p", "a.py", nine + 60)  # a hit, expected for 60 s
        board.record_open("p", "z.py", nine + 120)  # a miss
        board.record_suggestions("p", [("d.py", 0.7), ("c.py", 0.1), ("a.py", 0.1)], nine + 180)
        board.record_open("p", "c.py", nine + 210)  # a hit, expected for 210 s
        board.record_open("p", "a.py", nine + 240)  # closed meanwhile: a hit again, expected for 180 s
        board.record_open("p", "d.py", nine + 4 * HOUR)  # suggested before lunch: not judged
        for number in range(4):
            board.record_request(nine + number, is_hit=number > 0)
        board.record_prefetch(1_000, nine)
        board.record_unused(250, nine + 12 * HOUR)
        replace_private_file(kept, board.dump(nine + 12 * HOUR) or "")

    night = nine + 13 * HOUR
    board = PrefetchMetrics.load(kept)

    def count(hours: int) -> dict[str, object]:
        figures = to_json(board.sum_hours(hours, night).to_answer())
        return {name: value for name, value in figures.items() if name not in ("baselines", "calibration")}

    of_a_day = {
        "opened": 4,
        "hit_rate": 0.75,
        "precision": round(1 / 3, 3),  # of a.py, b.py and d.py
        "lead_seconds": 150.0,
        "warm_rate": 0.75,
        "ahead_bytes": 1_000,
        "wasted_bytes": 250,
    }
    assert count(DAY) == of_a_day
    assert count(WEEK) == of_a_day | {
        "opened": 28,
        "ahead_bytes": 7_000,
        "wasted_bytes": 1_750,
    }
    assert board.sum_hours(WEEK, night + DAY * HOUR).opened == 24, "Monday is over"


def test_pending_suggestions_are_counted_after_idle(tmp_path: Path) -> None:
    board = PrefetchMetrics()
    board.record_suggestions("p", [("a.py", 0.8), ("b.py", 0.8)], NOW)
    board.record_open("p", "a.py", NOW + 60)
    replace_private_file(tmp_path / "kept", board.dump(NOW + HOUR) or "")

    assert to_json(PrefetchMetrics.load(tmp_path / "kept").sum_hours(DAY, NOW + HOUR).to_answer())["precision"] == 0.5


def test_late_reading_counts_expired_suggestions() -> None:
    board = PrefetchMetrics()
    board.record_suggestions("p", [("a.py", 0.8)], NOW)

    assert board.sum_hours(DAY, NOW + 60).suggested == 0
    assert board.sum_hours(DAY, NOW + 3 * HOUR).suggested == 1


@pytest.mark.parametrize("later", [2 * HOUR, 9 * DAY * HOUR])
def test_long_expired_suggestions_count_in_past(later: int) -> None:
    board = PrefetchMetrics()
    board.record_suggestions("p", [("a.py", 0.8)], NOW)
    board.record_request(NOW + later, is_hit=True)
    board.record_suggestions("p", [("a.py", 0.8)], NOW + later + 60)

    assert board.sum_hours(DAY, NOW + later + 60).asked == 1


@pytest.mark.parametrize("text", ["", "[]", '{"hours": 3}', '{"hours": {"x": {}}, "ranks": [], "seen": 0}'])
def test_load_damaged_file_starts_empty(text: str, tmp_path: Path) -> None:
    kept = tmp_path / "scoreboard.json"
    kept.write_text(text)
    assert PrefetchMetrics.load(kept).sum_hours(WEEK, NOW).opened == 0


def test_depth_follows_observed_opens() -> None:
    board, lucky = PrefetchMetrics(), PrefetchMetrics()
    at_first = board.get_prefetch_depth(NOW)
    names = [f"{letter}.py" for letter in "abcdef"]
    for number in range(300):
        for each, opened in ((board, "never.py"), (lucky, names[number % 6])):
            each.record_suggestions("p", [(name, 0.1) for name in names], NOW + number)
            each.record_open("p", opened, NOW + number)

    assert (
        board.get_prefetch_depth(NOW + 300)
        == 1
        < at_first
        < lucky.get_prefetch_depth(NOW + 300)
        == prefetch_metrics.MAX_DEPTH
    )


def test_wasted_bytes_limit_depth() -> None:
    board = PrefetchMetrics()
    board.record_unused(prefetch_metrics.MAX_WASTED_BYTES + 1, NOW)
    assert board.get_prefetch_depth(NOW) == 1
    assert board.get_prefetch_depth(NOW + HOUR) > 1


def test_calibration_counts_suggestions_by_confidence() -> None:
    board = PrefetchMetrics()
    board.record_suggestions("p", [("a.py", 0.85), ("b.py", 0.81), ("c.py", 0.05)], NOW)
    board.record_open("p", "a.py", NOW + 5)
    later = NOW + WINDOW_SECONDS + 10

    bins = board.sum_hours(DAY, later).to_answer().calibration
    assert {(one.above, one.shown, one.opened) for one in bins if one.shown} == {(0.8, 2, 1), (0.0, 1, 0)}


def test_baselines_are_counted_on_the_same_opens(tmp_path: Path) -> None:
    board = PrefetchMetrics()
    names = [f"{number}.py" for number in range(12)]
    for name in [*names, *names[:2]]:  # the first two are the most frequent, and among the last
        board.record_open("p", name, NOW)
    board.record_suggestions("p", [("z.py", 0.9)], NOW)
    for path in ("z.py", "0.py", "2.py", "5.py"):
        board.record_open("p", path, NOW + 1, open_files={"1.py"})
    replace_private_file(tmp_path / "metrics.json", board.dump(NOW + 1) or "")

    baselines = PrefetchMetrics.load(tmp_path / "metrics.json").sum_hours(DAY, NOW + 2).to_answer().baselines
    assert (baselines.opened, baselines.foreseen) == (4, 1)
    assert (baselines.recent, baselines.frequent) == (2, 2)
