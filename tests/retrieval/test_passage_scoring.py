"""Passage scoring with neighbours, and word weights estimated from the index's scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.retrieval.passage_scoring import (
    Passage,
    PassageScores,
    build_term_matrix,
    estimate_rarities,
    score_passages,
)

FULL = 2.2  # limit of a word's gain
EVEN = {"cache": 1.0, "timeout": 1.0}


def turn(number: int, *said: str, session: str | None = "s", length: int = 10, similarity: float = 0.0) -> Passage:
    return Passage(dict.fromkeys(said, 1), length, similarity, session, number)


def score_with_weights(passages: list[Passage], weights: dict[str, float]) -> PassageScores:
    return score_passages(build_term_matrix(passages, list(weights)), np.array(list(weights.values())))


def rarity_by_word(asked: list[str], passages: list[Passage], scores: list[float | None]) -> dict[str, float]:
    return dict(zip(asked, estimate_rarities(build_term_matrix(passages, asked), scores).tolist(), strict=True))


def test_single_passage_scores_equally_at_all_levels() -> None:
    found = score_with_weights([Passage({"cache": 1}, 10, 0.4)], EVEN)
    assert found.own == found.window == found.wide == found.session > 0
    assert found.meaning == found.meaning_window == 0.4


def test_window_includes_neighbors_of_same_session() -> None:
    passages = [turn(1, "cache"), turn(2), turn(3, "timeout"), turn(4), turn(6), turn(2, session="other")]
    first, answer, _, after, apart, elsewhere = range(len(passages))
    found = score_with_weights(passages, EVEN)
    assert found.covers[first].tolist() == [True, False]
    assert found.own[answer] == 0.0
    assert found.covers[answer].tolist() == [True, True]
    assert found.window[answer] > found.window[after] > 0.0
    assert found.wide[after] > 0.0
    assert found.window[apart] == found.wide[elsewhere] == 0.0


def test_session_score_is_best_three_windows() -> None:
    rich = [turn(number, "cache", "timeout", session="rich") for number in (10, 20, 30, 40)]
    poor = [turn(10, "cache", "timeout", session="poor"), turn(20, session="poor")]
    *richer, poorer, _ = score_with_weights([*rich, *poor], EVEN).session.tolist()
    assert richer == pytest.approx([3 * poorer] * len(rich))


def test_missing_similarity_is_neutral() -> None:
    passages = [Passage({}, 5, 0.2), Passage({}, 5, 0.6), Passage({"cache": 1}, 5)]
    assert score_with_weights(passages, EVEN).meaning.tolist() == pytest.approx([0.2, 0.6, 0.4])


def test_meaning_window_averages_neighbors() -> None:
    passages = [turn(1, similarity=0.6), turn(2, similarity=0.3), turn(4, similarity=0.1)]
    assert score_with_weights(passages, EVEN).meaning_window.tolist() == pytest.approx([0.45, 0.45, 0.1])


def test_rare_word_gets_higher_weight() -> None:
    passages = [Passage({"the": 1}, 10), Passage({"the": 1, "zstd": 1}, 10), Passage({"zstd": 1}, 10)]
    weights = rarity_by_word(["the", "zstd"], passages, [0.5, 6.5, 6.0])
    assert weights["zstd"] == pytest.approx(12 * weights["the"], rel=0.05)


def test_unseen_word_weighs_as_rarest() -> None:
    weights = rarity_by_word(["cache", "unheard"], [Passage({"cache": 1}, 10)], [3.0])
    assert weights["unheard"] == weights["cache"] > 0


def test_weights_without_scores_are_equal() -> None:
    assert rarity_by_word(["a", "b"], [Passage({"a": 1}, 3)], [None]) == {"a": 1.0, "b": 1.0}


Passages = st.lists(
    st.builds(
        Passage,
        st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(1, 9)),
        st.integers(0, 500),
        st.none() | st.floats(-1, 1),
        st.none() | st.sampled_from(["s", "t"]),
        st.integers(1, 8),
    ),
    max_size=12,
)


@settings(deadline=None)
@given(Passages, st.lists(st.none() | st.floats(0, 40), min_size=12, max_size=12))
def test_scores_are_shares_of_maximum(passages: list[Passage], scores: list[float | None]) -> None:
    weights = rarity_by_word(["a", "b", "c"], passages, scores[: len(passages)])
    assert all(math.isfinite(weight) and weight > 0 for weight in weights.values())
    found = score_with_weights(passages, weights)
    for shares in (found.own, found.window, found.wide, found.session):
        assert len(shares) == len(passages)
        assert all(0.0 <= share <= 1.0 + 1e-9 for share in shares)


def test_no_passages_yield_no_scores() -> None:
    assert len(score_with_weights([], rarity_by_word(["a"], [], [])).own) == 0


@settings(deadline=None)
@given(Passages, st.lists(st.none() | st.floats(0.01, 40), min_size=12, max_size=12))
def test_rarities_equal_reference_implementation(passages: list[Passage], scores: list[float | None]) -> None:
    asked, scores = ["a", "b", "c", "unheard"], scores[: len(passages)]
    mean = max(sum(one.length for one in passages) / max(len(passages), 1), 1.0)
    scored = [(one, score) for one, score in zip(passages, scores, strict=True) if score and one.counts]
    weights = dict.fromkeys(asked, 1.0)
    said = {word for one, _ in scored for word in one.counts}
    for _ in range(8):
        sums = [sum(weights[word] * gain(times, one, mean) for word, times in one.counts.items()) for one, _ in scored]
        weights |= {
            word: max(
                weights[word]
                * sum(
                    gain(one.counts.get(word, 0), one, mean) * score / max(together, 1e-9)
                    for (one, score), together in zip(scored, sums, strict=True)
                )
                / sum(gain(one.counts.get(word, 0), one, mean) for one, _ in scored),
                1e-3,
            )
            for word in said
        }
    heaviest = max((weights[word] for word in said), default=1.0)
    expected = {word: weights[word] if word in said else heaviest for word in asked}
    assert rarity_by_word(asked, passages, scores) == pytest.approx(expected)


@settings(deadline=None)
@given(Passages)
def test_window_scores_equal_joined_text(passages: list[Passage]) -> None:
    weights = {"a": 3.0, "b": 1.0, "c": 0.5}
    places = [(one.session, one.number) for one in passages]
    found = score_with_weights(passages, weights)
    for reach, scores in ((0, found.own), (1, found.window), (2, found.wide)):
        joined = [
            Passage(
                {word: times for word in weights if (times := sum(other.counts.get(word, 0) for other in group))},
                sum(other.length for other in group),
            )
            for one in passages
            for group in [[one] if one.session is None or not reach else around(one, passages, places, reach)]
        ]
        mean = max(sum(one.length for one in joined) / max(len(joined), 1), 1.0)
        most = sum(weights.values()) * FULL
        expected = [sum(weights[word] * gain(n, one, mean) for word, n in one.counts.items()) / most for one in joined]
        assert scores.tolist() == pytest.approx(expected)


def gain(times: int, one: Passage, mean: float) -> float:
    return times * FULL / (times + 1.2 * (0.25 + 0.75 * one.length / mean))


def around(one: Passage, passages: list[Passage], places: list[Any], reach: int) -> list[Passage]:
    last = {place: at for at, place in enumerate(places)}
    wanted = [(one.session, one.number + step) for step in range(-reach, reach + 1)]
    return [passages[last[place]] for place in wanted if place in last]
