"""Detection of conflicting minimum versions in two statements.

"Python 3.11 or newer" conflicts with "3.9 must keep working" and with "at least 3.10".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hunchd.consolidation.contradictions import patterns as patterns
from hunchd.consolidation.contradictions.alternatives import find_class
from hunchd.consolidation.contradictions.lexicon import UNITS, canonical_stem
from hunchd.consolidation.contradictions.scopes import MAX_SINGLE_TOPIC_CHARACTERS, have_other_scopes
from hunchd.consolidation.contradictions.statement_parser import LOW_INFORMATION_STEMS, normalize_text

_NUMBER: Final = r"v?(?P<version>\d+(?:\.\d+)*)(?:\.x)?(?![\w/%:]|\.\d)"
# Words that imply the versioned thing where no name precedes the version.
_IMPLIED_NAMES: Final = {
    "msrv": "rust", "rust-version": "rust", "python_requires": "python", "requires-python": "python",
    "minsdk": "api", "minsdkversion": "api", "level": "api", "jdk": "java", "nodejs": "node", "node.js": "node",
    "postgresql": "postgres", "client": "client", "version": "", "protocol": "protocol",
}  # fmt: skip
_NAMED_VERSION: Final = re.compile(
    rf"(?P<name>[A-Za-z][\w.+#-]*?)(?:[\"']?\s*(?P<op>>=|≥|==?|:|\^|~)?\s*[\"']?(?P<op2>>=|≥|\^|~)?\s*|"
    rf"[ ](?:version|level|release|SDK|is|is at|is on|to|from|from version|older than|newer than|below|before)[ ])"
    rf"{_NUMBER}(?P<plus>\+)?",
    re.IGNORECASE,
)
# A text without any of these states no minimum.
_TRIGGER: Final = re.compile(
    r">=|≥|\d\+|\b(?:at least|min\w*|oldest|lowest|requir\w*|needs?|mandatory|msrv|rust-version|"
    r"engines|newer|later|higher|above|up|onwards?|older|below|before|from)\b",
    re.IGNORECASE,
)
_DIGIT: Final = re.compile(r"\d")
_LOWEST_BEFORE: Final = re.compile(
    r"\b(?:at least|minimum|min|minimal|oldest|lowest|requires?|needs?|required|mandatory|msrv|minsdk\w*|"
    r"python_requires|requires-python|rust-version|engines|(?:we )?only support \w+ from|from)\b[^,;.]{0,45}$",
    re.IGNORECASE,
)
_LOWEST_AFTER: Final = re.compile(
    r"^\s*(?:\(?(?:or|and)\s+(?:newer|later|higher|above|up|upwards|onwards|greater)|\+|"
    r"is (?:required|needed|mandatory|the (?:minimum|oldest|lowest))|minimum|at minimum|on(?:wards?)?\b|upwards?)",
    re.IGNORECASE,
)
_REJECTED_BELOW: Final = re.compile(
    r"\b(?:older than|below|before|under|everything before|anything before)\b[^,;.]{0,20}$", re.I
)
_REJECTED_VERSION: Final = re.compile(
    r"\b(?:refus\w+|reject\w*|lock\w*|drop\w*|not|cannot|won't|no longer|ended|fail\w*|nothing|no|n't)\b",
    re.I,
)
_SUPPORTED_VERSION: Final = re.compile(
    r"\b(?:support(?:s|ed)?|still|works?|working|runs? on|running|stays?|stay on|staying|keep|can't leave|cannot leave|"
    r"stuck|accepts?|among|compiles?|builds?|matrix|can|are on|is on|we use|we are on|installs?|has to|have to|must)\b",
    re.IGNORECASE,
)
_NOT_STATED: Final = re.compile(
    r"\b(?:next|plan\w*|will|would|may|might|used to|until|formerly|once|recommend\w*|docs?|documentation|site|"
    r"except|unless|branch|line|series|old|legacy|prefer\w*|for (?:widgets|tests|development)|built with|"
    r"since \d|came with|current(?:ly)?|version \d|asked|whether|proposed|question|upgrad\w+|bump\w*|latest|newest|"
    r"release \d|tutorial|example|since)\b|\?",
    re.IGNORECASE,
)


_LINK_WORDS: Final = frozenset(
    """
    is to from at of than below or and least minimum in on with by for before after step line port within up about over
    most
    """.split()  # noqa: SIM905 - one word after the other reads best
)
# The subject that has the requirement, if it is named: not "we", "it", "anything".
_SUBJECT: Final = re.compile(
    r"^(?:the |our |all |an? )?(?!(?:we|it|you|anything|support|minimum|oldest|ci|production|"
    r"everything|users?|clients?)\b)(?P<who>[\w'-]+(?: [\w'-]+){0,3}?) (?:needs?|requires?|supports?|runs?|works?|"
    r"must|has to|is|are|can|compiles?|builds?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Versions:
    """Required minimums and working versions, by name."""

    minimums: dict[str, tuple[int, ...]]
    working: dict[str, tuple[int, ...]]


def disagree_on_minimum(a: str, b: str) -> bool:
    """Return True if the statements disagree about a minimum version.

    Either one says that a version works which is older than the minimum of the other, or both state different minimums.
    """
    if not (_DIGIT.search(a) and _DIGIT.search(b)) or max(len(a), len(b)) > MAX_SINGLE_TOPIC_CHARACTERS:
        return False
    if not (_TRIGGER.search(a) or _TRIGGER.search(b)):
        return False
    mine, others = _parse_versions(a), _parse_versions(b)
    if (
        mine is None
        or others is None
        or not (mine.minimums or others.minimums)
        or have_other_scopes(a, b)
        or _have_own_subjects(a, b)
    ):
        return False
    for one, counterpart in ((mine, others), (others, mine)):
        for name, minimum in one.minimums.items():
            if name in counterpart.minimums:
                if _differ(minimum, counterpart.minimums[name]):
                    return True
            elif name in counterpart.working and _is_older(counterpart.working[name], minimum):
                return True
    return False


@lru_cache(maxsize=2_048)
def _parse_versions(text: str) -> _Versions | None:
    normalized_text = normalize_text(text)
    if (
        _NOT_STATED.search(normalized_text)
        or patterns.PAST.search(normalized_text)
        or patterns.FUTURE.search(normalized_text)
    ):
        return None
    minimums: dict[str, tuple[int, ...]] = {}
    working: dict[str, tuple[int, ...]] = {}
    for match in _NAMED_VERSION.finditer(normalized_text):
        name = _resolve_name(match["name"], normalized_text[: match.start()])
        if not name or _has_unit(normalized_text[match.end() :]):
            continue
        at = match.start("version")
        before, after = normalized_text[:at], normalized_text[match.end("version") :]
        version = tuple(int(one) for one in match["version"].split("."))
        if _REJECTED_BELOW.search(before):
            if _REJECTED_VERSION.search(normalized_text):
                minimums[name] = version
        elif (
            match["plus"]
            or (match["op2"] or match["op"]) in (">=", "≥")
            or _LOWEST_AFTER.match(after)
            or _LOWEST_BEFORE.search(before)
        ):
            minimums[name] = version
        elif _SUPPORTED_VERSION.search(normalized_text) and not _REJECTED_VERSION.search(normalized_text):
            working[name] = min(version, working.get(name, version))
    return _Versions(minimums, working)


def _resolve_name(name: str, before: str) -> str:
    lower = name.lower().rstrip(".:=")
    if lower in _IMPLIED_NAMES:
        return _IMPLIED_NAMES[lower] or _find_preceding_name(before)
    if lower in _LINK_WORDS:
        return _find_preceding_name(before) if lower in ("is", "from", "than", "least") else ""
    return canonical_stem(lower) if _is_versioned_name(name) else ""


def _is_versioned_name(word: str) -> bool:
    """Return True if a word is a known tool or proper name."""
    return (
        bool(find_class(word.lower())) or any(one.isupper() for one in word) or word.lower() in _IMPLIED_NAMES.values()
    )


def _has_unit(after: str) -> bool:
    """Return True if a number is followed by a unit: "8 GB"."""
    match = re.match(r"\s?([A-Za-z%]+)", after)
    return match is not None and match[1].lower() in UNITS


def _find_preceding_name(before: str) -> str:
    words = re.findall(r"[A-Za-z][\w.+#-]*", before)
    for word in reversed(words[-3:]):
        lower = word.lower()
        if _IMPLIED_NAMES.get(lower):
            return _IMPLIED_NAMES[lower]
        if lower not in _LINK_WORDS and lower not in (
            "version",
            "older",
            "newer",
            "the",
            "oldest",
            "supported",
            "only",
        ):
            return canonical_stem(lower) if _is_versioned_name(word) else ""
    return ""


def _is_older(version: tuple[int, ...], minimum: tuple[int, ...]) -> bool:
    return version < minimum and minimum[: len(version)] != version


def _differ(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    length = min(len(one), len(other))
    return one[:length] != other[:length]


def _have_own_subjects(a: str, b: str) -> bool:
    """Return True if each statement has a subject of its own.

    Example: "the CLI needs Go 1.22", "the server needs Go 1.20".
    """
    mine, others = _parse_subject(a), _parse_subject(b)
    return bool(mine - others and others - mine)


def _parse_subject(text: str) -> frozenset[str]:
    match = _SUBJECT.match(text)
    if match is None:
        return frozenset()
    words = match["who"].lower().split()
    own = [word for word in words if not (find_class(word) or word in _IMPLIED_NAMES or _DIGIT.search(word))]
    return frozenset(canonical_stem(word) for word in own) - LOW_INFORMATION_STEMS
