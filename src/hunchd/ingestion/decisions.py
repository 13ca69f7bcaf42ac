"""Parser of decision records and contributor pages: decisions and instructions.

Free text by unknown authors; it is untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hunchd.domain.sharing import SHARED_FOLDER
from hunchd.ingestion.headings import get_title, split_front_matter, strip_heading_marks
from hunchd.text.sentences import split_prose

MAX_DECISION = 280  # characters of the deciding sentences
MAX_INSTRUCTIONS = 15  # per file; a file with more is a book
MAX_INSTRUCTION = 200
MAX_SECTION_HEADING = 40  # characters of a heading that is shown with its text

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
_HEADING = re.compile(r"^(#{1,6}|={1,6})\s+(\S.*)$")
_NUMBERED_PATH = re.compile(r"(?:^|/)(?:adr|rfc)?[-_]?\d[^/]*$", re.IGNORECASE)
_BACKGROUND_SECTION = re.compile(
    r"(?:status|date|context|metadata|background|problem|motivation|(?:considered )?options)\b", re.IGNORECASE
)
# A decision without a heading, and a line with metadata only.
_LABELLED_LINE = re.compile(
    r"^\W{0,4}(?:the )?decision\W{0,3}:(.+?)(?:\n\s*\n|\Z)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_METADATA_LINE = re.compile(r"[*_]*[A-Z][\w /-]{1,24}[*_]*:(?!.*[.!?]$)")
_DECIDING_HEADING = re.compile(
    r"^(?:the )?decisions?\b(?!\s+(?:drivers?|criteria|makers?|date|status|context|factors?|log|process)\b)"
    r"|^(?:outcome|resolution|recommendation|proposal|solution|we decided)\b",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"^(?:please\s+)?(?:\*\*|__|`)?(?:use|run|keep|write|add|follow|update|include|commit|format|test|document|check|put|name)\b",
    re.IGNORECASE,
)
_RULE = re.compile(
    r"^(?:please\s+)?(?:\*\*|__|`)?(?:always|never|do not|don't|avoid|prefer|make sure|ensure|must|only)\b",
    re.IGNORECASE,
)
_ONBOARDING_STEP = re.compile(
    r"\b(?:fork|clone|pull request|star|sponsor|join|click|sign|email|issue tracker|mailing|thank|"
    r"you(?:['’]ve| have) installed)\b",
    re.I,
)
# Instructions on communication, not on work.
_COMMUNICATION = re.compile(
    r"\b(?:post|open|file|report|reported|reviewed|ask)\b.{0,40}\b(?:issues?|questions?|bugs?|discussions?)\b"
    r"|\b(?:issues?|bugs?)\b.{0,60}\b(?:reported|reviewed)\b"
    r"|\b(?:comment|note)\b.{0,20}\b(?:on|to|in) (?:the|an?|your) (?:ticket|issue|discussion|thread)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+(?:\[[ x]\]\s+)?")
_FENCES = ("```", "~~~")
_UNDERLINE = re.compile(r"([=\-~^*#])\1{2,}")
_REFERENCE = re.compile(r"\[[^\]]+\]:\s|(?:\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])[\s|·•]*)+$")
# A sentence with such an end continues elsewhere: in code, a list, a table.
_INCOMPLETE_END = re.compile(r"(?::|\b(?:of|the|and|or|an?|with|for|by|from|than|via|following))$", re.IGNORECASE)
_CODE = re.compile(r"(`[^`]+`)")
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")


@dataclass(frozen=True, slots=True)
class Decision:
    """Architecture decision record; `decision` is its deciding sentence, verbatim."""

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
    """Return True if a path looks like an architecture decision record.

    Files shared in `.hunch/decisions` do not count.
    """
    return (
        bool(_RECORD_PATH.search(path)) and not _NOT_A_RECORD.search(path) and not path.startswith(f"{SHARED_FOLDER}/")
    )


def parse_decision(path: str, text: str, files: frozenset[str]) -> Decision | None:
    """Parse the decision that a record states.

    Returns None if it states none.
    """
    text = text[:60_000]
    settings, page = split_front_matter(_COMMENT.sub("", text))  # records keep their status and date there too (MADR)
    sections = list(_split_sections(page))
    heading = get_title(settings) or next((one.name for one in sections if one.name), "")
    title = _strip_markup(_NUMBER.sub("", heading))
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
    """Return the text under the deciding heading, or after the word "decision:".

    If the section has only subsections, their headings are joined.
    """
    for at, section in enumerate(sections):
        if _DECIDING_HEADING.match(_NUMBER.sub("", section.name)):
            if prose := _extract_prose(section.body):
                return prose
            end = next((i for i in range(at + 1, len(sections)) if sections[i].level <= section.level), len(sections))
            below = min((one.level for one in sections[at + 1 : end]), default=0)
            if parts := [
                _strip_markup(_NUMBER.sub("", one.name)) for one in sections[at + 1 : end] if one.level == below
            ]:
                return "; ".join(parts)
    match = _LABELLED_LINE.search(page)
    return _extract_prose(match[1]) if match else ""


class Instruction(NamedTuple):
    """Instruction of a page, verbatim."""

    sentence: str
    section: str  # its heading; "" under the page's own title or a long heading


def extract_instructions(text: str, *, strong: bool = False) -> Iterator[Instruction]:
    """Yield the sentences that ask something of contributors, each once.

    `strong`: only rules (always, never, avoid, …), not the steps of a first contribution.
    """
    section_by_sentence: dict[str, str] = {}
    for section, passage in _split_passages(text[:60_000]):
        for sentence in split_prose(_strip_markup(passage)):
            instruction_match = _RULE.match(sentence) or (not strong and _IMPERATIVE.match(sentence))
            if (
                instruction_match
                and not _INCOMPLETE_END.search(sentence)
                and 15 <= len(sentence) <= MAX_INSTRUCTION
                and not (_ONBOARDING_STEP.search(sentence) or _COMMUNICATION.search(sentence))
            ):
                section_by_sentence.setdefault(sentence.rstrip(), section)
    for sentence, section in list(section_by_sentence.items())[:MAX_INSTRUCTIONS]:
        yield Instruction(sentence, section)


def _split_passages(text: str) -> Iterator[tuple[str, str]]:
    """Yield (heading, passage) for each list item and paragraph.

    Wrapped lines are joined. Code, tables and links are skipped.
    """
    in_fence, passage, section, has_title = False, list[str](), "", False
    for raw in [*text.splitlines(), ""]:
        line = raw.strip()
        item, ruler, fence = _ITEM.match(line), _UNDERLINE.fullmatch(line), line.startswith(_FENCES)
        is_break = (
            not line
            or ruler
            or fence
            or line.startswith(("|", "<", "#", "@"))
            or _is_reference(line, in_passage=bool(passage))
        )
        if passage and (is_break or item or _starts_instruction(line)):
            if ruler:  # the underlined text was a heading
                section, has_title = _section_name(" ".join(passage)) if has_title else "", True
            else:
                yield section, " ".join(passage)
            passage = []
        if not in_fence and (heading := _HEADING.match(line)):
            section, has_title = (
                _section_name(strip_heading_marks(heading[2])) if has_title or line[1] == line[0] else "",
                True,
            )
        if fence:
            in_fence = not in_fence
        elif not (is_break or in_fence):
            passage.append(line[item.end() :] if item else line)


def _section_name(heading: str) -> str:
    heading_text = _strip_markup(heading).rstrip(":")
    return heading_text if len(heading_text) <= MAX_SECTION_HEADING else ""


def _is_reference(line: str, *, in_passage: bool) -> bool:
    """Return True for badges, link definitions and lines of links.

    Inside a passage a wrapped line may begin with a link.
    """
    return line.startswith("[") and (not in_passage or line.startswith("[![") or _REFERENCE.match(line) is not None)


def _starts_instruction(line: str) -> bool:
    """Return True if a line starts another instruction without a bullet."""
    return line[:1].isupper() and bool(_RULE.match(line) or _IMPERATIVE.match(line))


class _Section(NamedTuple):
    name: str
    level: int  # 1 for the page's title
    body: str


def _split_sections(text: str) -> Iterator[_Section]:
    """Yield heading, level and body in order, for Markdown and RST.

    Code is never a heading.
    """
    name, level, body = "", 0, list[str]()
    in_fence, rulers = False, list[str]()  # in order of first use, which defines RST's levels
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.strip().startswith(_FENCES):
            in_fence = not in_fence
        heading = None if in_fence else _HEADING.match(line)
        below = lines[at + 1].rstrip() if at + 1 < len(lines) and line.strip() and not in_fence else ""
        is_underlined = _UNDERLINE.fullmatch(below) and not line.startswith(("-", "|", " "))
        if heading or is_underlined:
            yield _Section(name, level, "\n".join(body).strip())
            name, body = strip_heading_marks(heading[2]) if heading else line.strip(), []
            if not heading and below[0] not in rulers:
                rulers.append(below[0])
            level = len(heading[1]) if heading else rulers.index(below[0]) + 1
        elif in_fence or not _UNDERLINE.fullmatch(line.rstrip()):
            body.append(line)
    yield _Section(name, level, "\n".join(body).strip())


def _extract_prose(body: str, *, skip_metadata: bool = False) -> str:
    """Return the first paragraphs and list items on one line, without code.

    With `skip_metadata`, lines such as "Deciders: …" are skipped as well.
    """
    prose, in_fence, after_blank = "", False, False
    for line in map(str.strip, body.splitlines()):
        item = _ITEM.match(line)
        content = line[item.end() :] if item else line.lstrip("> ")
        if content.startswith(_FENCES):
            in_fence = not in_fence
        elif content and not (
            in_fence
            or content.startswith(("|", "<!--", "---", "!["))
            or (skip_metadata and _METADATA_LINE.match(content))
        ):
            continues = not prose or prose.endswith((".", ":", ";", ",", "!", "?"))
            prose += f"{'' if continues else ';' if item else '.' if after_blank else ''} {_strip_markup(content)}"
        after_blank = not line
        if len(prose) > 2 * MAX_DECISION:
            break
    return prose.strip()


def _find_labelled_value(text: str, word: str) -> str:
    match = re.search(rf"^[\s*_\-|>]*{word}[\s*_]*[:|]\s*(.+)$", text, re.IGNORECASE | re.MULTILINE)
    return match[1] if match else ""


def _strip_markup(text: str) -> str:
    """Strip links and emphasis from a passage; code spans stay unchanged."""
    text = re.sub(r"!?\[([^\]]{0,300})\](?:\([^)]{0,500}\)|\[[^\]]{0,300}\])", r"\1", text)
    parts = _CODE.split(" ".join(text.split()))
    return "".join(part if code % 2 else _EMPHASIS.sub("", part) for code, part in enumerate(parts)).strip()


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,.;:") + "…"
