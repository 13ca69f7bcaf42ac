"""Changes of memories: nobody waits for what another change reads from the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.pending_erasures import PendingErasures
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Kind, Memory
from hunchd.protocol.memories import MemoryDraft
from hunchd.store.client import StoreClient
from hunchd.store.journal.journal import Journal
from hunchd.store.memory_cache import MemoryCache
from tests.consolidation.made import NOW, memory
from tests.features.test_plan_executor import Store

PATIENCE = 30.0  # seconds until a test is given up


class SlowStore(Store):
    """Store that answers reads when it is told to."""

    def __init__(self, *kept: Memory) -> None:
        super().__init__(*kept)
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def get(self, ids: Sequence[str], project: str | None) -> list[Memory]:
        found = [self.kept[one] for one in ids if one in self.kept]
        self.is_asked.set()
        await self.may_answer.wait()
        return found


@asynccontextmanager
async def open_memories(
    folder: Path, store: Store, on_changed: Callable[[MemoryChange], None] = lambda _: None
) -> AsyncIterator[MemoryService]:
    cache, client = MemoryCache(), cast(StoreClient, cast(Any, store))
    async with Journal.open(folder / "journal") as journal:
        writer = StoreWriter(journal, cache, client, batch_size=8, gather_seconds=0.0, limit=100)
        memories = MemoryService(
            journal,
            cache,
            client,
            writer,
            now=lambda: NOW,
            pending_erasures=PendingErasures(folder / "forgetting"),
            on_changed=on_changed,
        )
        writing = asyncio.create_task(writer.run())
        try:
            yield memories
        finally:
            if isinstance(store, SlowStore):
                store.may_answer.set()
            writing.cancel()
            await asyncio.wait([writing])


async def test_change_passes_slow_read(tmp_path: Path) -> None:
    store = SlowStore(memory("stored"))
    async with asyncio.timeout(PATIENCE), open_memories(tmp_path, store) as memories:

        async def change_slowly() -> list[str]:
            async with memories.lock_changes(["stored"], "p") as current:
                return [one.content for one in current.values()]

        slow = asyncio.create_task(change_slowly())
        await store.is_asked.wait()
        await memories.remember(
            [MemoryDraft(kind=Kind.FACT, title="sessions", content="sessions are kept in Redis")], ["p"]
        )
        assert not slow.done()


async def test_lock_changes_yields_what_changed_meanwhile(tmp_path: Path) -> None:
    store = SlowStore(memory("stored"))
    async with asyncio.timeout(PATIENCE), open_memories(tmp_path, store) as memories:

        async def change_slowly() -> list[str]:
            async with memories.lock_changes(["stored", "gone"], "p") as current:
                return [one.content for one in current.values()]

        slow = asyncio.create_task(change_slowly())
        await store.is_asked.wait()
        await memories.commit([MemoryChange((memory("stored", content="changed meanwhile"),), project="p")])
        store.may_answer.set()
        assert await slow == ["changed meanwhile"]


async def test_new_episode_waits_for_no_change(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE), open_memories(tmp_path, SlowStore()) as memories, memories.change_lock:
        [kept] = await memories.remember(
            [MemoryDraft(kind=Kind.EPISODE, title="export", content="the export was tried")], ["p"]
        )
        assert kept.content == "the export was tried"
