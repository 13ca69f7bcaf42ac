"""Classification of units of work by who made them and why.

A unit is deliberate work, a bot's work, a bulk change or a forward port.
"""

from __future__ import annotations

import re
from functools import lru_cache

from hunchd.domain.commit_subjects import is_cosmetic
from hunchd.domain.history import Unit

MAX_UNIT_FILES = 30  # files; larger units are maintenance and have no predictive value
SMALLEST_SWEEP = 6  # files; a smaller cosmetic change touches files that belong together

_NUMBERS = re.compile(r"\s*(?:\((?:#|gh-|!)\d+\)|(?<!\w)(?:gh-|#|!)\d+)", re.IGNORECASE)
_REFERENCE = re.compile(r"^\s*(?:\w+\s+)?(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?|refs?)\s*:?\s*#\d+\s*[:,-]?\s*", re.I)

_BOT = re.compile(
    r"\[bot\]|\bbot\b|dependabot|renovate|pre-commit-ci|weblate|greenkeeper|snyk|github-actions|pyup|allcontributors",
    re.IGNORECASE,
)
_BOT_BRANCH = re.compile(r"^(dependabot|renovate|pre-commit-ci|weblate|greenkeeper|pyup|snyk|all-contributors)\b", re.I)
_BULK = re.compile(
    r"^(?:chore|build|ci|docs)?\s*(?:\((?:deps|deps-dev|release|main|all)[^)]*\))\s*!?:"
    r"|^(?:chore: )?(?:release|prepare (?:for )?(?:\S+ )?release|bump|version bump|set version|cut)\b"
    r"|^back to development\b"
    r"|^v?\d+\.\d+(?:\.\d+)?\S*$|^\S+ v?\d+\.\d+\.\d+\S*$"
    r"|^(?:chore|fix|build): ?(?:update|upgrade|bump) (?:all )?(?:non-major )?dep"
    r"|^(?:update|upgrade) (?:all )?(?:dependencies|dev dependencies|requirements|translations?|lockfile|copyright)"
    r"|^(?:updat\w+|sync\w*) (?:the )?(?:message |translation )?(?:catalog|catalogue|locale|translation)s?\b"
    r"|^\[?pre-commit(?:\.ci)?\]?\b|^revert \"merge\b|^copy$|translations? update from",
    re.IGNORECASE,
)
_FORWARD_PORT = re.compile(
    r"^Merge (?:remote-tracking )?branch '(?:\S*/)?(?:main|master|stable|develop|dev|next|\d+[.\dx-]*|v?\d+\.\S*"
    r"|release\S*|\S*maintenance\S*)'"
    r"|^Merge (?:tag|commit) |^Merge \S+ into \S+$",
    re.IGNORECASE,
)


@lru_cache(maxsize=8)  # called several times for the same unit
def strip_issue_numbers(subject: str) -> str:
    """Remove the numbers of issues and pull requests: "Fix reload (#12)" becomes "Fix reload"."""
    shorter = _REFERENCE.sub("", subject)
    return re.sub(r"\s{2,}", " ", _NUMBERS.sub("", shorter)).strip(" :,-")


def is_bot(unit: Unit) -> bool:
    """Return True if a bot wrote the unit."""
    return bool(_BOT.search(unit.author) or _BOT.search(unit.email) or _BOT_BRANCH.match(unit.branch))


def is_bulk(unit: Unit) -> bool:
    """Return True for releases, version bumps, and updates of dependencies or catalogues.

    The files of such a unit change by schedule rather than by intention.
    """
    return bool(_BULK.search(strip_issue_numbers(unit.subject)))


def is_forward_port(unit: Unit) -> bool:
    """Return True for a merge of one long-lived branch into another.

    Everything in such a merge has already happened on the other branch.
    """
    return is_forward_port_subject(strip_issue_numbers(unit.subject))


def is_forward_port_subject(subject: str) -> bool:
    """Return True if `subject` is the subject of a forward port."""
    return bool(_FORWARD_PORT.match(subject))


def is_work(unit: Unit) -> bool:
    """Return True if a person made this unit deliberately, with at most MAX_UNIT_FILES files."""
    return 0 < len(unit.changes) <= MAX_UNIT_FILES and not (is_bot(unit) or is_bulk(unit) or is_forward_port(unit))


def is_sweeping(unit: Unit) -> bool:
    """Return True if the unit makes the same kind of change to many files.

    That such files changed together does not mean that they are related.
    """
    change_count = len(unit.changes)
    return change_count > MAX_UNIT_FILES or (
        change_count >= SMALLEST_SWEEP and is_cosmetic(strip_issue_numbers(unit.subject))
    )


def list_existing_paths(unit: Unit) -> tuple[str, ...]:
    """Return the unit's files that existed before it, under their old names."""
    olds = (change.old_path or change.path for change in unit.changes if change.status in "MDRT")
    return tuple(dict.fromkeys(olds))
