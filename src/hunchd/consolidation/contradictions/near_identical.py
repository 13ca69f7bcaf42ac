"""Detection of contradictions between nearly identical statements.

One denies the other, reverses its order, or fills a slot that can have a single value. Compares word by word, where
comparing sets of words fails: `lint before test` and `test before lint` have the same words, and a second "not"
somewhere in a sentence does not take back the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hunchd.consolidation.contradictions.lexicon import NUMBER_WORDS, UNITS, canonical_stem
from hunchd.consolidation.contradictions.scopes import (
    MAX_SINGLE_TOPIC_CHARACTERS,
    have_other_scopes,
    is_about_past_or_proposal,
)
from hunchd.consolidation.contradictions.statement_parser import LOW_INFORMATION_STEMS, normalize_text
from hunchd.text.words import STATEMENT_STOP_WORDS

_WORD: Final = re.compile(r"[\w./@+#-]*\w")
_CLAUSES: Final = re.compile(r"[,;:]\s|\s[-–—]\s|\.\s|\.$|\band (?=not\b)|\bso that\b|\bbecause\b")
_MIN_COMMON_OF_SHORTER: Final = 0.5  # of the words of the shorter side
_MIN_COMMON_OF_LONGER: Final = 0.15  # of the words of the longer side

# An auxiliary with its denial: "is not reloaded", "never commits".
_VERB: Final = re.compile(
    r"\b(?:(?P<aux>is|are|was|were|be|do|does|did|can|may|will|must|should|has|have)\b"
    r"(?:\s+(?P<not>not|never|no longer)\b)?|(?P<never>never)\b)\s*",
    re.IGNORECASE,
)
_CANNOT: Final = re.compile(r"\bcannot\b", re.IGNORECASE)
# Limits a statement to a part: the other may still be true of the rest.
_LIMITATION: Final = re.compile(r"\b(?:only|except|unless|until|but|yet|some|other)\b", re.IGNORECASE)
_WITHOUT: Final = re.compile(r"\bwithout\b", re.IGNORECASE)
_CONDITION: Final = re.compile(r"\b(?:if|when|while|during|once|unless)\b", re.IGNORECASE)

# X comes before Y.
_ORDER_WORD: Final = re.compile(
    r"\b(?P<first>before|overrides?|takes? precedence over|wins? over|beats?|prior to)\b"
    r"|\b(?P<later>after|once|is overridden by)\b",
    re.IGNORECASE,
)

# First X, then Y; X and only then Y; X first and Y afterwards. Y comes last, after X.
_SEQUENCES: Final = tuple(
    re.compile(told, re.IGNORECASE)
    for told in (
        r"\bfirst,?\s+(?P<first>[^,;]+?)[,;]?\s+(?:and\s+)?(?:only\s+)?(?:then|afterwards|after that)\s+"
        r"(?P<later>[^,;.]+)",
        r"(?P<first>[^,;]+?)\s+(?:comes? |goes |is |are )?first[,;]?\s+(?:and\s+)?(?:only\s+)?(?:then|afterwards)?\s*"
        r"(?P<later>[^,;.]+)",
        r"(?P<first>[^,;]+?),?\s+(?:and\s+)?only then\s+(?P<later>[^,;.]+)",
        r"(?P<first>[^,;]+?),?\s+(?:and\s+)?then\s+(?P<later>[^,;.]+)",
        r"(?P<later>[^,;]+?)\s+(?:comes?|goes|is|are)\s+(?:the\s+)?last(?:\s+step)?,?\s+(?:after|when|once)\s+(?P<first>[^,;.]+)",
        r"^(?:only\s+)?(?:after|once|when|as soon as)\s+(?P<first>[^,;]+?),\s+(?P<later>[^,;.]+)",
        r"(?P<first>[^,;]+?)\s+and\s+(?P<later>[^,;.]+?)\s+(?:afterwards|later|at the (?:very )?end|last)\b",
    )
)

# A text without any of these states no order.
_ORDER_TRIGGER: Final = re.compile(
    r"\b(?:first|then|last|before|after|afterwards|once|when|later|end|prior|as soon as|"
    r"overrid\w+|precedence|wins?|beats?)\b",
    re.IGNORECASE,
)
# A duration is no order: "deleted after 30 days".
_DURATION_UNIT: Final = re.compile(r"\b(?:second|minute|hour|day|week|month|year)s?\b", re.IGNORECASE)

# Words for all or nothing else: only one filler can be true.
_UNIVERSAL: Final = re.compile(
    r"\b(?:all|every|each|always|any|only|alone|solely|exactly|exclusively)\b", re.IGNORECASE
)
_EXCLUSIVE: Final = re.compile(r"\b(?:alone|solely|only|exclusively|exactly|single)\b", re.IGNORECASE)
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE_OR_TIME: Final = re.compile(
    rf"(?:(?:\d{{1,2}}\.?\s)?{_MONTH}(?:\s\d{{1,2}},?)?(?:\s\d{{4}})?|\d{{4}}-\d\d(?:-\d\d)?|\d{{4}}|\d{{1,2}}:\d\d"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)",
    re.IGNORECASE,
)
_SINGLE_EVENTS: Final = frozenset(
    canonical_stem(word)
    for word in ("ends", "starts", "begins", "expires", "due", "deadline", "freeze", "closes", "launches", "retires")
)
# Quantities, and words that imply a single quantity.
_QUANTITY: Final = re.compile(
    rf"(?:[$€£]?\d[\d.,:]*(?:st|nd|rd|th|%|[a-z]{{1,3}})?|{'|'.join(NUMBER_WORDS)})"
    rf"(?:\s(?:{'|'.join(map(re.escape, UNITS))}))?",
    re.IGNORECASE,
)
_SINGLE_QUANTITY: Final = re.compile(
    r"\b(?:is|are|has|have|uses?|listens?|starts?|ends?|takes?|expires?|lasts?|keeps?|kept|holds?|needs?|gets?|allows?|runs?|"
    r"at most|at least|limit\w*|max\w*|min\w*|timeout|target|every|after|within|up to)\b|[:=]",
    re.IGNORECASE,
)
_SEVERAL_QUANTITIES: Final = re.compile(
    r"\b(?:also|too|another|one of|some|tests?|tested|support\w*|works?|compatible|accepts?|version|release|build|step|"
    r"part|issue|pr|port(?=s)|added|fixed|bump\w*|upgrad\w+|was|were|or|and|since|example|e\.g)\b",
    re.IGNORECASE,
)
_PREPOSITION: Final = re.compile(r"\b(?:in|on|by|with|to|from|at|through|via|using)\s+(?:the\s+)?$", re.IGNORECASE)
_MAX_SLOT_WORDS: Final = 3  # words
_MIN_COMMON_WORDS: Final = 2  # content words


def find_opposition(a: str, b: str) -> str:
    """Return how two nearly identical statements exclude each other, or "".

    The kinds are "negation", "order" and "value".
    """
    mine, others = _split_clauses(a), _split_clauses(b)
    is_plain = _CONDITION.search(a) is None and _CONDITION.search(b) is None
    for one in mine:
        for other in others:
            if is_plain and (_denies(one, other) or _denies(other, one)):
                return "negation"
    if _have_reversed_order(a, b):
        return "order"
    return "value" if _differ_in_one_slot(a, b) or _differ_in_numbers(a, b) else ""


_Order = tuple[frozenset[str], frozenset[str]]

# -- denials ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _VerbClause:
    """Clause split at its verb, as stems."""

    subject: frozenset[str]
    verb: str  # first word after the auxiliary
    other_words: frozenset[str]
    is_denied: bool
    is_limited: bool


def _denies(one: str, other: str) -> bool:
    """Return True if `one` denies all that `other` says."""
    denial, affirmation = _parse_verb_clause(one), _parse_verb_clause(other)
    if denial is None or affirmation is None or not denial.is_denied or affirmation.is_denied or denial.is_limited:
        return False
    is_alike = bool(affirmation.subject) and denial.subject == affirmation.subject and denial.verb == affirmation.verb
    are_disjoint = (
        denial.other_words - affirmation.other_words and affirmation.other_words - denial.other_words
    )  # "of guests" against "of customers"
    return (
        is_alike
        and not are_disjoint
        and not affirmation.is_limited
        and (not denial.other_words or bool(denial.other_words & affirmation.other_words))
    )


@lru_cache(maxsize=2_048)
def _parse_verb_clause(clause: str) -> _VerbClause | None:
    match = _VERB.search(clause)
    if match is None:
        return None
    words_after = _extract_stems(clause[match.end() :])
    is_denied = bool(match["not"] or match["never"])
    if not words_after or _VERB.search(clause, match.end()) is not None:
        return None
    subject = frozenset(_extract_stems(clause[: match.start()]))
    is_limited = _LIMITATION.search(clause) is not None or (is_denied and _WITHOUT.search(clause) is not None)
    return _VerbClause(subject, words_after[0], frozenset(words_after[1:]), is_denied, is_limited)


# -- reversed orders ----------------------------------------------------------------------------------------------


def _are_reversed(mine: _Order, others: _Order) -> bool:
    (first, later), (their_first, their_later) = mine, others
    is_crosswise_similar = _are_similar(first, their_later) and _are_similar(later, their_first)
    return is_crosswise_similar and not (first & their_first or later & their_later)


def _have_reversed_order(a: str, b: str) -> bool:
    """Return True if the statements give opposite orders.

    Both must be about the present and one place.
    """
    are_reversed = any(_are_reversed(one, other) for one in _parse_orders(a) for other in _parse_orders(b))
    return are_reversed and not any(is_about_past_or_proposal(text) for text in (a, b)) and not have_other_scopes(a, b)


@lru_cache(maxsize=2_048)
def _parse_orders(text: str) -> tuple[_Order, ...]:
    """Return the (first, later) pairs that a text states.

    Its clauses and the whole text are searched.
    """
    if len(text) > MAX_SINGLE_TOPIC_CHARACTERS or _ORDER_TRIGGER.search(text) is None:
        return ()
    plain = normalize_text(text)
    orders = (*map(_parse_order, _split_clauses(text)), _parse_order(plain), _parse_sequence(plain))
    return tuple(one for one in orders if one is not None)


@lru_cache(maxsize=2_048)
def _parse_sequence(text: str) -> _Order | None:
    """Return the order stated by "first … then …", or None."""
    for pattern in _SEQUENCES:
        if match := pattern.search(text):
            return _make_order(match["first"], match["later"])
    return None


@lru_cache(maxsize=2_048)
def _parse_order(clause: str) -> _Order | None:
    """Return the order stated by "before", "after" or the like, or None."""
    match = _ORDER_WORD.search(clause)
    if match is None:
        return None
    sides = clause[: match.start()], clause[match.end() :]
    return _make_order(*(sides if match["first"] else sides[::-1]))


def _make_order(first: str, later: str) -> _Order | None:
    first_stems, later_stems = frozenset(_extract_stems(first)), frozenset(_extract_stems(later))
    # Common words do not distinguish the sides; low-information words only do if nothing else is left.
    sides = [side - LOW_INFORMATION_STEMS or side for side in (first_stems - later_stems, later_stems - first_stems)]
    return (sides[0], sides[1]) if all(sides) and _DURATION_UNIT.search(f"{first} {later}") is None else None


def _are_similar(one: frozenset[str], other: frozenset[str]) -> bool:
    common = len(one & other)
    return common >= _MIN_COMMON_OF_SHORTER * min(len(one), len(other)) and common >= _MIN_COMMON_OF_LONGER * max(
        len(one), len(other)
    )


# -- one slot, two values -----------------------------------------------------------------------------------------


def _differ_in_one_slot(a: str, b: str) -> bool:
    """Return True if the sentences differ in one single-valued slot."""
    mine, others = a.rstrip(" .").split(), b.rstrip(" .").split()
    before = _count_common_prefix([one.lower() for one in mine], [other.lower() for other in others])
    max_suffix = min(len(mine), len(others)) - before
    after = _count_common_prefix(
        [one.lower() for one in mine[::-1]], [other.lower() for other in others[::-1]], max_suffix
    )
    my_slot, other_slot = mine[before : len(mine) - after], others[before : len(others) - after]
    rest = [*mine[:before], *mine[len(mine) - after :]]
    if not (1 <= len(my_slot) <= _MAX_SLOT_WORDS and 1 <= len(other_slot) <= _MAX_SLOT_WORDS):
        return False
    common_stems = _extract_stems(" ".join(rest))
    if len(common_stems) < _MIN_COMMON_WORDS:
        return False
    my_filler, other_filler = " ".join(my_slot), " ".join(other_slot)
    if (
        _DATE_OR_TIME.fullmatch(my_filler)
        and _DATE_OR_TIME.fullmatch(other_filler)
        and set(common_stems) & _SINGLE_EVENTS
    ):
        return True
    if _QUANTITY.fullmatch(my_filler) and _QUANTITY.fullmatch(other_filler):
        return before > 0 and _has_single_quantity(rest) and not _is_refinement(my_filler, other_filler)
    if not (_are_proper_names(my_slot) and _are_proper_names(other_slot)):
        return False
    if before == 0:  # "X alone decides"
        return _EXCLUSIVE.search(" ".join(rest[:2])) is not None
    lead = " ".join(mine[:before])
    return after == 0 and _PREPOSITION.search(f"{lead} ") is not None and _UNIVERSAL.match(lead) is not None


def _differ_in_numbers(a: str, b: str) -> bool:
    """Return True if the sentences differ in their numbers only."""
    mine, others = a.rstrip(" .").split(), b.rstrip(" .").split()
    if len(mine) != len(others) or mine[0].lower() != others[0].lower():
        return False
    differing = [(one, other) for one, other in zip(mine, others, strict=True) if one.lower() != other.lower()]
    rest = [one for one, other in zip(mine, others, strict=True) if one.lower() == other.lower()]
    numbers = all(_QUANTITY.fullmatch(one.strip(",;:()")) for pair in differing for one in pair)
    if any(_is_refinement(*pair) for pair in differing):
        return False
    return (
        bool(differing)
        and numbers
        and len(_extract_stems(" ".join(rest))) >= _MIN_COMMON_WORDS
        and _has_single_quantity(rest)
    )


def _is_refinement(one: str, other: str) -> bool:
    """Return True if one version is in the other's series.

    Example: 22 and 22.2.
    """
    return one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _has_single_quantity(rest: Sequence[str]) -> bool:
    """Return True if the words beside a number describe something single-valued."""
    text = " ".join(rest)
    return _SINGLE_QUANTITY.search(text) is not None and _SEVERAL_QUANTITIES.search(text) is None


def _count_common_prefix(mine: Sequence[str], others: Sequence[str], limit: int | None = None) -> int:
    """Return the number of common leading words."""
    pairs = list(zip(mine, others, strict=False))[:limit]
    return next((index for index, (one, other) in enumerate(pairs) if one != other), len(pairs))


def _are_proper_names(words: Sequence[str]) -> bool:
    return all(word[:1].isupper() and word[:1].isalpha() for word in words)


# -- words ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1_024)
def _split_clauses(text: str) -> tuple[str, ...]:
    plain = _CANNOT.sub("can not", normalize_text(text))
    return tuple(part for one in _CLAUSES.split(plain) if (part := one.strip()))


def _extract_stems(text: str) -> list[str]:
    """Return the stems of the content words, in their order."""
    words = (match[0].lower() for match in _WORD.finditer(text))
    return [canonical_stem(word) for word in words if word not in STATEMENT_STOP_WORDS]
