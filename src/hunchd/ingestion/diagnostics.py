"""Search for the diagnostic in the output of any tool.

The diagnostic is the line that says what is wrong, with its details. The module does not know any particular tool.
It recognises three forms: a line that names a location (`path:line: …`), a line that is labelled as an error, and a
heading with a file's path above indented findings. Lines that only count, conclude or advise are skipped (see
`summaries`). This module does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hunchd.ingestion.diagnostic_lines import (
    BARE_MARKER,
    BELOW,
    COMPLAINT,
    EXCERPT,
    FINDING,
    FRAME,
    GUTTER,
    HEADING,
    MARKER,
    TITLED_RULE,
    WARNING,
    WORD,
    extract_message,
    find_label,
    find_place,
    format_line,
)
from hunchd.ingestion.summaries import is_summary

_MOST_LINES: Final = 400  # last lines searched for the one that says what is wrong
_ITEM: Final = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+(?P<text>\S.*)")
NAMED_THING: Final = re.compile(
    r"[`'\"«“][^`'\"]+[`'\"»”]|\w[/_:\\]\w|\w\d|\d\w|[a-z][A-Z]|\w\.\w"
)  # a name from the code, or a file
_ONLY_WHERE: Final = re.compile(
    r"(?:[A-Z]\w+ ){0,2}(?:[Ee]rror|[Ee]xception|[Ff]ailure) (?:in|at|on|during|while|from) [^:]*$"
)
# A result of a test or step that has a name: "moves_bay ....***Failed 0.02 sec", "Failed test 'x'"
_FAILED_ITEM: Final = re.compile(
    r"\w[\w'`\"\])>]\W*(?:\*\*\*Failed|\bFAIL(?:ED)?|\[E\])(?:\s+[\d.]+ ?m?s(?:ec)?)?\s*$"
    r"|\bFailed (?:test|example|case) ['\"]"
)
_PASSED: Final = re.compile(r"\s*(?:[✓✔√☑]|ok \d)")
_FAILED_CODE: Final = re.compile(r"\s+[`'\"].*[`'\"] (?:has )?failed$")
_LONGEST_LINE: Final = 600  # characters read per line
_BLOCK_LINES: Final = 24  # lines below the diagnostic that may belong to it
_BLOCK_ABOVE: Final = 9
_DETAILS: Final = 8  # details that distinguish one diagnostic from another
_ENOUGH_WORDS: Final = 3  # words in a message that needs no detail in its headline


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem that a tool reports.

    `details` are the source line that the tool marked, and its explanation.
    """

    display_line: str  # the line as shown to a reader
    message_text: str  # the message without label and location, for comparison
    code: str
    path: str
    line: int
    column: int
    details: tuple[str, ...]

    @property
    def headline(self) -> str:
        """Return the line to display for the problem.

        If that line is only a title, its most useful detail is appended.
        """
        return complete_title(self.display_line, self.message_text, self.details)


def complete_title(title: str, message: str, details: Sequence[str]) -> str:
    """Return `title`, with its most useful detail if `message` is too general."""
    has_name = re.search(r"[`'\"“‘«]", message) is not None
    is_telling = (has_name or len(WORD.findall(message)) > _ENOUGH_WORDS) and not _ONLY_WHERE.match(message)
    if not details or (is_telling and (NAMED_THING.search(message) or not _names_what_is_wrong(details[0]))):
        return title
    return f"{title.rstrip(':. ')}: {_extract_prose(details)}" if title else _extract_prose(details)


def _names_what_is_wrong(detail: str) -> bool:
    return COMPLAINT.search(detail) is not None and re.search(r"[`'\"“‘«]\w", detail) is not None


@dataclass(frozen=True, slots=True)
class _Anchor:
    """Line that may state the error.

    The line with the greatest `weight` is the most likely to do so.
    """

    number: int
    weight: int
    display_line: str
    message_text: str
    code: str
    path: str = ""
    line: int = 0
    column: int = 0


def find_diagnostic(text: str) -> Diagnostic | None:
    """Return the most severe problem reported in `text`.

    If several problems are equally severe, returns the first. Returns None if no problem is reported.
    """
    lines = [line[:_LONGEST_LINE] for line in text.split("\n")[-_MOST_LINES:]]
    anchors = list(_find_anchors(lines))
    best = max(anchors, key=lambda anchor: (anchor.weight, -anchor.number), default=None)
    if best is None:
        return None
    others = frozenset(anchor.number for anchor in anchors)
    details, below = _extract_details(lines, best.number, others, has_message=bool(best.message_text))
    if not best.path and below is None:
        above, below = _extract_source_above(lines, best.number)
        details = (*above, *details)
    place = best if best.path else below
    path, line, column = (place.path.replace("\\", "/"), place.line, place.column) if place is not None else ("", 0, 0)
    return Diagnostic(best.display_line, " ".join(best.message_text.split()), best.code, path, line, column, details)


