"""Root cause of an error trace, as in Java's "Caused by" or Node's "[cause]".

These functions do no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hunchd.ingestion.error_places import ErrorLocation

_CAUSE = re.compile(
    r"^[ \t]*(?:Caused by:\s+|\[cause\]: )[\w.$]*?"
    r"(?P<type>[A-Z]\w*(?:Exception|Error|Throwable|Failure))(?:: (?P<message>.*))?$",
    re.MULTILINE,
)
_FRAME = re.compile(r"^\s*(?:at .*|\.\.\. \d+ (?:more|common frames omitted).*|Suppressed: .*|)$")


@dataclass(frozen=True, slots=True)
class RootCause:
    """Root cause of a chained error.

    The trace has one section for each error of the chain. Each section names the one below it as its cause, so the
    last section describes the root cause.
    """

    type: str
    headline: str
    section_starts: tuple[int, ...]  # offsets in the text at which the sections start
    end: int  # offset at which the last section ends

    def order_places(self, places: Sequence[tuple[int, ErrorLocation]]) -> tuple[tuple[int, ErrorLocation], ...]:
        """Return the places by section of the trace, those of the root cause first.

        The places in the other sections are kept, because a section may omit frames ("... 23 more") that a section
        above it lists.
        """
        return tuple(sorted(places, key=lambda place: -self._section_of(place[0])))

    def _section_of(self, position: int) -> int:
        return -1 if position >= self.end else sum(start <= position for start in self.section_starts)


def find_root_cause(text: str) -> RootCause | None:
    """Return the last cause in the first chain of errors in `text`.

    Returns None if `text` contains no chain.
    """
    if "Caused by" not in text and "[cause]" not in text:
        return None
    matches: list[re.Match[str]] = []
    for match in _CAUSE.finditer(text):
        if matches and not _has_only_frames(text[matches[-1].end() : match.start()]):
            break
        matches.append(match)
    if not matches:
        return None
    root, rest = matches[-1], text[matches[-1].end() + 1 :]
    end = len(text) - len(rest)
    for line in rest.splitlines(keepends=True):
        if not _FRAME.match(line.rstrip()):
            break
        end += len(line)
    message = (root["message"] or "").strip()
    headline = f"{root['type']}: {message}" if message else root["type"]
    return RootCause(root["type"], headline, tuple(match.start() for match in matches), end)


def _has_only_frames(between: str) -> bool:
    """Return True if the text between two causes consists of stack frames.

    Up to two other lines are allowed, because the message of the first cause may have several lines.
    """
    lines = [line for line in between.splitlines() if line.strip()]
    return sum(1 for line in lines if not _FRAME.match(line)) <= 2
