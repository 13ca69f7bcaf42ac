"""Word search of a store through compaction, reopening, crashes, damage and erasure."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hunchd.domain.errors import StoreError
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind
from hunchd.store.database import word_index_lifecycle
from hunchd.store.database.collection import Collection
from hunchd.store.database.lance import Table, create_session
from hunchd.store.database.word_index_lifecycle import INDEX_FILE
from hunchd.store.indexes import postings_file
from hunchd.store.indexes.terms import count_terms
from tests.store.examples import MODEL, embedded, memory

P = Filters(project="p")
BIRDS = ("pelican", "heron", "stork", "crane", "ibis", "egret", "swan")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "p"


@pytest.fixture
def asked_of_the_database(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the queries that reach LanceDB's full-text index."""
    asked: list[str] = []
    by_words = Table.search_words

    async def noted(table: Table, words: str, condition: str, k: int) -> tuple[Any, Any]:
        asked.append(words)
        return await by_words(table, words, condition, k)

    monkeypatch.setattr(Table, "search_words", noted)
    return asked


async def opened(folder: Path) -> Collection:
    return await Collection.open(folder, create_session())


def best(candidates: Any) -> list[int]:
    return [at for at, *_ in sorted(candidates, key=lambda one: -(one[1] or 0.0))][:10]


async def found(collection: Collection, words: str, filters: Filters = P) -> list[str]:
    return [one.row["id"] for one in await collection.search(words, None, MODEL, filters, 10, best)]


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


async def test_row_is_found_through_compaction_and_reopening(folder: Path, asked_of_the_database: list[str]) -> None:
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
    assert asked_of_the_database == []
    await collection.close()


async def test_unindexed_rows_are_searched_in_lancedb(
    folder: Path, asked_of_the_database: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = await filled(folder, 300)
    await collection.optimise(force=True)
    await collection.close()
    (folder / INDEX_FILE).unlink()
    monkeypatch.setattr(word_index_lifecycle, "BATCH_ROWS", 64)
    monkeypatch.setattr(word_index_lifecycle, "WRITE_THRESHOLD", 128)

    collection = await opened(folder)
    await collection.put([embedded(memory(500, "a pelican of late"))])
    assert (await found(collection, "text 6 swan"))[0] == "m6"
    assert await found(collection, "late") == ["m500"]
    assert asked_of_the_database == ["text 6 swan", "late"]
    more, steps = True, 0
    while more:
        more, steps = await collection.index_words(), steps + 1
        assert (await found(collection, "text 6 swan"))[0] == "m6"
    assert steps == 5
    asked_of_the_database.clear()

    assert (await found(collection, "text 6 swan"))[0] == "m6"
    assert await found(collection, "late") == ["m500"]
    assert asked_of_the_database == []
    assert (folder / INDEX_FILE).exists()
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
    await collection._tables.memories.set_schema_version(99)
    await collection.close()

    collection = await opened(folder)
    assert not collection.writable
    assert set(await found(collection, "heron")) == {f"m{n}" for n in range(1, 40, 7)}
    assert not await collection.index_words()
    with suppress(StoreError):
        await collection.optimise(force=True)
    assert not (folder / INDEX_FILE).exists()
    await collection.close()


async def test_word_ranking_equals_lancedb_ranking(folder: Path) -> None:
    words = [hashlib.blake2b(bytes([n]), digest_size=3).hexdigest() for n in range(60)]
    texts = [" ".join(words[(n * step) % 60 % (step + 7)] for step in range(3, 9 + n % 23)) for n in range(400)]
    texts[7] = "Others were willing: what does Über-Café do with its getUserName, because of v2.3 and dying skies?"
    collection = await opened(folder)
    await collection.put([embedded(memory(n, text)) for n, text in enumerate(texts)])
    await collection.optimise(force=True)
    alike: list[bool] = []
    asked_for = [" ".join(words[n : n + 3]) for n in range(0, 30, 3)]
    for asked in (*asked_for, *texts[7].replace("-", " ").split()):
        addresses, scores = await collection._tables.memories.search_words(asked, "", 10)
        theirs = dict(
            zip(collection._tables.mirror.find_slots_by_address(addresses).tolist(), scores.tolist(), strict=True)
        )
        slots, mine = collection._tables.mirror.words.search(
            count_terms(asked), collection._tables.mirror.mask_living(), 400
        )
        ours = dict(zip(slots.tolist(), mine.tolist(), strict=True))
        assert {slot: ours[slot] for slot in theirs} == pytest.approx(theirs, rel=1e-3)
        alike += _agree(list(theirs), slots.tolist())
    assert sum(alike) > 0.95 * len(alike)  # equals come in any order there


def _agree(theirs: Sequence[int], ours: Sequence[int]) -> list[bool]:
    return [slot in ours[: len(theirs)] for slot in theirs]
