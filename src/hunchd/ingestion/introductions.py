"""Exact values from people's introductions: their names and time zones.

These are pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

NAME: Final = "name"
ZONE: Final = "time zone"

_PART = r"[A-ZÀ-ÞА-ЯŁŚŻČŠŽ][\w'’-]+"
_FULL = rf"{_PART}(?:[ ]{_PART}){{0,2}}"
_WIDE = r"[\u3040-\u30ff\u4e00-\u9fff]"
_NAME_PATTERNS: Final = (
    re.compile(
        r"(?i:\bmy name is|\bi am called|\bcall me|\bich heiße|\bmein name ist|\bme llamo|\bmi nombre es"
        r"|\bje m['’]appelle"
        rf"|\bme chamo|\bchamo-me|\bmeu nome é|\bменя зовут) (?P<value>{_FULL})"
    ),
    re.compile(rf"(?P<value>{_FULL}) (?:here|hier)\b"),
    re.compile(rf"(?i:\baqu[ií]|\bici|\baqui é|\bhier ist|\bthis is) (?P<value>{_PART} {_PART})"),
    re.compile(rf"(?:我叫|我的名字是)(?P<value>{_WIDE}{{2,4}})"),
    re.compile(rf"(?P<value>{_WIDE}{{2,8}})(?:と申します|といいます)"),
)
_ZONE = re.compile(
    r"\b(?P<value>(?:Africa|America|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?)\b"
)


def iterate_introductions(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (key, value, clause) for the name and the time zone in a statement.

    The key is NAME or ZONE. Yields nothing for a value that the statement does not contain.
    """
    name_match = next(filter(None, (pattern.search(text) for pattern in _NAME_PATTERNS)), None)
    if name_match is not None:
        yield NAME, name_match["value"], name_match[0]
    if (zone := _ZONE.search(text)) is not None:
        yield ZONE, zone["value"], zone[0]
