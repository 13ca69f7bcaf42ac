"""Detection of errors in log files: first lines and continuation lines.

No I/O.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

MOST_LINES: Final = 400  # per error; the end of a longer trace adds nothing

# A line of an error level; the text before the level is the logger's: time, process, thread.
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
    """Split `lines` into complete errors and trailing lines that may continue.

    The trailing lines must be passed again in front of the next lines.
    """
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
    """Return the error of the trailing lines once no more lines follow."""
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
    # A logger's line followed by its exception.
    return len(block) == 1 and bool(_LEVEL.match(block[0])) and bool(_BEGINS.match(line))


def _told(block: Sequence[str]) -> str:
    """Strip the logger's prefix from an error."""
    lines = list(block)
    if level := _LEVEL.match(lines[0]):
        lines[0] = f"{level[1]}: {lines[0][level.end() :].strip()}"
    return "\n".join(lines).rstrip()
