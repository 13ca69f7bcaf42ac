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

from hunchd.consolidation.contradictions.reading import PALE_STEMS, plain_text
from hunchd.consolidation.contradictions.scopes import LONGEST_TOLD, elsewhere, unsettled
from hunchd.consolidation.contradictions.words import NUMBER_WORDS, UNITS, canonical_stem
from hunchd.text.words import STATEMENT_STOP_WORDS

_WORD: Final = re.compile(r"[\w./@+#-]*\w")
_CLAUSES: Final = re.compile(r"[,;:]\s|\s[-–—]\s|\.\s|\.$|\band (?=not\b)|\bso that\b|\bbecause\b")
_SAME_EVENT: Final = 0.5  # of the words of the shorter side
_LEAST_OF_LONGER: Final = 0.15  # of the words of the longer side

# An auxiliary with its denial: "is not reloaded", "never commits".
_VERB: Final = re.compile(
    r"\b(?:(?P<aux>is|are|was|were|be|do|does|did|can|may|will|must|should|has|have)\b"
    r"(?:\s+(?P<not>not|never|no longer)\b)?|(?P<never>never)\b)\s*",
    re.IGNORECASE,
)
_CANNOT: Final = re.compile(r"\bcannot\b", re.IGNORECASE)
# Limits a statement to a part: the other may still be true of the rest.
_LIMITED: Final = re.compile(r"\b(?:only|except|unless|until|but|yet|some|other)\b", re.IGNORECASE)
_WITHOUT: Final = re.compile(r"\bwithout\b", re.IGNORECASE)
_CONDITION: Final = re.compile(r"\b(?:if|when|while|during|once|unless)\b", re.IGNORECASE)

# X comes before Y.
_ORDER: Final = re.compile(
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
_ORDERED: Final = re.compile(
    r"\b(?:first|then|last|before|after|afterwards|once|when|later|end|prior|as soon as|"
    r"overrid\w+|precedence|wins?|beats?)\b",
    re.IGNORECASE,
)
# A duration is no order: "deleted after 30 days".
_PERIOD: Final = re.compile(r"\b(?:second|minute|hour|day|week|month|year)s?\b", re.IGNORECASE)

# Words for all or nothing else: only one filler can be true.
_ALL: Final = re.compile(r"\b(?:all|every|each|always|any|only|alone|solely|exactly|exclusively)\b", re.IGNORECASE)
_ALONE: Final = re.compile(r"\b(?:alone|solely|only|exclusively|exactly|single)\b", re.IGNORECASE)
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_MOMENT: Final = re.compile(
    rf"(?:(?:\d{{1,2}}\.?\s)?{_MONTH}(?:\s\d{{1,2}},?)?(?:\s\d{{4}})?|\d{{4}}-\d\d(?:-\d\d)?|\d{{4}}|\d{{1,2}}:\d\d"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)",
    re.IGNORECASE,
)
_ONCE: Final = frozenset(
    canonical_stem(word)
    for word in ("ends", "starts", "begins", "expires", "due", "deadline", "freeze", "closes", "launches", "retires")
)
# Quantities, and words that imply a single quantity.
_QUANTITY: Final = re.compile(
    rf"(?:[$€£]?\d[\d.,:]*(?:st|nd|rd|th|%|[a-z]{{1,3}})?|{'|'.join(NUMBER_WORDS)})"
    rf"(?:\s(?:{'|'.join(map(re.escape, UNITS))}))?",
    re.IGNORECASE,
)
_HAS_ONE: Final = re.compile(
    r"\b(?:is|are|has|have|uses?|listens?|starts?|ends?|takes?|expires?|lasts?|keeps?|kept|holds?|needs?|gets?|allows?|runs?|"
    r"at most|at least|limit\w*|max\w*|min\w*|timeout|target|every|after|within|up to)\b|[:=]",
    re.IGNORECASE,
)
_HAS_MORE: Final = re.compile(
    r"\b(?:also|too|another|one of|some|tests?|tested|support\w*|works?|compatible|accepts?|version|release|build|step|"
    r"part|issue|pr|port(?=s)|added|fixed|bump\w*|upgrad\w+|was|were|or|and|since|example|e\.g)\b",
    re.IGNORECASE,
)
_PLACED: Final = re.compile(r"\b(?:in|on|by|with|to|from|at|through|via|using)\s+(?:the\s+)?$", re.IGNORECASE)
_LONGEST_PLACE: Final = 3  # words
_SHORTEST_REST: Final = 2  # content words


