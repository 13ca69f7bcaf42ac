"""Detection of errors in log files.

An error begins with a line that a logger or a runtime marks as one, and includes the lines that continue it. This
module does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

MAX_LINES: Final = 400  # per error; the end of a longer trace adds nothing

# A line with an error level; the text before the level comes from the logger: time, process, thread.
_ERROR_LEVEL: Final = re.compile(r"^(?!\s).{0,120}?\b(ERROR|FATAL|CRITICAL|SEVERE|PANIC)\b[\]):|\s-]*")
_ERROR_START: Final = re.compile(
    r"^(?:Traceback \(most recent call last\):|Exception in thread |panic: |thread '.{0,100}' .*panicked at |Uncaught "
    r"|(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception)\b: )"
)
_CONTINUATION: Final = re.compile(
    r"^(?:\s+\S|Traceback \(most recent|Caused by: |During handling of the above|The above exception was"
    r"|goroutine \d+ \[|\s*\.\.\. \d+ more|note: run with|created by |[\w./*()-]+\(.*\)$)"
)
_EXCEPTION_LINE: Final = re.compile(r"^(?:[\w$]+\.)*[A-Z]\w*(?:\(.*\))?(?:: |$)")  # the last line of a Python traceback
_CHAINED_EXCEPTION: Final = re.compile(r"^(?:During handling of the above|The above exception was)")


def split_errors(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split `lines` into complete errors and the lines of an unfinished one.

    The unfinished error consists of the last lines, which later lines may continue. The caller must pass them
    again, followed by the next lines.
    """
    errors: list[str] = []
    block: list[str] = []
    for line in lines:
        if block and _continues_block(line, block):
            block = [*block, line][-MAX_LINES:]
            continue
        if block:
            errors.append(_strip_logger_prefix(block))
        block = [line] if _ERROR_LEVEL.match(line) or _ERROR_START.match(line) else []
    return errors, block


def close_block(block: Sequence[str]) -> list[str]:
    """Return the last error, which `split_errors` left incomplete.

    Call this function at the end of the input. The list is empty if no error was pending.
    """
    return [_strip_logger_prefix(block)] if block else []


def _continues_block(line: str, block: Sequence[str]) -> bool:
    if _ERROR_LEVEL.match(line):
        return False
    if not line.strip():  # occurs between the errors of a chain, and in Go's panics
        return any(_CHAINED_EXCEPTION.match(one) or one.startswith(("Traceback", "panic: ")) for one in block)
    if _CONTINUATION.match(line):
        return True
    in_trace = any(one.startswith("Traceback") for one in block)
    if in_trace and _EXCEPTION_LINE.match(line):
        return block[-1].startswith((" ", "\t"))
    # A line from the logger, followed by the exception.
    return len(block) == 1 and bool(_ERROR_LEVEL.match(block[0])) and bool(_ERROR_START.match(line))


def _strip_logger_prefix(block: Sequence[str]) -> str:
    """Join the lines of an error, and strip the logger's prefix from the first line."""
    lines = list(block)
    if level := _ERROR_LEVEL.match(lines[0]):
        lines[0] = f"{level[1]}: {lines[0][level.end() :].strip()}"
    return "\n".join(lines).rstrip()
