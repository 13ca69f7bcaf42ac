"""Parser of decision records and contributor pages: decisions and instructions.

Free text by unknown authors; it is untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hunchd.domain.sharing import FOLDER
from hunchd.ingestion.headings import parted, title_in, unmarked
from hunchd.text.sentences import split_prose

MAX_DECISION = 280  # characters of the deciding sentences
MAX_INSTRUCTIONS = 15  # per file; a file with more is a book
MAX_INSTRUCTION = 200
MAX_SECTION = 40  # characters of a heading that is shown with its text

_PLACES = re.compile(
    r"(?:^|/)(?:adrs?|decisions|decision-records|architecture-decisions|rfcs?|proposals)/"
    r"(?:[^/]+/)?[^/]+\.(?:md|rst|adoc|txt)$",
    re.IGNORECASE,
)
_NO_RECORD = re.compile(r"(?:^|/)(?:readme|index|(?:adr|rfc|decision)?[-_]?\d*[-_]?template(?!s))[^/]*$", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.{0,4000}?-->", re.DOTALL)
_DATE = re.compile(r"\b(20\d\d-[01]\d(?:-[0-3]\d)?)\b")
_STATUS = re.compile(
    r"\b(accepted|proposed|rejected|superseded|deprecated|draft|implemented|withdrawn|approved)\b", re.I
)
_NUMBER = re.compile(r"^#*\s*(?:ADR|RFC|decision)?[\s#-]*\d{1,5}\s*[:.–—-]\s*", re.IGNORECASE)
_HEADING = re.compile(r"^(#{1,6}|={1,6})\s+(\S.*)$")
_NUMBERED = re.compile(r"(?:^|/)(?:adr|rfc)?[-_]?\d[^/]*$", re.IGNORECASE)
_ASIDE = re.compile(
    r"(?:status|date|context|metadata|background|problem|motivation|(?:considered )?options)\b", re.IGNORECASE
)
# A decision without a heading, and a line with metadata only.
_LABELLED = re.compile(
    r"^\W{0,4}(?:the )?decision\W{0,3}:(.+?)(?:\n\s*\n|\Z)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_NOTE = re.compile(r"[*_]*[A-Z][\w /-]{1,24}[*_]*:(?!.*[.!?]$)")
_DECISIVE = re.compile(
    r"^(?:the )?decisions?\b(?!\s+(?:drivers?|criteria|makers?|date|status|context|factors?|log|process)\b)"
    r"|^(?:outcome|resolution|recommendation|proposal|solution|we decided)\b",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"^(?:please\s+)?(?:\*\*|__|`)?(?:use|run|keep|write|add|follow|update|include|commit|format|test|document|check|put|name)\b",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"^(?:please\s+)?(?:\*\*|__|`)?(?:always|never|do not|don't|avoid|prefer|make sure|ensure|must|only)\b",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"\b(?:fork|clone|pull request|star|sponsor|join|click|sign|email|issue tracker|mailing|thank|"
    r"you(?:['’]ve| have) installed)\b",
    re.I,
)
# Instructions on communication, not on work.
_TALK = re.compile(
    r"\b(?:post|open|file|report|reported|reviewed|ask)\b.{0,40}\b(?:issues?|questions?|bugs?|discussions?)\b"
    r"|\b(?:issues?|bugs?)\b.{0,60}\b(?:reported|reviewed)\b"
    r"|\b(?:comment|note)\b.{0,20}\b(?:on|to|in) (?:the|an?|your) (?:ticket|issue|discussion|thread)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+(?:\[[ x]\]\s+)?")
_FENCES = ("```", "~~~")
_RULER = re.compile(r"([=\-~^*#])\1{2,}")
_REFERENCE = re.compile(r"\[[^\]]+\]:\s|(?:\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])[\s|·•]*)+$")
# A sentence with such an end continues elsewhere: in code, a list, a table.
_CUT = re.compile(r"(?::|\b(?:of|the|and|or|an?|with|for|by|from|than|via|following))$", re.IGNORECASE)
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
    def standing(self) -> bool:
        return self.status not in ("rejected", "superseded", "deprecated", "withdrawn")


def is_record(path: str) -> bool:
    """Return True if a path looks like an architecture decision record.

    Files shared in `.hunch/decisions` do not count.
    """
    return bool(_PLACES.search(path)) and not _NO_RECORD.search(path) and not path.startswith(f"{FOLDER}/")


def decision_in(path: str, text: str, files: frozenset[str]) -> Decision | None:
    """Parse the decision that a record states.

    Returns None if it states none.
    """
    text = text[:60_000]
    settings, page = parted(_COMMENT.sub("", text))  # records keep their status and date there too (MADR)
    sections = list(_sections(page))
    named = title_in(settings) or next((one.name for one in sections if one.name), "")
    title = _plain(_NUMBER.sub("", named))
    head = text[:1500]
    status = next((one.body for one in sections if one.name.lower().startswith("status")), "")
    found = _STATUS.search(status or _line_with(head, "status"))
    decided = _decided(sections, page)
    if not decided and (found or _NUMBERED.search(path)):
        decided = next(
            filter(None, (_prose(one.body, plain=True) for one in sections if not _ASIDE.match(one.name))), ""
        )
    if not title or not decided:
        return None
    sentences = [each for each in split_prose(decided) if len(each) > 15] or [decided]
    when = _DATE.search(_line_with(head, "date") or head)
    words = re.findall(r"[\w./-]+\.\w{1,8}|[\w-]+/[\w./-]+", text)
    return Decision(
        path=path,
        title=title[:160],
        decision=_cut(" ".join(sentences[:2]), MAX_DECISION),
        status=found[1].lower() if found else "",
        date=when[1] if when else "",
        files=tuple(dict.fromkeys(word for word in words if word in files))[:20],
    )


def _decided(sections: Sequence[_Section], page: str) -> str:
    """Return the text under the deciding heading, or after the word "decision:".

    If the section has only subsections, their headings are joined.
    """
    for at, section in enumerate(sections):
        if _DECISIVE.match(_NUMBER.sub("", section.name)):
            if prose := _prose(section.body):
                return prose
            end = next((i for i in range(at + 1, len(sections)) if sections[i].level <= section.level), len(sections))
            below = min((one.level for one in sections[at + 1 : end]), default=0)
            if parts := [_plain(_NUMBER.sub("", one.name)) for one in sections[at + 1 : end] if one.level == below]:
                return "; ".join(parts)
    found = _LABELLED.search(page)
    return _prose(found[1]) if found else ""


class Instruction(NamedTuple):
    """Instruction of a page, verbatim."""

    sentence: str
    section: str  # its heading; "" under the page's own title or a long heading


def instructions_in(text: str, *, strong: bool = False) -> Iterator[Instruction]:
    """Yield the sentences that ask something of contributors, each once.

    `strong`: only rules (always, never, avoid, …), not the steps of a first contribution.
    """
    told: dict[str, str] = {}
    for section, passage in _passages(text[:60_000]):
        for sentence in split_prose(_plain(passage)):
            asks = _STRONG.match(sentence) or (not strong and _IMPERATIVE.match(sentence))
            if (
                asks
                and not _CUT.search(sentence)
                and 15 <= len(sentence) <= MAX_INSTRUCTION
                and not (_STEP.search(sentence) or _TALK.search(sentence))
            ):
                told.setdefault(sentence.rstrip(), section)
    for sentence, section in list(told.items())[:MAX_INSTRUCTIONS]:
        yield Instruction(sentence, section)


def _passages(text: str) -> Iterator[tuple[str, str]]:
    """Yield (heading, passage) for each list item and paragraph.

    Wrapped lines are joined. Code, tables and links are skipped.
    """
    fenced, passage, section, titled = False, list[str](), "", False
    for raw in [*text.splitlines(), ""]:
        line = raw.strip()
        item, ruler, fence = _ITEM.match(line), _RULER.fullmatch(line), line.startswith(_FENCES)
        other = (
            not line
            or ruler
            or fence
            or line.startswith(("|", "<", "#", "@"))
            or _is_reference(line, inside=bool(passage))
        )
        if passage and (other or item or _begins_anew(line)):
            if ruler:  # the underlined text was a heading
                section, titled = _section(" ".join(passage)) if titled else "", True
            else:
                yield section, " ".join(passage)
            passage = []
        if not fenced and (heading := _HEADING.match(line)):
            section, titled = _section(unmarked(heading[2])) if titled or line[1] == line[0] else "", True
        if fence:
            fenced = not fenced
        elif not (other or fenced):
            passage.append(line[item.end() :] if item else line)


def _section(heading: str) -> str:
    plain = _plain(heading).rstrip(":")
    return plain if len(plain) <= MAX_SECTION else ""


def _is_reference(line: str, *, inside: bool) -> bool:
    """Return True for badges, link definitions and lines of links.

    Inside a passage a wrapped line may begin with a link.
    """
    return line.startswith("[") and (not inside or line.startswith("[![") or _REFERENCE.match(line) is not None)


def _begins_anew(line: str) -> bool:
    """Return True if a line starts another instruction without a bullet."""
    return line[:1].isupper() and bool(_STRONG.match(line) or _IMPERATIVE.match(line))


class _Section(NamedTuple):
    name: str
    level: int  # 1 for the page's title
    body: str


def _sections(text: str) -> Iterator[_Section]:
    """Yield heading, level and body in order, for Markdown and RST.

    Code is never a heading.
    """
    name, level, body = "", 0, list[str]()
    fenced, rulers = False, list[str]()  # in order of first use, which defines RST's levels
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.strip().startswith(_FENCES):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(line)
        below = lines[at + 1].rstrip() if at + 1 < len(lines) and line.strip() and not fenced else ""
        underlined = _RULER.fullmatch(below) and not line.startswith(("-", "|", " "))
        if heading or underlined:
            yield _Section(name, level, "\n".join(body).strip())
            name, body = unmarked(heading[2]) if heading else line.strip(), []
            if not heading and below[0] not in rulers:
                rulers.append(below[0])
            level = len(heading[1]) if heading else rulers.index(below[0]) + 1
        elif fenced or not _RULER.fullmatch(line.rstrip()):
            body.append(line)
    yield _Section(name, level, "\n".join(body).strip())


def _prose(body: str, *, plain: bool = False) -> str:
    """Return the first paragraphs and list items on one line, without code.

    With `plain`, lines such as "Deciders: …" are skipped as well.
    """
    told, fenced, anew = "", False, False
    for line in map(str.strip, body.splitlines()):
        item = _ITEM.match(line)
        bare = line[item.end() :] if item else line.lstrip("> ")
        if bare.startswith(_FENCES):
            fenced = not fenced
        elif bare and not (fenced or bare.startswith(("|", "<!--", "---", "![")) or (plain and _NOTE.match(bare))):
            goes_on = not told or told.endswith((".", ":", ";", ",", "!", "?"))
            told += f"{'' if goes_on else ';' if item else '.' if anew else ''} {_plain(bare)}"
        anew = not line
        if len(told) > 2 * MAX_DECISION:
            break
    return told.strip()


def _line_with(text: str, word: str) -> str:
    found = re.search(rf"^[\s*_\-|>]*{word}[\s*_]*[:|]\s*(.+)$", text, re.IGNORECASE | re.MULTILINE)
    return found[1] if found else ""


def _plain(text: str) -> str:
    """Strip links and emphasis from a passage; code spans stay unchanged."""
    text = re.sub(r"!?\[([^\]]{0,300})\](?:\([^)]{0,500}\)|\[[^\]]{0,300}\])", r"\1", text)
    parts = _CODE.split(" ".join(text.split()))
    return "".join(part if code % 2 else _EMPHASIS.sub("", part) for code, part in enumerate(parts)).strip()


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,.;:") + "…"
