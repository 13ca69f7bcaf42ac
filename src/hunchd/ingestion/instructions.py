"""Extraction of the rules that a contributor or agent page states, each as a whole sentence.

A rule says how work has to be done. How to report a bug, how to behave and how to make a first contribution are not
rules. The text is written by unknown authors and is untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from hunchd.ingestion.headings import strip_heading_marks
from hunchd.text.sentences import split_prose

MAX_INSTRUCTIONS: Final = 40  # per file; a file with more is a book
FEWEST_CHARACTERS: Final = 12
MAX_INSTRUCTION: Final = 300
MAX_STEPS: Final = 8  # of a release that are named
MAX_STEP: Final = 70  # characters
MAX_SECTION_HEADING: Final = 40  # characters of a heading that is shown with its text
MAX_TERMS: Final = 12  # items of a list that end a sentence
MAX_TERM: Final = 32  # characters of an item without a term
MAX_CODE_AFTER: Final = 160  # characters of code that ends the sentence before it
FEWEST_ENGLISH_WORDS: Final = 0.12  # share of a page's words that are the commonest English ones, in English

HEADING: Final = re.compile(r"^(#{1,6}|={1,6})\s+(\S.*)$")
ITEM: Final = re.compile(r"(?:[-*+]|(?:\d+|#)[.)])\s+(?:\[[ x]\]\s+)?")
FENCES: Final = ("```", "~~~")
UNDERLINE: Final = re.compile(r"([=\-~^*#])\1{2,}")
_CODE: Final = re.compile(r"(`[^`]+`)")
_EMPHASIS: Final = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|__|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)")
_REFERENCE: Final = re.compile(r"\[[^\]]+\]:\s|(?:\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])[\s|·•]*)+$")

_IMPERATIVE: Final = re.compile(
    r"(?:please\s+)?(?:also\s+)?`?(?:use|run|keep|write|add|follow|update|include|commit|format|test|document|check|"
    r"put|name|"
    r"wrap|sort|group|place|rebase|squash|reference|start|end|return|handle|remove|separate|limit|describe|mark|"
    r"provide|"
    r"sign|bump|regenerate|target|base|base your|one|remain|develop|duplicate|isolate|split|cover|declare|define|"
    r"get working)\b",
    re.IGNORECASE,
)
_RULE: Final = re.compile(
    r"(?:please\s+)?(?:always|never|do not|don['’]t|avoid|prefer|make sure|ensure|must|only|no|be sure to|try to)\b",
    re.IGNORECASE,
)
_MODAL: Final = re.compile(
    r"\b(?:must|should|shall|needs? to|ha(?:s|ve) to be|required?|requires|mandatory|never|always|do not|don['’]t|"
    r"cannot|"
    r"ought to|avoid|preferred|please|not (?:be )?(?:accepted|allowed|welcome|merged|supported)|without tests|"
    r"prohibited|rejected|"
    r"we (?:use|try|keep|follow|prefer|squash|require|expect|ask|request|aim|format|recommend|encourage|maintain|"
    r"support|"
    r"adhere)|"
    r"is encouraged|are encouraged|is expected|are expected|strictly|not an option|instead of|rather than|"
    r"follows? this|make every effort|help(?:s)? if|"
    r"(?:is|are) (?:enforced|checked|merged|squashed|formatted|written|based|named))\b",
    re.IGNORECASE,
)
# What a rule is about, by the words that say so. The first that matches counts; see `classify_rule`.
_TOPICS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (topic, re.compile(rf"\b(?:{words})", re.IGNORECASE))
    for topic, words in (
        ("release", r"releases?\b|publish|bump|version numbers?|gem version|tag\b"),
        ("changelog", r"change ?logs?\b|changes\.\w+|news\b|changesets?\b|release notes?\b|(?:news|"
                      r"changelog) fragments?|"
                      r"versionadded|versionchanged|entr(?:y|ies)\b|upgrad(?:e|ing) (?:guide|notes?)"),
        ("commits", r"commits?\b|commit messages?|squash|rebas|sign(?:ed)?[- ]off|dco\b|messages? must|history\b|"
                    r"force[- ]push|"
                    r"--force|force. pushes"),
        ("pull requests", r"pull requests?\b|prs?\b|branch(?:es)?\b|patch(?:es)?\b|merge[ds]?\b|ci\b|cla\b|"
                          r"contributor licen[cs]e|ai\b|llms?\b|reviewers?\b|contributions?\b|diff"),
        ("tests", r"tests?\b|testing|tested|specs?\b|coverage|regressions?|fixtures?|snapshots?|benchmarks?|mock"),
        ("documentation", r"documentation\b|docs\b|readme|docstrings?|documented|document\b|javadoc|markdown|"
                          r"guides?\b|comments?\b|"
                          r"translat|spelling|heading|changelog"),
        ("dependencies", r"dependenc|third[- ]party|librar(?:y|ies)\b|lock ?file|standard library"),
        ("compatibility", r"backwards?|compatib|breaking|break\b|deprecat|semver|semantic version|msrv|"
                          r"(?:rust|python|node|ruby|php|go) versions?|minimum (?:supported )?"
                          r"(?:rust|python|node|go|php|ruby|version)|public api|api additions?|supported (?:python|"
                          r"ruby|node|php|go|"
                          r"version)"),
        ("style", r"style|format|lint|naming|names?\b|named\b|indent|tabs\b|spaces\b|whitespace|lines? (?:length|in)|"
                  r"quotes?\b|imports?\b|type (?:hint|annotation)|annotat|convention|prefix|suffix|camel|snake|"
                  r"semicolon|"
                  r"readable|consisten|idiomatic|guidelines"),
        ("code", r"functions?\b|methods?\b|class(?:es)?\b|modules?\b|variables?\b|macros?\b|errors?\b|exceptions?|"
                 r"panic|null|"
                 r"types?\b|code\b|api\b|files?\b|memory|performance|async|thread|logging|logs?\b|constants?|"
                 r"parameters?|"
                 r"arguments?|interfaces?|structs?|traits?|impl\b|unsafe|config|warnings?|feature|generated|private|"
                 r"`"),
    )
)  # fmt: skip
_RULES_SECTION: Final = re.compile(
    r"\b(?:rules?|guidelines?|conventions?|styles?|standards?|requirements?|checklist|principles|do['’]?s and|goals|"
    r"preparing|before (?:you )?(?:submit|open|commit)|commit|best practices|pull requests?|gotchas|coding|"
    r"code (?:style|quality|organi[sz]ation|review)|philosophy|"
    r"formats?|entries|making a pr|prs?|submitting (?:a |your )?(?:changes?|patch|pull)|notes?)\b",
    re.IGNORECASE,
)
_OTHER_SECTION: Final = re.compile(
    r"code of conduct|\b(?:reports?|reporting|bugs?|issues?|questions?|asking|support|security|vulnerab\w+|thanks?|"
    r"credits?|"
    r"getting started|set ?up|setting up|environment|install\w*|prerequisites?|onboarding|offboarding|collaborators?|"
    r"governance|feature requests?|suggest\w*|financial|sponsors?|donat\w*|community|contact|resources|"
    r"table of contents|"
    r"bounty|get(?:ting)? help|where to start|joining|first contribution|what to work|backers|translators?|"
    r"developer['’]s "
    r"certificate|conduct|new contributors?|find\w* something|visual studio|vscode|ides?|editors?|docker|windows|"
    r"macos|linux|codespaces|gitpod|welcome|"
    r"types of contributions?|ground rules|plugins?)\b",
    re.IGNORECASE,
)
_ONBOARDING_STEP: Final = re.compile(
    r"\b(?:fork|clone|star|sponsor|join|click|email|mailing|thank|welcome|appreciat\w+|feel free|happy to|glad|"
    r"respectful|"
    r"kind\b|patient|volunteers?|as soon as|get back|respond|responses?|reply|get in touch|let us know|reach out|"
    r"discord|slack|be aware|please note|"
    r"twitter|installed?|git checkout|git remote|you['’]ll see|you should (?:see|be able|get|now)|(?:should|"
    r"will) (?:output|"
    r"print|look like|see)|download|assign\w*|volunteer|good first issue|code of conduct|interactions|consult|"
    r"please read|\bwsl\b|restart|your (?:default|system|machine)|the issue\b|time ?zones?|"
    r"(?:create|make) (?:a |your )?(?:new |own |topic |feature )*branch|(?:submit|open|create|send) (?:a |"
    r"your )?(?:pull|pr\b)[^,]*$|"
    r"implement your|push (?:your|to)|commit (?:all )?(?:the|your) changes|add, commit)\b",
    re.IGNORECASE,
)
# Instructions on communication, not on work.
_COMMUNICATION: Final = re.compile(
    r"\b(?:post|open|file|create|report|reported|reviewed|ask|search|discuss|raise|submit)\b.{0,40}\b(?:issues?|"
    r"questions?|"
    r"bugs?|discussions?|tickets?)\b|\b(?:issues?|bugs?|tickets?|questions?)\b.{0,60}\b(?:reported|reviewed|opened|"
    r"closed|"
    r"first|tracker|asked|created|submitted)\b|^if you (?:find|found|have|want|need|would|are (?:not|unsure|new)|"
    r"don)|"
    r"\b(?:comment|note)\b.{0,20}\b(?:on|to|in) (?:the|an?|your) (?:\w+ )?(?:ticket|issue|discussion|thread)\b|\?$",
    re.IGNORECASE,
)
_ABOUT_CHANGE: Final = re.compile(r"\bcommits?\b|changelog|\bbranch|pull request", re.IGNORECASE)
_CHECKED: Final = re.compile(r"I(?:['’]ve| have) ")
_FRAGMENT: Final = re.compile(
    r"(?:this|that|these|those|it|they|them|otherwise|however|then|so|but|and|or|which|for example|e\.g|see|here|"
    r"there|in this|"
    r"in that|also,|if so|to do (?:so|this)|the following|the (?:above|latter|former)|"
    r"next,|as (?:mentioned|outlined|a heads)|upon|for (?:this|full|more|details)|you do not need|we have|"
    r"no contribution|"
    r"one for|once you|when you create|before you create|before continuing|finally|additionally|"
    r"to make it|\(in fact)(?!\w)",
    re.IGNORECASE,
)
# A sentence with such an end continues elsewhere: in code, a list, a table.
_INCOMPLETE_END: Final = re.compile(
    r"(?:[:,(]|\b(?:of|the|and|or|an?|with|for|by|from|than|via|following|below|e\.g\.|recommend|"
    r"encourage|ask|suggest|require))$",
    re.IGNORECASE,
)
# Of a form only what asks for a part of the change itself.
_ASKS_FOR_WORK: Final = re.compile(
    r"^(?:please )?(?:add|update|ensure|make sure|document (?!how)|write|run)\b|\b(?:must|should|include a|ha(?:s|"
    r"ve) been)\b|"
    r"^tests? |^I(?:['’]ve| have) (?:added|updated|followed|documented|run|written|tested)",
    re.IGNORECASE,
)
_FORM_TOPICS: Final = frozenset({"code", "tests", "documentation", "changelog", "style", "compatibility"})
_TERM: Final = re.compile(r"\*\*([\w()-]{2,24})\*\*|(`[^`]{1,24}`)(?=\s*(?:[:–—-]|$))")
_CODE_BEGIN: Final = re.compile(r"```|~~~|\.\. code")
_ONLY_LINK: Final = re.compile(r"!?\[[^\]]+\](?:\((?!#)[^)]*\)|\[[^\]]*\])[.:]?|:doc:`[^`]+`")
_ANNOUNCES_RULES: Final = re.compile(
    r"\bif you|guidelines?|\brules\b|before each|consider|more likely|"
    r"include:$",
    re.I,
)
_CLAUSE_END: Final = re.compile(r"(?:,(?= (?:and|but|so|or|reserving|because|which|since|as)\b)|;| [-–—] | \()")
_ALERT: Final = re.compile(r"^(?:(?:>\s*)?\[!\w+\]|\.\. (?:note|warning|important|tip)::)\s*")
_ENGLISH: Final = re.compile(
    r"\b(?:the|to|and|of|is|in|a|you|for|we|or|be|this|not|are|your|with|it|on)\b", re.IGNORECASE
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_WIDE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # a character of these says as much as two
_RELEASE_PAGE: Final = re.compile(r"(?:^|/)releas\w*[-_. ]?(?:process|checklist|guide|notes?)?[^/]*$", re.IGNORECASE)
_FIRST_CLAUSE: Final = re.compile(
    r"(?<=\S)(?:\.\s+(?=[A-Z])|[.:;]$|:\s|;\s|\s[-–—(]|,\s(?=(?:and|then|so|which)\b)).*$"
)


class Instruction(NamedTuple):
    """Instruction of a page, verbatim."""

    sentence: str
    section: str  # its heading; "" under the page's own title or a long heading


def extract_instructions(text: str, *, strong: bool = False, is_form: bool = False) -> Iterator[Instruction]:
    """Yield the rules of a page, each once.

    With `strong`, the page is for human contributors, so only rules about the work itself are yielded. With `is_form`,
    it is a template to fill in, whose questions are not rules.
    """
    text = text[:60_000]
    is_foreign = not _is_english(text)
    section_by_sentence: dict[str, str] = {}
    parent_is_rule, condition = False, ""
    for passage in _split_passages(text):
        if not passage.is_nested:
            condition = passage.text if passage.is_item and passage.text.endswith(":") else ""
        elif condition:
            passage = passage._replace(text=f"{condition} {passage.text}", is_nested=False)
        if passage.is_lead or _ONLY_LINK.fullmatch(passage.text) or (passage.is_nested and not parent_is_rule):
            continue
        parent_is_rule = parent_is_rule and passage.is_nested
        for at, whole in enumerate(split_prose(strip_markup(passage.text))):
            sentence = _shorten(whole)
            if is_form and not (_ASKS_FOR_WORK.search(sentence) and classify_rule(sentence) in _FORM_TOPICS):
                continue
            if (is_form and _CHECKED.match(sentence)) or _is_rule(
                sentence, passage, is_first=not at, strong=strong, is_foreign=is_foreign
            ):
                section_by_sentence.setdefault(sentence.rstrip(), passage.section)
                parent_is_rule = True
    for sentence, section in list(section_by_sentence.items())[:MAX_INSTRUCTIONS]:
        yield Instruction(sentence, section if len(section) <= MAX_SECTION_HEADING else "")


def _shorten(sentence: str) -> str:
    """Cut a long sentence after its last whole clause.

    Shorter sentences are returned unchanged.
    """
    if len(sentence) <= MAX_INSTRUCTION:
        return sentence
    ends = [match.start() for match in _CLAUSE_END.finditer(sentence[:MAX_INSTRUCTION])]
    return f"{sentence[: ends[-1]]} …" if ends and ends[-1] > MAX_INSTRUCTION // 3 else sentence


def is_release_page(path: str) -> bool:
    """Return True for a page that explains how to make a release."""
    return bool(_RELEASE_PAGE.search(path)) and not path.lower().endswith((".yml", ".yaml", ".py", ".sh"))


def extract_release_steps(text: str) -> Instruction | None:
    """Return the steps of a release as one instruction on one line.

    Returns None if the page lists fewer than two steps.
    """
    steps: list[str] = []
    for raw in text.splitlines():
        item = re.match(r"\s{0,1}(?:[-*+]|(?:\d+|#)[.)]|#{2,4}\s+\d+[.)]?)\s+(?:\[[ x]\]\s+)?(\S.*)", raw)
        step = _FIRST_CLAUSE.sub("", strip_markup(item[1])).rstrip(".:,; ") if item else ""
        if len(step) > 4 and step not in steps[-2:]:
            steps.append(step if len(step) <= MAX_STEP else f"{step[:MAX_STEP].rpartition(' ')[0]} …")
    if len(steps) < 2:
        return None
    more = " → …" if len(steps) > MAX_STEPS else ""
    return Instruction(f"to release: {' → '.join(steps[:MAX_STEPS])}{more}", "")


@lru_cache(maxsize=4096)  # asked of every rule of a project for every answer
def classify_rule(text: str) -> str:
    """Return the topic of a rule: tests, style, commits and others.

    Returns "" if no word indicates a topic.
    """
    return next((topic for topic, pattern in _TOPICS if pattern.search(text)), "")


@lru_cache(maxsize=4096)
def is_plain_rule(text: str) -> bool:
    """Return True for a rule that starts with an instruction or contains "must"."""
    return bool(_RULE.match(text) or _IMPERATIVE.match(text) or re.search(r"\bmust\b", text, re.IGNORECASE))


def strip_markup(text: str) -> str:
    """Strip links and emphasis from a passage; code spans stay unchanged."""
    text = re.sub(r"!?\[([^\]]{0,300})\](?:\([^)]{0,500}\)|\[[^\]]{0,300}\])", r"\1", text)
    text = re.sub(r"(?<!`)`([^`<]+?)(?:\s*<[^>]*>)?`__?(?!\w)", r"\1", text)
    text = re.sub(r"``([^`\n]{1,200})``", r"`\1`", text)
    parts = _CODE.split(" ".join(text.split()))
    return "".join(part if code % 2 else _EMPHASIS.sub("", part) for code, part in enumerate(parts)).strip()


class _Passage(NamedTuple):
    section: str
    text: str
    is_item: bool
    follows_rule: bool = False  # an item below a line that says what its items are
    is_nested: bool = False  # an item of an item
    is_lead: bool = False  # a line without an end, before items
    end: int = 0  # line below it


def _is_english(text: str) -> bool:
    words = _WORD.findall(text[:6_000])
    if sum(not word.isascii() for word in words) > len(words) / 2:  # of another script, however short
        return False
    return len(words) < 20 or len(_ENGLISH.findall(text[:6_000])) >= FEWEST_ENGLISH_WORDS * len(words)


def _is_rule(sentence: str, passage: _Passage, *, is_first: bool, strong: bool, is_foreign: bool) -> bool:
    width = len(sentence) + (len(_WIDE.findall(sentence)) if is_foreign else 0)
    if width < FEWEST_CHARACTERS or len(sentence) > MAX_INSTRUCTION or _INCOMPLETE_END.search(sentence.rstrip()):
        return False
    if is_foreign:
        return passage.is_item
    if _ONBOARDING_STEP.search(sentence) or _FRAGMENT.match(sentence):
        return False
    if _COMMUNICATION.search(sentence) and not _ABOUT_CHANGE.search(sentence):
        return False
    is_command = _RULE.match(sentence) or _IMPERATIVE.match(sentence)
    if not strong:
        return bool(is_command or (passage.is_item and (_MODAL.search(sentence) or passage.follows_rule)))
    is_listed = (
        is_first
        and passage.is_item
        and not passage.is_nested
        and (passage.follows_rule or _RULES_SECTION.search(passage.section))
    )
    topic = classify_rule(sentence)
    is_stated = is_command or _MODAL.search(sentence)
    return bool((is_stated and (topic or passage.is_item or _RULE.match(sentence))) or (is_listed and topic))


def _split_passages(text: str) -> Iterator[_Passage]:
    """Yield each list item and paragraph with its heading.

    Sections that are not about work are skipped. Wrapped lines are joined. A sentence that ends in a colon is joined
    with the short code or the list of terms below it.
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
        yield block._replace(text=whole, follows_rule=bool(block.is_item and lead), is_lead=is_lead)
        if not block.is_item:
            lead = whole if is_lead and (_MODAL.search(whole) or _ANNOUNCES_RULES.search(whole)) else ""