def find_complaint(text: str) -> str:
    """Return the first line that says in plain words that something is wrong.

    If that line names nothing specific, returns the first list item below it that does. If no line says so, returns
    the last line that is not a summary, or "".
    """
    lines = [line for line in text.split("\n") if line.strip() and not is_summary(line)]
    first = next((number for number, line in enumerate(lines) if COMPLAINT.search(line)), None)
    if first is None:
        failed = next((line for line in text.split("\n") if _FAILED_ITEM.search(line)), lines[-1] if lines else "")
        return format_line(failed, None)
    below = lines[first + 1 : first + 1 + _BLOCK_LINES] if not NAMED_THING.search(lines[first]) else ()
    items = (item for item in map(_ITEM.match, below) if item is not None)
    return next((item["text"] for item in items if NAMED_THING.search(item["text"])), lines[first].strip())


def extract_details_below(text: str, start: int) -> tuple[str, ...]:
    """Return the details that a tool prints below the line at offset `start`.

    These are the source line that the tool marked, and its explanation.
    """
    number = text.count("\n", 0, start)
    lines = text.split("\n")[number : number + _BLOCK_LINES + 1]
    others = frozenset(n for n, line in enumerate(lines) if n and not line.startswith((" ", "\t")) and find_place(line))
    return _extract_details(lines, 0, others)[0]


def _find_anchors(lines: Sequence[str]) -> Iterator[_Anchor]:
    heading = ""
    for number, line in enumerate(lines):
        if not line.strip() or FRAME.match(line) or BARE_MARKER.match(line):
            continue
        if (heading_match := HEADING.match(line)) is not None and not is_path_list(lines, number):
            heading = heading_match["path"]
            continue
        if heading and (finding := FINDING.match(line)) is not None and not _is_excerpt(lines, number):
            if not is_summary(line):  # "3 tests, 1 failure"
                yield _parse_finding(line, number, heading, finding)
        elif (title_match := TITLED_RULE.match(line)) is not None:
            yield _Anchor(number, 5, title_match["said"], title_match["said"], "", title_match["path"])
        elif (anchor := _parse_anchor(line, number)) is not None:
            yield anchor


def is_path_list(lines: Sequence[str], number: int) -> bool:
    """Return True if the next nonblank line is also a path.

    A line followed by another path belongs to a list of files.
    """
    following = next((line for line in lines[number + 1 : number + 4] if line.strip()), "")
    return HEADING.match(following) is not None and FINDING.match(following) is None


def _parse_anchor(line: str, number: int) -> _Anchor | None:
    place = find_place(line)
    label = find_label(line)
    if place is None and label is None:
        return None
    if EXCERPT.match(line) and label is None:
        return None
    message_text, code = extract_message(line, place, label)
    said_nothing = is_summary(message_text) and not code
    if place is None:
        if said_nothing and not _is_block_heading(label, line):
            return None
        weight = _compute_weight(line, place, label) - (2 if said_nothing else 0)
        return _Anchor(number, weight, format_line(line, None), "" if said_nothing else message_text, code)
    if said_nothing and label is None:
        return None
    path, at, column = _parse_position(place)
    weight = _compute_weight(line, place, label) - (2 if said_nothing else 0)
    message_text = "" if is_summary(message_text) else message_text
    return _Anchor(number, weight, format_line(line, place), message_text, code, path, at, column)


def _is_block_heading(label: re.Match[str] | None, line: str) -> bool:
    """Return True for a line such as "Error:" whose message is below it."""
    return label is not None and line.rstrip().endswith((":", label["label"]))


def _compute_weight(line: str, place: re.Match[str] | None, label: re.Match[str] | None) -> int:
    begins = place is not None and not line[: place.start()].strip(" \t\"'>-*`[(#@")
    is_warning = label is None and WARNING.search(line[: (place.end() if place else 0) + 40]) is not None
    return (
        (4 if label is not None else 2 if begins else 1)
        + (2 if begins else 1 if place else 0)
        - (3 if is_warning else 0)
    )


def _parse_finding(line: str, number: int, path: str, finding: re.Match[str]) -> _Anchor:
    rest = line[finding.end() - 1 :]
    label = find_label(rest)
    message_text, code = extract_message(rest, None, label)
    is_warning = label is None and WARNING.search(rest) is not None
    line_number, column = int(finding["line"][:9]), int((finding["column"] or "0")[:9])
    weight = 3 if is_warning else 6
    return _Anchor(number, weight, format_line(rest, None), message_text, code, path, line_number, column)


