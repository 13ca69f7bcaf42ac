"""One text at several grains: by itself, with its neighbours, in its session; what each says of a question. Pure.

A turn of a conversation seldom answers by itself: the word that was asked for stands in the turn before. So a passage
is scored by BM25 alone, with one neighbour on either side and with two, and a session by its best three windows. What
has no neighbours is the same at every grain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SATURATION: Final = 1.2  # the usual constants of BM25
LENGTH_WEIGHT: Final = 0.75
BEST_OF_SESSION: Final = 3  # windows
_ROUNDS: Final = 8  # after which the weights of words hardly change
_FULL: Final = SATURATION + 1.0  # what a word counts that is said without end


@dataclass(frozen=True, slots=True)
class Passage:
    """What one text says of a question: how often which words that were asked, in how many words altogether."""

    said: Mapping[str, int]
    length: int
    similarity: float | None = None  # to the question, -1..1; None: not known
    session: str | None = None
    number: int = 0  # its place in the session

    @property
    def place(self) -> tuple[str, int] | None:
        return None if self.session is None else (self.session, self.number)


@dataclass(frozen=True, slots=True)
class Evidence:
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
        (passage, score) for passage, score in zip(passages, scores, strict=True) if score is not None and score > 0
    ]
    mean = _mean_length(passages)
    gains = [
        ({word: _gain(times, one.length, mean) for word, times in one.said.items()}, score) for one, score in scored
    ]
    gains = [(gain, score) for gain, score in gains if gain]
    weights = dict.fromkeys(asked, 1.0)
    reach: defaultdict[str, float] = defaultdict(float)
    for gain, _ in gains:
        for word, by in gain.items():
            reach[word] += by
    for _ in range(_ROUNDS):
        explained: defaultdict[str, float] = defaultdict(float)
        for gain, score in gains:
            ratio = score / max(sum(weights[word] * by for word, by in gain.items()), 1e-9)
            for word, by in gain.items():
                explained[word] += by * ratio
        weights |= {word: max(weights[word] * explained[word] / by, 1e-3) for word, by in reach.items()}
    heaviest = max((weights[word] for word in reach), default=1.0)
    return {word: weight if word in reach else heaviest for word, weight in weights.items()}


def evidence(passages: Sequence[Passage], weights: Mapping[str, float]) -> list[Evidence]:
    """What speaks for each passage, in their order."""
    at = {one.place: index for index, one in enumerate(passages) if one.place is not None}
    known = [one.similarity for one in passages if one.similarity is not None]
    unknown = sum(known) / len(known) if known else 0.0  # neither for nor against
    near = [_beside(passages, at, index, 1) for index in range(len(passages))]
    wide = [_beside(passages, at, index, 2) for index in range(len(passages))]
    own = _scores([[index] for index in range(len(passages))], passages, weights)
    windows, wides = (_scores(near, passages, weights), _scores(wide, passages, weights)) if at else (own, own)
    meanings = [unknown if one.similarity is None else one.similarity for one in passages]
    sessions = _sessions(passages, windows)
    return [
        Evidence(
            own[index],
            windows[index],
            wides[index],
            sessions.get(one.session, windows[index]) if one.session is not None else own[index],
            meanings[index],
            sum(meanings[other] for other in near[index]) / len(near[index]),
            frozenset(word for other in near[index] for word in passages[other].said),
        )
        for index, one in enumerate(passages)
    ]


def _beside(passages: Sequence[Passage], at: Mapping[tuple[str, int], int], index: int, reach: int) -> list[int]:
    """The passage and those around it that are at hand."""
    one = passages[index]
    if one.session is None:
        return [index]
    places = ((one.session, one.number + step) for step in range(-reach, reach + 1))
    return [at[place] for place in places if place in at]


def _scores(groups: Sequence[Sequence[int]], passages: Sequence[Passage], weights: Mapping[str, float]) -> list[float]:
    """BM25 of the joined texts of each group, as a share of what a text could have at most."""
    most = sum(weights.values()) * _FULL
    lengths = [sum(passages[index].length for index in group) for group in groups]
    mean = sum(lengths) / len(lengths) if lengths else 1.0
    scores = []
    for group, length in zip(groups, lengths, strict=True):
        said: defaultdict[str, int] = defaultdict(int)
        for index in group:
            for word, times in passages[index].said.items():
                said[word] += times
        scores.append(
            sum(weights[word] * _gain(times, length, mean) for word, times in said.items()) / most if most else 0.0
        )
    return scores


def _sessions(passages: Sequence[Passage], windows: Sequence[float]) -> dict[str, float]:
    found: defaultdict[str, list[float]] = defaultdict(list)
    for one, score in zip(passages, windows, strict=True):
        if one.session is not None:
            found[one.session].append(score)
    return {
        session: sum(sorted(scores, reverse=True)[:BEST_OF_SESSION]) / BEST_OF_SESSION
        for session, scores in found.items()
    }


def _gain(times: int, length: int, mean: float) -> float:
    return times * _FULL / (times + SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length / max(mean, 1.0)))


def _mean_length(passages: Sequence[Passage]) -> float:
    return sum(one.length for one in passages) / len(passages) if passages else 1.0
