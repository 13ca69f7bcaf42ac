"""Reranking of files by the recent steps in the session.

Recent steps are combined with the scores from history and contents. The history is a sequence of sets of files;
only a session has an order. Half of the files that an agent touches next have been touched before, and the history
cannot rank these files. The weights are learned from sessions of real agents (`benchmarks/next_file.py`),
separately from the ranker, which was trained without sessions.
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
from hunchd.prediction.candidates import QueryEvidence
from hunchd.prediction.packed_arrays import Array
from hunchd.prediction.session import FileVisit
from hunchd.prediction.state import PredictorState

WEIGHTS_FILE = Path(__file__).with_name("sequel.json")
VERSION = 1
STEP_DECAY = 0.9  # decay of a step's weight with each later step
VISIT_HORIZON = 10  # steps
EXPLORATION_DECAY = 0.8  # the same for the share of steps that lead to new files

SIGN_NAMES = (
    "score",  # score of the ranker
    "best",  # 1 / rank by score
    "mentioned",  # named by the query
    # files that the session has not visited
    "new_in_folder",  # decayed visits to the file's folder
    "new_namesake",  # same stem as the current file
    # files that it has visited
    "seen",
    "seen_score",
    "seen_first",  # while no file has been revisited yet
    "seen_exploring",  # while most steps lead to new files
    "seen_arriving",  # while the current file is new
    "seen_editing",  # while the current file is being edited
    "seen_many",  # log of the number of visited files
    "seen_lately",  # 1 / log2(2 + steps since the last visit)
    "seen_often",  # log of the decayed number of visits to the file
    # transitions between files, in this session and earlier ones
    "follows",
    "follows_last",
)
SIGN_INDEX = {name: place for place, name in enumerate(SIGN_NAMES)}


@dataclass(frozen=True, slots=True)
class SessionReranker:
    """Reranker, with its weights and the calibration of its scores.

    `seed_weights` are used for queries without words, and `text_weights` for queries with words. `provenance`
    describes the training data.
    """

    seed_weights: Array
    text_weights: Array
    calibration: Isotonic
    provenance: dict[str, Any] = field(default_factory=dict)

    def compute_scores(self, signs: Array, *, words: bool) -> Array:
        """Return the log odds that each candidate is visited next.

        The log odds are correct up to a constant that is the same for all candidates. `words` is True if the query
        has words.
        """
        result: Array = signs @ (self.text_weights if words else self.seed_weights)
        return result

    def compute_probabilities(self, scores: Array) -> Array:
        """Return the probability that each candidate is visited within VISIT_HORIZON steps."""
        return self.calibration(compute_log_shares(scores)) if len(scores) else scores


def compute_log_shares(scores: Array) -> Array:
    """Return the log softmax of the scores."""
    below = scores - scores.max()
    logarithms: Array = below - np.log(np.exp(below).sum())
    return logarithms


@cache
def load_shipped() -> SessionReranker:
    """Load the reranker whose weights are shipped with the package."""
    return load_weights(WEIGHTS_FILE)


def load_weights(path: Path) -> SessionReranker:
    """Load a reranker from a file of weights.

    Raises ValueError if the weights are for different features or a different format version.
    """
    table = json.loads(path.read_text("utf-8"))
    if table["version"] != VERSION or tuple(table["signs"]) != SIGN_NAMES:
        raise ValueError(f"the weights in {path} are for different features or a different format version")
    return SessionReranker(
        np.array(table["files"], "<f4"),
        np.array(table["words"], "<f4"),
        Isotonic(np.array(table["chance"]["scores"]), np.array(table["chance"]["probabilities"])),
        table["provenance"],
    )


def compute_signs(
    state: PredictorState, query_evidence: QueryEvidence, ranker_scores: Array, steps: Sequence[FileVisit], now: int
) -> Array:
    """Return the feature matrix, with one row for each candidate.

    `ranker_scores` are the ranker's scores; `steps` are the steps of the session, newest last.
    """
    files, rows = query_evidence.files, np.zeros((len(query_evidence.files), len(SIGN_NAMES)), "<f4")
    if not len(files):
        return rows
    current_step, path = steps[-1], [step.file for step in steps]
    session_visits = _SessionVisits.from_steps(steps)
    was_visited = np.array([file in session_visits.age for file in files.tolist()], "?")
    is_new = ~was_visited
    columns: dict[str, Array | float] = {
        "score": ranker_scores,
        "best": _compute_inverse_rank(ranker_scores),
        "mentioned": _lookup_values(files, dict.fromkeys(query_evidence.query.mentioned_files, 1.0)),
        "new_in_folder": is_new * _score_folders(state, files, path),
        "new_namesake": is_new * (state.files.stem.view[files] == state.files.stem.view[current_step.file]),
        "seen": was_visited,
        "seen_score": was_visited * ranker_scores,
        "seen_first": was_visited * float(len(session_visits.age) == len(steps)),
        "seen_exploring": was_visited * session_visits.exploring,
        "seen_arriving": was_visited * float(path.index(current_step.file) == len(path) - 1),
        "seen_editing": was_visited * float(current_step.was_edited),
        "seen_many": was_visited * float(np.log1p(len(session_visits.age))),
        "seen_lately": _lookup_values(
            files, {file: 1.0 / np.log2(2.0 + age) for file, age in session_visits.age.items()}
        ),
        "seen_often": _lookup_values(files, {file: np.log1p(visits) for file, visits in session_visits.visits.items()}),
        "follows": _lookup_values(files, state.session.compute_followers(current_step.file, now)),
        "follows_last": _lookup_values(files, state.session.compute_followers(path[-2], now)) if len(path) > 1 else 0.0,
    }
    for name, values in columns.items():
        rows[:, SIGN_INDEX[name]] = values
    return rows


@dataclass(frozen=True, slots=True)
class _SessionVisits:
    """Visits in the session, keyed by file.

    `age` is the number of steps since the last visit, `visits` is the decayed number of visits, and `exploring` is
    the share of steps, from 0 to 1, that led to files not visited before.
    """

    age: dict[int, int]
    visits: dict[int, float]
    exploring: float

    @classmethod
    def from_steps(cls, steps: Sequence[FileVisit]) -> _SessionVisits:
        age: dict[int, int] = {}
        visits: dict[int, float] = {}
        for steps_since, step in enumerate(reversed(steps)):
            age.setdefault(step.file, steps_since)
            visits[step.file] = visits.get(step.file, 0.0) + STEP_DECAY**steps_since
        visited_files, exploring, total = set[int](), 0.0, 0.0
        for step in steps:
            exploring, total = (
                EXPLORATION_DECAY * exploring + (step.file not in visited_files),
                EXPLORATION_DECAY * total + 1.0,
            )
            visited_files.add(step.file)
        return cls(age, visits, exploring / total)


def _score_folders(state: PredictorState, files: Array, path: Sequence[int]) -> Array:
    """Return the decayed number of visits to each file's folder."""
    folder = state.files.folder.view
    score_by_folder: dict[int, float] = {}
    for steps_since, file in enumerate(reversed(path)):
        key = int(folder[file])
        score_by_folder[key] = score_by_folder.get(key, 0.0) + STEP_DECAY**steps_since
    return np.array([score_by_folder.get(key, 0.0) for key in folder[files].tolist()], "<f4")


def _lookup_values(files: Array, values: dict[int, float]) -> Array | float:
    if not values:
        return 0.0
    return np.array([values.get(file, 0.0) for file in files.tolist()], "<f4")


def _compute_inverse_rank(scores: Array) -> Array:
    """Return 1 for the highest score, 1/2 for the next, and so on."""
    ranks = np.empty(len(scores), "<f4")
    ranks[np.argsort(-scores, kind="stable")] = 1.0 / np.arange(1, len(scores) + 1)
    return ranks
