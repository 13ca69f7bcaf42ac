"""A text counts with what stands around it; words weigh by how rare they are, which the index's own scores tell."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.retrieval.grains import Passage, evidence, rarities

EVEN = {"cache": 1.0, "timeout": 1.0}


def turn(number: int, *said: str, session: str | None = "s", length: int = 10, similarity: float = 0.0) -> Passage:
    return Passage(dict.fromkeys(said, 1), length, similarity, session, number)


def test_what_stands_alone_is_the_same_at_every_grain() -> None:
    [one] = evidence([Passage({"cache": 1}, 10, 0.4)], EVEN)
    assert one.own == one.window == one.wide == one.session > 0
    assert one.meaning == one.meaning_window == 0.4


def test_a_turn_says_what_the_turns_beside_it_say_in_its_own_session_alone() -> None:
    passages = [turn(1, "cache"), turn(2), turn(3, "timeout"), turn(4), turn(6), turn(2, session="other")]
    first, answer, _, after, apart, elsewhere = evidence(passages, EVEN)
    assert first.said == {"cache"}
    assert answer.own == 0.0
    assert answer.said == {"cache", "timeout"}
    assert answer.window > after.window > 0.0
    assert after.wide > 0.0
    assert apart.window == elsewhere.wide == 0.0


def test_a_session_is_worth_its_best_three_windows() -> None:
    rich = [turn(number, "cache", "timeout", session="rich") for number in (10, 20, 30, 40)]
    poor = [turn(10, "cache", "timeout", session="poor"), turn(20, session="poor")]
    *richer, poorer, _ = evidence([*rich, *poor], EVEN)
    assert [one.session for one in richer] == pytest.approx([3 * poorer.session] * len(rich))


def test_a_meaning_that_is_not_known_speaks_neither_for_nor_against() -> None:
    known, other, unknown = evidence([Passage({}, 5, 0.2), Passage({}, 5, 0.6), Passage({"cache": 1}, 5)], EVEN)
    assert (known.meaning, other.meaning) == (0.2, 0.6)
    assert unknown.meaning == pytest.approx(0.4)


def test_the_rare_word_is_told_from_the_common_one_by_the_scores() -> None:
    passages = [Passage({"the": 1}, 10), Passage({"the": 1, "zstd": 1}, 10), Passage({"zstd": 1}, 10)]
    weights = rarities(["the", "zstd"], passages, [0.5, 6.5, 6.0])
    assert weights["zstd"] == pytest.approx(12 * weights["the"], rel=0.05)


def test_a_word_that_no_text_says_is_as_rare_as_the_rarest() -> None:
    weights = rarities(["cache", "unheard"], [Passage({"cache": 1}, 10)], [3.0])
    assert weights["unheard"] == weights["cache"] > 0


def test_without_scores_all_words_weigh_the_same() -> None:
    assert rarities(["a", "b"], [Passage({"a": 1}, 3)], [None]) == {"a": 1.0, "b": 1.0}


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
def test_evidence_is_a_share_of_what_can_be_said(passages: list[Passage], scores: list[float | None]) -> None:
    weights = rarities(["a", "b", "c"], passages, scores[: len(passages)])
    assert all(math.isfinite(weight) and weight > 0 for weight in weights.values())
    for one in evidence(passages, weights):
        assert all(0.0 <= share <= 1.0 + 1e-9 for share in (one.own, one.window, one.wide, one.session))


def test_no_passages_no_evidence() -> None:
    assert evidence([], rarities(["a"], [], [])) == []
