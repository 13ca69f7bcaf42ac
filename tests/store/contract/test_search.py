"""Contract: memories are found by words, names and links, within filters, and ranked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hunchd.domain.facts import slot_id
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Status
from hunchd.store.hits import Hit
from hunchd.store.port import MemoryStore, RankedQuery, StoreQuery
from tests.store.examples import NOON, full_memory, memory

P = Filters(project="p")
RANKED: dict[str, Any] = {
    "k_without_messages": None,
    "depth": "shallow",
    "results": 5,
    "branch_fact_ids": (),
    "now": NOON + timedelta(days=1),
    "embedding_wait": 0.0,
}


async def test_search_finds_whole_memories(store: MemoryStore) -> None:
    odd = memory(3, 'a heron said "\\ \u2028 {}"\n\x00 and \U0001f426')
    await store.put([full_memory(), odd])
    for question, whole in (("heron", odd), ("postgres", full_memory())):
        (hit,) = (await store.search(StoreQuery(question, P, 5, k_without_messages=2))).hits
        assert (hit.memory, hit.similarity, hit.why) == (whole, None, ())
        assert hit.lexical is not None
        assert hit.lexical > 0


async def test_search_ranks_more_words_first(store: MemoryStore) -> None:
    await store.put([memory(1, "a torn page"), memory(2, "the journal was torn"), memory(3, "nothing of it")])
    hits = (await store.search(StoreQuery("torn journal", P, 5))).hits
    assert [hit.memory.id for hit in hits] == ["m2", "m1"]


async def test_search_finds_other_inflections(store: MemoryStore) -> None:
    await store.put([memory(1, "Parsers were rewritten"), memory(2, "unrelated")])
    assert [hit.memory.id for hit in (await store.search(StoreQuery("parser", P, 5))).hits] == ["m1"]


async def test_search_stays_within_filters(store: MemoryStore) -> None:
    away = [memory(1, project="q"), memory(2, project=None), memory(3, status=Status.ARCHIVED)]
    await store.put([*(one for one in away), memory(4)])
    assert [hit.memory.id for hit in (await store.search(StoreQuery("what happened", P, 9))).hits] == ["m4"]
    nothing = Filters(project="p", kinds=(Kind.FACT,))
    assert (await store.search(StoreQuery("what happened", nothing, 9))).hits == ()


async def test_search_finds_what_was_just_put(store: MemoryStore) -> None:
    for number, word in enumerate(("heron", "journal", "wheel", "cookie")):
        await store.put([memory(number, f"the {word} of its own")])
        assert [hit.memory.id for hit in (await store.search(StoreQuery(word, P, 1))).hits] == [f"m{number}"]
    await store.put([memory(0, "changed meanwhile")])
    assert (await store.search(StoreQuery("heron", P, 1))).hits == ()


async def test_specific_search_finds_names(store: MemoryStore) -> None:
    await store.put([full_memory(), *(memory(n) for n in range(20, 30))])
    for name in ("database", "adr-7", "m7"):
        assert (await store.search(StoreQuery(name, P, 3, depth="specific"))).hits[0].memory.id == "m7", name


async def test_deep_search_follows_links(store: MemoryStore) -> None:
    fix = memory(1, "rebuilt the wheel index", links=({"type": "fixes", "ref": "m2"},))
    await store.put([fix, memory(2, "segfault at start"), memory(3, "unrelated")])
    found = {hit.memory.id: hit for hit in (await store.search(StoreQuery("wheel index", P, 5, depth="deep"))).hits}
    assert found["m2"].why == ("linked to «episode 1»",)
    assert "m3" not in found


async def test_ranked_search_merges_newer_hits(store: MemoryStore) -> None:
    await store.put([memory(1, "the journal was torn"), memory(2, "unrelated")])
    newer = memory(1, "the journal was torn by a power cut", updated=NOON + timedelta(hours=1))
    new = memory(3, "a torn journal again")
    answer = await store.search_ranked(
        RankedQuery("torn journal", P, 40, **RANKED), [Hit(memory=newer), Hit(memory=new)]
    )
    assert {one.id for one in answer.results} == {"m1", "m3"}
    assert "power cut" in next(one for one in answer.results if one.id == "m1").snippet


async def test_ranked_search_drops_expired_memories(store: MemoryStore) -> None:
    await store.put([memory(1, "torn journal", kind=Kind.FACT, valid_to=NOON), memory(2, "torn journal")])
    answer = await store.search_ranked(RankedQuery("torn journal", P, 40, **RANKED), ())
    assert [one.id for one in answer.results] == ["m2"]


@pytest.mark.parametrize("is_stored", [True, False])
async def test_ranked_search_lets_branch_override(store: MemoryStore, is_stored: bool) -> None:
    fields: dict[str, Any] = {"kind": Kind.FACT, "key": "database", "category": "decision"}
    main = memory(1, "the database is postgres", **fields)
    on_branch = slot_id(project="p", scope=main.scope, category="decision", key="database", branch="sqlite")
    branch_fact = memory(2, "something else entirely", id=on_branch, branch="sqlite", **fields)
    await store.put([main, branch_fact] if is_stored else [main])
    filters = Filters(project="p", branch="sqlite")
    known = RANKED | {"branch_fact_ids": () if is_stored else (on_branch,)}
    answer = await store.search_ranked(RankedQuery("postgres database", filters, 40, **known), ())
    assert "m1" not in [one.id for one in answer.results]
