"""Extraction of the rules that a page for contributors or agents states.

A rule is a whole sentence that says how work must be done; a classifier distinguishes rules from descriptions,
etiquette and onboarding. The text is written by unknown authors and is untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Final, NamedTuple

from hunchd.ingestion.headings import strip_heading_marks
from hunchd.ingestion.rule_classifier import VAGUE, Passage, rate_passage
from hunchd.text.sentences import split_prose

MAX_INSTRUCTIONS: Final = 60  # per file; a file with more is a book
OF_TOPIC: Final = 6  # rules of each topic that are kept in any case: a page about code has one on commits
FEWEST_CHARACTERS: Final = 12
MAX_INSTRUCTION: Final = 300
# Minimum probabilities for a sentence to be stored, and to be shown without being asked for. Pages for agents contain
# little but rules, many of them very short; the public guides on which the classifier was trained have few of those.
MIN_RULE: Final[Mapping[str, float]] = {"people": 0.4, "form": 0.4, "agents": 0.2}
MIN_QUOTABLE: Final[Mapping[str, float]] = {"people": 0.5, "form": 0.5, "agents": 0.4}
UNRATED: Final = 0.6  # value of a rule in a language that the classifier cannot read
MAX_STEPS: Final = 8  # steps of a release that are listed
MAX_STEP: Final = 70  # characters
MAX_SECTION_HEADING: Final = 40  # characters of a heading that is shown with its rules
MAX_TERMS: Final = 12  # items of a list that end a sentence
MAX_TERM: Final = 32  # characters of a list item without a highlighted term
MAX_CODE_AFTER: Final = 160  # characters of code that ends the sentence before it
FEWEST_ENGLISH_WORDS: Final = 0.12  # share of a page's words that are very common English words

HEADING: Final = re.compile(r"^(#{1,6}|={1,6})\s+(\S.*)$")
ITEM: Final = re.compile(r"(?:[-*+]|(?:\d+|#)[.)])\s+(?:\[[ x]\]\s+)?")
FENCES: Final = ("```", "~~~")
UNDERLINE: Final = re.compile(r"([=\-~^*#])\1{2,}")
_CODE: Final = re.compile(r"(`[^`]+`)")
_EMPHASIS: Final = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|__|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)")
_REFERENCE: Final = re.compile(r"\[[^\]]+\]:\s|(?:\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])[\s|·•]*)+$")

_SENTENCE_START: Final = re.compile(r"(?:Always|Never|Avoid|Prefer|Do not|Don['’]t|Please|Use|Run|Add|Keep|Follow) ")
_TERM: Final = re.compile(r"\*\*([\w()-]{2,24})\*\*|(`[^`]{1,24}`)(?=\s*(?:[:–—-]|$))")
_CODE_BEGIN: Final = re.compile(r"```|~~~|\.\. code")
_ONLY_LINK: Final = re.compile(r"!?\[[^\]]+\](?:\((?!#)[^)]*\)|\[[^\]]*\])[.:]?|:doc:`[^`]+`")
_CLAUSE_END: Final = re.compile(r"(?:,(?= (?:and|but|so|or|reserving|because|which|since|as)\b)|;| [-–—] | \()")
_ALERT: Final = re.compile(r"^(?:(?:>\s*)?\[!\w+\]|\.\. (?:note|warning|important|tip)::)\s*")
_ENGLISH: Final = re.compile(
    r"\b(?:the|to|and|of|is|in|a|you|for|we|or|be|this|not|are|your|with|it|on)\b", re.IGNORECASE
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_WIDE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # one of these characters counts as two
_RELEASE_PAGE: Final = re.compile(r"(?:^|/)releas\w*[-_. ]?(?:process|checklist|guide|notes?)?[^/]*$", re.IGNORECASE)
_FIRST_CLAUSE: Final = re.compile(
    r"(?<=\S)(?:\.\s+(?=[A-Z])|[.:;]$|:\s|;\s|\s[-–—(]|,\s(?=(?:and|then|so|which)\b)).*$"
)


class Instruction(NamedTuple):
    """Rule that a page states, quoted verbatim."""

    sentence: str
    section: str  # heading above it; "" if that is long or the page's title
    topic: str = ""  # subject; "" if unknown, VAGUE if too general to be quoted in a review
    value: float = UNRATED  # probability that a reviewer would quote it


def extract_instructions(text: str, page: str = "people") -> list[Instruction]:
    """Return the rules that a page states, in the order of the page.

    Each rule is returned once. `page` is the audience of the page: "people", "agents", or "form" for a template to
    fill in. If the page is not in English, every list item counts as a rule. At most MAX_INSTRUCTIONS are returned,
    those most worth quoting, and the best of each topic.
    """
    is_foreign = not _is_english(text)
    rules: dict[str, Instruction] = {}
    for passage in iterate_passages(text, page):
        sentence = passage.sentence
        width = len(sentence) + (len(_WIDE.findall(sentence)) if is_foreign else 0)
        if width < FEWEST_CHARACTERS or len(sentence) > MAX_INSTRUCTION or sentence.endswith((":", ",", "(")):
            continue
        section = passage.section if len(passage.section) <= MAX_SECTION_HEADING else ""
        if is_foreign and passage.is_item:
            rules.setdefault(sentence, Instruction(sentence, section))
        elif not is_foreign and sentence not in rules:
            rating = rate_passage(passage)
            if rating.rule >= MIN_RULE[page]:
                topic = rating.topic if rating.quotable >= MIN_QUOTABLE[page] else VAGUE
                rules[sentence] = Instruction(sentence, section, topic, rating.quotable)
    by_value = sorted(rules.values(), key=lambda rule: -rule.value)
    of_topics = [rule for topic in TOPIC_TAGS for rule in [one for one in by_value if one.topic == topic][:OF_TOPIC]]
    best = list(dict.fromkeys([*of_topics, *by_value]))[:MAX_INSTRUCTIONS]
    return [rule for rule in rules.values() if rule in best]


def iterate_passages(text: str, page: str) -> Iterator[Passage]:
    """Yield the sentences of a page, each with its heading and list position.

    A list item that ends in a colon is repeated before each item nested below it. `page` is the audience of the page.
    """
    condition = ""
    for block in _split_passages(text[:60_000]):
        if not block.is_nested:
            condition = block.text if block.is_item and block.text.endswith(":") else ""
        elif condition:
            block = block._replace(text=f"{condition} {block.text}", is_nested=False)
        if not (block.is_lead or _ONLY_LINK.fullmatch(block.text)):
            for whole in split_prose(strip_markup(block.text)):
                yield Passage(
                    _shorten(whole).strip(), block.section, page, block.is_item, block.is_nested, block.follows_lead
                )


def _shorten(sentence: str) -> str:
    """Cut a sentence longer than MAX_INSTRUCTION after its last whole clause.

    A shorter sentence, or one without a suitable clause, is returned unchanged.
    """
    if len(sentence) <= MAX_INSTRUCTION:
        return sentence
    ends = [match.start() for match in _CLAUSE_END.finditer(_mask_code(sentence)[:MAX_INSTRUCTION])]
    return f"{sentence[: ends[-1]]} …" if ends and ends[-1] > MAX_INSTRUCTION // 3 else sentence


def _mask_code(text: str) -> str:
    """Replace each code span by letters, so that a cut at a space or a mark never divides a command."""
    return _CODE.sub(lambda span: "x" * len(span[0]), text)


def is_release_page(path: str) -> bool:
    """Return True if the page at `path` explains how to make a release."""
    return bool(_RELEASE_PAGE.search(path)) and not path.lower().endswith((".yml", ".yaml", ".py", ".sh"))


def extract_release_steps(text: str) -> Instruction | None:
    """Return the steps of a release as one instruction on a single line.

    Returns None if the page lists fewer than two steps.
    """
    steps: list[str] = []
    for raw in text.splitlines():
        item = re.match(r"\s{0,1}(?:[-*+]|(?:\d+|#)[.)]|#{2,4}\s+\d+[.)]?)\s+(?:\[[ x]\]\s+)?(\S.*)", raw)
        step = strip_markup(item[1]) if item else ""
        masked = _FIRST_CLAUSE.sub("", _mask_code(step)).rstrip(".:,; ")
        step = step[: len(masked)]
        if len(step) > MAX_STEP:
            step = f"{step[: masked.rfind(' ', 0, MAX_STEP) + 1]}…"
        if len(step) > 4 and step not in steps[-2:]:
            steps.append(step)
    if len(steps) < 2:
        return None
    more = " → …" if len(steps) > MAX_STEPS else ""
    return Instruction(f"to release: {' → '.join(steps[:MAX_STEPS])}{more}", "", "release")


def strip_markup(text: str) -> str:
    """Replace links with their text and remove emphasis; keep code spans."""
    text = re.sub(r"!?\[([^\]]{0,300})\](?:\([^)]{0,500}\)|\[[^\]]{0,300}\])", r"\1", text)
    text = re.sub(r"(?<!`)`([^`<]+?)(?:\s*<[^>]*>)?`__?(?!\w)", r"\1", text)
    text = re.sub(r"``([^`\n]{1,200})``", r"`\1`", text)
    parts = _CODE.split(" ".join(text.split()))
    return "".join(part if code % 2 else _EMPHASIS.sub("", part) for code, part in enumerate(parts)).strip()


class _Block(NamedTuple):
    section: str
    text: str
    is_item: bool
    follows_lead: bool = False  # an item below a line that announces rules
    is_nested: bool = False  # an item inside another item
    is_lead: bool = False  # a line without final punctuation, before list items
    end: int = 0  # index of the line below it


def _is_english(text: str) -> bool:
    words = _WORD.findall(text[:6_000])
    if sum(not word.isascii() for word in words) > len(words) / 2:  # in another script, however short
        return False
    return len(words) < 20 or len(_ENGLISH.findall(text[:6_000])) >= FEWEST_ENGLISH_WORDS * len(words)


def _split_passages(text: str) -> Iterator[_Block]:
    """Yield each list item and paragraph with the heading above it.

    Wrapped lines are joined. A sentence that ends in a colon is joined with the short code or the list of terms
    below it.
    """
    lines = [*text.splitlines(), ""]
    lead, in_joined_list, section = "", False, ""
    for block in _split_blocks(lines):
        lead, section = lead if block.section == section else "", block.section
        if block.is_item and in_joined_list:
            continue
        whole, in_joined_list = _complete(block.text, lines, block.end)
        is_lead = (
            not block.is_item and not in_joined_list and whole[-1] not in ".!?`" and _is_item_below(lines, block.end)
        )
        yield block._replace(text=whole, follows_lead=bool(block.is_item and lead), is_lead=is_lead)
        if not block.is_item:
            lead = whole if is_lead else ""


def _complete(text: str, lines: list[str], at: int) -> tuple[str, bool]:
    """Append the lines below to a sentence that ends in a colon.

    `at` is the index of the line below the sentence. Returns the sentence, and True if the list items below it have
    become part of it.
    """
    if not text.endswith(":"):
        return text, False
    if code := _find_code_below(lines, at):
        return f"{text} {code}", False
    if terms := _find_terms_below(lines, at):
        return f"{text} {terms}", True
    return text, False


def _split_blocks(lines: list[str]) -> Iterator[_Block]:
    """Yield paragraphs and list items, but no code, tables or lines of links."""
    in_fence, passage, is_item, is_nested, indent = False, list[str](), False, False, 0
    section, headings = "", 0
    for at, raw in enumerate(lines):
        line = _ALERT.sub("", raw.strip())
        item, ruler = ITEM.match(line), UNDERLINE.fullmatch(line)
        fence = line.startswith(FENCES) and not (ruler and passage and len(line) >= len(passage[-1]))  # `~~~~` of reST
        is_break = (
            not line
            or ruler
            or fence
            or line.startswith(("|", "#", "@"))
            or (line.startswith("<") and not (passage and line.startswith("<http")))  # a wrapped link of reST goes on
            or _is_reference(line, in_passage=bool(passage))
        )
        if passage and (is_break or item or _starts_instruction(line)):
            if ruler:  # the underlined text was a heading
                headings += 1
                section = _name_section(" ".join(passage), is_title=headings == 1 and line[0] == "=")
            else:
                yield _Block(section, " ".join(passage), is_item, is_nested=is_nested, end=at)
            passage = []
        if not in_fence and (heading := HEADING.match(line)):
            headings += 1
            section = _name_section(strip_heading_marks(heading[2]), is_title=headings == 1 and len(heading[1]) == 1)
        if fence:
            in_fence = not in_fence
        elif not (is_break or in_fence):
            if not passage:
                depth = len(raw) - len(raw.lstrip())
                is_nested = item is not None and (depth > indent + 1 if is_item or is_nested else False)
                indent = depth if item and not is_nested else indent
                is_item = item is not None
            passage.append(line[item.end() :] if item else line.lstrip("> "))


def _name_section(heading: str, *, is_title: bool) -> str:
    """Return the name of the section below a heading.

    It is "" if the heading is the title of the page.
    """
    return "" if is_title else strip_markup(heading).rstrip(":")


def _is_item_below(lines: list[str], at: int) -> bool:
    following = next((line for line in lines[at : at + 2] if line.strip()), "")
    return ITEM.match(following.strip()) is not None


def _find_terms_below(lines: list[str], at: int) -> str:
    """Return the items of the list at line `at`, joined on one line.

    Returns "" unless all items are short or begin with a highlighted term.
    """
    terms: list[str] = []
    indent = -1
    for line in lines[at : at + 2 * MAX_TERMS]:
        item = ITEM.match(line.strip())
        depth = len(line) - len(line.lstrip())
        if line.strip() and (depth < indent or (not item and depth <= max(indent, 0))):
            break
        if item and depth == (indent if indent >= 0 else depth):
            indent = depth
            text = line.strip()[item.end() :]
            term = _TERM.match(text)
            if term is None and len(text) > MAX_TERM:
                return ""
            terms.append(term[1] or term[2] if term else text)
    return ", ".join(terms) if 1 < len(terms) <= MAX_TERMS else ""


def _find_fence(lines: list[str], at: int) -> int | None:
    return next((i for i in range(at, min(at + 2, len(lines))) if _CODE_BEGIN.match(lines[i].strip())), None)


def _find_code_below(lines: list[str], at: int) -> str:
    """Return the first line of the code block below a sentence, in backticks.

    The block must begin within two lines; "…" marks further lines. Returns "" if there is no such block, or if its
    first line is long.
    """
    begin = _find_fence(lines, at)
    if begin is None:
        return ""
    block = list(takewhile(lambda line: not line.strip().startswith(FENCES), lines[begin + 1 :]))
    first = re.sub(r"^[$>%]\s+", "", block[0].strip()) if block else ""
    more = " …" if any(line.strip() for line in block[1:]) else ""
    return f"`{first}`{more}" if 0 < len(first) <= MAX_CODE_AFTER and "`" not in first else ""


def _is_reference(line: str, *, in_passage: bool) -> bool:
    """Return True for a badge, a link definition or a line of links.

    Within a paragraph (`in_passage`), a line that begins with a link may also be wrapped text, which does not count.
    """
    return line.startswith("[") and (not in_passage or line.startswith("[![") or _REFERENCE.match(line) is not None)


def _starts_instruction(line: str) -> bool:
    """Return True if a line without a bullet starts a new instruction."""
    return _SENTENCE_START.match(line) is not None


TOPIC_TAGS: Final[Mapping[str, tuple[str, ...]]] = {
    "commits": ("commit message rule", "contribution rules", "pull request"),
    "changelog": ("changelog entry needed", "contribution rules", "release notes"),
    "release": ("how to release", "publish a new version"),
    "tests": ("testing rule", "contribution rules"),
    "documentation": ("docs", "contribution rules"),
    "code": ("coding style", "contribution rules"),
}
