"""Word search of a store through compaction, reopening, crashes, damage and erasure."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hunchd.daemon.store_search import StoreSearch
from hunchd.domain.errors import StoreError
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind
from hunchd.store.database import word_index_lifecycle
from hunchd.store.database.collection import Collection
from hunchd.store.database.collection_registry import CollectionRegistry
from hunchd.store.database.lance import create_session
from hunchd.store.database.word_index_lifecycle import INDEX_FILE
from hunchd.store.hits import SearchCandidate
from hunchd.store.indexes import postings_file
from hunchd.store.indexes.terms import count_terms
from hunchd.store.port import StoreQuery
from tests.store.examples import MODEL, embedded, found_row, memory

P = Filters(project="p")
BIRDS = ("pelican", "heron", "stork", "crane", "ibis", "egret", "swan")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "projects" / "p"


async def opened(folder: Path) -> Collection:
    return await Collection.open(folder, create_session())


def best(candidates: Any) -> list[int]:
    return [at for at, *_ in sorted(candidates, key=lambda one: -(one[1] or 0.0))][:10]


async def found(collection: Collection, words: str, filters: Filters = P) -> list[str]:
    return [found_row(one)["id"] for one in await collection.search(words, None, MODEL, filters, 10, best)]


async def filled(folder: Path, count: int = 40) -> Collection:
    collection = await opened(folder)
    await collection.put([embedded(memory(n, f"text {n} about a {BIRDS[n % 7]}")) for n in range(count)])
    return collection


def abandoned(collection: Collection) -> None:
    """Close the tables as a killed process leaves them."""
    collection._tables.close()


def says(folder: Path, word: str) -> bool:
    """Return True if any file contains the word or its term hash."""
    [term] = count_terms(word)
    contents = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return any(word.encode() in content or term.to_bytes(8, "little") in content for content in contents)


async def test_row_is_found_through_compaction_and_reopening(folder: Path) -> None:
    collection = await filled(folder)
    await collection.put([embedded(memory(100, "a kingfisher dives"))])
    assert await found(collection, "kingfishers diving") == ["m100"]
    assert not (folder / INDEX_FILE).exists()

    await collection.optimise(force=True)
    await collection.put([embedded(memory(101, "two kingfishers"))])
    assert set(await found(collection, "kingfisher")) == {"m100", "m101"}

    for _ in range(2):
        await collection.close()
        collection = await opened(folder)
        assert set(await found(collection, "kingfisher")) == {"m100", "m101"}
        await collection.optimise(force=True)
    await collection.close()


async def test_incomplete_index_is_completed_and_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = await filled(folder, 300)
    await collection.optimise(force=True)
    await collection.close()
    (folder / INDEX_FILE).unlink()
    monkeypatch.setattr(word_index_lifecycle, "BATCH_ROWS", 64)
    monkeypatch.setattr(word_index_lifecycle, "MAX_QUICK_ROWS", 64)
    monkeypatch.setattr(word_index_lifecycle, "WRITE_THRESHOLD", 128)

    collections = CollectionRegistry(folder.parents[1], create_session(), lambda _: asyncio.sleep(0))
    collection = await collections.get_collection("p")
    await collection.put([embedded(memory(500, "a pelican of late"))])
    assert await found(collection, "late") == ["m500"]
    steps = 0
    while not collection.is_word_index_complete:
        assert "rebuilt" in (await searched(collections))[1][0]
        await collection.index_words()
        steps += 1
    assert steps == 5
    hits, problems = await searched(collections)
    assert json.loads(hits[0][0].body)["id"] == "m6"
    assert problems == []
    assert (folder / INDEX_FILE).exists()
    await collections.close()


async def searched(collections: CollectionRegistry) -> tuple[list[tuple[SearchCandidate, Sequence[str]]], list[str]]:
    request = StoreQuery("text 6 swan", P, 5, mode="lexical", embedding_wait=0)
    return await StoreSearch(collections, None).search(request)


async def test_missing_index_is_rebuilt_at_opening(folder: Path) -> None:
    collection = await filled(folder, 900)
    await collection.optimise(force=True)
    await collection.close()
    (folder / INDEX_FILE).unlink()

    collection = await opened(folder)
    assert collection.is_word_index_complete
    assert (await found(collection, "text 6 swan"))[0] == "m6"
    await collection.close()


async def test_crash_before_index_write_loses_nothing(folder: Path) -> None:
    collection = await filled(folder)
    await collection.optimise(force=True)
    await collection.put([embedded(memory(7, "says something else: kingfisher")), embedded(memory(200, "kingfisher"))])
    abandoned(collection)
    (folder / f"{INDEX_FILE}.tmp").write_bytes(b"half of it")

    collection = await opened(folder)
    assert set(await found(collection, "kingfisher")) == {"m7", "m200"}
    assert "m7" not in await found(collection, "pelican")
    await collection.optimise(force=True)
    assert set(await found(collection, "kingfisher")) == {"m7", "m200"}
    assert not (folder / f"{INDEX_FILE}.tmp").exists()
    await collection.close()


@pytest.mark.parametrize("content", [b"", b"nonsense", None])
async def test_damaged_or_missing_index_is_rebuilt(folder: Path, content: bytes | None) -> None:
    collection = await filled(folder)
    await collection.optimise(force=True)
    await collection.close()
    whole = (folder / INDEX_FILE).read_bytes()
    (folder / INDEX_FILE).write_bytes(content if content is not None else whole[:64] + b"\xff" + whole[65:])

    collection = await opened(folder)
    assert set(await found(collection, "heron")) == {f"m{n}" for n in range(1, 40, 7)}
    await collection.put([embedded(memory(99, "one more"))])
    await collection.optimise(force=True)
    await collection.close()
    assert postings_file.read_block(folder / INDEX_FILE) is not None


async def test_purge_removes_words_from_index(folder: Path) -> None:
    collection = await filled(folder)
    await collection.put([embedded(memory(50, "the hoopoe was here")), embedded(memory(51, "and a roller"))])
    await collection.optimise(force=True)
    assert says(folder, "hoopoe")
    await collection.put([embedded(memory(60, "one bustard, fresh"))])

    assert await collection.delete(["m50", "m60"]) == 2
    assert await found(collection, "hoopoe bustard") == []
    await collection.purge()
    assert not says(folder, "hoopoe")
    assert not says(folder, "bustard")
    assert says(folder, "roller")
    assert await found(collection, "roller") == ["m51"]
    await collection.close()


async def test_interrupted_purge_erases_index_on_open(folder: Path) -> None:
    collection = await filled(folder)
    await collection.put([embedded(memory(50, "the hoopoe was here"))])
    await collection.optimise(force=True)
    await collection.delete(["m50"])
    abandoned(collection)

    collection = await opened(folder)
    assert not collection.is_erasure_pending
    assert not says(folder, "hoopoe")
    await collection.close()


async def test_purge_with_failed_index_write_deletes_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = await filled(folder)
    await collection.put([embedded(memory(50, "the hoopoe was here"))])
    await collection.optimise(force=True)
    await collection.delete(["m50"])

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(postings_file, "write_block", full)
    await collection.purge()
    assert not (folder / INDEX_FILE).exists()
    assert set(await found(collection, "heron")) == {f"m{n}" for n in range(1, 40, 7)}
    await collection.close()


async def test_search_works_on_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = await filled(folder)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(postings_file, "write_block", full)
    await collection.optimise(force=True)
    await collection.put([embedded(memory(100, "a kingfisher"))])
    assert await found(collection, "kingfisher") == ["m100"]
    assert set(await found(collection, "heron")) == {f"m{n}" for n in range(1, 40, 7)}
    monkeypatch.undo()
    await collection.optimise(force=True)
    assert (folder / INDEX_FILE).exists()
    await collection.close()


async def test_word_search_respects_selective_filters(folder: Path) -> None:
    collection = await opened(folder)
    await collection.put([embedded(memory(n, f"pelican pelican {n}")) for n in range(500)])
    await collection.put([embedded(memory(900, "one pelican among much else", kind=Kind.FACT, tags=("rare",)))])

    for _ in range(2):
        assert await found(collection, "pelican", replace(P, kinds=(Kind.FACT,))) == ["m900"]
        assert await found(collection, "pelican", replace(P, tags=("rare",))) == ["m900"]
        await collection.optimise(force=True)
    await collection.close()


async def test_newer_store_is_searched_without_writing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = await filled(folder)
    await collection.close()

    monkeypatch.setattr("hunchd.store.database.mirrored_tables.SCHEMA_VERSION", 0)
    collection = await opened(folder)
    assert not collection.writable
    assert set(await found(collection, "heron")) == {f"m{n}" for n in range(1, 40, 7)}
    assert not await collection.index_words()
    with suppress(StoreError):
        await collection.optimise(force=True)
    assert not (folder / INDEX_FILE).exists()
    await collection.close()
