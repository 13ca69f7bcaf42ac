"""Check that an export is complete, based on its number of lines.

The first line announces that a closing line will follow, and the closing line states the number of lines before it.
"""

from __future__ import annotations

from typing import Final

from hunchd.domain.json_values import JsonObject
from hunchd.protocol.exports import ExportLine, build_export_line

_COUNTED_FIELD: Final = "counted"  # field of the opening line: a closing line will follow
_LINES_FIELD: Final = "lines"  # field of the closing line: lines of this export before it
_UNCOUNTED_WARNING: Final = (
    "the import has no closing line that states the number of lines; whether it is complete cannot be checked"
)


def build_opening_line(about: JsonObject) -> ExportLine:
    return build_export_line("meta", {**about, _COUNTED_FIELD: True})


def build_closing_line(lines: int) -> ExportLine:
    return build_export_line("meta", {"end": True, _LINES_FIELD: lines})


class ExportIntegrity:
    """Checker that verifies, line by line, that each export in an import is complete.

    One import may contain several exports, one after the other.
    """

    def __init__(self) -> None:
        self._line_count = 0  # lines since the last export was closed
        self._is_announced = False  # True if the current export announced a closing line
        self._has_closed = False  # True if at least one export was closed
        self._problems: list[str] = []

    def count_line(self) -> None:
        """Count a line that is not empty, whether or not it is valid."""
        self._line_count += 1

    def check_line(self, line: ExportLine) -> None:
        """Check a valid line, which may be the opening or closing line of an export."""
        if line.type != "meta":
            return
        content = line.data
        if content.get(_COUNTED_FIELD) is True:
            self._is_announced = True
        if content.get("end") is True:
            line_count = self._line_count - 1
            if content.get(_LINES_FIELD) != line_count:
                announced_lines = str(content.get(_LINES_FIELD))[:20]
                self._problems.append(
                    f"the export had {announced_lines} lines when it was written, but {line_count} arrived"
                )
            self._line_count, self._is_announced, self._has_closed = 0, False, True

    def summarize(self) -> tuple[bool | None, list[str]]:
        """Return whether all lines arrived, and a list of warnings.

        The first value is None if completeness cannot be checked.
        """
        problems = list(self._problems)
        if self._is_announced:
            problems.append(f"the export was cut off after {self._line_count} lines")
        has_uncounted_lines = bool(self._line_count) or not self._has_closed
        if problems:
            return False, problems
        if has_uncounted_lines:
            return None, [_UNCOUNTED_WARNING]
        return True, []
