"""Time expressions in questions (months, days and years), compared with dates.

There is no I/O in this module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

MAX_DISTANCE: Final = timedelta(days=3)  # events are often reported a day or two later
_MONTHS: Final = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_MONTH = re.compile(rf"\b({'|'.join(month.capitalize() for month in _MONTHS)})\b")
# May and March are ambiguous: they are months only beside a number, or after a preposition or a word such as "last".
_CLEAR_MONTH = re.compile(
    r"(?:\b(?:in|of|on|since|until|by|during|last|this|early|late|mid)\s+|\d\s*)(?:May|March)\b|\b(?:May|March),?\s+\d"
)
_ISO = re.compile(r"\b(20\d\d)-(\d\d)(?:-(\d\d))?\b")
_DAY = re.compile(r"\b([0-3]?\d)(?:st|nd|rd|th)?\b")
_YEAR = re.compile(r"\b(20\d\d)\b")


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """Months named in a question, possibly with years and days."""

    months: frozenset[int]
    days: frozenset[int] = frozenset()
    years: frozenset[int] = frozenset()


def parse_time_expression(question: str) -> TimeExpression | None:
    """Parse the time that a question names.

    Returns None if the question names no time.
    """
    iso = _ISO.search(question)
    if iso is not None and 1 <= int(iso[2]) <= 12:
        return TimeExpression(
            frozenset((int(iso[2]),)), frozenset((int(iso[3]),) if iso[3] else ()), frozenset((int(iso[1]),))
        )
    months = {_MONTHS.index(month.lower()) + 1 for month in _MONTH.findall(question)}
    if not _CLEAR_MONTH.search(question):
        months -= {3, 5}
    if not months:
        return None
    days = {int(day) for day in _DAY.findall(question) if 1 <= int(day) <= 31}
    return TimeExpression(frozenset(months), frozenset(days), frozenset(int(year) for year in _YEAR.findall(question)))


def matches_time(expression: TimeExpression, at: datetime) -> tuple[bool, bool]:
    """Return two booleans: whether `at` is in a named month, and near a named day.

    The second is True only if the first is. A time is near a day if it is at most MAX_DISTANCE away from it.
    """
    month = at.month in expression.months and (not expression.years or at.year in expression.years)
    return month, month and any(abs(at.day - day) <= MAX_DISTANCE.days for day in expression.days)
