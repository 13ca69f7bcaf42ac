"""Predictor of one project: the entry point of this package."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hunchd.domain.context import Focus, PredictedFile, Prediction
from hunchd.prediction import blame, sequel, snapshot, units, weights
from hunchd.prediction.adaptation import Adaptation
from hunchd.prediction.candidates import Evidence, gather
from hunchd.prediction.expected import expected
from hunchd.prediction.features import measured
from hunchd.prediction.learner import Learner
from hunchd.prediction.packed import Array, Arrays, among, distinct
from hunchd.prediction.query import Query, query_of
from hunchd.prediction.ranking import roughly
from hunchd.prediction.reasons import Reason, Reasons
from hunchd.prediction.sequel import Sequel
from hunchd.prediction.session import SessionEvent, Step
from hunchd.prediction.state import State
from hunchd.prediction.weights import Weights

CLOSELY = 64  # candidates scored by the trained ranker: with 48 or 150 the results are the same
# Correction of scores before any file was read, when features of contents are missing. With it, predicted and actual
# use agree (four projects of the development set, fresh models of 300 units, before their test windows: without it 3 %
# were predicted where 13 % were used).
UNREAD = 3.0
# The same before any unit was learned, when missing co-change is not informative. It is the difference between these
# scores and those of the boosted trees used before, which did separate such a project's next file from the rest.
UNLEARNED = {"seed": 3.0, "text": 1.5, "both": 1.0}
SERVED = 20  # predictions kept to learn from their outcome


@dataclass(frozen=True, slots=True)
class Served:
    """Prediction that was returned, stored to learn from its outcome."""

    head: str
    files: Array
    matrix: Array
    scores: Array


@dataclass(frozen=True, slots=True)
class Ranked:
    """Ranking of candidates, best first, with features and scores.

    `plain` are uncorrected scores, `sure` those that are calibrated to probabilities. `chances` are the
    probabilities of a visit soon, if the query asks for the next file of a session.
    """

    found: Evidence
    order: Array
    matrix: Array
    plain: Array
    scores: Array
    sure: Array
    chances: Array | None = None


class Predictor(Learner):
    """Predictor of files and past units for a focus."""

    def __init__(self, table: Weights | None = None, session_table: Sequel | None = None) -> None:
        super().__init__()
        self._weights = weights.shipped() if table is None else table
        self._sequel = sequel.shipped() if session_table is None else session_table
        self._adaptation = Adaptation()
        self._served: deque[Served] = deque(maxlen=SERVED)

    def stat(self) -> dict[str, int]:
        """Return figures for the status."""
        state = self._state
        return {
            "units": state.now,
            "files": int(state.files.alive.view.sum()),
            "placed": state.contents.words.documents,
            "events": len(state.session.files),
            **{f"lessons_{head}": c.lessons for head, c in self._adaptation.corrections.items()},
        }

    def note(self, event: SessionEvent) -> None:
        """Record an event of the session.

        A file was opened, edited, saved, closed, checked out or used.
        """
        file = self._state.files.numbers.get(event.path) if event.path else None
        self._state.session.note(event, file)

    def outcome(self, path: str, *, used: bool) -> None:
        """Learn from the use of a suggested file.

        The newest prediction that contained it is the lesson. An ignored suggestion teaches nothing by itself: its
        rank may be the reason.
        """
        file = self._state.files.numbers.get(path)
        if file is None or not used:
            return
        for served in reversed(self._served):
            hits = served.files == file
            if hits.any():
                self._adaptation.learn(served.head, served.matrix, served.scores, hits)
                return

    def predict(self, focus: Focus, *, now: int, k: int = 20, explain: bool = True) -> Prediction:
        """Return the `k` most likely files and relevant past units.

        Files that are already open are never returned. `now` is in seconds since the epoch.
        """
        query = query_of(focus, self._state)
        ranked = self.ranked(query, now)
        best = ranked.order[:k]
        confidences = self._confidences(query, ranked, best)
        numbers = ranked.found.files[best].tolist()
        why: list[list[Reason]] = [[]] * len(numbers)
        if explain:
            here = self._state.files.numbers.get(focus.file) if focus.file else None
            reasons = Reasons(self._state, ranked.found, now, here=here, told=numbers)
            why = [reasons.of(file, row) for file, row in zip(numbers, ranked.matrix[best].tolist(), strict=True)]
        paths = self._state.files.paths
        files = tuple(
            PredictedFile(
                paths[number],
                score,
                round(confidence, 4),
                tuple(reason.text for reason in said),
                said[0].relation if said else "",
            )
            for number, score, confidence, said in zip(
                numbers, ranked.scores[best].tolist(), confidences.tolist(), why, strict=True
            )
        )
        if len(best):
            shown = ranked.order[: max(k, 40)]
            self._served.append(
                Served(query.head, ranked.found.files[shown], ranked.matrix[shown], ranked.plain[shown])
            )
        return Prediction(
            files,
            units.recalled(self._state, query, ranked.found, now) if explain else (),
            max((file.confidence for file in files), default=0.0),
            expected(self._state, query) if explain else (),
        )

    def score_files(self, focus: Focus, *, now: int, k: int) -> dict[str, float]:
        """Return the scores of the `k` best files by path; what becomes of them teaches nothing."""
        ranked = self.ranked(query_of(focus, self._state), now)
        best = ranked.order[:k]
        paths = self._state.files.paths
        files = ranked.found.files[best].tolist()
        return {paths[file]: score for file, score in zip(files, ranked.scores[best].tolist(), strict=True)}

    def ranked(self, query: Query, now: int) -> Ranked:
        """Rank all candidates, with their features."""
        found = gather(self._state, query, now)
        matrix = measured(self._state, found)
        kept = self._kept(matrix, found)
        found.files, matrix = found.files[kept], matrix[kept]
        plain = self._weights.heads[query.head].scores(matrix)
        scores = self._adaptation.corrected(query.head, matrix, plain)
        sure = plain if self._state.contents.words.documents else plain + UNREAD
        if not self._state.now:
            sure = sure + UNLEARNED[query.head]
        if query.trace:
            swing = blame.swing(self._state, query.trace, found.files)
            scores, sure = scores + swing, sure + swing
        chances = None
        if query.again and not query.trace and len(steps := self.steps(query, now)) > 1:
            signs = sequel.signs_of(self._state, found, scores, steps, now)
            scores = self._sequel.scores(signs, words=query.head != "seed")
            chances = self._sequel.chances(scores)
        return Ranked(found, np.argsort(-scores, kind="stable"), matrix, plain, scores, sure, chances)

    def _confidences(self, query: Query, ranked: Ranked, best: Array) -> Array:
        """Return the probabilities of the `best` files.

        They are visited soon, or else part of the same work.
        """
        if ranked.chances is not None:
            return ranked.chances[best]
        # The correction learned from this user changes the order, not the share of files that are used.
        likely: Array = self._weights.calibrations[query.head](np.sort(ranked.sure[best])[::-1])
        return likely

    def steps(self, query: Query, now: int) -> list[Step]:
        """Return the session steps up to the query's file.

        There are none without a file.
        """
        if not query.seeds:
            return []
        steps = self._state.session.steps(now)
        if not steps or steps[-1].file != query.seeds[-1]:
            steps.append(Step(query.seeds[-1], edited=False))
        return steps

    def _kept(self, matrix: Array, found: Evidence) -> Array:
        """Return the indexes of the candidates to rank, including revisitable ones."""
        kept = roughly(matrix, CLOSELY)
        visited = found.sparse["interest"][0]
        if not found.query.again or not len(visited):
            return kept
        again = among(found.files, np.sort(visited)).nonzero()[0]
        return distinct(np.concatenate((kept, again)))

    def arrays(self) -> Arrays:
        corrections = self._adaptation.arrays().items()
        return {**super().arrays(), **{f"adaptation.{name}": array for name, array in corrections}}

    @classmethod
    def load(cls, path: Path, table: Weights | None = None) -> Predictor:
        """Load a saved predictor.

        Raises StoreError if the file is damaged or of another version.
        """
        arrays, _ = snapshot.read(path)
        predictor = cls(table)
        predictor._state = State.from_arrays(_under("state.", arrays))
        predictor._adaptation = Adaptation.from_arrays(_under("adaptation.", arrays))
        return predictor


def _under(prefix: str, arrays: dict[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
