"""Whether an export came whole. Its first line says that it will be counted, its last one how many lines there were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hunchd.protocol.answers import export_line

_COUNTED: Final = "counted"  # field of the opening line: a closing one will come
_LINES: Final = "lines"  # field of the closing line: those of this export before it
_UNCOUNTED: Final = "the import ends without a line that counts what there was: whether it is whole cannot be checked"


def opening_line(about: Mapping[str, Any]) -> dict[str, Any]:
    return export_line("meta", {**about, _COUNTED: True})


def closing_line(lines: int) -> dict[str, Any]:
    return export_line("meta", {"end": True, _LINES: lines})


class Wholeness:
    """Told of each line of an import; there may be several exports in it, one after the other."""

    def __init__(self) -> None:
        self._came = 0  # lines since the last export was closed
        self._announced = False  # whether theirs is an export that will be closed
        self._ended = False  # whether one was
        self._amiss: list[str] = []

    def came(self) -> None:
        """A line that is not empty, understood or not."""
        self._came += 1

    def understood(self, line: Mapping[str, Any]) -> None:
        """It is a line of an export."""
        if line["type"] != "meta":
            return
        content = line["data"]
        if content.get(_COUNTED) is True:
            self._announced = True
        if content.get("end") is True:
            before = self._came - 1
            if content.get(_LINES) != before:
                told = str(content.get(_LINES))[:20]
                self._amiss.append(f"the export had {told} lines when it was written, and {before} came")
            self._came, self._announced, self._ended = 0, False, True

    def told(self) -> dict[str, Any]:
        """`complete`: None where that cannot be checked; and what is to be said of it."""
        amiss = list(self._amiss)
        if self._announced:
            amiss.append(f"the export was cut off: it breaks off after {self._came} lines")
        uncounted = bool(self._came) or not self._ended
        if amiss:
            return {"complete": False, "warnings": amiss}
        return {"complete": None, "warnings": [_UNCOUNTED]} if uncounted else {"complete": True, "warnings": []}
