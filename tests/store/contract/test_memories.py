"""Contract: memories are put, read, listed and deleted by id and filter."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hunchd.domain.errors import InvalidInput
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Status
from hunchd.store.memory_codec import memory_from_plain
from hunchd.store.port import MemoryStore, StoreQuery
from tests.store.contract.conftest import Opener
from tests.store.examples import NOON, full_memory, memory

P = Filters(project="p")


async def test_get_returns_memories_unchanged(store: MemoryStore) -> None:
    odd = memory(3, 'a heron said "\\ \u2028 {}"\n\x00 and \U0001f426', source={"nested": {"quote": '"', "none": None}})
    await store.put([full_memory(), odd])
    assert await store.get(["m3", "nothing", "m7", "m3"], "p") == [odd, full_memory()]


async def test_get_respects_the_owner(store: MemoryStore) -> None:
    own = memory(1, "the user's own", project=None)
    await store.put([own, memory(1, "the project's"), memory(2, project="q")])
    assert await store.get(["m1", "m2"], None) == [own]
    assert [one.content for one in await store.get(["m1", "m2"], "p")] == ["the project's"]


async def test_put_again_overwrites(store: MemoryStore) -> None:
    await store.put([memory(1, "first")])
    changed = memory(1, "second", status=Status.SUSPECT)
    for _ in range(2):
        await store.put([changed])
    assert await store.get(["m1"], "p") == [changed]
    assert (await store.list(P, 5)).total == 0  # only active ones pass
    assert (await store.list(replace(P, statuses=()), 5)).items == (changed,)


async def test_put_memories_survive_reopening(open_store: Opener) -> None:
    given = [memory(n) for n in range(3)]
    await (await open_store()).put(given)
    again = await open_store()
    assert await again.get(["m0", "m1", "m2"], "p") == given
    assert await again.list_owners() == ["p"]


async def test_unknown_owner_has_nothing(store: MemoryStore) -> None:
    assert await store.get(["m1"], "unknown") == []
    assert (await store.list(Filters(project="unknown"), 5)).total == 0
    assert (await store.search(StoreQuery("anything", Filters(project="unknown"), 5))).hits == ()
    assert await store.delete(["m1"], "unknown") == 0
    assert [batch async for batch in store.stream_memories("unknown")] == []
    assert list(await store.list_owners()) == []


async def test_list_pages_newest_first(store: MemoryStore) -> None:
    same_time = [memory(9, id=f"same{n}") for n in range(3)]
    given = [memory(n) for n in range(6)] + same_time
    await store.put(given)
    seen, cursor = [], None
    while True:
        page = await store.list(P, 2, cursor)
        assert page.total == len(given)
        seen += [one.id for one in page.items]
        if (cursor := page.next) is None:
            break
    assert seen == ["same0", "same1", "same2", "m5", "m4", "m3", "m2", "m1", "m0"]


@pytest.mark.parametrize("cursor", ["[1", "{}", '["a", "b"]', "[true, 1]"])
async def test_list_foreign_cursor_raises_invalid(store: MemoryStore, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="cursor"):
        await store.list(P, 5, cursor)


@pytest.mark.parametrize(
    "filters",
    [
        Filters(project="p", kinds=(Kind.FACT,), statuses=()),
        Filters(project="p", tags=("db",)),
        Filters(project="p", key="database"),
        Filters(project="p", category="decision"),
        Filters(project="p", path_prefix="docs/"),
        Filters(project="p", branch="main", kinds=(Kind.FACT,)),
        Filters(project="p", until=NOON + timedelta(minutes=7), since=NOON + timedelta(minutes=7)),
        Filters(project="p", as_of=NOON, kinds=(Kind.FACT,)),
        Filters(project="p", family="m7"),
    ],
    ids=["kinds", "tags", "key", "category", "path_prefix", "branch", "since", "as_of", "family"],
)
async def test_filters_select_one_memory(store: MemoryStore, filters: Filters) -> None:
    await store.put([full_memory(), *(memory(n) for n in range(20, 24)), memory(1, kind=Kind.DOCUMENT)])
    page = await store.list(filters, 9)
    assert page.items == (full_memory(),)
    assert page.total == 1


async def test_delete_hides_memories_at_once(store: MemoryStore) -> None:
    await store.put([memory(1, "the journal was torn"), memory(2)])
    assert await store.delete(["m1", "nothing"], "p") == 1
    assert [one.id for one in (await store.list(P, 5)).items] == ["m2"]
    assert (await store.search(StoreQuery("torn journal", P, 5))).hits == ()
    await store.put([memory(1, "is back")])
    await store.purge("p")
    assert [one.content for one in await store.get(["m1"], "p")] == ["is back"]


async def test_stream_memories_yields_each_once(store: MemoryStore) -> None:
    given = [memory(n) for n in range(120)]
    await store.put([*given, memory(1, project="q")])
    streamed = [memory_from_plain(raw) async for batch in store.stream_memories("p") for raw in batch.memories]
    assert sorted(streamed, key=lambda one: one.at) == given


async def test_upkeep_changes_no_memory(store: MemoryStore) -> None:
    given = [memory(n) for n in range(40)]
    for one in given:
        await store.put([one])
    await store.delete(["m0"], "p")
    await store.optimise()
    await store.snapshot(2)
    await store.purge("p")
    assert (await store.list(P, 50)).items == tuple(reversed(given[1:]))
    assert [hit.memory for hit in (await store.search(StoreQuery("episode 17", P, 1))).hits] == [given[17]]


async def test_stats_count_memories_by_owner(store: MemoryStore) -> None:
    await store.put([memory(1), memory(2), memory(3, project="q")])
    assert store.is_stats_outdated
    stats = await store.fetch_stats()
    assert (stats.rows, stats.degraded, stats.pending_embeddings) == (3, [], 0)
    assert {owner: (one["rows"], one["embedded"]) for owner, one in stats.projects.items()} == {
        "p": (2, 0),
        "q": (1, 0),
    }
    assert not store.is_stats_outdated
    assert store.pending_embeddings == 0


async def test_tokens_count_active_memories(store: MemoryStore) -> None:
    assert await store.count_tokens() == 0
    text = "The basket holds the items of one customer. " * 20
    await store.put([memory(1, text), memory(2, text), memory(3, text, status=Status.ARCHIVED)])
    one = await store.count_tokens() / 2
    assert len(text) / 8 < one < len(text) / 2
