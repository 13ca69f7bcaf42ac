"""Scoring of passages by themselves, with their neighbours, and by session; without I/O.

A passage is a text to be searched, such as a message. A turn of a conversation is seldom an answer by itself,
because the word that the question asks about is often in the turn before. Each passage therefore has three BM25
scores: by itself, in a window with one neighbour on either side, and in a window with two neighbours on either
side. A session is scored by its best three windows. A passage without neighbours has the same score for every
window size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from hunchd.text.bm25 import LARGEST_GAIN, compute_length_norms

MAX_SESSION_WINDOWS: Final = 3  # windows
_ROUNDS: Final = 8  # iterations after which the weights hardly change

Table = npt.NDArray[np.float64]


class Passage(NamedTuple):
    """Text to be scored, represented by its term counts and its length."""

    counts: Mapping[str, int]
    length: int
    similarity: float | None = None  # similarity to the question, -1..1; None: unknown
    session: str | None = None
    number: int = 0  # position in the session

    @property
    def position(self) -> tuple[str, int] | None:
        return None if self.session is None else (self.session, self.number)


class TermMatrix(NamedTuple):
    """Passages with the matrix of their term counts.

    The matrix has one row for each passage and one column for each word.
    """

    passages: Sequence[Passage]
    words: Sequence[str]
    counts: Table
    lengths: Table


class PassageScores(NamedTuple):
    """Scores of all passages: one array for each kind of score.

    Scores are between 0 and 1. Passages are scored by words (at three window sizes and by session) and by meaning.
    Rare words have more weight.
    """

    own: Table
    window: Table  # with a neighbour on either side
    wide: Table  # with two neighbours on either side
    session: Table  # mean of the session's best three windows
    meaning: Table
    meaning_window: Table
    covers: npt.NDArray[np.bool_]  # by passage and word: True if the window contains the word


def build_term_matrix(passages: Sequence[Passage], words: Sequence[str]) -> TermMatrix:
    """Build the matrix with the counts of `words` in each passage."""
    counts = np.zeros((len(passages), len(words)))
    places = {word: place for place, word in enumerate(words)}
    for row, one in enumerate(passages):
        for word, times in one.counts.items():
            counts[row, places[word]] = times
    return TermMatrix(passages, words, counts, np.array([one.length for one in passages], np.float64))


def estimate_rarities(matrix: TermMatrix, scores: Sequence[float | None]) -> Table:
    """Estimate the weight of each word from the scores that the index returned.

    The index knows how rare a word is among all texts, but reports only the score of each text. The weights that
    best explain these scores are found by multiplicative updates. A word that occurs in none of the texts counts as
    rare.
    """
    reward = np.array(scores, np.float64)  # None: not a number
    is_scored = (reward > 0) & matrix.counts.any(axis=1)
    gains = _compute_gains(matrix.counts[is_scored], matrix.lengths[is_scored], _mean_length(matrix.lengths))
    reward = reward[is_scored]
    gain_sums = gains.sum(axis=0)
    has_gain = gain_sums > 0
    gain_sums[~has_gain] = 1.0
    weights = np.ones(len(matrix.words))
    for _ in range(_ROUNDS):
        ratios = reward / np.maximum((gains * weights).sum(axis=1), 1e-9)
        explained_gains = (gains * ratios[:, None]).sum(axis=0)
        weights = np.where(has_gain, np.maximum(weights * explained_gains / gain_sums, 1e-3), weights)
    return np.where(has_gain, weights, weights[has_gain].max() if has_gain.any() else 1.0)


def score_passages(matrix: TermMatrix, weights: Table) -> PassageScores:
    """Return the scores of all passages, in their order in the matrix.

    `weights` has one weight for each word.
    """
    passages, counts, lengths = matrix.passages, matrix.counts, matrix.lengths
    own_scores, meaning = _score_rows(counts, lengths, weights), _fill_similarities(matrix, weights)
    at = {one.position: index for index, one in enumerate(passages) if one.position is not None}
    if not at:
        return PassageScores(own_scores, own_scores, own_scores, own_scores, meaning, meaning, counts > 0)
    second_previous, previous, itself, following, second_next = _find_neighbours(passages, at).T
    nothing = np.zeros((1, counts.shape[1]))
    counts, lengths = np.concatenate([counts, nothing]), np.append(lengths, 0.0)
    window_counts, window_lengths = (one[previous] + one[itself] + one[following] for one in (counts, lengths))
    window = _score_rows(window_counts, window_lengths, weights)
    wide_scores = _score_rows(
        window_counts + counts[second_previous] + counts[second_next],
        window_lengths + lengths[second_previous] + lengths[second_next],
        weights,
    )
    meanings = np.append(meaning, 0.0)
    meaning_sums = meanings[previous] + meanings[itself] + meanings[following]
    members = 1 + (previous < len(passages)) + (following < len(passages))
    return PassageScores(
        own_scores,
        window,
        wide_scores,
        _score_sessions(passages, own_scores, window),
        meaning,
        meaning_sums / members,
        window_counts > 0,
    )


def _fill_similarities(matrix: TermMatrix, weights: Table) -> Table:
    """Return the similarities of all passages, with estimates for missing ones.

    A text that was just added has no vector yet. It gets the median similarity of the texts that contain at most as
    many of the question's words, by weight; otherwise it would rank behind all texts that contain half of the
    question. Other missing values are replaced by the mean, which is neutral.
    """
    similarity = np.array([one.similarity for one in matrix.passages], np.float64)  # None: not a number
    is_unknown = np.isnan(similarity)
    if not is_unknown.any():
        return similarity
    own_scores = (matrix.counts > 0) @ weights
    is_measured = ~is_unknown & (own_scores > 0)
    for at in np.flatnonzero(is_unknown & (own_scores > 0)).tolist():
        sorted_similarities = np.sort(similarity[is_measured & (own_scores <= own_scores[at])])
        if sorted_similarities.size:
            similarity[at] = sorted_similarities[sorted_similarities.size // 2]
    is_unknown = np.isnan(similarity)
    known_values = similarity[~is_unknown].tolist()
    similarity[is_unknown] = sum(known_values) / len(known_values) if known_values else 0.0
    return similarity


def _find_neighbours(passages: Sequence[Passage], at: Mapping[tuple[str, int], int]) -> npt.NDArray[np.intp]:
    """Return the index of each passage and of its neighbours, two on either side.

    The index of a missing neighbour is the number of passages.
    """
    missing_index = len(passages)
    return np.array(
        [
            [missing_index, missing_index, index, missing_index, missing_index]
            if one.session is None
            else [at.get((one.session, place), missing_index) for place in range(one.number - 2, one.number + 3)]
            for index, one in enumerate(passages)
        ],
        np.intp,
    )


def _score_rows(counts: Table, lengths: Table, weights: Table) -> Table:
    """Return the BM25 score of each row as a share of the maximum."""
    max_score = weights.sum() * LARGEST_GAIN
    if not len(lengths) or not max_score:
        return np.zeros(len(lengths))
    # Row by row, so that equal texts have equal scores: a matrix product may round each row differently.
    shares: Table = (_compute_gains(counts, lengths, _mean_length(lengths)) * weights).sum(axis=1) / max_score
    return shares


def _score_sessions(passages: Sequence[Passage], own_scores: Table, windows: Table) -> Table:
    """Return the score of each passage's session.

    A passage without a session keeps its own score.
    """
    scores_by_session: defaultdict[str, list[float]] = defaultdict(list)
    for one, score in zip(passages, windows.tolist(), strict=True):
        if one.session is not None:
            scores_by_session[one.session].append(score)
    score_by_session = {
        session: sum(sorted(scores, reverse=True)[:MAX_SESSION_WINDOWS]) / MAX_SESSION_WINDOWS
        for session, scores in scores_by_session.items()
    }
    passages_with_scores = zip(passages, own_scores.tolist(), strict=True)
    return np.array(
        [score if one.session is None else score_by_session[one.session] for one, score in passages_with_scores]
    )


def _compute_gains(counts: Table, lengths: Table, mean: float) -> Table:
    gains: Table = counts * LARGEST_GAIN / (counts + compute_length_norms(lengths, max(mean, 1.0))[:, None])
    return gains


def _mean_length(lengths: Table) -> float:
    return float(lengths.mean()) if len(lengths) else 1.0
