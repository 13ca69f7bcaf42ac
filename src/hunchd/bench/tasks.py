"""Prediction tasks derived from past units.

Each has a query and expected files.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from hunchd.domain.context import Focus
from hunchd.domain.history import Unit
from hunchd.domain.work import plain_title
from hunchd.prediction import words
from hunchd.prediction.query import branch_words
from hunchd.text.stemming import stem_light

TASKS = ("first-file", "growing", "growing-title", "title", "branch", "both", "silence", "memory")
MOST_SEEDS = 3  # of one unit, drawn at random
MOST_ORDERS = 3  # of one unit's files, drawn at random
LARGEST_GOLD = 15  # files
LONGEST_GROWING = 3  # files that are given
PROJECT = "replayed"

# Branch names of only these words and numbers are not informative, nor is that of a fork's own `main`.
EMPTY_WORDS = frozenset(
    words.key(stem_light(word)) for word in ("patch", "issue", "fix", "bug", "feature", "pr", "branch", "dev", "wip")
)


@dataclass(frozen=True, slots=True)
class Question:
    """Query with its expected files.

    `gold` should be predicted; `following` is the one of them that came next, if order matters.
    """

    task: str
    unit: str
    focus: Focus
    gold: tuple[str, ...]
    following: str = ""


def questions(unit: Unit, gold: tuple[str, ...], task: str, seed: int = 0) -> Iterator[Question]:
    """Yield the queries of `task` about a unit.

    `gold` are its predictable files.
    """
    drawn = random.Random(f"{seed}:{unit.sha}")
    match task:
        case "first-file":
            if 2 <= len(gold) <= LARGEST_GOLD:
                for first in _drawn(gold, drawn):
                    yield _question(task, unit, gold, file=first)
        case "silence":
            if 1 <= len(gold) <= LARGEST_GOLD:
                for first in _drawn(gold, drawn):
                    yield _question(task, unit, gold, file=first)
        case "growing":
            yield from _growing(unit, gold, drawn)
        case "growing-title":  # the same files in the same order, with the title of the work
            if title := plain_title(unit.subject):
                yield from _growing(unit, gold, drawn, title)
        case "title":
            title = plain_title(unit.subject)
            if 1 <= len(gold) <= LARGEST_GOLD and title:
                yield _question(task, unit, gold, query=title)
        case "branch":
            if 1 <= len(gold) <= LARGEST_GOLD and telling(unit.branch):
                yield _question(task, unit, gold, branch=unit.branch)
        case "both":
            title = plain_title(unit.subject)
            if 2 <= len(gold) <= LARGEST_GOLD and title:
                for first in _drawn(gold, drawn):
                    yield _question(task, unit, gold, file=first, query=title)


def telling(branch: str) -> bool:
    """Return True if a branch name is informative about its work."""
    return any(key not in EMPTY_WORDS for key in words.keys_of_text(branch_words(branch)))


def _drawn(gold: tuple[str, ...], drawn: random.Random) -> list[str]:
    return drawn.sample(sorted(gold), min(MOST_SEEDS, len(gold)))


def _growing(unit: Unit, gold: tuple[str, ...], drawn: random.Random, title: str = "") -> Iterator[Question]:
    if not 2 <= len(gold) <= LARGEST_GOLD:
        return
    orders = dict.fromkeys(tuple(drawn.sample(sorted(gold), len(gold))) for _ in range(MOST_ORDERS))
    for order in orders:
        for given in range(1, min(LONGEST_GROWING, len(order) - 1) + 1):
            focus = Focus(
                project=PROJECT, file=order[given - 1], open_files=order[:given], query=title, author=unit.email
            )
            task = f"growing-title-{given}" if title else f"growing-{given}"
            yield Question(task, unit.sha, focus, order[given:], order[given])


def _question(
    task: str, unit: Unit, gold: tuple[str, ...], *, file: str | None = None, query: str = "", branch: str = ""
) -> Question:
    focus = Focus(project=PROJECT, file=file, query=query, branch=branch, author=unit.email)
    return Question(task, unit.sha, focus, tuple(path for path in gold if path != file))
