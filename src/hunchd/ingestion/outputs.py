"""What a program printed, as it would stand in its own terminal: without what the way here put around it."""

from __future__ import annotations

import re
from typing import Final

TRACEBACK: Final = "Traceback (most recent call last)"

# What the way on which a text came puts before each of its lines: CI its clock, compose and pods their names, pytest
# that the trouble is its own, docker the step and its seconds,
# terraform a frame.
_PREFIXES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z ?",
        r"^(?=\S*[A-Za-z])[\w.-]{1,60} +\| ?",
        r"^\[pod/[\w./-]{1,80}\] ",
        r"^INTERNALERROR> ?",
        r"^#\d+ (?:\d+\.\d+ )?",
    )
)
_FEWEST_LINES: Final = 3  # that begin so
_BOX = re.compile(r"^(?:[╷╵] *$\n?|│ ?)", re.MULTILINE)
# The frame that Python draws around the exceptions of a group.
_GROUP: Final = "Exception Group Traceback (most recent call last)"
_AROUND = re.compile(r"^ *(?:\+-\+-+ \d+ -+|\+-+|[|+] ?)", re.MULTILINE)

# Files as browsers, bundlers and Node's modules name them.
_ADDRESSES: Final = (
    (re.compile(r"\bfile:///([A-Za-z]:)"), r"\1"),
    (re.compile(r"\bfile:///"), "/"),
    (re.compile(r"\bwebpack(?:-internal)?://[\w@.-]*/(?:\([\w-]+\)/)?(?:\./)?(?=[\w.@-]+[/.])"), ""),
    (re.compile(r"\bhttps?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d+)?/@fs/"), "/"),
    (re.compile(r"\bhttps?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d+)?/(?=[\w@./-]+\.\w+\S*:\d)"), ""),
    (re.compile(r"(\.(?:[cm]?[jt]sx?|vue|svelte))\?[\w=&.-]+(?=:\d)"), r"\1"),
)
# What pytest shows beside an error: what was logged meanwhile, and warnings.
_LOGGED = re.compile(r"^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +[\w.]+:\w+\.py:\d+ .*\n?", re.MULTILINE)
_WARNED = re.compile(r"^={3,} warnings summary.*\n(?:(?!={3,} ).*\n)*", re.MULTILINE)


def as_printed(text: str) -> str:
    """`text` as `unprefixed`, with files by their paths and without what pytest only mentions."""
    text = unprefixed(text)
    if "://" in text:
        for pattern, path in _ADDRESSES:
            text = pattern.sub(path, text)
    if "warnings summary" in text:
        text = _WARNED.sub("", text)
    return _LOGGED.sub("", text) if "Captured log" in text else text


def unprefixed(text: str) -> str:
    """`text` as it was printed first, without what was put before each line on its way here, and without what a
    progress bar wrote over."""
    if "\r" in text:
        lines = text.replace("\r\n", "\n").split("\n")
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
    for prefix in _PREFIXES:
        found = prefix.findall(text)
        if len(found) >= _FEWEST_LINES and 2 * len(found) > sum(map(bool, text.split("\n"))):
            text = prefix.sub("", text)
    if "╷" in text:
        text = _BOX.sub("", text)
    return _AROUND.sub("", text).replace(_GROUP, TRACEBACK) if _GROUP in text else text
