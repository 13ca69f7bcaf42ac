"""Fusion of lexical and dense scores."""

from __future__ import annotations

from hunchd.retrieval.fusion import fuse_scores, make_selector


def test_only_lexical_match_ranks_first() -> None:
    near = [(f"near{number}", 0.0, 0.3 - number / 1_000) for number in range(90)]

    assert "said" in make_selector(40)([*near, ("said", 7.8, None)])
    assert fuse_scores([("said", 7.8, None), *near])[0][0] == "said"


def test_missing_score_counts_as_lowest() -> None:
    order = [key for key, _ in fuse_scores([("both", 5.0, 0.6), ("word", 4.0, None), ("near", None, 0.5)])]

    assert order[0] == "both"


def test_empty_and_single_candidates() -> None:
    assert fuse_scores([]) == []
    assert fuse_scores([("only", None, None)]) == [("only", 0.0)]