def _parse_position(place: re.Match[str]) -> tuple[str, int, int]:
    groups = place.groupdict()
    line = groups.get("line") or groups.get("line2") or groups.get("line3") or "0"
    column = groups.get("column") or groups.get("column2") or groups.get("column3") or "0"
    return groups["path"], int(line[:9]), int(column[:9])


def _is_excerpt(lines: Sequence[str], number: int) -> bool:
    """Return True if the line is quoted source code with its line number.

    If a severity follows the number ("3 | ERROR …"), the line is a finding and not source code.
    """
    below = lines[number + 1] if number + 1 < len(lines) else ""
    gutter_match = re.match(r"^\s*>?\s*\d+\s*[|│](?!\s*(?:ERROR|WARNING)\b)", lines[number])
    return BARE_MARKER.match(below) is not None or gutter_match is not None


def _extract_details(
    lines: Sequence[str], number: int, others: frozenset[int], *, has_message: bool = True
) -> tuple[tuple[str, ...], _Anchor | None]:
    """Return the details below line `number`, and the location named there.

    The details are the source line that the tool marked, and its explanation. The location is None if these lines
    name no location. `others` are the numbers of the other lines that may state an error; the details end before
    the next of these lines.
    """
    marked_lines: list[str] = []
    shown_lines: list[str] = []
    prose: list[str] = []
    below: _Anchor | None = None
    blanks = 0
    for index in range(number + 1, min(number + 1 + _BLOCK_LINES, len(lines))):
        line = lines[index]
        if not line.strip(" \t|│┃╷╵"):
            blanks += 1
            continue
        if (
            not BELOW.match(line)
            and (has_message or prose or marked_lines)
            and (index in others or blanks > 1 or is_summary(line))
        ):
            break
        if FRAME.match(line) or _PASSED.match(line):
            break
        place = find_place(line)
        if place is not None and is_summary(GUTTER.sub("", line[: place.start()] + line[place.end() :])):
            path, at, column = _parse_position(place)
            below = below or _Anchor(index, 0, "", "", "", path, at, column)
            continue
        if index in others and (marked_lines or prose or has_message):
            break
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if (excerpt := EXCERPT.match(line)) is not None:
            shown_lines.append(GUTTER.sub("", excerpt["code"]))
            if excerpt["mark"] or MARKER.match(following):
                marked_lines.append(shown_lines[-1])
            continue
        if MARKER.match(following) and not MARKER.match(line):
            marked_lines.append(GUTTER.sub("", line))
        elif (marker := MARKER.match(line)) is not None:
            prose += [marker["said"]] if marker["said"].strip(" |│─") else []
        elif not is_summary(line) or _FAILED_CODE.match(line):
            prose.append(re.sub(r"^[✖✘×✗●!ⓘi] (?=\S)", "", GUTTER.sub("", line)))
    detail_lines = [*_select_source_lines(marked_lines, shown_lines), *prose]
    return tuple(" ".join(line.split()) for line in detail_lines if line.strip())[:_DETAILS], below


def _select_source_lines(marked_lines: Sequence[str], shown_lines: Sequence[str]) -> Iterator[str]:
    """Yield the marked source line or, failing that, the first lines shown.

    The first lines shown are used if no line is marked, or if the marked line contains no word.
    """
    telling = [line for line in marked_lines if WORD.search(line)]
    yield from (f"| {line}" for line in (telling[:1] or shown_lines[: _DETAILS // 2] or marked_lines[:1]))


def _extract_source_above(lines: Sequence[str], number: int) -> tuple[tuple[str, ...], _Anchor | None]:
    """Return the source lines and the location printed above line `number`.

    Some tools print the location before the message. Returns an empty tuple and None if no location is printed there.
    """
    for index in range(number - 1, max(number - _BLOCK_ABOVE, -1), -1):
        place = find_place(lines[index])
        if place is not None and not lines[index].startswith((" ", "\t", "|")):
            rest = lines[index][: place.start()] + lines[index][place.end() :]
            if not is_summary(rest):
                break
            path, at, column = _parse_position(place)
            detail_lines, _ = _extract_details(lines[:number], index, frozenset(), has_message=False)
            return tuple(line for line in detail_lines if line.startswith("| ")), _Anchor(
                index, 0, "", "", "", path, at, column
            )
    return (), None


def _extract_prose(details: Sequence[str]) -> str:
    """Return the detail that is most useful beside a title.

    Explanations are preferred to source lines. Among explanations, one that says that something is wrong is preferred.
    """
    prose = [line for line in details if not line.startswith("| ")]
    return next(filter(COMPLAINT.search, prose), (prose or details)[0])
