"""Detection of ended support: "dropped support for Python 3.7".

Such a statement names a version that is not among the supported ones; a requirement of 3.9 agrees with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hunchd.consolidation.contradictions.values import Value, excluding, values_in

_ENDS: Final = r"(?:drop|remov|end|discontinu|ceas|stop|abandon)(?:p?ed|p?ing|s|e|es)?"
_ENDED: Final = r"(?:dropped|removed|ended|discontinued|ceased|stopped|abandoned|gone)"
_WHAT: Final = (
    r"(?P<name>(?!for\b|of\b|the\b|support\b)[A-Za-z][\w+#-]*)[ ]+"
    r"(?P<version>v?\d+(?:\.\d+)*(?:\.x)?(?:[ ]+(?:and|or)[ ]+(?:older|earlier|below|lower))?)(?![\w])"
)
_SAID: Final = tuple(
    re.compile(said, re.IGNORECASE)
    for said in (
        rf"\b{_ENDS}\b[^.;:]{{0,20}}?\bsupport(?:ing)?\b(?:[ ]+(?:for|of))?[ ]+{_WHAT}",
        rf"\bsupport[ ]+(?:for|of)[ ]+{_WHAT}[ ]*(?:was|is|has been|got|:)?[ ]*{_ENDED}\b",
        rf"\b{_WHAT}[ ]+support[ ]*(?:was|is|has been|got|:)?[ ]*{_ENDED}\b",
        rf"\b{_ENDS}[ ]+{_WHAT}[ ]+support\b",
    )
)


_OF_SERIES: Final = re.compile(r"\b(\d+)\.x\b")


@dataclass(frozen=True, slots=True)
class Ended:
    """End of support for each version of `name` in the range `version`."""

    name: str
    version: Value


@lru_cache(maxsize=1_024)
def ended(text: str) -> Ended | None:
    """Return the name and versions that `text` says are no longer supported."""
    for said in _SAID:
        match = said.search(text)
        if match is not None and (values := values_in(_series(match["version"]))):
            return Ended(match["name"].casefold(), values[0])
    return None


def _series(version: str) -> str:
    """Extend a version to its whole series.

    The end of 3.7 includes 3.7.4.
    """
    return version if " " in version else f"{version.removesuffix('.x')}.x"


def still_stated(a: str, b: str) -> bool | None:
    """Return True if one statement allows versions whose support the other ended.

    None: neither statement ends support, both do, or they are about different things.
    """
    endings = ended(a), ended(b)
    if (endings[0] is None) == (endings[1] is None) or of_two_series(a, b):
        return None
    gone, other = (endings[0], b) if endings[0] is not None else (endings[1], a)
    assert gone is not None
    versions = [value for value in values_in(other) if value.is_version]
    if not versions or re.search(rf"(?<!\w){re.escape(gone.name)}(?!\w)", other, re.IGNORECASE) is None:
        return None
    return any(not excluding(gone.version, version) for version in versions)


def of_two_series(a: str, b: str) -> bool:
    """Return True if one is about 1.x and the other about 2.x."""
    mine, others = (set(_OF_SERIES.findall(text)) for text in (a, b))
    return bool(mine and others) and not mine & others
