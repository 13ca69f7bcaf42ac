"""What a project's own past teaches beyond the shipped table: its newest units, each asked for before it is learned.

The trees that correct the ranking for this project are grown from the answers, and kept only where they do better on
later units than they were grown from.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from hunchd.domain.context import Focus
from hunchd.domain.errors import StoreError
from hunchd.domain.history import Unit
from hunchd.domain.work import existing_paths, is_work, plain_title
from hunchd.prediction import snapshot
from hunchd.prediction.adaptation import HEADS
from hunchd.prediction.boosting import Lesson, grown
from hunchd.prediction.features import FEATURES
from hunchd.prediction.packed import Array
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.ranking import Trees

UNITS = 700  # newest units rehearsed
AGAIN_AFTER = 200  # new units after which the trees are grown anew
LARGEST = 15  # files of a unit
FIRST_FILES = 2  # of each unit, drawn at random
KEPT = 1_600  # newest lessons of a kind
LEAST = 120  # lessons below which the past says too little
HELD_BACK = 4  # of the lessons the newest of so many parts judges the trees grown from the others


class Rehearsal:
    """Gathers lessons, unit by unit, and makes trees of them by kind of question."""

    def __init__(self) -> None:
        self._lessons: dict[str, deque[Lesson]] = {head: deque(maxlen=KEPT) for head in HEADS}

    def ask(self, predictor: Predictor, unit: Unit) -> None:
        """Before `predictor` learns this unit: what its title, its files, and both would have been answered with."""
        for focus, used in _asked(predictor, unit):
            head, lesson = predictor.lesson(focus, used, now=unit.at)
            if lesson.used.any() and not lesson.used.all():
                self._lessons[head].append(lesson)

    def trees(self) -> dict[str, Trees]:
        """By kind of question, where there are lessons enough and the newest of them say that it helps."""
        made = {}
        for head, kept in self._lessons.items():
            lessons = list(kept)
            if len(lessons) < LEAST:
                continue
            past, newest = lessons[: -len(lessons) // HELD_BACK], lessons[-len(lessons) // HELD_BACK :]
            if _precision(newest, grown(past)) > _precision(newest, None):
                made[head] = grown(lessons)
        return made


def _asked(predictor: Predictor, unit: Unit) -> Iterator[tuple[Focus, list[str]]]:
    """Only work counts, of 1 to 15 files for questions by text, of at least 2 for those by file."""
    hubs = predictor.hubs()
    gold = sorted(path for path in existing_paths(unit) if path not in hubs and predictor.has(path))
    if not is_work(unit) or not 1 <= len(gold) <= LARGEST:
        return
    title = plain_title(unit.subject)
    if title:
        yield Focus(project="", query=title, author=unit.email), gold
    if len(gold) == 1:
        return
    for first in random.Random(unit.sha).sample(gold, min(FIRST_FILES, len(gold))):
        rest = [path for path in gold if path != first]
        for query in ("", title) if title else ("",):
            yield Focus(project="", file=first, query=query, author=unit.email), rest


def _precision(lessons: list[Lesson], trees: Trees | None) -> float:
    """Mean average precision of the lessons' rankings, corrected by the trees."""
    return float(np.mean([_average_precision(lesson, trees) for lesson in lessons]))


def _average_precision(lesson: Lesson, trees: Trees | None) -> float:
    scores = lesson.scores if trees is None else lesson.scores + trees.scores(lesson.matrix)
    places = np.flatnonzero(lesson.used[np.argsort(-scores, kind="stable")])
    return float(np.mean(np.arange(1, len(places) + 1) / (places + 1)))


def write(path: Path, trees: Mapping[str, Trees], *, units: int) -> None:
    """Keep the trees of a project, and how many units it had, atomically."""
    arrays = {
        f"{head}.{name}": array
        for head, made in trees.items()
        for name, array in (("feature", made.feature), ("threshold", made.threshold), ("value", made.value))
    }
    snapshot.write(path, arrays, {"units": units, "features": list(FEATURES)})


def read(path: Path) -> tuple[dict[str, Trees], int]:
    """The trees by kind of question, and how many units made them; StoreError when damaged or for other features."""
    arrays, about = snapshot.read(path)
    if about["features"] != list(FEATURES):
        raise StoreError(f"{path} was made for other features")

    def of(head: str) -> tuple[Array, ...]:
        return tuple(arrays[f"{head}.{name}"] for name in ("feature", "threshold", "value"))

    return {head: Trees(*of(head)) for head in HEADS if f"{head}.value" in arrays}, int(about["units"])
