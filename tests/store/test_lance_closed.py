"""Collection: closing, erasing and pruning while others read or write."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hunchd.daemon.store_maintenance import StoreMaintenance
from hunchd.daemon.store_service import StoreService
from hunchd.domain.errors import StoreClosed
from hunchd.store.database.collection import Collection
from hunchd.store.database.collection_registry import DELETED_FOLDER
from hunchd.store.database.lance import create_session
from hunchd.store.database.store_lock import ReadWriteLock
from hunchd.store.database.tables import build_row
from hunchd.store.memory_codec import memory_to_plain
from tests.store.examples import memory


async def opened(folder: Path) -> Collection:
    collection = await Collection.open(folder, create_session())
    await collection.put(
        [build_row(memory_to_plain(memory(1, "a heron"))), build_row(memory_to_plain(memory(2, "an otter")))]
    )
    return collection


USES: dict[str, Callable[[Collection], Awaitable[Any]]] = {
    "read": lambda collection: collection.get(["m1"]),
    "count": lambda collection: collection.load_state("model"),
    "write": lambda collection: collection.put([build_row(memory_to_plain(memory(3, "a kingfisher")))]),
    "tidy": lambda collection: collection.optimise(force=True),
    "purge": lambda collection: collection.purge(),
    "embed": lambda collection: collection.load_unembedded("model", 5),
}


@pytest.mark.parametrize("use", USES)
async def test_closed_collection_raises_without_repair(use: str, tmp_path: Path) -> None:
    collection = await opened(tmp_path)
    await collection.close()
    with pytest.raises(StoreClosed):
        await USES[use](collection)
    assert collection.counters.repair_count == 0


async def test_closed_table_raises_store_closed(tmp_path: Path) -> None:
    collection = await opened(tmp_path)
    table = collection._tables.memories
    await collection.close()
    for use in (
        table.load_rows([1]),
        table.count_rows(),
        table.load_state(),
        table.count_unmerged(),
        table.read_version(),
    ):
        with pytest.raises(StoreClosed):
            await use


async def test_close_stops_waiting_for_stalled_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunchd.store.database.store_lock.CLOSE_WAIT_SECONDS", 0.05)
    collection = await opened(tmp_path)
    export = collection.iterate_rows()
    assert (await anext(export))["id"] in {"m1", "m2"}
    await collection.close()  # whoever reads the export has stopped taking rows
    with pytest.raises(StoreClosed):
        await collection.get(["m1"])


async def test_timed_out_exclusive_lock_admits_readers() -> None:
    gate = ReadWriteLock()
    async with gate.hold_shared():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01), gate.hold_exclusive():
                pass
    async with asyncio.timeout(5), gate.hold_shared():
        pass


async def test_stats_skip_project_erased_meanwhile(tmp_path: Path) -> None:
    service = StoreService(tmp_path, create_session(), None)
    words = service.handlers
    for name in ("p", "q"):
        await words["put"]([memory_to_plain(memory(1, "a heron", project=name))])
    erased = service.collections.open_collections["q"]
    counting = service.collections.open_collections["p"].load_state

    async def meanwhile(model: str) -> dict[str, Any]:
        figures = await counting(model)
        await words["erase"]("q")
        return figures

    service.collections.open_collections["p"].load_state = meanwhile  # type: ignore[method-assign]
    told = await words["stats"]()
    assert list(told.projects) == ["p"]
    assert told.rows == 1
    with pytest.raises(StoreClosed):
        await erased.get(["m1"])
    assert [one["id"] for one in await words["get"](["m1"], "p")] == ["m1"]
    await service.collections.close()


async def test_erase_keeps_foreign_marker_files(tmp_path: Path) -> None:
    (tmp_path / "erasing").mkdir()
    (tmp_path / "erasing" / "p").touch()
    service = StoreService(tmp_path, create_session(), None)
    await service.collections.finish_erasures()
    await service.handlers["put"]([memory_to_plain(memory(1, "a heron", project="p"))])
    await service.handlers["erase"]("p")
    assert (tmp_path / "erasing" / "p").exists()
    assert list((tmp_path / DELETED_FOLDER).iterdir()) == []
    await service.collections.close()


async def test_resume_removes_only_leftovers_before_start(tmp_path: Path) -> None:
    """Regression: two concurrent removals of one folder made the project's erasure fail."""
    for name in ("before", "now"):
        folder = tmp_path / DELETED_FOLDER / name
        if name == "now":
            service = StoreService(tmp_path, create_session(), None)
        folder.mkdir(parents=True)
        (folder / "text").write_text("a heron")
    await service.collections.finish_erasures()
    assert [folder.name for folder in (tmp_path / DELETED_FOLDER).iterdir()] == ["now"]
    await service.collections.close()


