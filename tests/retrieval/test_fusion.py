"""What was found by word and what was found by meaning, in one order."""

from __future__ import annotations

from hunchd.retrieval.fusion import best, fused


def test_a_text_that_alone_says_the_word_is_chosen_before_all_that_are_only_near() -> None:
    near = [(f"near{number}", 0.0, 0.3 - number / 1_000) for number in range(90)]

    assert "said" in best(40)([*near, ("said", 7.8, None)])
    assert fused([("said", 7.8, None), *near])[0][0] == "said"


def test_what_one_way_did_not_find_counts_as_its_worst() -> None:
    order = [key for key, _ in fused([("both", 5.0, 0.6), ("word", 4.0, None), ("near", None, 0.5)])]

    assert order[0] == "both"


def test_nothing_is_no_order_and_one_is_one() -> None:
    assert fused([]) == []
    assert fused([("only", None, None)]) == [("only", 0.0)]
