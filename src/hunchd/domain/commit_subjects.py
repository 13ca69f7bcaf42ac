"""Classification of commit subjects.

A subject is descriptive if it says what was done. It is cosmetic if it names a change that affects only the
formatting of files.
"""

from __future__ import annotations

import re

MIN_SUBJECT_LENGTH = 8  # characters; "fix", "wip" and "typo" are not descriptive

_MERGE = re.compile(
    r"merge (?:remote-tracking )?branch|merge tag|merge pull request #\d+ from|revert \"merge"
    r"|merge commit (?:from fork$|'?[\da-f]{7,40}\b)",
    re.IGNORECASE,
)
# Formatting changes: they affect the appearance of code, not its behaviour.
_COSMETIC = re.compile(
    r"\b(?:re)?format(?:s|ted|ting)?\b.*\b(?:code|codebase|files|everything|all|with|using)\b"
    r"|\b(?:typos?|whitespace|spelling|spdx)\b"
    r"|\b(?:licen[cs]e|copyright) (?:headers?|years?|notices?|dates?)\b"
    r"|\b(?:fix|remove|sort|address|silence)\w* (?:\w+ ){0,2}(?:lints?|linter|clippy|warnings|(?:unused )?imports?)\b"
    r"|\b(?:run|ran|apply|applied) "
    r"(?:black|ruff|isort|prettier|gofmt|rustfmt|cargo fmt|clang-format|pyupgrade|pre-commit)\b"
    r"|^(?:style|chore\(deps[^)]*\)|build\(deps[^)]*\))\b|\bpre-commit auto(?:fix|update)|\bend of life\b",
    re.IGNORECASE,
)

# Subjects without content, such as "cleanup", "updates" or "initial commit".
_EMPTY = re.compile(
    r"^(?:(?:minor|misc\w*|small|some|more|various|general|code|consistency|a few)\s+)*"
    r"(?:clean(?:ed|ing)?[- ]?ups?|updat\w+(?: to (?:the )?(?:current|latest|newest|new) versions?)?|"
    r"improve\w*|fix(?:es|ed)?|chang\w+|tweak\w*|refactor\w*|polish\w*|adjust\w*)"
    r"\W*$"
    r"|^(?:creat|add|updat|edit|delet|remov|renam|upload|chang|modif)\w* "
    r"(?:the )?[`'\"]?[\w./-]+\.\w{1,10}[`'\"]?\.?$"
    r"|^(?:add files via upload|address(?:ed|ing)? (?:\w+ ){0,2}(?:review|comments?|feedback)\b.*|"
    r"(?:apply|applied) suggestions? from .*|"
    r"(?:more|some|further|final|last|next) (?:changes|work|stuff|updates|fixes)\W*)$"
    r"|^(?:the )?(?:very )?(?:initial|first)"
    r"(?: (?:public|working|usable|stable|complete|real|proper|big|large|rough|substantial))? "
    r"(?:commit|import|check-?in|upload|push|release|version|alpha|beta)\b",
    re.IGNORECASE,
)
# Releases and dependency updates: the time at which a version came out says nothing about the files that it changed.
_RELEASE = re.compile(
    r"^(?:\w+(?:\([^)]*\))?: )?(?:(?:prepar|bump|cut|mak|draft)\w* (?:for )?)?(?:the )?(?:next )?(?:release|version)\b"
    r"(?: (?:to|of|version))?(?: \S+){0,2} ?v?\d+[\w.-]*\b"
    r"|^(?:\w+(?:\([^)]*\))?: )?v?\d+\.\d+[\w.-]*$|^bump(?:ed)? (?:version )?(?:to )?v?\d"
    r"|^(?:chore|build|fix)\(deps[^)]*\)|^(?:\w+: )?bump \S+ (?:from \S+ )?to v?\d",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2,}")
MIN_SUBJECT_WORDS = 2  # words, in scripts with spaces; a ticket number is not a word


def is_descriptive(subject: str) -> bool:
    """Return True if a subject describes the change.

    In scripts without spaces, a single word may be a whole sentence and is accepted.
    """
    if len(subject) < MIN_SUBJECT_LENGTH or (subject.isascii() and len(_WORD.findall(subject)) < MIN_SUBJECT_WORDS):
        return False
    return not any((_MERGE.match(subject), is_cosmetic(subject), _EMPTY.match(subject), _RELEASE.match(subject)))


def is_cosmetic(subject: str) -> bool:
    """Return True if the subject names a formatting change, such as "run black"."""
    return _COSMETIC.search(subject) is not None
