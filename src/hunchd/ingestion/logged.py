"""Errors in a log file: which of its lines begin one, and which lines belong to it. No I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

MOST_LINES: Final = 400  # of one error; a trace that is longer says nothing more at its end

# A line of a level that means trouble; what stands before the level is the logger's own: time, process, thread.
_LEVEL: Final = re.compile(r"^(?!\s).{0,120}?\b(ERROR|FATAL|CRITICAL|SEVERE|PANIC)\b[\]):|\s-]*")
_BEGINS: Final = re.compile(
    r"^(?:Traceback \(most recent call last\):|Exception in thread |panic: |thread '.{0,100}' .*panicked at |Uncaught "
    r"|(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception)\b: )"
)
_GOES_ON: Final = re.compile(
    r"^(?:\s+\S|Traceback \(most recent|Caused by: |During handling of the above|The above exception was"
    r"|goroutine \d+ \[|\s*\.\.\. \d+ more|note: run with|created by |[\w./*()-]+\(.*\)$)"
)
_RAISED: Final = re.compile(r"^(?:[\w$]+\.)*[A-Z]\w*(?:\(.*\))?(?:: |$)")  # the last line of a Python traceback
_CHAINED: Final = re.compile(r"^(?:During handling of the above|The above exception was)")


def errors_in(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The errors that `lines` hold, and the lines at the end that may go on: they belong to the next ones."""
    found: list[str] = []
    block: list[str] = []
    for line in lines:
        if block and _belongs(line, block):
            block = [*block, line][-MOST_LINES:]
            continue
        if block:
            found.append(_told(block))
        block = [line] if _LEVEL.match(line) or _BEGINS.match(line) else []
    return found, block


def ended(block: Sequence[str]) -> list[str]:
    """What is left when nothing comes any more."""
    return [_told(block)] if block else []


def _belongs(line: str, block: Sequence[str]) -> bool:
    if _LEVEL.match(line):
        return False
    if not line.strip():  # between the parts of a chain, and in Go's panics
        return any(_CHAINED.match(one) or one.startswith(("Traceback", "panic: ")) for one in block)
    if _GOES_ON.match(line):
        return True
    in_trace = any(one.startswith("Traceback") for one in block)
    if in_trace and _RAISED.match(line):
        return block[-1].startswith((" ", "\t"))
    # A logger's line, and below it the exception that it is about.
    return len(block) == 1 and bool(_LEVEL.match(block[0])) and bool(_BEGINS.match(line))


def _told(block: Sequence[str]) -> str:
    """Without what the logger puts in front."""
    lines = list(block)
    if level := _LEVEL.match(lines[0]):
        lines[0] = f"{level[1]}: {lines[0][level.end() :].strip()}"
    return "\n".join(lines).rstrip()
