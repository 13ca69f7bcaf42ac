"""Tests of concurrent erasures that share purges."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hunchd.core.memory.memory_service import MemoryService
from hunchd.domain.errors import StoreError
from hunchd.domain.memory import Memory
from tests.consolidation.made import memory
from tests.features.test_plan_executor import RunFixture, Store, open_run_fixture

KEPT = tuple(memory(f"m{number}") for number in range(12))


class PurgingStore:
    """Fake store that blocks reads during a purge and records the contents at its begin."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began: list[set[str]] = []
        self.ended = 0
        self.fails = False
        self._store, self._get, self._list = store, store.get, store.list
        self._free = asyncio.Event()
        self._free.set()
        for name in ("get", "list", "purge"):
            monkeypatch.setattr(store, name, getattr(self, name))

    async def get(self, ids: Sequence[str], project: str | None) -> list[Memory]:
        await self._free.wait()
        return await self._get(ids, project)

    async def list(self, *asked: Any) -> Any:
        await self._free.wait()
        return await self._list(*asked)

    async def purge(self, project: str | None) -> None:
        self._free.clear()
        self.began.append(set(self._store.kept))
        await asyncio.sleep(0.05)
        self.ended += 1
        self._free.set()
        if self.fails:
            raise StoreError("the disk is gone")


async def erase_all(it: RunFixture, purging: PurgingStore, identifier: str) -> None:
    memories: MemoryService = it.memories
    await memories.erase([identifier], ["p"])
    done = purging.began[: purging.ended]
    assert any(identifier not in there for there in done), "answered before a purge that began behind its deletion"


async def test_concurrent_erasures_share_purges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_run_fixture(tmp_path, *KEPT) as it, asyncio.timeout(10):
        purging = PurgingStore(it.store, monkeypatch)
        await asyncio.gather(*(erase_all(it, purging, one.id) for one in KEPT))
        assert purging.began[-1] == set()
    assert len(purging.began) <= 2


async def test_erasure_during_purge_waits_for_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_run_fixture(tmp_path, *KEPT) as it, asyncio.timeout(10):
        purging = PurgingStore(it.store, monkeypatch)
        first = asyncio.create_task(erase_all(it, purging, KEPT[0].id))
        while not purging.began:
            await asyncio.sleep(0.001)
        await asyncio.gather(first, *(erase_all(it, purging, one.id) for one in KEPT[1:]))
    assert len(purging.began) <= 3


async def test_failed_purge_raises_for_all_waiters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_run_fixture(tmp_path, *KEPT) as it, asyncio.timeout(10):
        purging = PurgingStore(it.store, monkeypatch)
        purging.fails = True
        asked = [it.memories.erase([one.id], ["p"]) for one in KEPT[:3]]
        told = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(one) for one in told] == [StoreError] * 3
        purging.fails = False
        await erase_all(it, purging, KEPT[3].id)


async def test_many_erasures_share_one_purge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_run_fixture(tmp_path, *KEPT) as it, asyncio.timeout(10):
        purging = PurgingStore(it.store, monkeypatch)
        await it.memories.erase([*(one.id for one in KEPT), "missing"], ["p"])
        assert purging.began == [set()]
