"""Parsing of a question into terms, symbols, paths and the file roles that it asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from hunchd.codesearch.report import Frame, Report, is_report, read_report
from hunchd.codesearch.roles import Role
from hunchd.codesearch.terms import extract_abbreviations, extract_identifier_terms, extract_terms, find_identifiers
from hunchd.text.words import QUESTION_STOP_WORDS

Intent = Literal["code", "history", "symbol", "task"]
Form = Literal["question", "symbol", "report"]
Relation = Literal["uses", "tests", "describes"]  # of the answer to the definition that is asked about

BODY_WEIGHT: Final = 0.3  # weight of a word that occurs only in the prose of an error report
CODE_WEIGHT: Final = 0.7  # weight of a name in the code of an error report
ABBREVIATION_WEIGHT: Final = 0.35  # weight of the beginning of a word, which may be an abbreviation
ASKING_WEIGHT: Final = 0.25  # weight of a word with which people ask, although it is rare in code
_ASKING_WORDS: Final = frozenset(
    """actually choose chosen decide decided decides determine determined determines exactly exist exists given happen
    happened happens keep keeps kind kinds mean means meant need needed needs place places possible thing things
    want wanted way ways whether work works""".split()  # noqa: SIM905 - a word list reads better as words
)
MOST_TERMS: Final = 48
LEAST_FUNCTION_WORDS: Final = 0.35  # share of the words of a sentence; keywords have fewer

# How much a file of each role counts if the question does not ask for that role.
ROLE_FACTORS: Final[Mapping[Role, float]] = {
    Role.SOURCE: 1.0,
    Role.TEST: 0.4,
    Role.DOCS: 0.5,
    Role.EXAMPLE: 0.5,
    Role.GENERATED: 0.4,
    Role.VENDORED: 0.4,
    Role.CONFIG: 0.4,
    Role.CHANGELOG: 0.3,
}
HOW_TO_FACTORS: Final[Mapping[Role, float]] = {Role.DOCS: 0.9, Role.EXAMPLE: 0.7}
HISTORY_FACTORS: Final[Mapping[Role, float]] = {Role.CHANGELOG: 1.0, Role.DOCS: 0.7}
TASK_FACTORS: Final[Mapping[Role, float]] = {Role.DOCS: 1.0, Role.CONFIG: 0.7}  # build, run, release, …
ASKED_FOR: Final = 1.25
BESIDE: Final = 0.7  # factor of sources if something else is asked for
NAMED_ROLE_WEIGHT: Final = 1.0  # factor of a role that the question mentions without asking for it
_ROLE_WORDS: Final[tuple[tuple[Role, re.Pattern[str]], ...]] = (
    (Role.TEST, re.compile(r"(?i)\b(unit |integration |regression )?(tests?|specs?|test ?cases?|fixtures?)\b")),
    (Role.DOCS, re.compile(r"(?i)\b(docs?|documentation|documented|manual|readme|guides?|tutorials?|contributing)\b")),
    (Role.EXAMPLE, re.compile(r"(?i)\b(examples?|samples?|demos?|benchmarks?)\b")),
    (
        Role.CONFIG,
        re.compile(r"(?i)\b(config files?|ci|workflows?|github actions?|pipelines?|dockerfile|makefile|yaml|toml)\b"),
    ),
    (Role.CHANGELOG, re.compile(r"(?i)\b(change ?-?log|release notes|what'?s new)\b")),
    (Role.GENERATED, re.compile(r"(?i)\b(generated|lock ?files?|snapshots?)\b")),
    (Role.VENDORED, re.compile(r"(?i)\b(vendored|third[ -]party|bundled)\b")),
)
# "tests for …", "docs on …", "where is … tested", "examples of …": the question asks for files of that role.
_REQUEST_PATTERN = (
    r"(?i)(?:{words})\s+(?:for|of|on|about|that|which|covering|in|showing)\b"
    r"|\b(?:where|which|what)\b[^?]*\b(?:{verbs})\b"
)
_WANTS: Final[tuple[tuple[Role, re.Pattern[str]], ...]] = (
    (
        Role.TEST,
        re.compile(
            _REQUEST_PATTERN.format(words=r"\btests?|\bspecs?|test ?cases?", verbs="tested|covered")
            + r"|\btests? (?:checks?|covers?|exercises?|verif(?:y|ies))\b|\bin the test suite\b"
        ),
    ),
    (
        Role.DOCS,
        re.compile(
            _REQUEST_PATTERN.format(words=r"\bdocs?|documentation|guides?|tutorials?", verbs="documented")
            + r"|^\W*(?:which|what|(?:is|are) there (?:a|any)) (?:pages?|chapters?|docs?|guides?)\b"
        ),
    ),
    (Role.EXAMPLE, re.compile(_REQUEST_PATTERN.format(words=r"\bexamples?|samples?|demos?", verbs="demonstrated"))),
)
# A question about how to do something is best answered by what is written for users.
_HOW_TO = re.compile(r"(?i)\bhow (?:do|can|should|would|to)\b")
_HISTORY = re.compile(
    r"(?i)^\W*(?:why|when|since when)\b|\bwhy (?:was|were|is|are|did|does|do)\b|\bwhen (?:was|were|did)\b"
    r"|\bwho (?:wrote|added|changed|knows|owns)\b|\bhistory of\b|\bchanged (?:last|recently)\b|\bdecisions?\b"
    r"|\b(?:was|were|we|been) decided\b"
    r"|\bwas (?:added|removed|introduced|changed|dropped|deprecated)\b"
)
_TASK = re.compile(
    r"(?i)\bhow (do|can|should|to)\b.*\b(run|build|install|release|publish|contribute|deploy|lint|format|set ?up|start|"
    r"change ?log|news|pull request|pr|commit|branch|version)\b"
    # Questions about the project's rules and checks, which guides and manifests answer.
    r"|\bhow (?:(?:do|can|should) (?:i|we|you)|to)\b.*\b(?:test|tests|check|types|docs|benchmarks?|coverage)\b"
    r"|\b(?:do|must|should) (?:i|we)\b.*\b(?:change ?log|news|tests?|docs|sign|entry|commits?)\b"
    r"|\bwhat (?:is|are) the\b(?=.*\b(?:rules?|conventions?|guidelines?|format)\b).*"
    r"\b(?:commits?|branch\w*|pull requests?|prs?|contribut\w+|tests?|change ?log|releas\w+)\b"
    r"|\b(?:which|what)\b.*\bversions?\b.*\bsupport|\bwhat does ci\b|\bruns? (?:in ci|before (?:a|each|every) commit)\b"
)
# "what calls parse_query", "which parts consult …": the question asks for the users of what it names or describes.
_USE_VERB = (
    r"(?:calls?|invokes?|uses?|makes? use of|consults?|depends? (?:up)?on|rel(?:y|ies) (?:up)?on|consumes?|imports?)"
)
_ASKS = re.compile(r"(?i)^\W*(?:what|which|where|is|are)\b")
_NOUNS = r"(?:(?!(?:do|does|did|can|may|should|is|are) )[\w-]+ ){1,3}"
_USERS = re.compile(
    rf"(?i)^\W*(?:(?:what|who)\s+(?:else\s+|all\s+)?|which {_NOUNS}?){_USE_VERB}\b"
    r"|^\W*where\b[^?]*\b(?:called|used|invoked|consumed)\b"
)
# "which levels are supported", "what is the default size": the question asks for names or values.
_LIST = re.compile(
    r"(?i)^\W*(?:which|what)(?: are)?(?: the)?\b(?! (?:is|does|happens|calls)\b)(?: [\w-]+){1,4}? "
    r"(?:is|are|may|can|exist|does|do)\b"
    r"|\b(?:list|names?|values?|kinds?|types?) of (?:all|the)\b|\b(?:defaults?|available|supported|allowed)\b"
)
_SYMBOL = re.compile(r"^[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*(?:\(\))?[!?]?$")
_NAME_IN_TEXT = re.compile(r"[a-z\d][A-Z]|_|^[A-Z]+[a-z]|^[A-Z][A-Z\d]+$")
_DOTTED_NAME = re.compile(r"\b[A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*)+")
_PATH = re.compile(
    r"(?<![\w.\-@+/])(?:[\w.\-@+]+(?:/[\w.\-@+]+)*\.[A-Za-z][A-Za-z0-9]{0,4}\b|[\w.\-@+]+(?:/[\w.\-@+]+)+)"
)
_BEGINS = re.compile(r"(?:^|[.?!]\s+)[\"'`(]*([A-Z][a-z]+)\b")  # the first word of a sentence is not a name


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """Parsed question.

    `terms` and `symbols` map each term and each symbol to its weight. `gist` is the text given to models: the
    question itself, or the title of an error report.
    """

    text: str
    gist: str
    intent: Intent
    terms: Mapping[int, float]
    symbols: Mapping[str, float] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()  # of a traceback, the raise site first
    factors: Mapping[Role, float] = field(default_factory=lambda: ROLE_FACTORS)
    form: Form = "question"
    asks_list: bool = False  # constants, enumerations and tables answer it
    is_sentence: bool = False  # a person asks in words for the place; keywords ask for files
    relation: Relation | None = None

    @property
    def users_of(self) -> tuple[str, ...]:
        """Names whose uses are asked for."""
        return tuple(name for name in self.symbols if not name.isupper()) if self.relation == "uses" else ()


def parse_query(text: str) -> CodeQuery:
    """Parse a question, or an error report if long."""
    text = text.strip()
    if is_report(text):
        return _parse_report_query(text, read_report(text))
    plain = text.strip("`'\"?! ")
    is_symbol = _SYMBOL.match(plain) is not None
    factors = compute_role_factors(text)
    intent: Intent = (
        "symbol" if is_symbol else "history" if _HISTORY.search(text) else "task" if _TASK.search(text) else "code"
    )
    relation = _find_relation(text, factors) if intent in ("code", "task") else None
    is_sentence = not is_symbol and intent != "task" and _get_function_share(text) >= LEAST_FUNCTION_WORDS
    return CodeQuery(
        text=text,
        gist=text,
        intent=intent,
        terms=dict.fromkeys(extract_terms(text), 1.0) if is_symbol else _weigh_terms(text),
        symbols={plain.removesuffix("()"): 1.0} if is_symbol else dict.fromkeys(_find_symbols(text), 1.0),
        paths=tuple(_PATH.findall(text)),
        factors=factors,
        form="symbol" if is_symbol else "question",
        asks_list=intent == "code" and _LIST.search(text) is not None,
        is_sentence=is_sentence or relation is not None,
        relation=relation,
    )


def _find_relation(text: str, factors: Mapping[Role, float]) -> Relation | None:
    if _USERS.search(text):
        return "uses"
    if not _ASKS.search(text):
        return None
    return "tests" if factors[Role.TEST] == ASKED_FOR else "describes" if factors[Role.DOCS] == ASKED_FOR else None


def _get_function_share(text: str) -> float:
    words = find_identifiers(text)
    return sum(word.lower() in QUESTION_STOP_WORDS for word in words) / max(len(words), 1)


def compute_role_factors(text: str) -> dict[Role, float]:
    """Map each file role to its factor for a question."""
    factors = dict(ROLE_FACTORS)
    for role, pattern in _ROLE_WORDS:
        if pattern.search(text):
            factors[role] = max(factors[role], NAMED_ROLE_WEIGHT)
    if _HOW_TO.search(text):
        factors |= {role: max(factors[role], factor) for role, factor in HOW_TO_FACTORS.items()}
    if _HISTORY.search(text):
        factors |= HISTORY_FACTORS
    if _TASK.search(text):
        factors |= {role: max(factors[role], factor) for role, factor in TASK_FACTORS.items()}
        factors |= {Role.SOURCE: BESIDE, Role.TEST: ROLE_FACTORS[Role.TEST]}
    for role, pattern in _WANTS:
        if pattern.search(text):
            factors[role], factors[Role.SOURCE] = ASKED_FOR, BESIDE
    return factors


def _parse_report_query(text: str, report: Report) -> CodeQuery:
    terms = dict.fromkeys(extract_terms(report.title), 1.0)
    for weight, report_text in ((CODE_WEIGHT, report.code), (BODY_WEIGHT, report.prose)):
        for term in extract_terms(report_text):
            if len(terms) < MOST_TERMS * 4:
                terms.setdefault(term, weight)
    symbols = dict.fromkeys(_find_symbols(report.title), 1.0)
    for name in _find_symbols(report.code + "\n" + report.spans):
        symbols.setdefault(name, CODE_WEIGHT)
    for name in _find_symbols(report.prose):
        symbols.setdefault(name, BODY_WEIGHT)
    return CodeQuery(
        text=text,
        gist=report.title,
        intent="code",
        terms=terms,
        symbols=symbols,
        paths=tuple(dict.fromkeys(_PATH.findall(f"{report.title}\n{report.spans}\n{report.prose}"))),
        frames=report.frames,
        form="report",
    )


def _find_symbols(text: str) -> list[str]:
    """Return the names written like code: with inner capitals, underscores, dots, or a capital inside a sentence."""
    begins = {begin_match[1] for begin_match in _BEGINS.finditer(text)}
    names = [name for name in find_identifiers(text) if _NAME_IN_TEXT.search(name) and name not in begins]
    return list(dict.fromkeys([*names, *_DOTTED_NAME.findall(text)]))


def _weigh_terms(question: str) -> dict[int, float]:
    """Return the terms of a question with their weights; words of asking weigh little, function words nothing."""
    terms: dict[int, float] = {}
    words = [word for word in find_identifiers(question) if word.lower() not in QUESTION_STOP_WORDS]
    for word in words:
        weight = ASKING_WEIGHT if word.lower() in _ASKING_WORDS else 1.0
        for term in extract_identifier_terms(word):
            terms[term] = max(terms.get(term, 0.0), weight)
    for word in words:
        if word.isalpha() and word.lower() not in _ASKING_WORDS:
            for term in extract_abbreviations(word):
                terms.setdefault(term, ABBREVIATION_WEIGHT)
    return terms or dict.fromkeys(extract_terms(question), 1.0)
