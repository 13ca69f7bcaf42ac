"""Tests of relative time formatting."""

from datetime import UTC, datetime, timedelta

import pytest

from hunchd.core.state.relative_time import format_age

NOW = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (timedelta(seconds=-30), "just now"),
        (timedelta(minutes=9), "just now"),
        (timedelta(minutes=19), "10 min ago"),
        (timedelta(minutes=59), "50 min ago"),
        (timedelta(hours=2, minutes=50), "2 h ago"),
        (timedelta(hours=47), "yesterday"),
        (timedelta(days=12), "12 days ago"),
        (timedelta(days=400), "2025-04"),
    ],
)
def test_ago_elapsed_time_formats_words(passed: timedelta, words: str) -> None:
    assert format_age(NOW - passed, NOW) == words
