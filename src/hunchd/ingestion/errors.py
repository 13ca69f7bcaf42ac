"""What an error text says: its headline, the places it names, and a fingerprint by which it is known again."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

# Places in a text: Python frames, then path:line[:column] as compilers, linters and stack traces write it.
_PYTHON_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)(?:, in (\S+))?')
_PATH_LINE = re.compile(r"(?<![\w@])((?:[A-Za-z]:)?[\w./\\@+-]*\w\.[A-Za-z]\w{0,5})[:(](\d+)(?:[:,](\d+))?")
# The line that names the error: "SomeError: message", "error[E0308]: …", "panic: …", "FAILED test::id - …".
_NAMED = re.compile(
    r"^\s*(?:E\s+)?((?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Failure|Iteration))\b:?\s*(.*)$"
)
_LABELLED = re.compile(
    r"^\s*(?:[\w./\\:()-]+\s+)?((?:fatal )?error(?:\[\w+\])?|panic|FAILED|fatal|Caused by)(?!\w):?\s*(.*)$", re.I
)

# What differs between two occurrences of one error, and the word put in its place.
_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\x1b\[[0-9;?]*[A-Za-z]"), ""),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I), "<uuid>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.I), "<address>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"(?:[A-Za-z]:)?(?:[\w.@+-]*[/\\])+[\w.@+-]+"), "<path>"),
    (re.compile(r"\b[0-9a-f]{7,64}\b", re.I), "<hex>"),
    (re.compile(r"-?\b\d+(?:\.\d+)?\b"), "<n>"),
)
_HEADLINE_LENGTH = 200  # characters
_LONGEST_TEXT = 64 * 1024  # characters looked at; a trace says what it has to say at its ends


@dataclass(frozen=True, slots=True)
class Place:
    """A spot that an error names, as written."""

    path: str
    line: int
    function: str = ""


@dataclass(frozen=True, slots=True)
class ErrorText:
    headline: str
    type: str  # exception type or error code; "" when the text names none
    places: tuple[Place, ...]  # in the order of the text
    fingerprint: str  # 16 hex digits


def understood(text: str) -> ErrorText:
    """What `text` says. Two texts with one fingerprint differ in values, addresses, times, paths and lines only."""
    text = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT // 4] + "\n" + text[-_LONGEST_TEXT * 3 // 4 :]
    places = _places(text)
    kind, headline = _headline(text)
    frames = [f"{place.path.rsplit('/', 1)[-1]}:{place.function}" for place in places if place.function]
    template = masked(headline)
    known_by = "\n".join([kind, template, *frames[-3:]])
    return ErrorText(headline, kind, places, hashlib.blake2b(known_by.encode(), digest_size=8).hexdigest())


def masked(text: str) -> str:
    """`text` with everything replaced that differs between two occurrences of the same error."""
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return " ".join(text.split())


def _places(text: str) -> tuple[Place, ...]:
    found: dict[tuple[int, str, int], Place] = {}
    for match in _PYTHON_FRAME.finditer(text):
        found[match.start(), match[1], int(match[2])] = Place(match[1], int(match[2]), match[3] or "")
    for match in _PATH_LINE.finditer(text):
        found.setdefault(
            (match.start(), match[1], int(match[2][:9])), Place(match[1].replace("\\", "/"), int(match[2][:9]))
        )
    return tuple(found[key] for key in sorted(found))


def _headline(text: str) -> tuple[str, str]:
    """(type, headline): the last line that names an exception, else the first one labelled an error, else the last."""
    lines = [line for line in _MASKS[0][0].sub("", text).splitlines() if line.strip()]
    for line in reversed(lines):
        if named := _NAMED.match(line):
            return named[1].rsplit(".", 1)[-1], line.strip().removeprefix("E ").strip()[:_HEADLINE_LENGTH]
    for line in lines:
        if labelled := _LABELLED.match(line):
            return labelled[1].lower(), line.strip()[:_HEADLINE_LENGTH]
    return "", (lines[-1].strip() if lines else "")[:_HEADLINE_LENGTH]
