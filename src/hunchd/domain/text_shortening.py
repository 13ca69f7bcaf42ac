"""Shortening of program output, so that regular expressions can scan it quickly."""

from __future__ import annotations

import re
from typing import Final

# Runs without blanks from this length on are shortened: no path is as long, but encoded data and minified code are.
LONGEST_RUN: Final = 400
_RUN_PATTERN = re.compile(rf"(?<!\S)\S{{{LONGEST_RUN},}}")
_GAP_PATTERN = re.compile(r"[^\S\n]{100,}")
_BLANK_LINES_PATTERN = re.compile(r"\n(?:[^\S\n]*\n)+")


def shorten_runs(text: str) -> str:
    """Shorten the parts of `text` that make regular expressions slow.

    Consecutive blank lines become one, and wide gaps become two spaces. If a run of characters is longer than any
    path, only its two ends are kept.
    """
    half = LONGEST_RUN // 2
    ends = _RUN_PATTERN.sub(lambda run: f"{run[0][:half]} … {run[0][-half:]}", _BLANK_LINES_PATTERN.sub("\n\n", text))
    return _GAP_PATTERN.sub("  ", ends)


def shorten_middle(text: str, limit: int) -> str:
    """Shorten `text` to `limit` characters by cutting out its middle.

    Both ends are kept, because many tools name what is wrong first and its cause last.
    """
    if len(text) <= limit:
        return text
    end = limit * 2 // 5
    return f"{text[: limit - end - 3].rstrip()} … {text[-end:].lstrip()}"
