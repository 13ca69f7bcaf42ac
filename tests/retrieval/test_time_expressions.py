"""Time expressions: months, days and dates; ambiguous month names need a context."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hunchd.retrieval.time_expressions import matches_time, parse_time_expression

AT = datetime(2023, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "month", "day"),
    [
        ("what did we decide in May", True, False),
        ("what broke on 8 May, 2023", True, True),
        ("what broke on May 10", True, True),
        ("what broke on May 20, 2023", True, False),
        ("what was released 2023-05", True, False),
        ("what was released 2023-05-07?", True, True),
        ("what did we decide in May 2022", False, False),
        ("what happened in June", False, False),
    ],
)
def test_named_time_matches_date(question: str, month: bool, day: bool) -> None:
    then = parse_time_expression(question)
    assert then is not None
    assert matches_time(then, AT) == (month, day)


@pytest.mark.parametrize(
    "question", ["may the cache be stale", "March on", "May fail on Windows", "version 2023-40", "why"]
)
def test_question_without_time_yields_none(question: str) -> None:
    assert parse_time_expression(question) is None
