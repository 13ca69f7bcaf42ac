"""Parsers for command-line arguments, with their error messages."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import datetime

MAX_WAIT_SECONDS = 3600  # seconds


def parse_positive(text: str) -> int:
    return _parse_integer(text, 1, "a whole number above 0")


def parse_count(text: str) -> int:
    return _parse_integer(text, 0, "a whole number, 0 or more")


def parse_seconds(text: str) -> float:
    return _parse_between(text, MAX_WAIT_SECONDS, f"a number of seconds, at most {MAX_WAIT_SECONDS}")


def parse_fraction(text: str) -> float:
    return _parse_between(text, 1, "a number from 0 to 1")


def parse_date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):  # the first and the last day overflow in some time zones
        raise ArgumentTypeError(f"must be a date like 2026-03-01; got {text!r}") from None


def _parse_integer(text: str, minimum: int, expectation: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = minimum - 1
    if number < minimum:
        raise ArgumentTypeError(f"must be {expectation}; got {text!r}")
    return number


def _parse_between(text: str, maximum: float, expectation: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= maximum:  # rejects "nan" too
        raise ArgumentTypeError(f"must be {expectation}; got {text!r}")
    return number