def _complete(text: str, lines: list[str], at: int) -> tuple[str, bool]:
    """Complete a sentence that ends in a colon with what follows it.

    Returns the sentence, and True if the list items below have become part of it.
    """
    if not text.endswith(":"):
        return text, False
    if code := _find_code_below(lines, at):
        return f"{text} `{code}`", False
    if terms := _find_terms_below(lines, at):
        return f"{text} {terms}", True
    return (text[:-1] if _find_fence(lines, at) is not None else text), False  # whole without the example


def _split_blocks(lines: list[str]) -> Iterator[_Passage]:
    """Yield paragraphs and list items, without code, tables and lines of links."""
    in_fence, passage, is_item, is_nested, indent = False, list[str](), False, False, 0
    sections = _Sections()
    for at, raw in enumerate(lines):
        line = _ALERT.sub("", raw.strip())
        item, ruler, fence = ITEM.match(line), UNDERLINE.fullmatch(line), line.startswith(FENCES)
        is_break = (
            not line
            or ruler
            or fence
            or line.startswith(("|", "<", "#", "@"))
            or _is_reference(line, in_passage=bool(passage))
        )
        if passage and (is_break or item or _starts_instruction(line)):
            if ruler:  # the underlined text was a heading
                sections.enter(" ".join(passage), "=-~^".find(line[0]) + 1)
            elif not sections.is_skipped:
                yield _Passage(sections.name, " ".join(passage), is_item, is_nested=is_nested, end=at)
            passage = []
        if not in_fence and (heading := HEADING.match(line)):
            sections.enter(strip_heading_marks(heading[2]), heading[1].count(line[0]))
        if fence:
            in_fence = not in_fence
        elif not (is_break or in_fence):
            if not passage:
                depth = len(raw) - len(raw.lstrip())
                is_nested = item is not None and (depth > indent + 1 if is_item or is_nested else False)
                indent = depth if item and not is_nested else indent
                is_item = item is not None
            passage.append(line[item.end() :] if item else line.lstrip("> "))


