"""Output of commands: JSON for programs, aligned text for people.

Colours are used only if the output is a terminal and the user has not disabled them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from hunchd.cli.errors import CommandError

BOLD: Final = "1"
DIM: Final = "2"
RED: Final = "31"
GREEN: Final = "32"
YELLOW: Final = "33"

# Everything that could move the cursor, retitle the window, reverse the text or hide in it; tab and newline stay, and
# the joiners that scripts and emoji need.
_CONTROL_CHARACTERS: Final = {
    **dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), 0x061C, 0x200B, 0x200E, 0x200F, 0xFEFF)),
    **dict.fromkeys((*range(0x2028, 0x202F), *range(0x2060, 0x2070), *range(0xE0000, 0xE1000))),
}


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def strip_controls(text: object) -> str:
    """Remove characters that control a terminal.

    The text may come from a repository that the user does not trust.
    """
    return str(text).translate(_CONTROL_CHARACTERS)


def format_line(text: object, width: int = 100) -> str:
    """Return `text` as one line, shortened to `width` characters if necessary."""
    flat = " ".join(strip_controls(text).split())
    return flat if len(flat) <= width else flat[: width - 1].rstrip() + "…"


def colourize(text: str, colour: str, stream: TextIO | None = None) -> str:
    return f"\033[{colour}m{text}\033[0m" if wants_colour(stream or sys.stdout) else text


def wants_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Format rows as aligned columns below a header.

    `right` contains the indexes of the columns to align on the right.
    """
    cells = [tuple(header), *(tuple(" ".join(cell.splitlines()) for cell in row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return "\n".join((colourize(lines[0], BOLD), *lines[1:]))


def format_number(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def format_size(count: float) -> str:
    """Format a number of bytes with a readable unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def format_duration(seconds: float) -> str:
    """Format a duration in seconds with a readable unit."""
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def format_age(time: str | None, *, now: datetime | None = None) -> str:
    """Format how long ago `time`, an ISO 8601 time, was.

    Returns "never" if `time` is None, and `time` itself if it cannot be parsed.
    """
    if not time:
        return "never"
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return strip_controls(time)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    return f"{format_duration(seconds)} ago" if seconds >= 1 else "now"


def print_note(text: str) -> None:
    """Print a remark to standard error.

    Standard output contains only the result of the command, of which the remark is not part.
    """
    print(colourize(f"hunch: {text}", DIM, sys.stderr), file=sys.stderr)


def require_confirmation(question: str, *, is_confirmed: bool, otherwise: str) -> None:
    """Ask the user for confirmation, unless `is_confirmed` is True.

    Raises CommandError with the message `otherwise` if the user declines.
    """
    if not is_confirmed and not _ask_user(question):
        raise CommandError(otherwise, hint="Answer yes, or use --yes.")


def _ask_user(question: str) -> bool:
    """Ask a question at the terminal; return True if the user answers yes.

    Returns False without asking if standard input is not a terminal.
    """
    if not sys.stdin.isatty():
        return False
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
