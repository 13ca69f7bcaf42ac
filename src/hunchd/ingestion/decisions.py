"""Decision records and contributor pages → what was decided and what is asked of people. Free text: a stranger's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

MAX_DECISION = 280  # characters of the sentence that decides
MAX_INSTRUCTIONS = 15  # of one file: more are a book, and nobody wants a book in the background
MAX_INSTRUCTION = 200
MAX_SECTION = 40  # characters of a heading that is told with what stands under it

_PLACES = re.compile(
    r"(?:^|/)(?:adrs?|decisions|decision-records|architecture-decisions|rfcs?|proposals)/"
    r"(?:[^/]+/)?[^/]+\.(?:md|rst|adoc|txt)$",
    re.IGNORECASE,
)
_NO_RECORD = re.compile(r"(?:^|/)(?:readme|index|template|\d*-?template|000+[-_]?template)[^/]*$", re.IGNORECASE)
_PAGES = re.compile(
    r"^(?:\.github/|docs?/)?(?:AGENTS|CLAUDE|CONTRIBUTING|GEMINI|\.cursorrules|copilot-instructions)(?:\.(?:md|rst|txt))?$",
    re.IGNORECASE,
)
_DATE = re.compile(r"\b(20\d\d-[01]\d(?:-[0-3]\d)?)\b")
_STATUS = re.compile(
    r"\b(accepted|proposed|rejected|superseded|deprecated|draft|implemented|withdrawn|approved)\b", re.I
)
_NUMBER = re.compile(r"^#*\s*(?:ADR|RFC|decision)?[\s#-]*\d{1,5}\s*[:.–—-]\s*", re.IGNORECASE)
_HEADING = re.compile(r"^(?:#{1,6}\s+|={1,6}\s+)(.+?)\s*#*$")
_DECISIVE = re.compile(
    r"^(?:decision|decision outcome|the decision|outcome|resolution|proposal|solution|we decided)\b", re.I
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
# How to get in touch, not how to work.
_TALK = re.compile(
    r"\b(?:post|open|file|report|reported|reviewed|ask)\b.{0,40}\b(?:issues?|questions?|bugs?|discussions?)\b"
    r"|\b(?:issues?|bugs?)\b.{0,60}\b(?:reported|reviewed)\b"
    r"|\b(?:comment|note)\b.{0,20}\b(?:on|to|in) (?:the|an?|your) (?:ticket|issue|discussion|thread)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+(?:\[[ x]\]\s+)?")
_RULER = re.compile(r"([=\-~^*#])\1{2,}")
_REFERENCE = re.compile(r"\[[^\]]+\]:\s|(?:\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])\s*[|·•]?\s*)+$")
# What ends like this goes on elsewhere: in a block of code, a list, a table.
_CUT = re.compile(r"(?::|\b(?:of|the|and|or|an?|with|for|by|from|than|via|following))$", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(*])")


@dataclass(frozen=True, slots=True)
class Decision:
    """One record: `decision` is the sentence that decides, in its own words."""

    path: str
    title: str
    decision: str
    status: str = ""  # accepted, rejected, superseded, … or "" where it is not told
    date: str = ""  # as written: 2025-03 or 2025-03-14
    files: tuple[str, ...] = ()  # of the project, named by the record

    @property
    def standing(self) -> bool:
        return self.status not in ("rejected", "superseded", "deprecated", "withdrawn")


def is_record(path: str) -> bool:
    """Whether a path looks like an architecture decision record."""
    return bool(_PLACES.search(path)) and not _NO_RECORD.search(path)


def is_page(path: str) -> bool:
    """Whether a path is a page for contributors or agents."""
    return bool(_PAGES.match(path))


def decision_in(path: str, text: str, files: frozenset[str]) -> Decision | None:
    """The decision that a record states; None when it states none."""
    sections = list(_sections(text[:60_000]))
    title = next((name for name, _ in sections if name), "")
    chosen = next((body for name, body in sections if _DECISIVE.match(name) and body), "")
    if not chosen:
        chosen = next(
            (body for name, body in sections if body and not re.match(r"status|date|context|metadata", name, re.I)), ""
        )
    title = _plain(_NUMBER.sub("", title))
    sentences = [each for each in _SENTENCE.split(_prose(chosen)) if len(each) > 15]
    if not title or not (sentences or chosen):
        return None
    head = text[:1500]
    status = next((body for name, body in sections if name.lower().startswith("status")), "") or _line_with(
        head, "status"
    )
    found = _STATUS.search(status)
    when = _DATE.search(_line_with(head, "date") or head)
    named = dict.fromkeys(
        word for word in re.findall(r"[\w./-]+\.\w{1,8}|[\w-]+/[\w./-]+", text[:60_000]) if word in files
    )
    return Decision(
        path=path,
        title=title[:160],
        decision=_cut(" ".join(sentences[:2]), MAX_DECISION),
        status=found[1].lower() if found else "",
        date=when[1] if when else "",
        files=tuple(named)[:20],
    )


class Instruction(NamedTuple):
    """What a page asks for, in its own words."""

    sentence: str
    section: str  # the heading it stands under; "" for what stands under the page's own title, or under a long one


def instructions_in(text: str, *, strong: bool = False) -> Iterator[Instruction]:
    """The lines that ask something of whoever works here, each once.

    `strong`: rules only (always, never, avoid, …), not the steps of a first contribution.
    """
    told: dict[str, str] = {}
    for section, passage in _passages(text[:60_000]):
        for sentence in _SENTENCE.split(_plain(passage)):
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
    """Headings and the list items and paragraphs under them, each on one line however it was wrapped; without code,
    tables and links."""
    fenced, passage, section, titled = False, list[str](), "", False
    for raw in [*text.splitlines(), ""]:
        line = raw.strip()
        item, ruler, fence = _ITEM.match(line), _RULER.fullmatch(line), line.startswith(("```", "~~~"))
        other = (
            not line or ruler or fence or line.startswith(("|", "<", "#")) or _is_reference(line, inside=bool(passage))
        )
        if passage and (other or item or _begins_anew(line)):
            if ruler:  # what is underlined was a heading
                section, titled = _section(" ".join(passage)) if titled else "", True
            else:
                yield section, " ".join(passage)
            passage = []
        if not fenced and (heading := _HEADING.match(line)):
            section, titled = _section(heading[1]) if titled or line[1] == line[0] else "", True
        if fence:
            fenced = not fenced
        elif not (other or fenced):
            passage.append(line[item.end() :] if item else line)


def _section(heading: str) -> str:
    plain = _plain(heading).rstrip(":")
    return plain if len(plain) <= MAX_SECTION else ""


def _is_reference(line: str, *, inside: bool) -> bool:
    """A badge, where a link leads, or a line of links; within a passage a wrapped line may begin with a link."""
    return line.startswith("[") and (not inside or line.startswith("[![") or _REFERENCE.match(line) is not None)


def _begins_anew(line: str) -> bool:
    """Whether a line is one more thing that is asked for, in a list that has no marks."""
    return line[:1].isupper() and bool(_STRONG.match(line) or _IMPERATIVE.match(line))


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Heading and body, in order; RST's underlined headings too."""
    name, body = "", list[str]()
    lines = text.splitlines()
    for at, line in enumerate(lines):
        heading = _HEADING.match(line)
        underlined = at + 1 < len(lines) and line.strip() and _RULER.fullmatch(lines[at + 1].rstrip())
        if heading or (underlined and not line.startswith(("-", "|", " "))):
            yield name, "\n".join(body).strip()
            name, body = (heading[1] if heading else line).strip(), []
        elif not _RULER.fullmatch(line.rstrip()):
            body.append(line)
    yield name, "\n".join(body).strip()


def _prose(body: str) -> str:
    """The first paragraphs of running text and list items, on one line."""
    lines: list[str] = []
    for line in body.splitlines():
        plain = re.sub(r"^\s*(?:[-*+>]|\d+[.)])\s+", "", line).strip()
        if plain and not plain.startswith(("```", "|", "<!--", "---", "![")):
            lines.append(plain)
        if sum(map(len, lines)) > 2 * MAX_DECISION:
            break
    return _plain(" ".join(lines))


def _line_with(text: str, word: str) -> str:
    found = re.search(rf"^[\s*_\-|>]*{word}[\s*_]*[:|]\s*(.+)$", text, re.IGNORECASE | re.MULTILINE)
    return found[1] if found else ""


def _plain(text: str) -> str:
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", "", " ".join(text.split())).strip()


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,.;:") + "…"
