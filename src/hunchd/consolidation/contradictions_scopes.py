"""Where and when a statement holds, told by its words alone: for what is found sentence by sentence."""

from __future__ import annotations

import re
from typing import Final

from hunchd.consolidation import contradictions_patterns as patterns
from hunchd.consolidation.contradictions_choices import PLACE_OF
from hunchd.consolidation.contradictions_words import canonical, stem

LONGEST_TOLD: Final = 240  # characters of what tells one thing; longer texts tell several

_UNSETTLED: Final = re.compile(
    r"\b(?:in v(?:ersion )?\d|may(?! not)|might|maybe|perhaps|should it|whether|propos(?:al|ed)|question|idea|asked|"
    r"consider\w*|used to|until|formerly|previously|originally|last (?:year|month|week|sprint)|once was|years? ago|"
    r"before the rewrite|back (?:then|in)|planned)\b|\?",
    re.IGNORECASE,
)


def unsettled(text: str) -> bool:
    """Whether `text` tells of what was or may be."""
    return _UNSETTLED.search(text) is not None


def elsewhere(a: str, b: str) -> bool:
    """Whether both name places of one group and none in common: production and staging."""
    mine, others = ({PLACE_OF[one]: one for one in _stems(text) if one in PLACE_OF} for text in (a, b))
    return any(mine[group] != others[group] for group in mine.keys() & others.keys())


def _stems(text: str) -> list[str]:
    return [canonical(stem(match[0].lower())) for match in patterns.WORD.finditer(text)]
