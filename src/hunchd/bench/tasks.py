"""Prediction tasks derived from past units of work.

Each task yields queries with the files that the predictor is expected to find.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from hunchd.domain.context import Focus
from hunchd.domain.history import Unit
from hunchd.domain.unit_classification import strip_issue_numbers
from hunchd.prediction import words
from hunchd.prediction.query import extract_branch_words
from hunchd.text.stemming import stem_light

TASKS = ("first-file", "growing", "growing-title", "title", "branch", "both", "silence")
MAX_SEEDS = 3  # open files per unit, drawn at random
MAX_ORDERS = 3  # orders of one unit's files, drawn at random
MAX_GOLD = 15  # files
MAX_GIVEN_FILES = 3  # maximum number of files given as open
PROJECT_NAME = "replayed"

# A branch name that consists only of these words and numbers is not informative, nor is a fork's own `main`.
UNINFORMATIVE_KEYS = frozenset(
    words.hash_word(stem_light(word))
    for word in ("patch", "issue", "fix", "bug", "feature", "pr", "branch", "dev", "wip")
)


@dataclass(frozen=True, slots=True)
class ReplayQuery:
    """Query with the files that the predictor is expected to find.

    `gold` are these files. If their order matters, `next_file` is the one visited next.
    """

    task: str
    unit: str
    focus: Focus
    gold: tuple[str, ...]
    next_file: str = ""


def generate_queries(unit: Unit, gold: tuple[str, ...], task: str, seed: int = 0) -> Iterator[ReplayQuery]:
    """Yield the queries of `task` for one unit of work.

    `gold` are the files of the unit that can be predicted.
    """
    rng = random.Random(f"{seed}:{unit.sha}")
    match task:
        case "first-file":
            if 2 <= len(gold) <= MAX_GOLD:
                for first in _draw_seeds(gold, rng):
                    yield _build_query(task, unit, gold, file=first)
        case "silence":
            if 1 <= len(gold) <= MAX_GOLD:
                for first in _draw_seeds(gold, rng):
                    yield _build_query(task, unit, gold, file=first)
        case "growing":
            yield from _generate_growing(unit, gold, rng)
        case "growing-title":  # the same files in the same order, with the title of the work
            if title := strip_issue_numbers(unit.subject):
                yield from _generate_growing(unit, gold, rng, title)
        case "title":
            title = strip_issue_numbers(unit.subject)
            if 1 <= len(gold) <= MAX_GOLD and title:
                yield _build_query(task, unit, gold, query=title)
        case "branch":
            if 1 <= len(gold) <= MAX_GOLD and is_branch_informative(unit.branch):
                yield _build_query(task, unit, gold, branch=unit.branch)
        case "both":
            title = strip_issue_numbers(unit.subject)
            if 2 <= len(gold) <= MAX_GOLD and title:
                for first in _draw_seeds(gold, rng):
                    yield _build_query(task, unit, gold, file=first, query=title)


def is_branch_informative(branch: str) -> bool:
    """Return True if the name of the branch says something about the work on it."""
    return any(key not in UNINFORMATIVE_KEYS for key in words.hash_text_words(extract_branch_words(branch)))


def _draw_seeds(gold: tuple[str, ...], rng: random.Random) -> list[str]:
    return rng.sample(sorted(gold), min(MAX_SEEDS, len(gold)))


def _generate_growing(unit: Unit, gold: tuple[str, ...], rng: random.Random, title: str = "") -> Iterator[ReplayQuery]:
    if not 2 <= len(gold) <= MAX_GOLD:
        return
    orders = dict.fromkeys(tuple(rng.sample(sorted(gold), len(gold))) for _ in range(MAX_ORDERS))
    for order in orders:
        for given_count in range(1, min(MAX_GIVEN_FILES, len(order) - 1) + 1):
            focus = Focus(
                project=PROJECT_NAME,
                file=order[given_count - 1],
                open_files=order[:given_count],
                query=title,
                author=unit.email,
            )
            task = f"growing-title-{given_count}" if title else f"growing-{given_count}"
            yield ReplayQuery(task, unit.sha, focus, order[given_count:], order[given_count])


def _build_query(
    task: str, unit: Unit, gold: tuple[str, ...], *, file: str | None = None, query: str = "", branch: str = ""
) -> ReplayQuery:
    focus = Focus(project=PROJECT_NAME, file=file, query=query, branch=branch, author=unit.email)
    return ReplayQuery(task, unit.sha, focus, tuple(path for path in gold if path != file))