async def test_upkeep_panic_ends_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        """As the database raises: no Exception."""

    async def panicking(self: StoreMaintenance) -> None:
        raise Panic

    monkeypatch.setattr(StoreMaintenance, "_run_step", panicking)
    with pytest.raises(SystemExit):
        await StoreMaintenance(StoreService(tmp_path, create_session(), None), None).run()


async def test_put_to_erased_project_raises_store_closed(tmp_path: Path) -> None:
    service = StoreService(tmp_path, create_session(), None)
    given = [
        memory_to_plain(memory(1, "a heron", project="p")),
        memory_to_plain(memory(2, "an otter", project="q")),
    ]
    await service.handlers["put"](given)
    await service.handlers["erase"]("q")
    with pytest.raises(StoreClosed):
        await service.handlers["put"](given)
    assert [folder.name for folder in (tmp_path / "projects").iterdir()] == ["p"]
    await service.collections.close()


async def test_idle_upkeep_prunes_to_one_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunchd.daemon.store_maintenance.TIDY_IDLE_SECONDS", 0.0)
    service = StoreService(tmp_path, create_session(), None)
    for number in range(1, 13):
        await service.handlers["put"]([memory_to_plain(memory(number, f"heron {number}", project="p"))])
    [collection] = service.collections.open_collections.values()
    assert (await collection.load_state("model"))["versions"] > 12
    before = sum(path.is_file() for path in tmp_path.rglob("*"))
    await StoreMaintenance(service, None)._run_step()
    state = await collection.load_state("model")
    assert (state["versions"], state["rows"], state["fragments"]) == (1, 12, 1)
    assert sum(path.is_file() for path in tmp_path.rglob("*")) < before
    assert {row["id"] for row in await collection.get([f"m{number}" for number in range(1, 13)])} == {
        f"m{number}" for number in range(1, 13)
    }
    assert not await collection.compact_and_prune()
    await service.collections.close()


async def test_upkeep_keeps_versions_only_while_queried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunchd.store.database.counters.MAX_COMMITS", 3)
    service = StoreService(tmp_path, create_session(), None)
    for asked, kept in ((False, False), (True, True)):
        for number in range(1, 6):
            text = f"heron {number} {asked}"
            await service.handlers["put"]([memory_to_plain(memory(number, text, project="p"))])
        service.last_question = time.monotonic() if asked else float("-inf")
        [collection] = service.collections.open_collections.values()
        await StoreMaintenance(service, None)._run_step()
        assert ((await collection.load_state("model"))["versions"] > 1) is kept
        assert collection.counters.since_optimise == 0
    await service.collections.close()


async def test_tidy_keeps_versions_with_active_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunchd.store.database.collection.PRUNE_WAIT_SECONDS", 0.05)
    collection = await opened(tmp_path)
    export = collection.iterate_rows()
    first = await anext(export)
    assert not await collection.compact_and_prune()
    assert (await collection.load_state("model"))["versions"] > 1
    assert {first["id"], *[row["id"] async for row in export]} == {"m1", "m2"}
    assert await collection.compact_and_prune()
    assert (await collection.load_state("model"))["versions"] == 1
    await collection.close()
