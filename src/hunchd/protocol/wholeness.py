"""Integrity check of an export by its number of lines.

The first line announces a count, the last one states it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hunchd.protocol.answers import export_line

_COUNTED: Final = "counted"  # field of the opening line: a closing line will follow
_LINES: Final = "lines"  # field of the closing line: lines of this export before it
_UNCOUNTED: Final = "the import has no closing line with a count; completeness cannot be checked"


def opening_line(about: Mapping[str, Any]) -> dict[str, Any]:
    return export_line("meta", {**about, _COUNTED: True})


def closing_line(lines: int) -> dict[str, Any]:
    return export_line("meta", {"end": True, _LINES: lines})


class Wholeness:
    """Checker that is fed each line of an import.

    An import may contain several exports in sequence.
    """

    def __init__(self) -> None:
        self._came = 0  # lines since the last export was closed
        self._announced = False  # the current export announced a closing line
        self._ended = False  # at least one export was closed
        self._amiss: list[str] = []

    def came(self) -> None:
        """Count a line that is not empty, valid or not."""
        self._came += 1

    def understood(self, line: Mapping[str, Any]) -> None:
        """Record a valid export line."""
        if line["type"] != "meta":
            return
        content = line["data"]
        if content.get(_COUNTED) is True:
            self._announced = True
        if content.get("end") is True:
            before = self._came - 1
            if content.get(_LINES) != before:
                told = str(content.get(_LINES))[:20]
                self._amiss.append(f"the export had {told} lines when it was written, but {before} arrived")
            self._came, self._announced, self._ended = 0, False, True

    def told(self) -> dict[str, Any]:
        """Return `complete` (None if it cannot be checked) and warnings."""
        amiss = list(self._amiss)
        if self._announced:
            amiss.append(f"the export was cut off after {self._came} lines")
        uncounted = bool(self._came) or not self._ended
        if amiss:
            return {"complete": False, "warnings": amiss}
        return {"complete": None, "warnings": [_UNCOUNTED]} if uncounted else {"complete": True, "warnings": []}
