"""Reads the first error in a text by a table of formats."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_PATH: Final = r"(?P<path>(?:[A-Za-z]:(?=[\\/]))?[^\s:()\[\]]{1,300}\.\w{1,6})"

_FORMATS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["formats"]
_TABLE: Final = [(word, re.compile(pattern.replace("PATH", _PATH), re.MULTILINE)) for word, pattern in _FORMATS]

# Verbose Go tests (-v): output of each test, printed before its result.
_GO_FAILED: Final = re.compile(r"^ *--- FAIL: (\S+) ", re.MULTILINE)
_GO_OUTPUT: Final = re.compile(r"^=== (?:RUN|CONT|NAME) +(\S+)\n((?:(?!=== | *--- ).*\n)+)", re.MULTILINE)
_GO_OUTPUT_LINE: Final = re.compile(rf"^ +{_PATH}:(?P<line>\d+): (?P<message>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ToolError:
    """First error that a tool reported.

    `path` is "" if the path is unknown; `line` and `column` are 0 if they are unknown.
    """

    code: str
    message: str
    path: str
    line: int
    column: int = 0
    end: int = field(default=0, compare=False)  # position in the text where the message ends

    @property
    def headline(self) -> str:
        return self.message if not self.code or self.code in self.message else f"{self.code}: {self.message}"


def find_first_error(text: str) -> ToolError | None:
    """Return the first error in `text` that has the format of a known tool.

    Returns None if there is no such error.
    """
    matches = [match for word, pattern in _TABLE if word in text and (match := pattern.search(text)) is not None]
    # If two rows match at the same position, the one with a code is the specific one.
    match = min(matches, key=lambda one: (one.start(), one.groupdict().get("code") is None), default=None)
    go_failure = _find_go_failure(text) if "=== RUN" in text and "--- FAIL: " in text else None
    if go_failure is not None and (match is None or go_failure[0] < match.start()):
        return go_failure[1]
    return _build_tool_error(match) if match is not None else None


def _build_tool_error(match: re.Match[str], code: str = "", start: int = 0) -> ToolError:
    groups = match.groupdict()
    path, line, column = groups.get("path") or "", groups.get("line") or "0", groups.get("column") or "0"
    message = " ".join(" ".join(part.split()) for part in (groups["message"], groups.get("symbol")) if part)
    error_code = " ".join((code or groups.get("code") or "").split())
    return ToolError(error_code, message, path.replace("\\", "/"), int(line[:9]), int(column[:9]), start + match.end())


def _find_go_failure(text: str) -> tuple[int, ToolError] | None:
    """Return the first failed test in verbose Go output, and its position."""
    failed_tests = frozenset(_GO_FAILED.findall(text))
    for output_match in _GO_OUTPUT.finditer(text):
        if output_match[1] in failed_tests and (match := _GO_OUTPUT_LINE.search(output_match[2])) is not None:
            return output_match.start(), _build_tool_error(match, output_match[1], output_match.start(2))
    return None
