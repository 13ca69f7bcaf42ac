"""Parser for architecture decision records.

The text of the records is written by unknown authors and is untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hunchd.domain.sharing import SHARED_FOLDER
from hunchd.ingestion.headings import get_title, split_front_matter, strip_heading_marks
from hunchd.ingestion.instructions import FENCES, HEADING, ITEM, UNDERLINE, strip_markup
from hunchd.text.sentences import split_prose

MAX_DECISION = 280  # characters of the deciding sentences

_RECORD_PATH = re.compile(
    r"(?:^|/)(?:adrs?|decisions|decision-records|architecture-decisions|rfcs?|proposals)/"
    r"(?:[^/]+/)?[^/]+\.(?:md|rst|adoc|txt)$",
    re.IGNORECASE,
)
_NOT_A_RECORD = re.compile(
    r"(?:^|/)(?:readme|index|(?:adr|rfc|decision)?[-_]?\d*[-_]?template(?!s))[^/]*$", re.IGNORECASE
)
_COMMENT = re.compile(r"<!--.{0,4000}?-->", re.DOTALL)
_DATE = re.compile(r"\b(20\d\d-[01]\d(?:-[0-3]\d)?)\b")
_STATUS = re.compile(
    r"\b(accepted|proposed|rejected|superseded|deprecated|draft|implemented|withdrawn|approved)\b", re.I
)
_NUMBER = re.compile(r"^#*\s*(?:ADR|RFC|decision)?[\s#-]*\d{1,5}\s*[:.–—-]\s*", re.IGNORECASE)
_NUMBERED_PATH = re.compile(r"(?:^|/)(?:adr|rfc)?[-_]?\d[^/]*$", re.IGNORECASE)
_BACKGROUND_SECTION = re.compile(
    r"(?:status|date|context|metadata|background|problem|motivation|(?:considered )?options)\b", re.IGNORECASE
)
# A decision without a heading, and a line that contains only metadata.
_LABELLED_LINE = re.compile(
    r"^\W{0,4}(?:the )?decision(?:\W{0,3}:|\.(?=\*\*|__))[*_]{0,2}(.+?)(?:\n\s*\n|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_METADATA_LINE = re.compile(r"[*_]*[A-Z][\w /-]{1,24}[*_]*:(?!.*[.!?]$)")
_DECIDING_HEADING = re.compile(
    r"^(?:the )?decisions?\b(?!\s+(?:drivers?|criteria|makers?|date|status|context|factors?|log|process)\b)"
    r"|^(?:outcome|resolution|recommendation|proposal|solution|we decided)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Decision:
    """Architecture decision record.

    `decision` consists of the first one or two sentences that state the decision, quoted verbatim.
    """

    path: str
    title: str
    decision: str
    status: str = ""  # accepted, rejected, superseded, … or "" if unknown
    date: str = ""  # as written: 2025-03 or 2025-03-14
    files: tuple[str, ...] = ()  # files of the project that the record names

    @property
    def is_standing(self) -> bool:
        return self.status not in ("rejected", "superseded", "deprecated", "withdrawn")


def is_record(path: str) -> bool:
    """Return True if `path` looks like the path of an architecture decision record.

    Files shared in `.hunch/decisions` do not count.
    """
    return (
        bool(_RECORD_PATH.search(path)) and not _NOT_A_RECORD.search(path) and not path.startswith(f"{SHARED_FOLDER}/")
    )


def parse_decision(path: str, text: str, files: frozenset[str]) -> Decision | None:
    """Parse a decision record.

    `files` are the paths of the project; those that the record mentions become the `files` of the result. Returns
    None if the record has no title or states no decision.
    """
    text = text[:60_000]
    settings, page = split_front_matter(_COMMENT.sub("", text))  # records keep their status and date there too (MADR)
    sections = list(_split_sections(page))
    heading = get_title(settings) or next((one.name for one in sections if one.name), "")
    title = strip_markup(_NUMBER.sub("", heading))
    head = text[:1500]
    status = next((one.body for one in sections if one.name.lower().startswith("status")), "")
    status_match = _STATUS.search(status or _find_labelled_value(head, "status"))
    decision_text = _find_decision_text(sections, page)
    if not decision_text and (status_match or _NUMBERED_PATH.search(path)):
        decision_text = next(
            filter(
                None,
                (
                    _extract_prose(one.body, skip_metadata=True)
                    for one in sections
                    if not _BACKGROUND_SECTION.match(one.name)
                ),
            ),
            "",
        )
    if not title or not decision_text:
        return None
    sentences = [each for each in split_prose(decision_text) if len(each) > 15] or [decision_text]
    when = _DATE.search(_find_labelled_value(head, "date") or head)
    words = re.findall(r"[\w./-]+\.\w{1,8}|[\w-]+/[\w./-]+", text)
    return Decision(
        path=path,
        title=title[:160],
        decision=_shorten(" ".join(sentences[:2]), MAX_DECISION),
        status=status_match[1].lower() if status_match else "",
        date=when[1] if when else "",
        files=tuple(dict.fromkeys(word for word in words if word in files))[:20],
    )


def _find_decision_text(sections: Sequence[_Section], page: str) -> str:
    """Return the text below the heading "Decision", or after "decision:".

    If the section below the heading consists only of subsections, their headings are joined instead. Returns "" if
    the record has neither.
    """
    for at, section in enumerate(sections):
        if _DECIDING_HEADING.match(_NUMBER.sub("", section.name)):
            if prose := _extract_prose(section.body):
                return prose
            end = next((i for i in range(at + 1, len(sections)) if sections[i].level <= section.level), len(sections))
            below = min((one.level for one in sections[at + 1 : end]), default=0)
            if parts := [
                strip_markup(_NUMBER.sub("", one.name)) for one in sections[at + 1 : end] if one.level == below
            ]:
                return "; ".join(parts)
    match = _LABELLED_LINE.search(page)
    return _extract_prose(match[1]) if match else ""


class _Section(NamedTuple):
    name: str
    level: int  # 1 for the page's title
    body: str


def _split_sections(text: str) -> Iterator[_Section]:
    """Yield the name, level and body of each section, in order.

    The page may be Markdown or reStructuredText. Lines in code blocks are never headings.
    """
    name, level, body = "", 0, list[str]()
    in_fence, rulers = False, list[str]()  # in order of first use, which defines the levels of headings in RST
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.strip().startswith(FENCES):
            in_fence = not in_fence
        heading = None if in_fence else HEADING.match(line)
        below = lines[at + 1].rstrip() if at + 1 < len(lines) and line.strip() and not in_fence else ""
        is_underlined = UNDERLINE.fullmatch(below) and not line.startswith(("-", "|", " "))
        if heading or is_underlined:
            yield _Section(name, level, "\n".join(body).strip())
            name, body = strip_heading_marks(heading[2]) if heading else line.strip(), []
            if not heading and below[0] not in rulers:
                rulers.append(below[0])
            level = len(heading[1]) if heading else rulers.index(below[0]) + 1
        elif in_fence or not UNDERLINE.fullmatch(line.rstrip()):
            body.append(line)
    yield _Section(name, level, "\n".join(body).strip())


def _extract_prose(body: str, *, skip_metadata: bool = False) -> str:
    """Return the first paragraphs and list items on one line, without code blocks.

    With `skip_metadata`, lines such as "Deciders: …" are skipped as well.
    """
    prose, in_fence, after_blank = "", False, False
    for line in map(str.strip, body.splitlines()):
        item = ITEM.match(line)
        content = line[item.end() :] if item else line.lstrip("> ")
        if content.startswith(FENCES):
            in_fence = not in_fence
        elif content and not (
            in_fence
            or content.startswith(("|", "<!--", "---", "!["))
            or (skip_metadata and _METADATA_LINE.match(content))
        ):
            continues = not prose or prose.endswith((".", ":", ";", ",", "!", "?"))
            prose += f"{'' if continues else ';' if item else '.' if after_blank else ''} {strip_markup(content)}"
        after_blank = not line
        if len(prose) > 2 * MAX_DECISION:
            break
    return prose.strip()


def _find_labelled_value(text: str, word: str) -> str:
    match = re.search(rf"^[\s*_\-|>]*{word}[\s*_]*[:|]\s*(.+)$", text, re.IGNORECASE | re.MULTILINE)
    return match[1] if match else ""


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,.;:") + "…"
