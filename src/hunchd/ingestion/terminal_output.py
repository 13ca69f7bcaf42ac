"""Normalization of program output.

Whatever was added after the program printed the output is removed, such as the prefixes that CI systems put before
each line.
"""

from __future__ import annotations

import re
from typing import Final

from hunchd.ingestion.prefixes import strip_prefixes

TRACEBACK: Final = "Traceback (most recent call last)"

_BOX = re.compile(r"^(?:[╷╵] *$\n?|│ ?)", re.MULTILINE)
# Frame that Python draws around the exceptions of a group.
_GROUP: Final = "Exception Group Traceback (most recent call last)"
_GROUP_FRAME = re.compile(r"^ *(?:\+-\+-+ \d+ -+|\+-+|[|+] ?)", re.MULTILINE)

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
_CAPTURED_LOG = re.compile(r"^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +[\w.]+:\w+\.py:\d+ .*\n?", re.MULTILINE)
_WARNINGS_SUMMARY = re.compile(r"^={3,} warnings summary.*\n(?:(?!={3,} ).*\n)*", re.MULTILINE)


def normalize_output(text: str) -> str:
    """Remove what varies with how a program was run and its output captured.

    Line prefixes are removed, URLs become paths, and pytest's warnings summary and captured log are dropped.
    """
    text = strip_output_prefixes(text)
    if "://" in text:
        for pattern, path in _ADDRESSES:
            text = pattern.sub(path, text)
    if "warnings summary" in text:
        text = _WARNINGS_SUMMARY.sub("", text)
    return _CAPTURED_LOG.sub("", text) if "Captured log" in text else text


def strip_output_prefixes(text: str) -> str:
    """Strip line prefixes, and text that a progress bar has overwritten.

    The prefixes come from CI systems, containers and other log collectors.
    """
    if "\r" in text:
        lines = text.replace("\r\n", "\n").split("\n")
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
    text = strip_prefixes(text)
    if "╷" in text:
        text = _BOX.sub("", text)
    return _GROUP_FRAME.sub("", text).replace(_GROUP, TRACEBACK) if _GROUP in text else text
