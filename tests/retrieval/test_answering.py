"""Merging of store and memory hits: newer versions win, prefetching changes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hunchd.domain.memory import CHUNK, Kind
from hunchd.retrieval.answering import QuestionReader, build_answer, map_branch_ids, merge_chunks
from hunchd.store.database.tables import get_memory
from hunchd.store.hits import Hit, RankingHit, SearchCandidate
from hunchd.store.memory_codec import memory_to_plain
from tests.retrieval.test_ranking import NOW, memory
from tests.store.examples import found_row

WORDS = st.lists(
    st.sampled_from(["cache", "caches", "wheel", "build", "torn", "journal", "lock", "the", "of", "PagedWriter"]),
    max_size=12,
)


def get_answer(
    query: str, hits: Sequence[Hit | RankingHit], at_hand: list[Hit], readings: QuestionReader | None = None
) -> list[dict[str, Any]]:
    return build_answer(query, hits, at_hand, depth="shallow", k=5, now=NOW, readings=readings)


@given(st.lists(WORDS, min_size=1, max_size=6), WORDS)
def test_prefetched_memories_rank_like_late_ones(texts: list[list[str]], asked: list[str]) -> None:
    query, readings = " ".join(asked), QuestionReader(" ".join(asked))
    found = [
        SearchCandidate(
            json.dumps(memory_to_plain(memory(f"m{number}", " ".join(words), kind=Kind.EPISODE))),
            b"",
            3.0 - number / 9,
            0.4,
        )
        for number, words in enumerate(texts)
    ]
    readings.read([one.body for one in found[::2]])
    ahead = readings.build_glimpses([(one, ()) for one in found])
    late = [Hit(memory=get_memory(found_row(one)), lexical=one.lexical, similarity=one.similarity) for one in found]
    assert get_answer(query, ahead, [], readings) == get_answer(query, late, [])


def test_newer_memory_keeps_store_scores() -> None:
    old, readings = memory("m1", "the journal is torn"), QuestionReader("torn journal")
    new = replace(old, content="the journal was mended", updated=old.updated + timedelta(minutes=1))
    read = readings.build_glimpses([(SearchCandidate(json.dumps(memory_to_plain(old)), b"", 4.0, 0.6), ())])
    [result] = get_answer("torn journal", read, [Hit(memory=new, lexical=0.5)], readings)
    assert result.snippet == "the journal was mended"
    assert "close in meaning (0.60)" in result.reasons
    [kept] = get_answer("torn journal", read, [Hit(memory=memory("m1", "the journal", days=200))], readings)
    assert kept.snippet == "the journal is torn"


def test_document_is_shown_once_by_best_chunk() -> None:
    def part(number: int, text: str) -> Hit:
        source = {"document": "guide"}
        return Hit(memory=memory(f"guide.{number}", text, category=CHUNK, source=source), lexical=2.0, similarity=0.5)

    hits = [part(number, f"torn journal, chapter {number}") for number in range(9)]
    hits.append(Hit(memory=memory("m1", "a torn journal is cut at its last whole line"), lexical=1.0, similarity=0.4))
    results = get_answer("torn journal", hits, [])
    assert len(results) > 5  # enough for five documents
    assert [result.id for result in merge_chunks(results)] == ["guide", "m1"]


def test_only_main_facts_map_to_branch_ids() -> None:
    fact = memory("m1", "pnpm", key="package manager", value="pnpm")
    there = Hit(memory=memory("m2", "npm", key="package manager", value="npm", branch="faster"))
    episode = Hit(memory=memory("m3", "npm", kind=Kind.EPISODE))
    places = map_branch_ids("faster", [Hit(memory=fact), there, episode])
    assert list(places) == ["m1"]
    assert places["m1"] != "m1"
    assert map_branch_ids(None, [Hit(memory=fact)]) == {}
