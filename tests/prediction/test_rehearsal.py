"""A project's own past corrects the ranking where it shows something, and leaves it alone where it does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hunchd.domain.context import Focus
from hunchd.domain.errors import StoreError
from hunchd.domain.history import Change, Unit
from hunchd.prediction import rehearsal, snapshot
from hunchd.prediction.boosting import Lesson, grown
from hunchd.prediction.features import FEATURES
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.ranking import Trees
from hunchd.prediction.rehearsal import Rehearsal

CANDIDATES = 12
NOW = 1_700_000_000


def lessons(number: int, telling: int | None, seed: int = 0) -> list[Lesson]:
    """Questions whose used file is the one with the highest value of feature `telling`, or any; scores say nothing."""
    drawn = np.random.default_rng(seed)
    made = []
    for _ in range(number):
        matrix = drawn.random((CANDIDATES, 6)).astype("<f4")
        right = int(matrix[:, telling].argmax() if telling is not None else drawn.integers(CANDIDATES))
        made.append(Lesson(matrix, drawn.random(CANDIDATES).astype("<f4"), np.arange(CANDIDATES) == right))
    return made


def first(asked: list[Lesson], trees: Trees) -> float:
    """Share of questions whose used file comes first."""
    return float(np.mean([one.used[(one.scores + trees.scores(one.matrix)).argmax()] for one in asked]))


def test_trees_learn_what_a_past_shows_and_use_it_on_questions_not_seen() -> None:
    plain = Trees(np.zeros((1, 7), np.intp), np.zeros((1, 7), "<f4"), np.zeros((1, 8), "<f4"))
    trees = grown(lessons(300, telling=3), trees=80)

    unseen = lessons(200, telling=3, seed=1)
    assert first(unseen, plain) < 0.2
    assert first(unseen, trees) > 0.4
    assert {int(feature) for feature in trees.feature[:, 0]} >= {3}


def test_the_same_lessons_give_the_same_trees() -> None:
    one, other = grown(lessons(50, telling=1)), grown(lessons(50, telling=1))
    assert np.array_equal(one.feature, other.feature)
    assert np.array_equal(one.value, other.value)


def test_trees_stay_bounded_on_features_that_are_all_the_same() -> None:
    flat = [Lesson(np.ones((4, 3), "<f4"), np.zeros(4, "<f4"), np.arange(4) == 0) for _ in range(40)]
    assert np.abs(grown(flat).scores(np.ones((4, 3), "<f4"))).max() < 1.0


def learned(rehearsal: Rehearsal, units: int) -> Predictor:
    """Each module changes with its test, and says so."""
    predictor = Predictor()
    for number in range(units):
        topic = ("parser", "render", "cache", "server", "router")[number % 5]
        changes = tuple(Change("M" if number > 4 else "A", f"{folder}/{topic}.py") for folder in ("src", "tests"))
        unit = Unit(
            sha=f"{number:040x}",
            parents=(),
            at=NOW + number * 3_600,
            author="Ada",
            email="ada@example.org",
            subject=f"{topic} handles case {number}",
            changes=changes,
        )
        rehearsal.ask(predictor, unit)
        predictor.learn(unit)
    return predictor


def test_too_short_a_past_teaches_nothing() -> None:
    asked = Rehearsal()
    learned(asked, 40)
    assert asked.trees() == {}


def test_what_was_learned_is_kept_in_a_file_and_followed(tmp_path: Path) -> None:
    trees = {"seed": Trees(np.full((1, 7), FEATURES.index("same_stem")), np.zeros((1, 7), "<f4"), _right_is_better())}
    rehearsal.write(tmp_path / "own", trees, units=321)
    known, units = rehearsal.read(tmp_path / "own")
    assert units == 321
    assert known.keys() == {"seed"}

    predictor = learned(Rehearsal(), 60)
    focus = Focus(project="p", file="src/parser.py")
    before = predictor.predict(focus, now=NOW)
    predictor.follow(known)
    after = predictor.predict(focus, now=NOW)
    by_path = {file.path: file.score for file in before.files}
    gained = {file.path: file.score - by_path[file.path] for file in after.files}
    assert max(gained, key=lambda path: gained[path]) == "tests/parser.py"
    assert min(gained.values()) == pytest.approx(0.0, abs=1e-5)

    predictor.follow({})
    assert predictor.predict(focus, now=NOW) == before


def test_trees_for_other_features_are_refused(tmp_path: Path) -> None:
    snapshot.write(tmp_path / "old", {}, {"units": 3, "features": ["another"]})
    with pytest.raises(StoreError, match="other features"):
        rehearsal.read(tmp_path / "old")


def _right_is_better() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.array([[0, 0, 0, 0, 0, 0, 0, 5]], "<f4")
