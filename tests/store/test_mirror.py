"""Mirror of a table: queries return what the table holds, before and after compaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunchd.domain.filters import Filters
from hunchd.domain.memory import Artifact, Kind, Status
from hunchd.retrieval import fusion
from hunchd.store.database import mirror as mirrors
from hunchd.store.database.collection import Collection
from hunchd.store.database.lance import Table, create_session
from hunchd.store.database.tables import get_memory
from hunchd.store.indexes import body_cache as bodies
from hunchd.store.indexes.body_cache import BodyCache, compress_bodies
from hunchd.store.indexes.hash_index import HashIndex
from hunchd.store.indexes.vector_scan import RERANKED_VECTORS, VectorIndex
from tests.store.examples import MODEL, NOON, embedded, found_row, memory, row_of, vector_of

P = Filters(project="p")


@pytest.fixture
async def collection(tmp_path: Path) -> AsyncIterator[Collection]:
    opened = await Collection.open(tmp_path / "p", create_session())
    yield opened
    await opened.close()


def best(candidates: Any) -> list[int]:
    return [at for at, *_ in sorted(candidates, key=lambda one: -((one[1] or 0.0) + (one[2] or 0.0)))][:5]


async def found(collection: Collection, words: str, filters: Filters = P, vector: bytes | None = None) -> list[str]:
    return [found_row(one)["id"] for one in await collection.search(words, vector, MODEL, filters, 5, best)]


async def test_rows_are_found_before_and_after_compaction(collection: Collection) -> None:
    await collection.put([embedded(memory(n, f"ordinary text {n}")) for n in range(300)])
    await collection.put([embedded(memory(400, "a pelican in the cellar"))])
    await collection.optimise(force=True)
    await collection.put([embedded(memory(500, "a pelican on the roof"))])

    assert set(await found(collection, "pelican")) == {"m400", "m500"}
    nearest = await found(collection, "", P, vector_of("a pelican on the roof"))
    assert nearest[:2] == ["m500", "m400"]
    assert [row["id"] for row in await collection.get(["m400", "m500"])] == ["m400", "m500"]


async def test_path_filter_ignores_concurrent_writes(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    await collection.put([embedded(memory(1, artifacts=(Artifact("file", "src/a.py"),))), embedded(memory(3))])
    await collection.optimise(force=True)
    select = Table.select_rows

    async def meanwhile(self: Table, *asked: Any, **named: Any) -> Any:
        rows = await select(self, *asked, **named)
        await collection.put([embedded(memory(2, "of no path"))])
        return rows

    monkeypatch.setattr(Table, "select_rows", meanwhile)
    rows, total = await collection.load_page(Filters(project="p", path_prefix="src"), 5, None)
    assert ([row["id"] for row in rows], total) == (["m1"], 1)


async def test_changed_row_is_found_by_new_text(collection: Collection) -> None:
    await collection.put([embedded(memory(n, f"ordinary text {n}")) for n in range(300)])
    await collection.put([embedded(memory(400, "a unicorn"))])
    await collection.optimise(force=True)
    assert await found(collection, "unicorn") == ["m400"]
    await collection.put([embedded(memory(400, "a pelican", key="bird", tags=("feather",)))])

    for _ in range(2):
        assert await found(collection, "pelican") == ["m400"]
        assert await found(collection, "unicorn") == []
        for filters in (replace(P, key="bird"), replace(P, tags=("feather",))):
            assert [row["id"] for row in (await collection.load_page(filters, 9, None))[0]] == ["m400"]
        await collection.optimise(force=True)


async def test_deleted_rows_in_reader_are_not_found(collection: Collection) -> None:
    await collection.put([embedded(memory(n, f"pelican {n}")) for n in range(300)])
    await collection.optimise(force=True)
    assert await collection.delete([f"m{n}" for n in range(299)]) == 299

    assert await found(collection, "pelican", P, vector_of("pelican 7")) == ["m299"]
    assert (await collection.load_page(P, 10, None))[1] == 1
    assert await collection.get(["m7"]) == []


async def test_rows_beyond_max_fresh_are_found(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrors, "MAX_FRESH_ROWS", 20)
    for batch in range(6):
        await collection.put([embedded(memory(n, f"pelican{n}")) for n in range(batch * 15, batch * 15 + 15)])
    for number in (0, 40, 89):
        assert await found(collection, f"pelican{number}") == [f"m{number}"]
    assert (await collection.load_page(P, 100, None))[1] == 90


async def test_messages_are_returned_with_neighbours(
    collection: Collection,
) -> None:
    said = [replace(memory(n, f"turn {n}"), kind=Kind.MESSAGE, ref=f"session:s:{n}") for n in range(1, 301)]
    odd = replace(memory(900, "a heron"), kind=Kind.MESSAGE, ref=f"session:s:{10**20}")
    await collection.put([row_of(one) for one in [*said[:150], odd]])
    await collection.optimise(force=True)
    await collection.put([row_of(one) for one in said[150:]])
    await collection.put([row_of(replace(said[149], content="a pelican"))])

    assert set(await found(collection, "pelican")) == {f"m{n}" for n in (148, 149, 150, 151, 152)}
    assert await found(collection, "heron") == ["m900"]


async def test_word_matches_precede_vector_only_matches(collection: Collection) -> None:
    await collection.put([embedded(memory(n, f"ordinary text {n}")) for n in range(300)])
    await collection.put([row_of(memory(400 + n, "a pelican" + " and some more words" * n)) for n in range(3)])

    found = await collection.search("pelican", vector_of("ordinary text 7"), MODEL, P, 5, fusion.make_selector(5))
    assert {found_row(one)["id"] for one in found[:4]} == {"m7", "m400", "m401", "m402"}


async def test_unmerged_writes_of_earlier_process_are_compacted(tmp_path: Path) -> None:
    first = await Collection.open(tmp_path / "p", create_session())
    for number in range(60):
        await first.put([row_of(memory(number))])
    await first.close()
    second = await Collection.open(tmp_path / "p", create_session())
    assert await second.optimise(quiet=False)
    assert not await second.optimise(quiet=True)
    await second.close()


async def test_set_vectors_keeps_row_addresses(collection: Collection) -> None:
    await collection.put([row_of(memory(n, f"pelican {n}")) for n in range(300)])
    await collection.optimise(force=True)
    assert await found(collection, "", P, vector_of("pelican 7")) == []
    waiting = await collection.load_unembedded(MODEL, 400)
    assert len(waiting) == 300
    vectors = {row["id"]: (vector_of(get_memory(row).content), row["text_digest"]) for row in waiting}
    assert await collection.set_vectors(vectors, MODEL) == 300

    assert await collection.load_unembedded(MODEL, 400) == []
    assert (await found(collection, "", P, vector_of("pelican 7")))[0] == "m7"
    assert (await collection.get(["m7"]))[0]["id"] == "m7"


async def test_selective_filter_finds_matching_rows(collection: Collection) -> None:
    """Most word matches of the whole table fail the filter: the search repeats within it."""
    await collection.put([embedded(memory(n, "the common pelican")) for n in range(600)])
    rare = [embedded(memory(n, "the common pelican of a much longer text", kind=Kind.FACT)) for n in range(700, 703)]
    await collection.put(rare)
    await collection.optimise(force=True)

    only_facts = replace(P, kinds=(Kind.FACT,))
    assert set(await found(collection, "common pelican", only_facts)) == {"m700", "m701", "m702"}
    assert set(await found(collection, "", only_facts, vector_of("common pelican"))) == {"m700", "m701", "m702"}


async def test_pages_with_equal_times_continue_by_id(collection: Collection) -> None:
    rows = [row_of(replace(memory(0), id=f"x{n:03}", at=NOON + timedelta(minutes=n // 40))) for n in range(100)]
    await collection.put(rows[:70])
    await collection.optimise(force=True)
    await collection.put(rows[70:])
    seen: list[str] = []
    after = None
    while True:
        page, total = await collection.load_page(P, 7, after)
        if not page:
            break
        seen += [row["id"] for row in page]
        after = (page[-1]["at"], page[-1]["id"])
    assert total == 100
    expected = sorted(range(100), key=lambda n: (-(n // 40), n))
    assert seen == [f"x{n:03}" for n in expected]


async def test_queries_work_during_writes_and_compaction(collection: Collection) -> None:
    await collection.put([embedded(memory(n, f"pelican {n}")) for n in range(300)])
    done = asyncio.Event()

    async def write() -> None:
        for round_ in range(4):
            await collection.put([embedded(memory(1000 + round_ * 10 + n, f"heron {n}")) for n in range(10)])
            await collection.delete([f"m{1000 + round_ * 10}"])
            await collection.optimise(force=True)
        done.set()

    async def ask() -> int:
        times = 0
        while not done.is_set():
            hits = await collection.search("pelican", vector_of("pelican 7"), MODEL, P, 5, best)
            assert len(hits) == 5
            assert all("pelican" in get_memory(found_row(hit)).content for hit in hits)
            assert len(await collection.get(["m7", "m9"])) == 2
            times += 1
            await asyncio.sleep(0)
        return times

    _, asked = await asyncio.gather(write(), ask())
    assert asked > 0
    assert set(await found(collection, "heron")) <= {f"m{1000 + r * 10 + n}" for r in range(4) for n in range(1, 10)}
    assert collection.list_problems() == []


async def test_status_and_as_of_filters_match_memory(collection: Collection) -> None:
    await collection.put(
        [
            embedded(
                memory(1, "pelican", status=Status.SUPERSEDED, valid_from=NOON, valid_to=NOON + timedelta(days=1))
            ),
            embedded(memory(2, "pelican", valid_from=NOON + timedelta(days=1))),
        ]
    )
    both = (Status.ACTIVE, Status.SUPERSEDED)
    then = replace(P, statuses=both, as_of=NOON + timedelta(hours=1))
    now = replace(P, statuses=both, as_of=NOON + timedelta(days=2))
    assert await found(collection, "pelican", then) == ["m1"]
    assert await found(collection, "pelican", now) == ["m2"]
    assert await found(collection, "pelican") == ["m2"]


def test_sign_prefilter_keeps_nearest_vectors() -> None:
    chance = np.random.default_rng(5)
    centres = chance.standard_normal((200, 384))
    vectors = (centres[chance.integers(0, 200, 20_000)] + 0.9 * chance.standard_normal((20_000, 384))).astype("f4")
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    nearness = VectorIndex(384)
    nearness.put(np.arange(20_000), vectors)
    among = np.ones(20_000, np.bool_)
    assert len(among) > RERANKED_VECTORS
    hits = 0
    for asked in vectors[::1_000]:
        exact = np.argsort(-(vectors @ asked))[:20]
        slots, cosines = nearness.find_nearest(asked.astype("<f4").tobytes(), among, 20)
        hits += len(set(exact.tolist()) & set(slots.tolist()))
        assert cosines == pytest.approx((vectors @ asked)[slots], abs=0.01)
    assert hits >= 0.95 * 20 * 20


def test_nearest_respects_mask() -> None:
    chance = np.random.default_rng(5)
    vectors = chance.standard_normal((3_000, 384)).astype("f4")
    nearness = VectorIndex(384)
    nearness.put(np.arange(3_000), vectors)
    nearness.clear(np.array([4]))
    among = np.zeros(3_000, np.bool_)
    among[[4, 5, 6]] = True
    slots, _ = nearness.find_nearest(vectors[4].tobytes(), among, 10)
    assert set(slots.tolist()) == {5, 6}


def test_vector_store_without_vectors_allocates_nothing() -> None:
    nearness, vector = VectorIndex(384), np.ones((1, 384), "f4")
    nearness.reserve(2_000_000)  # of a gigabyte, if each took its room
    nearness.clear(np.array([7]))
    slots, cosines = nearness.find_nearest(vector.tobytes(), np.ones(9, np.bool_), 10)
    assert (slots.tolist(), cosines.tolist()) == ([], [])
    assert nearness.compute_similarities(np.array([3, 7]), vector.tobytes()).tolist() == [0.0, 0.0]

    nearness = VectorIndex(384)
    nearness.reserve(100)
    nearness.put(np.array([7]), vector)
    among = np.ones(100, np.bool_)
    assert nearness.find_nearest(vector.tobytes(), among, 10)[0].tolist() == [7]
    nearness.clear(np.array([7, 99]))
    assert nearness.find_nearest(vector.tobytes(), among, 10)[0].tolist() == []


def test_keys_find_all_and_last_slot() -> None:
    keys = HashIndex()
    for number in range(20_000):
        keys.add(f"text {number % 7_000}", number)
    assert keys.find_slots("text 3").tolist() == [3, 7_003, 14_003]
    assert keys.find_last_slots(["text 6999", "text 3", "nothing"]).tolist() == [13_999, 14_003, -1]
    keys.merge_recent()
    assert keys.find_slots("text 3").tolist() == [3, 7_003, 14_003]
    assert keys.find_last_slots(["text 6999", "text 3", "nothing"]).tolist() == [13_999, 14_003, -1]
    assert keys.find_slots("nothing").tolist() == []


def test_keys_shared_returns_duplicate_slots() -> None:
    keys = HashIndex()
    keys.merge_recent()
    assert keys.find_shared_slots().tolist() == []
    for number, text in enumerate(["once", "twice", "thrice", "twice", "thrice", "thrice"]):
        keys.add(text, number)
    keys.merge_recent()
    assert sorted(keys.find_shared_slots().tolist()) == [1, 2, 3, 4, 5]


async def test_short_vectors_keep_direction(collection: Collection) -> None:
    await collection.put([embedded(memory(n, f"ordinary text {n}")) for n in range(50)])
    await collection.optimise(force=True)
    await collection.put([embedded(memory(60, "a pelican on the roof")), row_of(memory(61, "not embedded yet"))])

    short = collection.load_short_vectors(["m7", "m60", "m61", "m99"], MODEL)
    assert set(short) == {"m7", "m60"}
    assert collection.load_short_vectors(["m7"], "another model") == {}
    for name, text in (("m7", "ordinary text 7"), ("m60", "a pelican on the roof")):
        mine, whole = np.frombuffer(short[name], np.int8).astype(float), np.frombuffer(vector_of(text), "<f4")
        assert mine @ whole / (np.linalg.norm(mine) * np.linalg.norm(whole)) > 0.995


async def test_find_without_messages_returns_few(collection: Collection) -> None:
    await collection.put([row_of(memory(n, "a pelican")) for n in range(20)])
    found = await collection.search("pelican", None, MODEL, P, 5, best, k_without_messages=3)
    assert len(found) == 3

    await collection.put([row_of(replace(memory(30, "a pelican, " * 9), kind=Kind.MESSAGE, ref="session:s:30"))])
    found = await collection.search("pelican", None, MODEL, P, 5, best, k_without_messages=3)
    assert len(found) == 5
    assert "m30" in {found_row(one)["id"] for one in found}


async def test_hash_collision_does_not_pass_filter(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunchd.store.indexes.hash_index.hash", len, raising=False)
    keys = {1: "owl", 22: "emu", 333: "owl"}
    await collection.put([embedded(memory(n, "a pelican", key=key, tags=(key,))) for n, key in keys.items()])

    for only in (replace(P, key="owl"), replace(P, tags=("owl",))):
        assert set(await found(collection, "pelican", only, vector_of("a pelican"))) == {"m1", "m333"}


async def ahead(collection: Collection) -> int:
    """Read ahead to the end; return the number of bodies read."""
    seen = 0

    async def pack(bodies: Sequence[str]) -> list[bytes]:
        nonlocal seen
        seen += len(bodies)
        return compress_bodies(bodies)

    while await collection.read_ahead(pack):
        pass
    return seen


async def test_read_ahead_returns_same_results(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    await collection.put([embedded(memory(n, f"pelican {n % 7} of {n}")) for n in range(300)])
    await collection.optimise(force=True)
    await collection._tables.reload_mirror()  # as if it had been opened now
    assert await ahead(collection) == 0  # nobody has asked for anything
    before = [await collection.search(f"pelican {n}", vector_of("pelican 3"), MODEL, P, 5, best) for n in range(9)]
    assert await ahead(collection) == 300

    def untouched(*_: object) -> None:
        raise AssertionError("it was read from the disk")

    monkeypatch.setattr(Table, "load_rows", untouched)
    after = [await collection.search(f"pelican {n}", vector_of("pelican 3"), MODEL, P, 5, best) for n in range(9)]
    assert [{one.body for one in found} for found in after] == [{one.body for one in found} for found in before]
    assert len(await collection.get([f"m{n}" for n in range(300)])) == 300


async def test_read_ahead_bodies_follow_deletes_and_updates(collection: Collection) -> None:
    await collection.put([embedded(memory(n, f"pelican {n}")) for n in range(300)])
    await collection.optimise(force=True)
    await collection._tables.reload_mirror()
    await found(collection, "pelican")
    assert await ahead(collection) == 300
    await collection.delete(["m1"])
    await collection.put([embedded(memory(2, "a heron"))])

    for _ in range(2):
        kept = [collection._tables.mirror.bodies.get(slot) or "" for slot in range(400)]
        assert not [body for body in kept if '"pelican 1"' in body or '"pelican 2"' in body]
        assert {row["id"] for row in await collection.get(["m1", "m2", "m3"])} == {"m2", "m3"}
        assert await found(collection, "heron") == ["m2"]
        assert await ahead(collection) == 0  # also where rows have moved
        await collection.optimise(force=True)
    await collection.purge()
    assert await ahead(collection) == 0
    kept = [collection._tables.mirror.bodies.get(slot) or "" for slot in range(400)]
    assert len([body for body in kept if body]) == 299
    assert not [body for body in kept if '"pelican 1"' in body or '"pelican 2"' in body]


async def test_prune_moves_reader_to_newest_version(collection: Collection) -> None:
    await collection.put([row_of(memory(n, f"pelican {n}")) for n in range(300)])
    await collection.optimise(force=True)
    assert await collection.prune()
    tables = collection._tables

    assert await collection.delete(["m7"]) == 1  # nothing to be merged: pruning makes no version of its own
    assert await tables.mirror.reader.read_version() < await tables.memories.read_version()
    assert await collection.prune()

    assert await tables.mirror.reader.read_version() == await tables.memories.read_version()
    assert [row["id"] for row in await collection.get(["m7", "m8"])] == ["m8"]


async def test_cached_filter_mask_follows_changes(collection: Collection) -> None:
    async def passing() -> set[str]:
        rows, total = await collection.load_page(P, 9, None)
        assert total == len(rows)
        assert {row["id"] for row in rows} == set(await found(collection, "pelican"))
        return {row["id"] for row in rows}

    await collection.put([row_of(memory(n, "a pelican")) for n in range(3)])
    assert await passing() == {"m0", "m1", "m2"}
    await collection.put([row_of(memory(3, "a pelican"))])
    assert await passing() == {"m0", "m1", "m2", "m3"}
    await collection.delete(["m1"])
    assert await passing() == {"m0", "m2", "m3"}
    await collection.put([row_of(memory(2, "a pelican", status=Status.ARCHIVED))])
    assert await passing() == {"m0", "m3"}
    await collection.optimise(force=True)
    assert await passing() == {"m0", "m3"}
    await collection.purge()
    assert await passing() == {"m0", "m3"}


async def test_read_ahead_stops_at_max_bytes(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_BYTES", 10_000)
    await collection.put([row_of(memory(n, f"pelican {n}")) for n in range(600)])
    await collection.optimise(force=True)
    await collection._tables.reload_mirror()
    await found(collection, "pelican")
    assert 0 < await ahead(collection) < 600
    assert len(await collection.get([f"m{n}" for n in range(600)])) == 600


async def test_read_ahead_quarantines_damaged_row(collection: Collection) -> None:
    torn = {**row_of(memory(7)), "body": row_of(memory(7, "another"))["body"]}
    await collection.put([*(row_of(memory(n, f"pelican {n}")) for n in range(300) if n != 7), torn])
    await collection.optimise(force=True)
    await collection._tables.reload_mirror()
    await found(collection, "pelican")
    assert await ahead(collection) == 299
    assert await collection.get(["m7"]) == []
    assert collection.list_problems() == ["1 damaged memories are quarantined"]


@given(st.lists(st.text() | st.text(st.characters(codec="ascii"), min_size=2_000, max_size=9_000), max_size=6))
def test_packed_bodies_round_trip(texts: list[str]) -> None:
    kept = BodyCache()
    for slot, some in enumerate(compress_bodies(texts)):
        kept.put(slot, some)
    assert [kept.get(slot) for slot in range(len(texts) + 1)] == [*texts, None]
