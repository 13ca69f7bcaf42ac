"""Contract: signals, and the erasure of whole owners."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from hunchd.domain.errors import StoreClosed
from hunchd.store.port import MemoryStore, StoredSignal
from tests.store.contract.conftest import Opener
from tests.store.examples import memory


def build_signal(identifier: str, *, day: int = 1, project: str | None = "p") -> StoredSignal:
    at = f"2026-03-0{day}T12:00:00Z"
    return {"id": identifier, "kind": "file_saved", "project": project, "at": at, "data": {"path": "a.py"}}


async def list_ids(store: MemoryStore, owner: str | None) -> list[Any]:
    return sorted([signal["id"] async for signal in store.stream_signals(owner)])


async def test_signals_are_stored_once(store: MemoryStore) -> None:
    signal = build_signal("s1")
    added = await asyncio.gather(*(store.put_signals([signal]) for _ in range(5)))
    assert sum(added) == 1
    assert [one async for one in store.stream_signals("p")] == [{**signal, "absorbed": False}]


async def test_signals_survive_reopening(open_store: Opener) -> None:
    await (await open_store()).put_signals([build_signal("s1"), build_signal("s2", project=None)])
    again = await open_store()
    assert (await list_ids(again, "p"), await list_ids(again, None)) == (["s1"], ["s2"])


async def test_delete_signals_by_id(store: MemoryStore) -> None:
    await store.put_signals([build_signal("s1"), build_signal("s2"), build_signal("s1", project="q")])
    await store.delete_signals(["s1"], "p")
    assert (await list_ids(store, "p"), await list_ids(store, "q")) == (["s2"], ["s1"])


async def test_delete_signals_before_a_time(store: MemoryStore) -> None:
    await store.put_signals([build_signal("old"), build_signal("new", day=3), build_signal("other", project="q")])
    await store.delete_signals_before(datetime(2026, 3, 2, tzinfo=UTC))
    assert (await list_ids(store, "p"), await list_ids(store, "q")) == (["new"], [])


async def test_list_owners_names_who_has_something(store: MemoryStore) -> None:
    await store.put([memory(1, project="q"), memory(2, project=None)])
    await store.put_signals([build_signal("s1")])
    assert set(await store.list_owners()) == {None, "p", "q"}


async def test_erase_removes_one_owner_for_good(store: MemoryStore) -> None:
    await store.put([memory(1), memory(2, project="q")])
    await store.put_signals([build_signal("s1")])
    await store.erase("p")
    assert list(await store.list_owners()) == ["q"]
    assert (await store.get(["m1"], "p"), await list_ids(store, "p")) == ([], [])
    with pytest.raises(StoreClosed):  # what was still on its way: the id never comes back
        await store.put([memory(3)])
    assert list(await store.list_owners()) == ["q"]


async def test_concurrent_puts_are_all_stored(store: MemoryStore) -> None:
    await asyncio.gather(*(store.put([memory(n)]) for n in range(20)))
    assert len(await store.get([f"m{n}" for n in range(20)], "p")) == 20
