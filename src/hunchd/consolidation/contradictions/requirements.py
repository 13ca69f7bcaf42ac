"""Exact comparison of two statements that each require a version of something.

Manifests state requirements in few words: a name, its owner, a file and a version. No model is needed to compare them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_VERSION: Final = re.compile(r"[\^~<>=!]{0,2}v?\d[\w.*+-]*")
_FILE: Final = re.compile(r"[\w@./-]*\.(?:toml|txt|json|py|cfg|ya?ml|lock|gradle|xml|mod|in|ini)|Gemfile|Makefile")
_VERBS: Final = frozenset("depends requires requirement pins pinned sets set".split())  # noqa: SIM905
_FUNCTION_WORDS: Final = frozenset("a an the of in on at to for is it with by and".split())  # noqa: SIM905
_MAX_NAMES: Final = 2  # names of the thing and of its owner

Requirement = tuple[frozenset[str], frozenset[str]]  # names, versions


def compare_requirements(a: str, b: str) -> bool | None:
    """Return True if the statements require different versions, and False if both can hold.

    Requirements of two different things can always both hold. Returns None if one of the statements is not a
    requirement, or says more than a requirement does.
    """
    mine, others = _parse_requirement(a), _parse_requirement(b)
    if mine is None or others is None:
        return None
    return mine[0] == others[0] and mine[1] != others[1]


@lru_cache(maxsize=2_048)
def _parse_requirement(text: str) -> Requirement | None:
    words = [word for part in text.split() if (word := part.strip("(),;:`'\"").rstrip("."))]
    versions = frozenset(word.removeprefix("v") for word in words if _VERSION.fullmatch(word))
    rest = [word for word in words if not _VERSION.fullmatch(word) and word.lower() not in _FUNCTION_WORDS]
    names = frozenset(word for word in rest if word.lower() not in _VERBS and not _FILE.fullmatch(word))
    is_requirement = any(word.lower() in _VERBS or _FILE.fullmatch(word) for word in rest) and bool(versions)
    return (names, versions) if is_requirement and 1 <= len(names) <= _MAX_NAMES else None
