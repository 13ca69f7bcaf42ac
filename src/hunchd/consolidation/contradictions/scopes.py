"""Scope and time of a statement, from its words alone."""

from __future__ import annotations

import re
from typing import Final

from hunchd.consolidation.contradictions import patterns as patterns
from hunchd.consolidation.contradictions.choices import PLACE_OF
from hunchd.consolidation.contradictions.words import canonical_stem

LONGEST_TOLD: Final = 240  # characters of a text about one thing; longer texts are about several

_UNSETTLED: Final = re.compile(
    r"\b(?:in v(?:ersion )?\d|may(?! not)|might|maybe|perhaps|should it|whether|propos(?:al|ed)|question|idea|asked|"
    r"consider\w*|used to|until|formerly|previously|originally|last (?:year|month|week|sprint)|once was|years? ago|"
    r"before the rewrite|back (?:then|in)|planned)\b|\?",
    re.IGNORECASE,
)
# Exceptions to a general statement: "every endpoint except /health".
_EXCEPT: Final = re.compile(
    r"\b(?:except(?:ing)?(?: for)?|apart from|other than|excluding|save for|with the exception of|all but|"
    r"every\w* but)\s+(?P<what>[^,.;:()]+?)"
    r"(?=\s+(?:is|are|was|has|have|must|may|can|need|needs|requires?|uses?|goes|go|"
    r"run|runs|which|that|where|because|since|as)\b|[,.;:()]|$)",
    re.IGNORECASE,
)
_MOSTLY: Final = re.compile(
    r"\b(?:(?<!at )(?<!the )most(?! recent| important)|mostly|usually|typically|generally)\b", re.I
)
_OF_ALL: Final = re.compile(
    r"^no\b|\b(?:all|every\w*|each|any\w*|none|nobody|nothing|never|always|only|most)\b", re.IGNORECASE
)
_NOT_WITHOUT: Final = re.compile(
    r"\b(?:no|not|never|nobody|none|cannot|don't|doesn't|can't|won't)\b[^,.;]*?\bwithout\s+(?:an?\s|the\s|its\s|any\s)?"
    r"(?P<what>[\w-]+(?:\s[\w-]+)?)",
    re.IGNORECASE,
)
_DEMAND: Final = re.compile(r"\b(?:must|has to|have to|needs?|requires?|every|all|each|mandatory|always|only)\b", re.I)
_NEGATED: Final = re.compile(
    r"\b(?:no|not|never|nobody|none|nothing|without|optional|cannot|needn't)\b|n't\b", re.IGNORECASE
)
_RANKED: Final = re.compile(r"\b(severity|priority|tier|phase|stage|sev)[ -]?(\d)\b", re.IGNORECASE)
_EXEMPT: Final = re.compile(
    r"\b(?:exempt(?:ed)?|carved out|(?:is|are) (?:the (?:one |only )?exception|an exception|excepted))\b", re.IGNORECASE
)
_OF_THE_OLD: Final = re.compile(r"\bthe (?:old|former|previous|legacy)\b[^.;]*\b(?:did|was|were|had)\b", re.IGNORECASE)
_LITTLE: Final = 2  # minimum share of an exception's words in the other text, as 1/n
_FEW: Final = frozenset(canonical_stem(word) for word in ("the", "a", "an", "one", "for", "of", "in", "those", "our"))


def unsettled(text: str) -> bool:
    """Return True if `text` is about the past or a proposal.

    A possibility ("may", "might") counts as well.
    """
    return _UNSETTLED.search(text) is not None


def elsewhere(a: str, b: str) -> bool:
    """Return True if the texts name different scopes of one group.

    Example: production and staging.
    """
    mine, others = _places(a), _places(b)
    return any(not mine[group] & others[group] for group in mine.keys() & others.keys())


def _places(text: str) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for one in _stems(text):
        if one in PLACE_OF:
            found.setdefault(PLACE_OF[one], set()).add(one)
    return found


def _stems(text: str) -> list[str]:
    return [canonical_stem(match[0].lower()) for match in patterns.WORD.finditer(text)]


def let_off(a: str, b: str) -> bool:
    """Return True if one statement is an exception to the other.

    That includes a statement about most cases only.
    """
    if max(len(a), len(b)) > LONGEST_TOLD:
        return False
    if any(told.search(text) is not None for told in (_EXEMPT, _OF_THE_OLD) for text in (a, b)):
        return True
    one_way = any(guard(a, b) or guard(b, a) for guard in (_leaves_out, _speaks_of_most, _demands_the_same))
    return one_way or _ranked_apart(a, b)


def _demands_the_same(a: str, b: str) -> bool:
    """Return True if `a` forbids the absence of what `b` demands.

    Example: "no PR without an issue", "every PR has an issue".
    """
    match = _NOT_WITHOUT.search(a)
    if match is None or _DEMAND.search(b) is None or _NEGATED.search(b) is not None:
        return False
    needed = [one for one in _stems(match["what"]) if one not in _FEW]
    return bool(needed) and needed[-1] in _stems(b)


def _ranked_apart(a: str, b: str) -> bool:
    """Return True if they are about different ranks.

    Example: severity 1 and severity 3.
    """
    mine, others = ({word.lower(): rank for word, rank in _RANKED.findall(text)} for text in (a, b))
    return any(mine[word] != others[word] for word in mine.keys() & others.keys())


def _leaves_out(a: str, b: str) -> bool:
    for match in _EXCEPT.finditer(a):
        left_out = set(_stems(match["what"])) - _FEW
        if left_out and len(left_out & set(_stems(b))) * _LITTLE >= len(left_out) and _EXCEPT.search(b) is None:
            return True
    return False


def _speaks_of_most(a: str, b: str) -> bool:
    return _MOSTLY.search(a) is not None and _OF_ALL.search(b) is None
