"""Normalization of program output.

Whatever was added after the program printed the output is removed, such as the prefixes that CI systems put before
each line.
"""

from __future__ import annotations

import json
import re
from typing import Final

from hunchd.ingestion.prefixes import strip_prefixes

TRACEBACK: Final = "Traceback (most recent call last)"

# Fields in which loggers put what happened, and levels that mark errors.
_RECORD_TEXTS: Final = ("log", "message", "msg", "error", "err", "exception", "stack", "stacktrace", "stack_trace")
_ERROR_LEVELS: Final = frozenset({"error", "fatal", "critical", "panic", "50", "60"})

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
    """Remove differences between runs and captures of the same program.

    Line prefixes are removed, URLs become paths, and pytest's warnings summary and captured log are dropped.
    """
    text = strip_output_prefixes(text)
    if "://" in text:
        for pattern, path in _ADDRESSES:
            text = pattern.sub(path, text)
    if "warnings summary" in text:
        text = _WARNINGS_SUMMARY.sub("", text)
    return _CAPTURED_LOG.sub("", text) if "Captured log" in text else text


def _unwrap_record(line: str) -> str:
    """Replace a JSON object at the end of `line` by the text in it.

    The object is a record of a logger, or it consists mostly of its text.
    """
    before, brace, rest = line.partition('{"')
    if not brace:
        return line
    try:
        record = json.loads(brace + rest)
    except (ValueError, RecursionError):  # nobody's record is a thousand levels deep
        return line
    record = {name.lower(): value for name, value in record.items()}
    texts = [str(record[name]).rstrip() for name in _RECORD_TEXTS if isinstance(record.get(name), str)]
    if not texts or (before.strip() and 2 * sum(map(len, texts)) < len(rest)):
        return line
    is_labelled = str(record.get("level") or record.get("severity")).lower() in _ERROR_LEVELS and "\n" not in texts[0]
    return f"{before}{'ERROR: ' if is_labelled else ''}{': '.join(texts)}"


def strip_output_prefixes(text: str) -> str:
    """Strip line prefixes, and text that a progress bar has overwritten.

    The prefixes come from CI systems, containers and other log collectors.
    """
    if "\r" in text:
        lines = text.replace("\r\n", "\n").split("\n")
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
    text = strip_prefixes(text)
    if '{"' in text and (unwrapped := "\n".join(map(_unwrap_record, text.split("\n")))) != text:
        text = strip_prefixes(unwrapped)
    if "╷" in text:
        text = _BOX.sub("", text)
    return _GROUP_FRAME.sub("", text).replace(_GROUP, TRACEBACK) if _GROUP in text else text
