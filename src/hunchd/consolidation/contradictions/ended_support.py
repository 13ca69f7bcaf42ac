"""Detection of ended support: "dropped support for Python 3.7".

Such a statement names a version that is not among the supported ones; a requirement of 3.9 agrees with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hunchd.consolidation.contradictions.values import Value, are_exclusive, parse_values

_END_VERBS: Final = r"(?:drop|remov|end|discontinu|ceas|stop|abandon)(?:p?ed|p?ing|s|e|es)?"
_END_PARTICIPLES: Final = r"(?:dropped|removed|ended|discontinued|ceased|stopped|abandoned|gone)"
_NAME_AND_VERSION: Final = (
    r"(?P<name>(?!for\b|of\b|the\b|support\b)[A-Za-z][\w+#-]*)[ ]+"
    r"(?P<version>v?\d+(?:\.\d+)*(?:\.x)?(?:[ ]+(?:and|or)[ ]+(?:older|earlier|below|lower))?)(?![\w])"
)
_SUPPORT_PATTERNS: Final = tuple(
    re.compile(said, re.IGNORECASE)
    for said in (
        rf"\b{_END_VERBS}\b[^.;:]{{0,20}}?\bsupport(?:ing)?\b(?:[ ]+(?:for|of))?[ ]+{_NAME_AND_VERSION}",
        rf"\bsupport[ ]+(?:for|of)[ ]+{_NAME_AND_VERSION}[ ]*(?:was|is|has been|got|:)?[ ]*{_END_PARTICIPLES}\b",
        rf"\b{_NAME_AND_VERSION}[ ]+support[ ]*(?:was|is|has been|got|:)?[ ]*{_END_PARTICIPLES}\b",
        rf"\b{_END_VERBS}[ ]+{_NAME_AND_VERSION}[ ]+support\b",
    )
)


_SERIES: Final = re.compile(r"\b(\d+)\.x\b")


@dataclass(frozen=True, slots=True)
class EndedSupport:
    """End of support for each version of `name` in the range `version`."""

    name: str
    version: Value


@lru_cache(maxsize=1_024)
def parse_ended_support(text: str) -> EndedSupport | None:
    """Return the name and versions that `text` says are no longer supported."""
    for pattern in _SUPPORT_PATTERNS:
        match = pattern.search(text)
        if match is not None and (values := parse_values(_widen_to_series(match["version"]))):
            return EndedSupport(match["name"].casefold(), values[0])
    return None


def _widen_to_series(version: str) -> str:
    """Extend a version to its whole series.

    The end of 3.7 includes 3.7.4.
    """
    return version if " " in version else f"{version.removesuffix('.x')}.x"


def contradicts_ended_support(a: str, b: str) -> bool | None:
    """Return True if one statement allows versions whose support the other ended.

    None: neither statement ends support, both do, or they are about different things.
    """
    endings = parse_ended_support(a), parse_ended_support(b)
    if (endings[0] is None) == (endings[1] is None) or are_about_two_series(a, b):
        return None
    ended_support, other_text = (endings[0], b) if endings[0] is not None else (endings[1], a)
    assert ended_support is not None
    versions = [value for value in parse_values(other_text) if value.is_version]
    if not versions or re.search(rf"(?<!\w){re.escape(ended_support.name)}(?!\w)", other_text, re.IGNORECASE) is None:
        return None
    return any(not are_exclusive(ended_support.version, version) for version in versions)


def are_about_two_series(a: str, b: str) -> bool:
    """Return True if one is about 1.x and the other about 2.x."""
    mine, others = (set(_SERIES.findall(text)) for text in (a, b))
    return bool(mine and others) and not mine & others
