"""Normalization of program output: removes what transports added around it."""

from __future__ import annotations

import re
from typing import Final

TRACEBACK: Final = "Traceback (most recent call last)"

# Prefixes that transports add to each line: timestamps of CI, names of compose services and pods, pytest's
# INTERNALERROR, docker's step and seconds.
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
_FEWEST_LINES: Final = 3  # lines with the prefix
_BOX = re.compile(r"^(?:[╷╵] *$\n?|│ ?)", re.MULTILINE)
# Frame that Python draws around the exceptions of a group.
_GROUP: Final = "Exception Group Traceback (most recent call last)"
_AROUND = re.compile(r"^ *(?:\+-\+-+ \d+ -+|\+-+|[|+] ?)", re.MULTILINE)

# File URLs of browsers, bundlers and Node modules.
_ADDRESSES: Final = (
    (re.compile(r"\bfile:///([A-Za-z]:)"), r"\1"),
    (re.compile(r"\bfile:///"), "/"),
    (re.compile(r"\bwebpack(?:-internal)?://[\w@.-]*/(?:\([\w-]+\)/)?(?:\./)?(?=[\w.@-]+[/.])"), ""),
    (re.compile(r"\bhttps?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d+)?/@fs/"), "/"),
    (re.compile(r"\bhttps?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d+)?/(?=[\w@./-]+\.\w+\S*:\d)"), ""),
    (re.compile(r"(\.(?:[cm]?[jt]sx?|vue|svelte))\?[\w=&.-]+(?=:\d)"), r"\1"),
)
# Captured logs and warnings that pytest shows beside an error.
_LOGGED = re.compile(r"^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +[\w.]+:\w+\.py:\d+ .*\n?", re.MULTILINE)
_WARNED = re.compile(r"^={3,} warnings summary.*\n(?:(?!={3,} ).*\n)*", re.MULTILINE)


def as_printed(text: str) -> str:
    """Normalize program output.

    Strips prefixes, turns URLs into paths, and drops what pytest only mentions.
    """
    text = unprefixed(text)
    if "://" in text:
        for pattern, path in _ADDRESSES:
            text = pattern.sub(path, text)
    if "warnings summary" in text:
        text = _WARNED.sub("", text)
    return _LOGGED.sub("", text) if "Captured log" in text else text


def unprefixed(text: str) -> str:
    """Strip line prefixes and text overwritten by progress bars.

    Prefixes come from CI, containers and the like.
    """
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
