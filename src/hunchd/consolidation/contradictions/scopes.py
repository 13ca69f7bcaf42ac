"""Scope and time of a statement, from its words alone."""

from __future__ import annotations

import re
from typing import Final

from hunchd.consolidation.contradictions import patterns as patterns
from hunchd.consolidation.contradictions.alternatives import SCOPE_GROUPS
from hunchd.consolidation.contradictions.lexicon import canonical_stem

MAX_SINGLE_TOPIC_CHARACTERS: Final = 240  # characters of a text about one thing; longer texts are about several

_NOT_CURRENT: Final = re.compile(
    r"\b(?:in v(?:ersion )?\d|may(?! not)|might|maybe|perhaps|should it|whether|propos(?:al|ed)|question|idea|asked|"
    r"consider\w*|used to|until|formerly|previously|originally|last (?:year|month|week|sprint)|once was|years? ago|"
    r"before the rewrite|back (?:then|in)|planned)\b|\?",
    re.IGNORECASE,
)
# Exceptions to a general statement: "every endpoint except /health".
_EXCEPTION: Final = re.compile(
    r"\b(?:except(?:ing)?(?: for)?|apart from|other than|excluding|save for|with the exception of|all but|"
    r"every\w* but)\s+(?P<what>[^,.;:()]+?)"
    r"(?=\s+(?:is|are|was|has|have|must|may|can|need|needs|requires?|uses?|goes|go|"
    r"run|runs|which|that|where|because|since|as)\b|[,.;:()]|$)",
    re.IGNORECASE,
)
_MOSTLY: Final = re.compile(
    r"\b(?:(?<!at )(?<!the )most(?! recent| important)|mostly|usually|typically|generally)\b", re.I
)
_UNIVERSAL: Final = re.compile(
    r"^no\b|\b(?:all|every\w*|each|any\w*|none|nobody|nothing|never|always|only|most)\b", re.IGNORECASE
)
_NOT_WITHOUT: Final = re.compile(
    r"\b(?:no|not|never|nobody|none|cannot|don't|doesn't|can't|won't)\b[^,.;]*?\bwithout\s+(?:an?\s|the\s|its\s|any\s)?"
    r"(?P<what>[\w-]+(?:\s[\w-]+)?)",
    re.IGNORECASE,
)
_DEMAND: Final = re.compile(r"\b(?:must|has to|have to|needs?|requires?|every|all|each|mandatory|always|only)\b", re.I)
_NEGATED_SCOPE: Final = re.compile(
    r"\b(?:no|not|never|nobody|none|nothing|without|optional|cannot|needn't)\b|n't\b", re.IGNORECASE
)
_RANK: Final = re.compile(r"\b(severity|priority|tier|phase|stage|sev)[ -]?(\d)\b", re.IGNORECASE)
_EXEMPT: Final = re.compile(
    r"\b(?:exempt(?:ed)?|carved out|(?:is|are) (?:the (?:one |only )?exception|an exception|excepted))\b", re.IGNORECASE
)
_ABOUT_PREDECESSOR: Final = re.compile(
    r"\bthe (?:old|former|previous|legacy)\b[^.;]*\b(?:did|was|were|had)\b", re.IGNORECASE
)
_MIN_SHARE_DIVISOR: Final = 2  # minimum share of an exception's words in the other text, as 1/n
_FILLER_STEMS: Final = frozenset(
    canonical_stem(word) for word in ("the", "a", "an", "one", "for", "of", "in", "those", "our")
)


def is_about_past_or_proposal(text: str) -> bool:
    """Return True if `text` is about the past or a proposal.

    A possibility ("may", "might") counts as well.
    """
    return _NOT_CURRENT.search(text) is not None


def have_other_scopes(a: str, b: str) -> bool:
    """Return True if the texts name different scopes of one group.

    Example: production and staging.
    """
    mine, others = _find_scopes(a), _find_scopes(b)
    return any(not mine[group] & others[group] for group in mine.keys() & others.keys())


def _find_scopes(text: str) -> dict[int, set[str]]:
    scopes: dict[int, set[str]] = {}
    for one in _extract_stems(text):
        if one in SCOPE_GROUPS:
            scopes.setdefault(SCOPE_GROUPS[one], set()).add(one)
    return scopes


def _extract_stems(text: str) -> list[str]:
    return [canonical_stem(match[0].lower()) for match in patterns.WORD.finditer(text)]


def is_exempt(a: str, b: str) -> bool:
    """Return True if one statement is an exception to the other.

    That includes a statement about most cases only.
    """
    if max(len(a), len(b)) > MAX_SINGLE_TOPIC_CHARACTERS:
        return False
    if any(pattern.search(text) is not None for pattern in (_EXEMPT, _ABOUT_PREDECESSOR) for text in (a, b)):
        return True
    one_way = any(guard(a, b) or guard(b, a) for guard in (_excludes, _covers_most_only, _demands_the_same))
    return one_way or _have_other_ranks(a, b)


def _demands_the_same(a: str, b: str) -> bool:
    """Return True if `a` forbids the absence of what `b` demands.

    Example: "no PR without an issue", "every PR has an issue".
    """
    match = _NOT_WITHOUT.search(a)
    if match is None or _DEMAND.search(b) is None or _NEGATED_SCOPE.search(b) is not None:
        return False
    needed_stems = [one for one in _extract_stems(match["what"]) if one not in _FILLER_STEMS]
    return bool(needed_stems) and needed_stems[-1] in _extract_stems(b)


def _have_other_ranks(a: str, b: str) -> bool:
    """Return True if they are about different ranks.

    Example: severity 1 and severity 3.
    """
    mine, others = ({word.lower(): rank for word, rank in _RANK.findall(text)} for text in (a, b))
    return any(mine[word] != others[word] for word in mine.keys() & others.keys())


def _excludes(a: str, b: str) -> bool:
    for match in _EXCEPTION.finditer(a):
        excluded_stems = set(_extract_stems(match["what"])) - _FILLER_STEMS
        if (
            excluded_stems
            and len(excluded_stems & set(_extract_stems(b))) * _MIN_SHARE_DIVISOR >= len(excluded_stems)
            and _EXCEPTION.search(b) is None
        ):
            return True
    return False


def _covers_most_only(a: str, b: str) -> bool:
    return _MOSTLY.search(a) is not None and _UNIVERSAL.search(b) is None