def opposed_twins(a: str, b: str) -> str:
    """Return how two nearly identical statements exclude each other, or "".

    The kinds are "negation", "order" and "value".
    """
    mine, others = _clauses(a), _clauses(b)
    is_plain = _CONDITION.search(a) is None and _CONDITION.search(b) is None
    for one in mine:
        for other in others:
            if is_plain and (_denied(one, other) or _denied(other, one)):
                return "negation"
    if _reordered(a, b):
        return "order"
    return "value" if _filled_otherwise(a, b) or _counted_otherwise(a, b) else ""


_Order = tuple[frozenset[str], frozenset[str]]

# -- denials ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Said:
    """Clause split at its verb, as stems."""

    subject: frozenset[str]
    verb: str  # first word after the auxiliary
    rest: frozenset[str]
    is_denied: bool
    is_limited: bool


def _denied(one: str, other: str) -> bool:
    """Return True if `one` denies all that `other` says."""
    denial, said = _around_verb(one), _around_verb(other)
    if denial is None or said is None or not denial.is_denied or said.is_denied or denial.is_limited:
        return False
    alike = bool(said.subject) and denial.subject == said.subject and denial.verb == said.verb
    apart = denial.rest - said.rest and said.rest - denial.rest  # "of guests" against "of customers"
    return alike and not apart and not said.is_limited and (not denial.rest or bool(denial.rest & said.rest))


@lru_cache(maxsize=2_048)
def _around_verb(clause: str) -> _Said | None:
    match = _VERB.search(clause)
    if match is None:
        return None
    behind = _stems(clause[match.end() :])
    denied = bool(match["not"] or match["never"])
    if not behind or _VERB.search(clause, match.end()) is not None:
        return None
    subject = frozenset(_stems(clause[: match.start()]))
    limited = _LIMITED.search(clause) is not None or (denied and _WITHOUT.search(clause) is not None)
    return _Said(subject, behind[0], frozenset(behind[1:]), denied, limited)


# -- reversed orders ----------------------------------------------------------------------------------------------


def _reversed(mine: _Order, others: _Order) -> bool:
    (first, then), (their_first, their_then) = mine, others
    crossed = _alike(first, their_then) and _alike(then, their_first)
    return crossed and not (first & their_first or then & their_then)


def _reordered(a: str, b: str) -> bool:
    """Return True if the statements give opposite orders.

    Both must be about the present and one place.
    """
    found = any(_reversed(one, other) for one in _orders(a) for other in _orders(b))
    return found and not any(unsettled(text) for text in (a, b)) and not elsewhere(a, b)


@lru_cache(maxsize=2_048)
def _orders(text: str) -> tuple[_Order, ...]:
    """Return the (first, later) pairs that a text states.

    Its clauses and the whole text are searched.
    """
    if len(text) > LONGEST_TOLD or _ORDERED.search(text) is None:
        return ()
    plain = plain_text(text)
    found = (*map(_in_order, _clauses(text)), _in_order(plain), _in_sequence(plain))
    return tuple(one for one in found if one is not None)


@lru_cache(maxsize=2_048)
def _in_sequence(text: str) -> _Order | None:
    """Return the order stated by "first … then …", or None."""
    for told in _SEQUENCES:
        if match := told.search(text):
            return _told_in_order(match["first"], match["later"])
    return None


@lru_cache(maxsize=2_048)
def _in_order(clause: str) -> _Order | None:
    """Return the order stated by "before", "after" or the like, or None."""
    match = _ORDER.search(clause)
    if match is None:
        return None
    sides = clause[: match.start()], clause[match.end() :]
    return _told_in_order(*(sides if match["first"] else sides[::-1]))


