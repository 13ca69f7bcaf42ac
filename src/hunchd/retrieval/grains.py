"""Passage scoring by itself, with neighbours and by session. Pure.

A turn of a conversation seldom answers alone: the word in question is often in the turn before. So a passage is
scored by BM25 alone, with one neighbour on either side and with two, and a session by its best three windows. A
passage without neighbours has the same score at every level.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from hunchd.text.bm25 import LARGEST_GAIN, length_norms

BEST_OF_SESSION: Final = 3  # windows
_ROUNDS: Final = 8  # iterations after which the weights hardly change

Table = npt.NDArray[np.float64]


class Passage(NamedTuple):
    """Term counts and length of one text."""

    said: Mapping[str, int]
    length: int
    similarity: float | None = None  # to the question, -1..1; None: not known
    session: str | None = None
    number: int = 0  # its place in the session

    @property
    def place(self) -> tuple[str, int] | None:
        return None if self.session is None else (self.session, self.number)


class Spoken(NamedTuple):
    """Passages with a matrix of term counts.

    One row per passage, one column per word.
    """

    passages: Sequence[Passage]
    words: Sequence[str]
    counts: Table
    lengths: Table


class Evidence(NamedTuple):
    """Scores of each passage, 0..1, by window size and by meaning.

    Words are weighted by rarity.
    """

    own: Table
    window: Table  # with a neighbour on either side
    wide: Table  # with two
    session: Table  # its best three windows, on average
    meaning: Table
    meaning_window: Table
    said: npt.NDArray[np.bool_]  # by passage and word: True if the window has the word


def spoken(passages: Sequence[Passage], words: Sequence[str]) -> Spoken:
    """Build the matrix of term counts."""
    counts = np.zeros((len(passages), len(words)))
    places = {word: place for place, word in enumerate(words)}
    for row, one in enumerate(passages):
        for word, times in one.said.items():
            counts[row, places[word]] = times
    return Spoken(passages, words, counts, np.array([one.length for one in passages], np.float64))


def rarities(told: Spoken, scores: Sequence[float | None]) -> Table:
    """Estimate the weight of each word from the scores of the index.

    The index knows how rare a word is among all texts but reports only each text's score; the weights that explain
    these scores are found by multiplicative updates. A word in none of the texts counts as rare.
    """
    reward = np.array(scores, np.float64)  # None: not a number
    scored = (reward > 0) & told.counts.any(axis=1)
    gains = _gains(told.counts[scored], told.lengths[scored], _mean(told.lengths))
    reward = reward[scored]
    reach = gains.sum(axis=0)
    reached = reach > 0
    reach[~reached] = 1.0
    weights = np.ones(len(told.words))
    for _ in range(_ROUNDS):
        ratios = reward / np.maximum((gains * weights).sum(axis=1), 1e-9)
        explained = (gains * ratios[:, None]).sum(axis=0)
        weights = np.where(reached, np.maximum(weights * explained / reach, 1e-3), weights)
    return np.where(reached, weights, weights[reached].max() if reached.any() else 1.0)


def evidence(told: Spoken, weights: Table) -> Evidence:
    """Score each passage, in order."""
    passages, counts, lengths = told.passages, told.counts, told.lengths
    own, meaning = _scores(counts, lengths, weights), _meanings(told, weights)
    at = {one.place: index for index, one in enumerate(passages) if one.place is not None}
    if not at:
        return Evidence(own, own, own, own, meaning, meaning, counts > 0)
    before, previous, itself, following, behind = _around(passages, at).T
    nothing = np.zeros((1, counts.shape[1]))
    counts, lengths = np.concatenate([counts, nothing]), np.append(lengths, 0.0)
    near, near_lengths = (one[previous] + one[itself] + one[following] for one in (counts, lengths))
    window = _scores(near, near_lengths, weights)
    wide = _scores(near + counts[before] + counts[behind], near_lengths + lengths[before] + lengths[behind], weights)
    meanings = np.append(meaning, 0.0)
    together = meanings[previous] + meanings[itself] + meanings[following]
    members = 1 + (previous < len(passages)) + (following < len(passages))
    return Evidence(own, window, wide, _of_sessions(passages, own, window), meaning, together / members, near > 0)


def _meanings(told: Spoken, weights: Table) -> Table:
    """Return the similarities, with estimates for missing ones.

    A text that was just added has no vector yet: it gets the median similarity of texts that say no more of the
    question; otherwise it would rank behind everything that says half of it. Other unknown values are neutral: the
    mean.
    """
    similarity = np.array([one.similarity for one in told.passages], np.float64)  # None: not a number
    unknown = np.isnan(similarity)
    if not unknown.any():
        return similarity
    own = (told.counts > 0) @ weights
    measured = ~unknown & (own > 0)
    for at in np.flatnonzero(unknown & (own > 0)).tolist():
        near = np.sort(similarity[measured & (own <= own[at])])
        if near.size:
            similarity[at] = near[near.size // 2]
    unknown = np.isnan(similarity)
    known = similarity[~unknown].tolist()
    similarity[unknown] = sum(known) / len(known) if known else 0.0
    return similarity


def _around(passages: Sequence[Passage], at: Mapping[tuple[str, int], int]) -> npt.NDArray[np.intp]:
    """Return the neighbours of each passage, two on either side.

    The number of passages stands for none.
    """
    none = len(passages)
    return np.array(
        [
            [none, none, index, none, none]
            if one.session is None
            else [at.get((one.session, place), none) for place in range(one.number - 2, one.number + 3)]
            for index, one in enumerate(passages)
        ],
        np.intp,
    )


def _scores(counts: Table, lengths: Table, weights: Table) -> Table:
    """Return BM25 of each row as a share of the maximum."""
    most = weights.sum() * LARGEST_GAIN
    if not len(lengths) or not most:
        return np.zeros(len(lengths))
    # Row by row, so that equal texts have equal scores: a matrix product may round each row differently.
    found: Table = (_gains(counts, lengths, _mean(lengths)) * weights).sum(axis=1) / most
    return found


def _of_sessions(passages: Sequence[Passage], own: Table, windows: Table) -> Table:
    """Return the score of each passage's session.

    One without a session keeps its own score.
    """
    found: defaultdict[str, list[float]] = defaultdict(list)
    for one, score in zip(passages, windows.tolist(), strict=True):
        if one.session is not None:
            found[one.session].append(score)
    worth = {
        session: sum(sorted(scores, reverse=True)[:BEST_OF_SESSION]) / BEST_OF_SESSION
        for session, scores in found.items()
    }
    alone = zip(passages, own.tolist(), strict=True)
    return np.array([score if one.session is None else worth[one.session] for one, score in alone])


def _gains(counts: Table, lengths: Table, mean: float) -> Table:
    found: Table = counts * LARGEST_GAIN / (counts + length_norms(lengths, max(mean, 1.0))[:, None])
    return found


def _mean(lengths: Table) -> float:
    return float(lengths.mean()) if len(lengths) else 1.0
