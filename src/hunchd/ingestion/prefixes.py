"""Removal of the prefixes that log collectors add to each line.

Examples are timestamps, hosts, containers and tasks. A report is the output that a tool printed, before anything
was added to its lines. Prefixes are recognised by repetition: a prefix is removed only if nearly all lines begin
with the same kind of element. For names (`web:test: `, `[api] `) there is a second condition: without the name,
some line must be blank or indented, which happens inside a report and never in a list of diagnostics (`a.py:1: …`,
`b.py:9: …`). This module does no I/O.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK: Final = r"\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?[AP]M)?"
_ZONE: Final = r"(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
_TIME: Final = (
    rf"[\[(]?(?:\d{{4}}[-/.]\d\d[-/.]\d\d[T ]{_CLOCK}{_ZONE}"
    rf"|(?:[A-Z][a-z]{{2}},? )?{_MONTH} {{1,2}}\d\d? {_CLOCK}(?: \d{{4}})?"
    rf"|\d\d-\d\d {_CLOCK}|{_CLOCK}|\d{{10}}\.\d{{3,9}})[\])]?(?:[ \t]|[:|] ?|$)"
)


@dataclass(frozen=True, slots=True)
class _Element:
    """Part of a line prefix, such as a timestamp or a host name.

    If `is_weak` is True, the element also occurs in tools' own reports, so it is removed only if there is evidence
    that it was added to the report at hand.
    """

    pattern: re.Pattern[str]
    is_weak: bool = False
    is_source: bool = False  # names where a line comes from; lines of several sources may be interleaved


_TABLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["elements"]
_ELEMENTS: Final = (
    _Element(re.compile(_TIME)),
    *(_Element(re.compile(row.pop("pattern")), **row) for row in _TABLE),
)
_DIGITS = re.compile(r"\d+")
_MARKED = re.compile(r"^\S*[A-Za-z].*[^\w\s.,;(]\s*$")  # words, then a mark: `INFO - `, `{worker:3} `, `step> `
_TROUBLE = re.compile(
    r"\b(?:error|fatal|panic(?:ked)?|traceback|failed|failure|not found|undefined)\b|\b\w+(?:Error|Exception)\b|[✖✘×]",
    re.IGNORECASE,
)
_BEGINS = re.compile(
    r"(?:(?:[A-Za-z]:)?[\w./\\@+-]*\.[A-Za-z]\w{0,9}(?::\d+(?::\d+)?[: ]|\(\d+(?:,\d+)?\):)"
    r"|(?:[A-Z]\w+ |[A-Z][A-Z\d-]*\d: )?(?i:error|fatal|panic)(?:\[\w+\]| [#A-Z]{0,2}\d{1,6})?:(?: |$)"
    r"|\[(?i:error|fatal)\] |[A-Z]\w+(?:Error|Exception): |Traceback \()"
)
# A package in its scope (lerna), a package and its task (turbo), a folder and its script (pnpm).
_TASK = re.compile(r"@[\w.-]+/[\w.-]+:|[a-z][\w.-]*:[a-z][\w:.-]*:|[\w.-]+(?:/[\w.-]+)+ [a-z][\w:-]*:")
# A package, or a usual task: one line is enough.
_USUAL_TASK = re.compile(r"@.*|.*[: ](?:test|build|lint|dev|start|check|type-?check|compile|format|e2e)(?::[\w:-]+)?:")
_LEVEL = re.compile(r"\[(?:error|warn|info|debug)\]")
_QUOTED_RUN = re.compile(r"(?:^ {1,12}> .*\n){2,}", re.MULTILINE)
_QUOTED_MARK = re.compile(r"^ +> ", re.MULTILINE)

# Marks on single lines: of CI systems, and of klog.
_LINE_MARK = re.compile(rf"^(?:##\[[a-z-]+\]|(?P<level>[IWEF])\d{{4}} {_CLOCK} +\d+ \S+:\d+\] )", re.MULTILINE)

_MOST_ELEMENTS: Final = 6
_SHARE: Final = 0.9  # minimum share of the nonblank lines, for elements that could be part of the report
_SHARE_OF_STRONG: Final = 0.5  # the same for elements that only loggers write
_FEWEST_LINES: Final = 3
_MOST_SOURCES: Final = 8


def strip_prefixes(text: str) -> str:
    """Return `text` without the prefixes that its lines share.

    If lines from several sources are interleaved, only the source that was the last to report a problem is kept.
    """
    lines = text.split("\n")
    filled_lines = [line for line in lines if line.strip()]
    # A margin of one space is removed, as it is after a prefix; otherwise the same report would have two forms.
    if filled_lines and not filled_lines[0].startswith("  ") and all(line.startswith(" ") for line in filled_lines):
        lines = [line.removeprefix(" ") for line in lines]
    for _ in range(_MOST_ELEMENTS):
        stripped_lines = next(
            (candidate_lines for element in _ELEMENTS if (candidate_lines := _strip(lines, element)) is not None), None
        )
        stripped_lines = stripped_lines or _strip_shared(lines)
        if stripped_lines is None:
            break
        lines = stripped_lines
    return _QUOTED_RUN.sub(lambda run: _QUOTED_MARK.sub("", run[0]), _LINE_MARK.sub(_replace_mark, "\n".join(lines)))


def _replace_mark(mark: re.Match[str]) -> str:
    return "ERROR: " if mark["level"] in ("E", "F") else ""


def _strip(lines: Sequence[str], element: _Element) -> list[str] | None:
    """Return `lines` without `element`.

    Returns None if too few lines begin with the element, or if it seems to belong to the report. If the element
    names several sources, only the lines from one source are returned.
    """
    matches = [element.pattern.match(line) for line in lines]
    prefix_matches = [match for match in matches if match is not None and match.end()]
    filled_count = sum(1 for line in lines if line.strip())
    if (
        not prefix_matches
        or len(prefix_matches) < (_SHARE if element.is_weak or element.is_source else _SHARE_OF_STRONG) * filled_count
    ):
        return None
    sources = Counter(_DIGITS.sub("0", match[0].strip()) for match in prefix_matches)
    if element.is_source and not _are_sources(sources, len(prefix_matches)):
        return None
    rests = [line[match.end() :] if match is not None else line for line, match in zip(lines, matches, strict=True)]
    if element.is_weak and not (_is_foreign(lines, rests, len(prefix_matches)) or _is_runner(sources)):
        return None
    if all(rest.startswith(" ") for rest in rests if rest.strip()):
        rests = [rest[1:] for rest in rests]
    if len(sources) < 2 or not element.is_source:
        return rests
    return _choose_source(
        [(match[0].strip() if match else "", rest) for match, rest in zip(matches, rests, strict=True)]
    )


def _strip_shared(lines: Sequence[str]) -> list[str] | None:
    """Return `lines` without the words that all of them begin with.

    Such words are what a logger in any format writes before each line of a report. Returns None if the lines share
    no such words, or if the words seem to belong to the report.
    """
    filled_lines = [line for line in lines if line.strip()]
    start = os.path.commonprefix([f"{line.rstrip()} " for line in filled_lines])  # noqa: RUF071 - not paths
    start = start[: start.rfind(" ") + 1]
    if len(filled_lines) < _FEWEST_LINES or not _MARKED.search(start):
        return None
    rests = [line[len(start) :] for line in lines]
    return rests if _is_foreign(lines, rests, len(filled_lines)) else None


def _are_sources(sources: Counter[str], lines: int) -> bool:
    return len(sources) == 1 or (len(sources) <= _MOST_SOURCES and lines >= 2 * len(sources))


def _is_runner(sources: Counter[str]) -> bool:
    """Return True if one task of a workspace printed all lines."""
    name, often = next(iter(sources.items()))
    return (
        len(sources) == 1
        and _TASK.fullmatch(name) is not None
        and (often >= _FEWEST_LINES or _USUAL_TASK.fullmatch(name) is not None)
    )


def _is_foreign(lines: Sequence[str], rests: Sequence[str], often: int) -> bool:
    """Return True if an element was added to the report from outside.

    `rests` are the lines without the element, and `often` is the number of lines that have it. One of `rests` must
    look like the beginning of a report. If `often` is at least _FEWEST_LINES, a line that is blank or indented, as
    in the middle of a report, is enough.
    """
    sourced_lines = [rest for line, rest in zip(lines, rests, strict=True) if line.strip()]
    inside = often >= _FEWEST_LINES and any(not rest.strip() or rest.startswith((" ", "\t")) for rest in sourced_lines)
    return inside or any(map(_BEGINS.match, sourced_lines))


def _choose_source(sourced_lines: Sequence[tuple[str, str]]) -> list[str]:
    """Return the lines from the source that was the last to report a problem.

    If the sources are log levels, returns the lines of the most severe level. Lines without a source are kept.
    """
    names = dict.fromkeys(name for name, _ in sourced_lines if name)
    if any(map(_LEVEL.fullmatch, names)):
        level_name = next((name for name in ("[error]", "[warn]", "[info]") if name in names), "")
    else:
        keyed_lines = [(_DIGITS.sub("0", name) if name not in names else name, rest) for name, rest in sourced_lines]
        level_name = next((name for name, rest in reversed(keyed_lines) if name and _TROUBLE.search(rest)), "")
    return [rest for name, rest in sourced_lines if not level_name or name in ("", level_name)]
