"""One text at several grains: by itself, with its neighbours, in its session; what each says of a question. Pure.

A turn of a conversation seldom answers by itself: the word that was asked for stands in the turn before. So a passage
is scored by BM25 alone, with one neighbour on either side and with two, and a session by its best three windows. What
has no neighbours is the same at every grain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

SATURATION: Final = 1.2  # the usual constants of BM25
LENGTH_WEIGHT: Final = 0.75
BEST_OF_SESSION: Final = 3  # windows
_ROUNDS: Final = 8  # after which the weights of words hardly change
_FULL: Final = SATURATION + 1.0  # what a word counts that is said without end

Table = npt.NDArray[np.float64]


class Passage(NamedTuple):
    """What one text says of a question: how often which words that were asked, in how many words altogether."""

    said: Mapping[str, int]
    length: int
    similarity: float | None = None  # to the question, -1..1; None: not known
    session: str | None = None
    number: int = 0  # its place in the session

    @property
    def place(self) -> tuple[str, int] | None:
        return None if self.session is None else (self.session, self.number)


class Evidence(NamedTuple):
    """How much of the question each grain says, 0..1, by how rare its words are; and how near the meaning is."""

    own: float
    window: float  # with a neighbour on either side
    wide: float  # with two
    session: float  # its best three windows, on average
    meaning: float
    meaning_window: float
    said: frozenset[str]  # words that the window says


def rarities(asked: Sequence[str], passages: Sequence[Passage], scores: Sequence[float | None]) -> dict[str, float]:
    """How much each word weighs. The index knows how rare a word is among all texts but tells only each text's score;
    the weights that explain these scores are found by multiplicative updates. A word in none of the texts is rare."""
    scored = [
        (one, score)
        for one, score in zip(passages, scores, strict=True)
        if score is not None and score > 0 and one.said
    ]
    gains = _gains(*_counts([one for one, _ in scored], asked), _mean_length(passages))
    told = np.array([score for _, score in scored])
    reach = gains.sum(axis=0)
    reached = reach > 0
    reach[~reached] = 1.0
    weights = np.ones(len(asked))
    for _ in range(_ROUNDS):
        ratios = told / np.maximum((gains * weights).sum(axis=1), 1e-9)
        explained = (gains * ratios[:, None]).sum(axis=0)
        weights = np.where(reached, np.maximum(weights * explained / reach, 1e-3), weights)
    heaviest = weights[reached].max() if reached.any() else 1.0
    return dict(zip(asked, np.where(reached, weights, heaviest).tolist(), strict=True))


def evidence(passages: Sequence[Passage], weights: Mapping[str, float]) -> list[Evidence]:
    """What speaks for each passage, in their order."""
    at = {one.place: index for index, one in enumerate(passages) if one.place is not None}
    known = [one.similarity for one in passages if one.similarity is not None]
    unknown = sum(known) / len(known) if known else 0.0  # neither for nor against
    near = [_beside(passages, at, index, 1) for index in range(len(passages))]
    counts, lengths = _counts(passages, list(weights))
    weighed = np.array(list(weights.values()))
    own = _scores(counts, lengths, weighed)
    windows, wides = own, own
    if at:
        wide = [_beside(passages, at, index, 2) for index in range(len(passages))]
        windows, wides = (_scores(*_joined(groups, counts, lengths), weighed) for groups in (near, wide))
    meanings = [unknown if one.similarity is None else one.similarity for one in passages]
    sessions = _sessions(passages, windows)
    return [
        Evidence(
            own[index],
            windows[index],
            wides[index],
            sessions.get(one.session, windows[index]) if one.session is not None else own[index],
            meanings[index],
            sum([meanings[other] for other in beside]) / len(beside),
            frozenset(
                one.said if len(beside) == 1 else chain.from_iterable([passages[other].said for other in beside])
            ),
        )
        for index, (one, beside) in enumerate(zip(passages, near, strict=True))
    ]


def _beside(passages: Sequence[Passage], at: Mapping[tuple[str, int], int], index: int, reach: int) -> list[int]:
    """The passage and those around it that are at hand."""
    one = passages[index]
    if one.session is None:
        return [index]
    places = ((one.session, one.number + step) for step in range(-reach, reach + 1))
    return [at[place] for place in places if place in at]


def _counts(passages: Sequence[Passage], words: Sequence[str]) -> tuple[Table, Table]:
    """How often each passage, a row, says each of the words; and the lengths of the passages."""
    table = np.zeros((len(passages), len(words)))
    places = {word: place for place, word in enumerate(words)}
    for row, one in enumerate(passages):
        for word, times in one.said.items():
            table[row, places[word]] = times
    return table, np.array([one.length for one in passages], np.float64)


def _joined(groups: Sequence[Sequence[int]], counts: Table, lengths: Table) -> tuple[Table, Table]:
    """The same of the passages of each group together."""
    members = [index for group in groups for index in group]
    begins = np.cumsum([0, *(len(group) for group in groups[:-1])])
    return np.add.reduceat(counts[members], begins, axis=0), np.add.reduceat(lengths[members], begins)


def _scores(counts: Table, lengths: Table, weights: Table) -> list[float]:
    """BM25 of each row, as a share of what a text could have at most."""
    most = weights.sum() * _FULL
    if not len(lengths) or not most:
        return [0.0] * len(lengths)
    # Row by row, so that equal texts have equal scores: a product of matrices may round each in its own way.
    found: list[float] = ((_gains(counts, lengths, lengths.mean()) * weights).sum(axis=1) / most).tolist()
    return found


def _sessions(passages: Sequence[Passage], windows: Sequence[float]) -> dict[str, float]:
    found: defaultdict[str, list[float]] = defaultdict(list)
    for one, score in zip(passages, windows, strict=True):
        if one.session is not None:
            found[one.session].append(score)
    return {
        session: sum(sorted(scores, reverse=True)[:BEST_OF_SESSION]) / BEST_OF_SESSION
        for session, scores in found.items()
    }


def _gains(counts: Table, lengths: Table, mean: float) -> Table:
    held_back = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * lengths / max(mean, 1.0))
    found: Table = counts * _FULL / (counts + held_back[:, None])
    return found


def _mean_length(passages: Sequence[Passage]) -> float:
    return sum(one.length for one in passages) / len(passages) if passages else 1.0
