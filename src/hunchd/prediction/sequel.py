"""Reranking by recent steps of the session.

It combines them with the scores from history and contents. A history consists of sets of files; only a session has
an order. Half of the files that an agent touches next it has touched before: history cannot rank those. The weights
are learned from sessions of real agents (`benchmarks/next_file.py`), apart from the ranker, which never saw one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hunchd.prediction.calibration import Isotonic
from hunchd.prediction.candidates import Evidence
from hunchd.prediction.packed import Array
from hunchd.prediction.session import Step
from hunchd.prediction.state import State

SHIPPED = Path(__file__).with_name("sequel.json")
VERSION = 1
FADING = 0.9  # decay of a step's weight by later step
SOON = 10  # steps
NEWNESS = 0.8  # the same for the share of steps that lead to new files

SIGNS = (
    "score",  # of the ranker
    "best",  # 1 / rank by score
    "mentioned",  # named by the query
    # files that the session has not visited
    "new_in_folder",  # decayed visits to the file's folder
    "new_namesake",  # same stem as the current file
    # files that it has visited
    "seen",
    "seen_score",
    "seen_first",  # while no file was revisited yet
    "seen_exploring",  # while most steps lead to new files
    "seen_arriving",  # while the current file is new
    "seen_editing",  # while it is being edited
    "seen_many",  # log of the number of visited files
    "seen_lately",  # 1 / log2(2 + steps since)
    "seen_often",  # log of its decayed visits
    # what was opened after what, in this session and earlier ones
    "follows",
    "follows_last",
)
INDEX = {name: place for place, name in enumerate(SIGNS)}


@dataclass(frozen=True, slots=True)
class Sequel:
    """Weights of the reranker, and the calibration of its scores.

    There are weights for queries without words (`files`) and with words (`words`). `provenance` describes the
    training data.
    """

    files: Array
    words: Array
    chance: Isotonic
    provenance: dict[str, Any] = field(default_factory=dict)

    def scores(self, signs: Array, *, words: bool) -> Array:
        """Return the log odds of coming next, up to a constant.

        The constant is common to all candidates.
        """
        scored: Array = signs @ (self.words if words else self.files)
        return scored

    def chances(self, scores: Array) -> Array:
        """Return the probability that each candidate is visited within SOON steps."""
        return self.chance(shares(scores)) if len(scores) else scores


def shares(scores: Array) -> Array:
    """Return the log softmax of the scores."""
    below = scores - scores.max()
    logarithms: Array = below - np.log(np.exp(below).sum())
    return logarithms


@cache
def shipped() -> Sequel:
    """Return the weights shipped with the package."""
    return loaded(SHIPPED)


def loaded(path: Path) -> Sequel:
    """Load weights. Raises ValueError for other signs or another version."""
    table = json.loads(path.read_text("utf-8"))
    if table["version"] != VERSION or tuple(table["signs"]) != SIGNS:
        raise ValueError(f"{path} was learned for other signs")
    return Sequel(
        np.array(table["files"], "<f4"),
        np.array(table["words"], "<f4"),
        Isotonic(np.array(table["chance"]["scores"]), np.array(table["chance"]["probabilities"])),
        table["provenance"],
    )


def written(sequel: Sequel, path: Path) -> None:
    """Save weights as JSON."""
    table = {
        "version": VERSION,
        "provenance": sequel.provenance,
        "signs": list(SIGNS),
        "files": [round(float(weight), 4) for weight in sequel.files],
        "words": [round(float(weight), 4) for weight in sequel.words],
        "chance": {
            "scores": sequel.chance.scores.round(4).tolist(),
            "probabilities": sequel.chance.probabilities.round(4).tolist(),
        },
    }
    path.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


def signs_of(state: State, found: Evidence, plain: Array, steps: Sequence[Step], now: int) -> Array:
    """Return the feature matrix: one row a candidate, one column a sign.

    `plain` are the ranker's scores; `steps` is the session, newest last.
    """
    files, rows = found.files, np.zeros((len(found.files), len(SIGNS)), "<f4")
    if not len(files):
        return rows
    at_hand, path = steps[-1], [step.file for step in steps]
    stays = _Stays.of(steps)
    seen = np.array([file in stays.age for file in files.tolist()], "?")
    new = ~seen
    columns: dict[str, Array | float] = {
        "score": plain,
        "best": _by_rank(plain),
        "mentioned": _of(files, dict.fromkeys(found.query.mentioned, 1.0)),
        "new_in_folder": new * _folders(state, files, path),
        "new_namesake": new * (state.files.stem.view[files] == state.files.stem.view[at_hand.file]),
        "seen": seen,
        "seen_score": seen * plain,
        "seen_first": seen * float(len(stays.age) == len(steps)),
        "seen_exploring": seen * stays.exploring,
        "seen_arriving": seen * float(path.index(at_hand.file) == len(path) - 1),
        "seen_editing": seen * float(at_hand.edited),
        "seen_many": seen * float(np.log1p(len(stays.age))),
        "seen_lately": _of(files, {file: 1.0 / np.log2(2.0 + age) for file, age in stays.age.items()}),
        "seen_often": _of(files, {file: np.log1p(visits) for file, visits in stays.visits.items()}),
        "follows": _of(files, state.session.followers(at_hand.file, now)),
        "follows_last": _of(files, state.session.followers(path[-2], now)) if len(path) > 1 else 0.0,
    }
    for name, values in columns.items():
        rows[:, INDEX[name]] = values
    return rows


@dataclass(frozen=True, slots=True)
class _Stays:
    """Visits of the session by file.

    They are the steps since the last, and the decayed number. `exploring` is the share of the session that led to
    new files, 0..1.
    """

    age: dict[int, int]
    visits: dict[int, float]
    exploring: float

    @classmethod
    def of(cls, steps: Sequence[Step]) -> _Stays:
        age: dict[int, int] = {}
        visits: dict[int, float] = {}
        for steps_since, step in enumerate(reversed(steps)):
            age.setdefault(step.file, steps_since)
            visits[step.file] = visits.get(step.file, 0.0) + FADING**steps_since
        first, exploring, total = set[int](), 0.0, 0.0
        for step in steps:
            exploring, total = NEWNESS * exploring + (step.file not in first), NEWNESS * total + 1.0
            first.add(step.file)
        return cls(age, visits, exploring / total)


def _folders(state: State, files: Array, path: Sequence[int]) -> Array:
    """Return the decayed number of visits to the folder of each file."""
    folder = state.files.folder.view
    lately: dict[int, float] = {}
    for steps_since, file in enumerate(reversed(path)):
        key = int(folder[file])
        lately[key] = lately.get(key, 0.0) + FADING**steps_since
    return np.array([lately.get(key, 0.0) for key in folder[files].tolist()], "<f4")


def _of(files: Array, values: dict[int, float]) -> Array | float:
    if not values:
        return 0.0
    return np.array([values.get(file, 0.0) for file in files.tolist()], "<f4")


def _by_rank(scores: Array) -> Array:
    """Return 1, 1/2, 1/3 … by falling score."""
    ranks = np.empty(len(scores), "<f4")
    ranks[np.argsort(-scores, kind="stable")] = 1.0 / np.arange(1, len(scores) + 1)
    return ranks
