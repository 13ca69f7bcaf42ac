"""Predictor for one project: the entry point of this package."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hunchd.domain.context import Focus, PredictedFile, Prediction
from hunchd.prediction import array_file, error_evidence, related_units, session_reranker, weights
from hunchd.prediction.candidates import QueryEvidence, gather_candidates
from hunchd.prediction.evidence import find_linking_names
from hunchd.prediction.expected import find_expected_files
from hunchd.prediction.features import compute_features
from hunchd.prediction.file_table import TEST
from hunchd.prediction.learner import Learner
from hunchd.prediction.online_correction import OnlineCorrection
from hunchd.prediction.packed_arrays import Array, Arrays, mask_members, sort_distinct
from hunchd.prediction.precedents import find_precedent
from hunchd.prediction.query import PredictionQuery, build_query
from hunchd.prediction.ranking import preselect_rows
from hunchd.prediction.reasons import Reason, ReasonBuilder
from hunchd.prediction.session import FileVisit, SessionEvent
from hunchd.prediction.session_reranker import SessionReranker
from hunchd.prediction.state import PredictorState
from hunchd.prediction.weights import RankerWeights
from hunchd.prediction.words import hash_word

MAX_RANKED = 64  # candidates scored by the trained ranker; 48 or 150 give the same results
# Correction of scores before any file was read, when content features are missing. With it, predicted and actual
# use agree (four projects of the development set, fresh models of 300 units, before their test windows: without it 3 %
# were predicted where 13 % were used).
UNREAD_CORRECTION = 3.0
# The same before any unit was learned, when a lack of co-change says nothing. It is the difference between these
# scores and those of the boosted trees used before, which did separate such a project's next file from the rest.
UNLEARNED_CORRECTION = {"seed": 3.0, "text": 1.5, "both": 1.0}
MAX_SERVED = 20  # predictions kept to learn from their outcome


@dataclass(frozen=True, slots=True)
class ServedPrediction:
    """Prediction that was returned to a client, kept to learn from its outcome."""

    head: str
    files: Array
    matrix: Array
    scores: Array


@dataclass(frozen=True, slots=True)
class RankedCandidates:
    """Candidates, best first, with their features and scores.

    `uncorrected_scores` are the scores before the online correction, and `calibration_scores` are those that are
    calibrated to probabilities. `visit_probabilities` are the probabilities that each file is visited soon; they
    are None unless the query asks for the next file in a session.
    """

    evidence: QueryEvidence
    order: Array
    matrix: Array
    uncorrected_scores: Array
    scores: Array
    calibration_scores: Array
    visit_probabilities: Array | None = None


class Predictor(Learner):
    """Predictor of needed files and relevant past units of work for a focus."""

    def __init__(self, table: RankerWeights | None = None, session_table: SessionReranker | None = None) -> None:
        super().__init__()
        self._weights = weights.load_shipped() if table is None else table
        self._session_reranker = session_reranker.load_shipped() if session_table is None else session_table
        self._online_correction = OnlineCorrection()
        self._served_predictions: deque[ServedPrediction] = deque(maxlen=MAX_SERVED)

    def record_event(self, event: SessionEvent) -> None:
        """Record an event in the session.

        An event says that a file was opened, saved, closed, used or reported in an error, or that a branch was
        checked out.
        """
        file = self._state.files.numbers.get(event.path) if event.path else None
        self._state.session.record_event(event, file)

    def record_outcome(self, path: str, *, was_used: bool) -> None:
        """Learn from whether a suggested file was used.

        The newest prediction that contained the file serves as the training example. Nothing is learned from an
        ignored suggestion alone, because it may have been ignored only for its low rank.
        """
        file = self._state.files.numbers.get(path)
        if file is None or not was_used:
            return
        for served_prediction in reversed(self._served_predictions):
            hits = served_prediction.files == file
            if hits.any():
                self._online_correction.learn_from_query(
                    served_prediction.head, served_prediction.matrix, served_prediction.scores, hits
                )
                return

    def predict(self, focus: Focus, *, now: int, k: int = 20, explain: bool = True) -> Prediction:
        """Return the `k` most likely files, and the relevant past units of work.

        Files that are already open are never returned. `now` is in seconds since the epoch; without `explain`,
        neither reasons nor past units are returned.
        """
        query = build_query(focus, self._state)
        ranking = self.rank_candidates(query, now)
        best = ranking.order[:k]
        confidences = self._compute_confidences(query, ranking, best)
        numbers = ranking.evidence.files[best].tolist()
        why: list[list[Reason]] = [[]] * len(numbers)
        if explain:
            current_file = self._state.files.numbers.get(focus.file) if focus.file else None
            reasons = ReasonBuilder(self._state, ranking.evidence, here=current_file, named_files=numbers)
            why = [
                reasons.build_reasons(file, row)
                for file, row in zip(numbers, ranking.matrix[best].tolist(), strict=True)
            ]
        paths = self._state.files.paths
        files = tuple(
            PredictedFile(
                paths[number],
                score,
                round(confidence, 4),
                tuple(reason.text for reason in reason_texts),
                any(reason.is_specific for reason in reason_texts),
            )
            for number, score, confidence, reason_texts in zip(
                numbers, ranking.scores[best].tolist(), confidences.tolist(), why, strict=True
            )
        )
        if len(best):
            served_places = ranking.order[: max(k, 40)]
            self._served_predictions.append(
                ServedPrediction(
                    query.head,
                    ranking.evidence.files[served_places],
                    ranking.matrix[served_places],
                    ranking.uncorrected_scores[served_places],
                )
            )
        return Prediction(
            files,
            related_units.recall_units(self._state, query, ranking.evidence, now) if explain else (),
            max((file.confidence for file in files), default=0.0),
            find_expected_files(self._state, query) if explain else (),
            find_precedent(self._state, query.seeds[-1], now) if explain and query.seeds else None,
        )

    def select_used_names(self, file: str, path: str, names: Iterable[str]) -> frozenset[str]:
        """Return the names that `file` uses from `path`.

        They are selected from `names`, which `path` defines.
        """
        numbers = self._state.files.numbers
        if file not in numbers or path not in numbers:
            return frozenset()
        keys = set(find_linking_names(self._state, numbers[file], numbers[path]).tolist())
        return frozenset(name for name in names if hash_word(name) in keys) if keys else frozenset()

    def has_tests_beside(self, path: str) -> bool:
        """Return True if `path` is a test, or a test is in its folder."""
        files, number = self.state.files, self.state.files.numbers.get(path)
        if number is None:
            return False
        beside = (files.folder.view == files.folder.view[number]) & files.alive.view
        return bool((beside & ((files.traits.view & TEST) > 0)).any())

    def score_files(self, focus: Focus, *, now: int, k: int) -> dict[str, float]:
        """Map the `k` best files to their scores.

        Unlike `predict`, this method does not record its prediction, so nothing is learned from the outcome.
        """
        ranked_candidates = self.rank_candidates(build_query(focus, self._state), now)
        best = ranked_candidates.order[:k]
        paths = self._state.files.paths
        files = ranked_candidates.evidence.files[best].tolist()
        return {paths[file]: score for file, score in zip(files, ranked_candidates.scores[best].tolist(), strict=True)}

    def rank_candidates(self, query: PredictionQuery, now: int) -> RankedCandidates:
        """Rank the candidates for a query, and return them with their features."""
        query_evidence = gather_candidates(self._state, query, now)
        matrix = compute_features(self._state, query_evidence)
        selected_rows = self._select_candidates(matrix, query_evidence)
        query_evidence.files, matrix = query_evidence.files[selected_rows], matrix[selected_rows]
        uncorrected_scores = self._weights.heads[query.head].compute_scores(matrix)
        scores = self._online_correction.correct_scores(query.head, matrix, uncorrected_scores)
        calibration_scores = (
            uncorrected_scores if self._state.contents.words.documents else uncorrected_scores + UNREAD_CORRECTION
        )
        if not self._state.unit_count:
            calibration_scores = calibration_scores + UNLEARNED_CORRECTION[query.head]
        if query.trace:
            swing = error_evidence.compute_swing(self._state, query.trace, query_evidence.files)
            scores, calibration_scores = scores + swing, calibration_scores + swing
        chances = None
        if query.allows_revisits and not query.trace and len(steps := self.list_session_steps(query, now)) > 1:
            signs = session_reranker.compute_signs(self._state, query_evidence, scores, steps, now)
            scores = self._session_reranker.compute_scores(signs, words=query.head != "seed")
            chances = self._session_reranker.compute_probabilities(scores)
        return RankedCandidates(
            query_evidence,
            np.argsort(-scores, kind="stable"),
            matrix,
            uncorrected_scores,
            scores,
            calibration_scores,
            chances,
        )

    def _compute_confidences(self, query: PredictionQuery, ranking: RankedCandidates, best: Array) -> Array:
        """Return the probability of each of the `best` files.

        For the next file in a session, this is the probability that a file is visited soon; for other queries, it
        is the probability that a file belongs to the same work.
        """
        if ranking.visit_probabilities is not None:
            return ranking.visit_probabilities[best]
        # The correction learned from this user changes the order, not the share of files that are used.
        likely: Array = self._weights.calibrations[query.head](np.sort(ranking.calibration_scores[best])[::-1])
        return likely

    def list_session_steps(self, query: PredictionQuery, now: int) -> list[FileVisit]:
        """Return the steps of the session, ending at the query's file.

        The query's file is its newest open file. Returns an empty list if the query has no open file.
        """
        if not query.seeds:
            return []
        steps = self._state.session.list_steps(now)
        if not steps or steps[-1].file != query.seeds[-1]:
            steps.append(FileVisit(query.seeds[-1], was_edited=False))
        return steps

    def _select_candidates(self, matrix: Array, query_evidence: QueryEvidence) -> Array:
        """Return the indexes of the candidates to rank.

        The candidates include files that may be revisited.
        """
        selected_rows = preselect_rows(matrix, MAX_RANKED)
        visited_files = query_evidence.sparse["interest"][0]
        if not query_evidence.query.allows_revisits or not len(visited_files):
            return selected_rows
        revisited_rows = mask_members(query_evidence.files, np.sort(visited_files)).nonzero()[0]
        return sort_distinct(np.concatenate((selected_rows, revisited_rows)))

    def to_arrays(self) -> Arrays:
        corrections = self._online_correction.to_arrays().items()
        return {**super().to_arrays(), **{f"adaptation.{name}": array for name, array in corrections}}

    @classmethod
    def load(cls, path: Path, table: RankerWeights | None = None) -> Predictor:
        """Load a saved predictor.

        Raises StoreError if the file is damaged or was written by a different version.
        """
        arrays, _ = array_file.read_arrays(path)
        predictor = cls(table)
        predictor._state = PredictorState.from_arrays(_select_prefix("state.", arrays))
        predictor._online_correction = OnlineCorrection.from_arrays(_select_prefix("adaptation.", arrays))
        return predictor


def _select_prefix(prefix: str, arrays: dict[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