class _Sections:
    """Tracker of the current heading that recognises sections not about work."""

    def __init__(self) -> None:
        self.name = ""
        self._skipped_level = 0
        self._count = 0

    @property
    def is_skipped(self) -> bool:
        return self._skipped_level > 0

    def enter(self, heading: str, level: int) -> None:
        name = strip_markup(heading).rstrip(":")
        self._count += 1
        self.name = name if self._count > 1 or level > 1 else ""  # not the title of the page
        if self._skipped_level and level > self._skipped_level and not _RULES_SECTION.search(name):
            return
        is_other = _OTHER_SECTION.search(self.name) and not _RULES_SECTION.search(self.name)
        self._skipped_level = level if is_other else 0


def _is_item_below(lines: list[str], at: int) -> bool:
    following = next((line for line in lines[at : at + 2] if line.strip()), "")
    return ITEM.match(following.strip()) is not None


def _find_terms_below(lines: list[str], at: int) -> str:
    """Return the items of the list below on one line.

    Returns "" unless all items are short or begin with a term.
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
    """Return the only line of a code block within two lines.

    Returns "" if there is no such block.
    """
    begin = _find_fence(lines, at)
    if begin is None or begin + 2 >= len(lines) or not lines[begin + 2].strip().startswith(FENCES):
        return ""
    code = re.sub(r"^[$>%]\s+", "", lines[begin + 1].strip())
    return code if 0 < len(code) <= MAX_CODE_AFTER and "`" not in code else ""


def _is_reference(line: str, *, in_passage: bool) -> bool:
    """Return True for badges, link definitions and lines of links.

    Inside a passage (`in_passage`), a line that begins with a link may be wrapped text.
    """
    return line.startswith("[") and (not in_passage or line.startswith("[![") or _REFERENCE.match(line) is not None)


def _starts_instruction(line: str) -> bool:
    """Return True if a line starts another instruction without a bullet."""
    return line[:1].isupper() and bool(_RULE.match(line) or re.match(r"(?:Please|Use|Run|Add|Keep|Follow) ", line))


TOPIC_TAGS: Final[Mapping[str, tuple[str, ...]]] = {
    "commits": ("commit message", "commit rule"),
    "pull requests": ("pull request",),
    "changelog": ("change log", "release notes"),
    "release": ("publish a new version",),
    "tests": ("testing rule",),
    "documentation": ("docs",),
    "dependencies": ("libraries",),
    "compatibility": ("breaking changes", "supported versions"),
    "style": ("coding style",),
}
