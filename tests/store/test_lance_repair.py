"""Repair after power cuts, failing disks and other versions of hunchd."""

from __future__ import annotations

import os
import random
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from hunchd.domain.errors import StoreError
from hunchd.domain.filters import Filters
from hunchd.store.database import snapshots
from hunchd.store.database.collection import Collection
from hunchd.store.database.lance import Database, Table, create_session
from hunchd.store.database.repair import list_data_files, repair_table
from hunchd.store.database.store_lock import StoreLock
from hunchd.store.database.tables import (
    MEMORIES,
    SCHEMA_VERSION,
    SIGNALS,
    get_memory,
    is_intact,
    signal_to_row,
)
from hunchd.store.files import FileOperations
from tests.store.examples import MODEL, embedded, found_row, memory, row_of, vector_of

# The nightly run asks for a thousand.
FLIPS = int(os.environ.get("HUNCHD_FLIPS", "25"))
P = Filters(project="p")
SIGNAL = {"id": "s1", "kind": "file_saved", "project": "p", "at": "2026-03-01T12:00:00+00:00", "data": {}}


async def filled(folder: Path, *, batches: int = 4, each: int = 100) -> None:
    """Create a store with several data files and indexes."""
    collection = await Collection.open(folder, create_session())
    for batch in range(batches):
        await collection.put([embedded(memory(batch * each + n)) for n in range(each)])
        if batch == batches - 2:
            await collection.optimise(force=True)
    await collection.put([signal_to_row(SIGNAL)], into=SIGNALS)
    await collection.close()


async def everything(collection: Collection) -> dict[str, bytes]:
    """Return the digest of each row that is served, checked against a search."""
    rows = {row["id"]: row["digest"] async for row in collection.iterate_rows()}
    found = await collection.search(
        "episode", vector_of("episode"), MODEL, P, 50, lambda found: [at for at, *_ in found]
    )
    assert {found_row(one)["id"] for one in found} <= rows.keys()
    assert {found_row(one)["digest"] for one in found} <= set(rows.values())
    return rows


async def is_damaged(collection: Collection) -> bool:
    """Return True if a row fails its checksum or cannot be read."""
    try:
        return any([not is_intact(row) async for batch in collection._tables.memories.scan_rows() for row in batch])
    except StoreError:
        return True