def _told_in_order(first: str, later: str) -> _Order | None:
    one, two = frozenset(_stems(first)), frozenset(_stems(later))
    # Common words do not distinguish the sides; low-information words only do if nothing else is left.
    sides = [side - PALE_STEMS or side for side in (one - two, two - one)]
    return (sides[0], sides[1]) if all(sides) and _PERIOD.search(f"{first} {later}") is None else None


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    common = len(one & other)
    return common >= _SAME_EVENT * min(len(one), len(other)) and common >= _LEAST_OF_LONGER * max(len(one), len(other))


# -- one slot, two values -----------------------------------------------------------------------------------------


def _filled_otherwise(a: str, b: str) -> bool:
    """Return True if the sentences differ in one single-valued slot."""
    mine, others = a.rstrip(" .").split(), b.rstrip(" .").split()
    before = _common([one.lower() for one in mine], [other.lower() for other in others])
    room = min(len(mine), len(others)) - before
    after = _common([one.lower() for one in mine[::-1]], [other.lower() for other in others[::-1]], room)
    here, there = mine[before : len(mine) - after], others[before : len(others) - after]
    rest = [*mine[:before], *mine[len(mine) - after :]]
    if not (1 <= len(here) <= _LONGEST_PLACE and 1 <= len(there) <= _LONGEST_PLACE):
        return False
    told = _stems(" ".join(rest))
    if len(told) < _SHORTEST_REST:
        return False
    place, other_place = " ".join(here), " ".join(there)
    if _MOMENT.fullmatch(place) and _MOMENT.fullmatch(other_place) and set(told) & _ONCE:
        return True
    if _QUANTITY.fullmatch(place) and _QUANTITY.fullmatch(other_place):
        return before > 0 and _has_one(rest) and not _refines(place, other_place)
    if not (_is_name(here) and _is_name(there)):
        return False
    if before == 0:  # "X alone decides"
        return _ALONE.search(" ".join(rest[:2])) is not None
    lead = " ".join(mine[:before])
    return after == 0 and _PLACED.search(f"{lead} ") is not None and _ALL.match(lead) is not None


def _counted_otherwise(a: str, b: str) -> bool:
    """Return True if the sentences differ in their numbers only."""
    mine, others = a.rstrip(" .").split(), b.rstrip(" .").split()
    if len(mine) != len(others) or mine[0].lower() != others[0].lower():
        return False
    differing = [(one, other) for one, other in zip(mine, others, strict=True) if one.lower() != other.lower()]
    rest = [one for one, other in zip(mine, others, strict=True) if one.lower() == other.lower()]
    numbers = all(_QUANTITY.fullmatch(one.strip(",;:()")) for pair in differing for one in pair)
    if any(_refines(*pair) for pair in differing):
        return False
    return bool(differing) and numbers and len(_stems(" ".join(rest))) >= _SHORTEST_REST and _has_one(rest)


def _refines(one: str, other: str) -> bool:
    """Return True if one version is in the other's series.

    Example: 22 and 22.2.
    """
    return one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _has_one(rest: Sequence[str]) -> bool:
    """Return True if the words beside a number describe something single-valued."""
    text = " ".join(rest)
    return _HAS_ONE.search(text) is not None and _HAS_MORE.search(text) is None


def _common(mine: Sequence[str], others: Sequence[str], most: int | None = None) -> int:
    """Return the number of common leading words."""
    pairs = list(zip(mine, others, strict=False))[:most]
    return next((index for index, (one, other) in enumerate(pairs) if one != other), len(pairs))


def _is_name(words: Sequence[str]) -> bool:
    return all(word[:1].isupper() and word[:1].isalpha() for word in words)


# -- words ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1_024)
def _clauses(text: str) -> tuple[str, ...]:
    plain = _CANNOT.sub("can not", plain_text(text))
    return tuple(part for one in _CLAUSES.split(plain) if (part := one.strip()))


def _stems(text: str) -> list[str]:
    """Return the stems of the content words, in their order."""
    words = (match[0].lower() for match in _WORD.finditer(text))
    return [canonical_stem(word) for word in words if word not in STATEMENT_STOP_WORDS]
