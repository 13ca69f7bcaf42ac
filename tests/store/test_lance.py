"""Collection: idempotent writes, word and vector search, erasure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hunchd.domain.filters import Filters
from hunchd.store.database.collection import Collection, WriteResult
from hunchd.store.database.lance import Table, create_session
from hunchd.store.database.sql_conditions import match_ids
from hunchd.store.database.tables import get_memory
from tests.store.examples import MODEL, embedded, found_row, full_memory, memory, row_of, vector_of

P = Filters(project="p")


@pytest.fixture
async def collection(tmp_path: Path) -> AsyncIterator[Collection]:
    opened = await Collection.open(tmp_path / "p", create_session())
    yield opened
    await opened.close()


def best(candidates: Any) -> list[int]:
    """Return the addresses with the highest sum of scores."""
    return [at for at, *_ in sorted(candidates, key=lambda one: -((one[1] or 0.0) + (one[2] or 0.0)))][:5]


async def ids_found(collection: Collection, words: str, filters: Filters = P, vector: bytes | None = None) -> list[str]:
    return [found_row(found)["id"] for found in await collection.search(words, vector, MODEL, filters, 5, best)]


async def get_whole_rows(collection: Collection, identifier: str) -> list[Any]:
    return await collection._tables.memories.select_rows(match_ids([identifier]), columns=None)


async def test_memory_round_trips_through_row(collection: Collection) -> None:
    await collection.put([row_of(full_memory())])
    [row] = await collection.get(["m7"])
    assert get_memory(row) == full_memory()


async def test_concurrent_puts_deduplicate_ids(collection: Collection) -> None:
    await asyncio.gather(*(collection.put([row_of(memory(n % 20, f"round {n // 20}"))]) for n in range(60)))
    rows, total = await collection.load_page(P, 100, None)
    assert total == 20
    assert {get_memory(row).content for row in rows} == {"round 2"}


async def test_put_same_rows_is_idempotent(collection: Collection) -> None:
    rows = [row_of(memory(n)) for n in range(5)]
    assert await collection.put(rows) == WriteResult(added=5)
    version = (await collection.load_state(MODEL))["version"]
    assert await collection.put(rows) == WriteResult()
    assert (await collection.load_state(MODEL))["version"] == version


async def test_put_batch_with_duplicate_id_keeps_last(collection: Collection) -> None:
    await collection.put([row_of(memory(1, "first")), row_of(memory(1, "second"))])
    assert [get_memory(row).content for row in await collection.get(["m1"])] == ["second"]


async def test_overwrite_keeps_vector_of_same_text(collection: Collection) -> None:
    await collection.put([embedded(memory(1, "the cache is cold"))])
    await collection.put([row_of(memory(1, "the cache is cold", importance=0.9))])
    [row] = await get_whole_rows(collection, "m1")
    assert row["vector"] == vector_of("the cache is cold")
    await collection.put([row_of(memory(1, "the cache is warm"))])
    [row] = await get_whole_rows(collection, "m1")
    assert row["vector"] is None
    assert [waiting["id"] for waiting in await collection.load_unembedded(MODEL, 10)] == ["m1"]


async def test_word_search_works_before_and_after_indexing(collection: Collection) -> None:
    await collection.put([row_of(memory(n)) for n in range(300)])
    await collection.put([row_of(memory(1000, "the getUserName function broke"))])
    assert await ids_found(collection, "user name") == ["m1000"]
    await collection.optimise(force=True)
    assert await ids_found(collection, "user name") == ["m1000"]
    await collection.put([row_of(memory(1001, "the username of the user"))])
    assert set(await ids_found(collection, "user name")) == {"m1000", "m1001"}


async def test_vector_search_respects_filter(collection: Collection) -> None:
    await collection.put([embedded(memory(n, f"topic{n} alone")) for n in range(40)])
    await collection.put([embedded(memory(50, "topic3 alone", branch="other"))])
    on_main = Filters(project="p", branch="main")
    assert (await ids_found(collection, "", on_main, vector_of("topic3 alone")))[0] == "m3"
    assert "m50" not in await ids_found(collection, "", on_main, vector_of("topic3 alone"))


async def test_vector_search_ignores_other_models(collection: Collection) -> None:
    await collection.put([{**embedded(memory(1, "topic")), "model": "older"}, embedded(memory(2, "other"))])
    await collection.put([row_of(memory(3, "topic"))])
    assert await ids_found(collection, "", P, vector_of("topic")) == ["m2"]


async def test_pages_cover_all_rows_newest_first(collection: Collection) -> None:
    await collection.put([row_of(memory(n % 4, id=f"x{n}")) for n in range(10)])
    seen: list[str] = []
    after = None
    while True:
        rows, total = await collection.load_page(P, 3, after)
        if not rows:
            break
        seen += [row["id"] for row in rows]
        after = (rows[-1]["at"], rows[-1]["id"])
    assert total == 10
    assert seen == ["x3", "x7", "x2", "x6", "x1", "x5", "x9", "x0", "x4", "x8"]


async def test_set_vectors_skips_changed_text(collection: Collection) -> None:
    await collection.put([row_of(memory(1, "old"))])
    [waiting] = await collection.load_unembedded(MODEL, 1)
    await collection.put([row_of(memory(1, "new"))])
    assert await collection.set_vectors({"m1": (vector_of("old"), waiting["text_digest"])}, MODEL) == 0
    assert [row["embedded"] for row in await get_whole_rows(collection, "m1")] == [False]


async def test_purge_removes_text_and_vector_from_files(collection: Collection, tmp_path: Path) -> None:
    rows = [embedded(memory(n, f"plain text {n}")) for n in range(400)]
    canary = embedded(memory(9999, "xylophonecanary zzqq"))
    await collection.put([*rows, canary])
    await collection.optimise(force=True)
    await collection.snapshot(keep=3)
    assert files_with(tmp_path, b"xylophonecanary")
    assert files_with(tmp_path, canary["vector"])

    assert await collection.delete(["m9999"]) == 1
    await collection.purge()

    assert files_with(tmp_path, b"xylophonecanary") == []
    assert files_with(tmp_path, canary["vector"]) == []
    assert not collection.is_erasure_pending
    assert (await collection.load_page(P, 1, None))[1] == 400
    assert await ids_found(collection, "plain text 17") != []


async def test_reads_continue_during_purge(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    await collection.put([embedded(memory(n, f"plain text {n}")) for n in range(400)])
    await collection.optimise(force=True)
    await collection.delete(["m17"])
    begun, go_on, rewrite = asyncio.Event(), asyncio.Event(), Table.rewrite

    async def slow(table: Table) -> None:
        begun.set()
        await go_on.wait()
        await rewrite(table)

    monkeypatch.setattr(Table, "rewrite", slow)
    purge = asyncio.create_task(collection.purge())
    await begun.wait()
    assert (await ids_found(collection, "plain text 18"))[0] == "m18"
    assert [row["id"] for row in await collection.get(["m17", "m18"])] == ["m18"]
    assert not purge.done()

    go_on.set()
    await purge
    assert (await ids_found(collection, "plain text 18"))[0] == "m18"
    assert (await collection.load_page(P, 1, None))[1] == 399


async def test_interrupted_erasure_is_finished_on_open(tmp_path: Path) -> None:
    first = await Collection.open(tmp_path, create_session())
    await first.put([embedded(memory(1, "xylophonecanary")), embedded(memory(2, "stays"))])
    await first.delete(["m1"])
    assert first.is_erasure_pending
    second = await Collection.open(tmp_path, create_session())
    assert not second.is_erasure_pending
    assert files_with(tmp_path, b"xylophonecanary") == []
    assert [row["id"] for row in await second.get(["m1", "m2"])] == ["m2"]


async def test_row_added_after_delete_survives_purge(tmp_path: Path) -> None:
    first = await Collection.open(tmp_path, create_session())
    await first.put([row_of(memory(1, "old"))])
    await first.delete(["m1"])
    await first.put([row_of(memory(1, "new"))])
    second = await Collection.open(tmp_path, create_session())
    assert not second.is_erasure_pending
    assert [get_memory(row).content for row in await second.get(["m1"])] == ["new"]


def files_with(folder: Path, secret: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()]


async def test_sample_takes_every_nth_row(tmp_path: Path) -> None:
    collection = await Collection.open(tmp_path, create_session())
    await collection.put([row_of(memory(n, f"note {n}")) for n in range(10)])

    step, rows = await collection.sample_rows(4)

    assert (step, len(rows)) == (3, 4)
    assert (await collection.sample_rows(100))[0] == 1
    await collection.close()
