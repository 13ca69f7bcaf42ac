"""Argument types of options, with their error messages."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import datetime

LONGEST_WAIT = 3600  # seconds


def positive(text: str) -> int:
    return _whole(text, 1, "a whole number above 0")


def count(text: str) -> int:
    return _whole(text, 0, "a whole number, 0 or more")


def seconds(text: str) -> float:
    return _between(text, LONGEST_WAIT, f"a number of seconds, at most {LONGEST_WAIT}")


def share(text: str) -> float:
    return _between(text, 1, "a number from 0 to 1")


def date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):  # the first and the last day overflow in some time zones
        raise ArgumentTypeError(f"must be a date like 2026-03-01; got {text!r}") from None


def _whole(text: str, least: int, wanted: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ArgumentTypeError(f"must be {wanted}; got {text!r}")
    return number


def _between(text: str, most: float, wanted: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= most:  # rejects "nan" too
        raise ArgumentTypeError(f"must be {wanted}; got {text!r}")
    return number