def newest(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


async def test_put_with_unreported_write_error_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(tmp_path)
    collection = await Collection.open(tmp_path, create_session())
    known = {path.name for path in tmp_path.glob("signals.lance/data/*.lance")}
    sync = FileOperations.sync

    def lose_end_once(self: FileOperations, descriptor: int) -> None:
        for path in tmp_path.glob("signals.lance/data/*.lance"):
            if path.name not in known:
                known.add(path.name)
                monkeypatch.setattr(FileOperations, "sync", sync)
                os.truncate(path, path.stat().st_size * 3 // 4)
        sync(self, descriptor)

    monkeypatch.setattr(FileOperations, "sync", lose_end_once)
    await collection.put([signal_to_row(SIGNAL | {"id": f"late{n}"}) for n in range(4)], into=SIGNALS)

    ids = {row["id"] async for row in collection.iterate_rows(SIGNALS)}
    assert {f"late{n}" for n in range(4)} <= ids
    await collection.close()


async def test_open_removes_duplicates_of_interrupted_replace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(tmp_path)
    collection = await Collection.open(tmp_path, create_session())

    async def no_room(*_: object) -> None:
        raise StoreError("no room")

    changed = [embedded(memory(n, f"now it says {n}")) for n in (7, 250, 390)]
    with monkeypatch.context() as patched:
        patched.setattr(Table, "delete", no_room)
        patched.setattr(StoreLock, "should_repair", lambda *_: False)
        with pytest.raises(StoreError, match="no room"):
            await collection.put(changed)
    assert len(await everything(collection)) == 400
    await collection.close()

    collection = await Collection.open(tmp_path, create_session())
    rows = await everything(collection)
    assert len(rows) == 400
    assert {row["id"]: rows[row["id"]] for row in changed} == {row["id"]: row["digest"] for row in changed}
    assert (await collection.load_page(P, 1, None))[1] == 400
    assert (await collection.load_state(MODEL))["rows"] == 400
    await collection.close()


async def test_failed_replace_is_retried_after_repair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = await Collection.open(tmp_path, create_session())
    await collection.put([embedded(memory(n)) for n in range(300)])
    tries: list[str] = []
    delete = Table.delete

    async def failing_once(table: Table, condition: str) -> None:
        tries.append(condition)
        if len(tries) == 1:
            raise StoreError("no room")
        await delete(table, condition)

    monkeypatch.setattr(Table, "delete", failing_once)
    await collection.put([embedded(memory(7, "now it says this"))])  # mended, and tried again
    assert len(tries) == 2
    assert (await collection.load_state(MODEL))["rows"] == 300
    [row] = await collection.get(["m7"])
    assert get_memory(row).content == "now it says this"
    await collection.close()


@pytest.mark.parametrize("damage", ["zeroed", "empty", "cut off"])
async def test_unreadable_newest_versions_are_set_aside(tmp_path: Path, damage: str) -> None:
    await filled(tmp_path)
    table = tmp_path / "memories.lance"
    for path in newest(table, "_versions/*.manifest")[:2]:  # their names count down
        content = path.read_bytes()
        path.write_bytes({"zeroed": bytes(len(content)), "empty": b"", "cut off": content[:-7]}[damage])
    collection = await Collection.open(tmp_path, create_session())
    assert len(await everything(collection)) == 300
    assert collection.list_problems() == ["memories: the 2 newest versions could not be read and were set aside"]
    await collection.put([embedded(memory(n)) for n in range(400)])  # what the journal has is written again
    assert len(await everything(collection)) == 400
    assert len(list((tmp_path / "damaged" / "memories.lance").iterdir())) == 2
    await collection.close()


async def test_version_with_missing_data_is_set_aside(tmp_path: Path) -> None:
    await filled(tmp_path)
    table = tmp_path / "memories.lance"
    last, before = newest(table, "_versions/*.manifest")[:2]
    [only_last] = set(list_data_files(last.read_bytes())) - set(list_data_files(before.read_bytes()))
    (table / "data" / only_last).write_bytes(b"")
    assert repair_table(table).lost_versions != ()
    collection = await Collection.open(tmp_path, create_session())
    assert len(await everything(collection)) == 300
    await collection.close()


async def test_any_damaged_file_leaves_other_rows_readable(tmp_path: Path) -> None:
    await filled(tmp_path / "whole")
    before = await Collection.open(tmp_path / "whole", create_session())
    rows = await everything(before)
    await before.close()
    files = [path.relative_to(tmp_path / "whole") for path in sorted((tmp_path / "whole").rglob("*")) if path.is_file()]
    chance = random.Random(7)
    for file in chance.sample(files, 12):
        for damage in chance.sample(["missing", "cut off", "zeroed"], 1):
            copy = tmp_path / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(tmp_path / "whole", copy)
            content = (copy / file).read_bytes()
            (copy / file).unlink()
            if damage != "missing":
                (copy / file).write_bytes(content[: len(content) // 2] if damage == "cut off" else bytes(len(content)))
            collection = await Collection.open(copy, create_session())
            served = await everything(collection)
            assert served.items() <= rows.items(), (file, damage)
            assert len(served) >= 100, (file, damage, len(served))  # at least what is in the other data files
            if len(served) < len(rows):
                assert collection.list_problems() or collection.counters.repair_count, (file, damage)
            await collection.put([embedded(memory(n)) for n in range(400)])
            assert await everything(collection) == rows, (file, damage)
            await collection.close()


async def test_damaged_data_is_restored_from_snapshot(tmp_path: Path) -> None:
    await filled(tmp_path)
    collection = await Collection.open(tmp_path, create_session())
    rows = await everything(collection)
    await collection.snapshot(keep=3)
    await collection.close()
    manifest = newest(tmp_path / "memories.lance", "_versions/*.manifest")[0]
    for name in list_data_files(manifest.read_bytes()):
        (tmp_path / "memories.lance" / "data" / name).write_bytes(b"")
    shutil.rmtree(tmp_path / "memories.lance" / "_versions")
    (tmp_path / "memories.lance" / "_versions").mkdir()
    mended = await Collection.open(tmp_path, create_session())
    assert await everything(mended) == rows
    await mended.close()


async def test_flipped_bits_in_data_are_never_served(tmp_path: Path) -> None:
    await filled(tmp_path / "whole", batches=2, each=60)
    before = await Collection.open(tmp_path / "whole", create_session())
    rows = await everything(before)
    await before.close()
    chance = random.Random(3)
    noticed = 0
    for _ in range(FLIPS):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", copy)
        file = chance.choice(sorted((copy / "memories.lance" / "data").iterdir()))
        content = bytearray(file.read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.write_bytes(content)
        collection = await Collection.open(copy, create_session())
        served = await everything(collection)
        assert served.items() <= rows.items()
        told = len(served) < len(rows) or collection.counters.repair_count or collection.list_problems()
        noticed += bool(told or await is_damaged(collection))
        await collection.close()
    assert noticed >= FLIPS * 0.8, noticed  # the others hit padding, which holds nothing


@pytest.mark.parametrize("name", [MEMORIES, SIGNALS])
async def test_flipped_manifest_bit_loses_one_version(tmp_path: Path, name: str) -> None:
    await filled(tmp_path / "whole", batches=2, each=60)
    before = await Collection.open(tmp_path / "whole", create_session())
    rows = await everything(before)
    await before.close()
    chance = random.Random(3)
    stepped = 0
    for _ in range(FLIPS):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", copy)
        manifest = newest(copy, f"{name}.lance/_versions/*.manifest")[0]
        content = bytearray(manifest.read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        manifest.write_bytes(content)
        collection = await Collection.open(copy, create_session())
        served = await everything(collection)
        assert served.items() <= rows.items()
        assert len(served) >= len(rows) - 60
        signals = [row async for batch in collection._tables[SIGNALS].scan_rows() for row in batch]
        if any("set aside" in repair.describe() for repair in collection.counters.repairs):
            stepped += 1
        else:
            assert [row["id"] for row in signals] == ["s1"]
        await collection.close()
    assert stepped >= FLIPS * 0.2, stepped  # the others hit what nobody reads


async def test_damaged_row_is_quarantined_until_rewritten(tmp_path: Path) -> None:
    collection = await Collection.open(tmp_path, create_session())
    await collection.put([row_of(memory(1)), {**row_of(memory(2)), "body": row_of(memory(2, "another"))["body"]}])
    assert [row["id"] for row in await collection.get(["m1", "m2"])] == ["m1"]
    assert collection.list_problems() == ["1 damaged memories are quarantined"]
    await collection.put([row_of(memory(2, "written again"))])
    assert [row["id"] for row in await collection.get(["m2"])] == ["m2"]
    assert collection.list_problems() == []
    await collection.close()


async def test_row_with_mismatched_columns_is_quarantined(tmp_path: Path) -> None:
    collection = await Collection.open(tmp_path, create_session())
    await collection.put([{**row_of(memory(1, project="q")), "project": "p"}, row_of(memory(2))])
    rows, _ = await collection.load_page(P, 10, None)
    assert [row["id"] for row in rows] == ["m2"]
    assert collection.list_problems() == ["1 damaged memories are quarantined"]
    await collection.close()


async def test_restored_snapshot_equals_source(tmp_path: Path) -> None:
    await filled(tmp_path / "p")
    collection = await Collection.open(tmp_path / "p", create_session())
    rows = await everything(collection)
    snapshot = await collection.snapshot(keep=2)
    await collection.put([embedded(memory(5000))])
    await collection.close()
    shutil.copytree(snapshot, tmp_path / "restored")
    restored = await Collection.open(tmp_path / "restored", create_session())
    assert await everything(restored) == rows
    await restored.close()


async def test_snapshots_keep_newest_and_last_copy(tmp_path: Path) -> None:
    await filled(tmp_path, batches=2, each=10)
    day = 86_400.0
    taken = [snapshots.take_snapshot(tmp_path, keep=2, now=1_800_000_000.0 + number * day) for number in range(5)]
    kept = snapshots.list_snapshots(tmp_path)
    assert kept == [taken[4], taken[3], taken[0]]
    data = next((taken[0] / "memories.lance" / "data").iterdir())
    linked = next((taken[4] / "memories.lance" / "data").iterdir())
    assert data.stat().st_nlink == 1
    assert linked.stat().st_nlink > 1


async def test_newer_schema_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = await Collection.open(tmp_path, create_session())
    await collection.put([row_of(memory(1, "from before"))])
    await collection.close()
    monkeypatch.setattr("hunchd.store.database.mirrored_tables.SCHEMA_VERSION", SCHEMA_VERSION - 1)
    collection = await Collection.open(tmp_path, create_session())
    assert [get_memory(row).content for row in await collection.get(["m1"])] == ["from before"]
    with pytest.raises(StoreError, match="newer hunchd"):
        await collection.put([row_of(memory(2))])
    assert collection.list_problems() == [
        f"written by a newer hunchd (this one has schema {SCHEMA_VERSION}); read-only until hunchd is updated"
    ]
    await collection.close()


async def test_pruned_files_of_merge_need_no_repair(tmp_path: Path) -> None:
    await filled(tmp_path)
    table = await (await Database.open(tmp_path, create_session())).open_table(MEMORIES)
    for _ in range(3):  # the last version is a merge, and names what it was made of
        await table.optimise(keep=timedelta(0))
    table.close()
    [last] = newest(tmp_path / "memories.lance", "_versions/*.manifest")
    assert list_data_files(last.read_bytes()) == [
        path.name for path in (tmp_path / "memories.lance" / "data").iterdir()
    ]
    assert not repair_table(tmp_path / "memories.lance").is_needed
