"""Code and memories become one list, in the order that the question asks for."""

from __future__ import annotations

import pytest

from hunchd.protocol.search_results import SearchResult
from hunchd.retrieval.merging import merge_results


def result(kind: str, score: float) -> SearchResult:
    return SearchResult(id=kind, ref=None, kind=kind, title="", snippet="", source={}, score=score, reasons=[])


@pytest.mark.parametrize(
    ("intent", "first"),
    [("code", "code"), ("symbol", "code"), ("history", "episode"), ("task", "workflow")],
)
def test_merge_intent_decides_what_comes_first(intent: str, first: str) -> None:
    memories = [result("episode", 0.6), result("workflow", 0.6)]

    merged = merge_results([result("code", 0.6)], memories, intent, 10)

    assert merged[0].kind == first
    assert [one.score for one in merged] == sorted((one.score for one in merged), reverse=True)


def test_merge_keeps_the_best_k() -> None:
    assert len(merge_results([result("code", 0.6)] * 3, [result("fact", 0.9)] * 3, "code", 4)) == 4


def test_merge_task_prefers_guide_to_source() -> None:
    guide, source = result("code", 0.5), result("code", 0.6)
    guide.source["role"] = "docs"

    assert merge_results([source, guide], [], "task", 2)[1].score == merge_results([source], [], "task", 1)[0].score
    assert merge_results([source, guide], [], "code", 2)[0].score == merge_results([source], [], "code", 1)[0].score
