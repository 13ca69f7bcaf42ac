"""Tests of the background contradiction search: requests have priority."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Kind, Memory
from hunchd.features.contradictions import contradiction_search
from hunchd.features.contradictions.contradiction_search import ContradictionSearch
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.port import SearchHits, StoreQuery

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
pytestmark = pytest.mark.asyncio


class EmptyStore:
    """Fake store that is empty and records searches."""

    seconds_since_query = float("inf")
    pending_embeddings = 0

    def __init__(self) -> None:
        self.looked: list[str] = []
        self.modes: list[str] = []

    async def search(self, request: StoreQuery) -> SearchHits:
        assert request.is_background
        self.looked.append(request.query)
        self.modes.append(request.mode)
        return SearchHits()


@asynccontextmanager
async def start_search(store: EmptyStore, names: Sequence[str] = ("server", "proxy")) -> AsyncIterator[None]:
    """Start a search with queued statements, by default two."""
    work = ContradictionSearch(cast(Any, None), MemoryCache(), cast(Any, store), cast(Any, store), now=lambda: NOW)
    facts = tuple(
        Memory(id=name, kind=Kind.FACT, title="", content=f"the {name} listens on port 80", at=NOW, created=NOW,
               updated=NOW, project="p")
        for name in names
    )  # fmt: skip
    work.on_memory_changed(MemoryChange(facts, project="p"), None)
    task = asyncio.create_task(work.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def wait_for_searches(store: EmptyStore, many: int) -> None:
    async with asyncio.timeout(10):
        while len(store.looked) < many:
            await asyncio.sleep(0.01)


async def test_search_waits_while_requests_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contradiction_search, "MAX_WAIT_SECONDS", 60.0)
    store = EmptyStore()
    store.seconds_since_query = 0.0
    async with start_search(store):
        await wait_for_searches(store, 2)
        await asyncio.sleep(contradiction_search.PAUSE_SECONDS + 2 * contradiction_search.QUIET_SECONDS)
        assert len(store.looked) == 2  # by each kind
        store.seconds_since_query = contradiction_search.QUIET_SECONDS
        await wait_for_searches(store, 4)


async def test_search_proceeds_under_constant_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contradiction_search, "MAX_WAIT_SECONDS", 0.05)
    store = EmptyStore()
    store.seconds_since_query = 0.0
    async with start_search(store):
        await wait_for_searches(store, 4)
    assert len(store.looked) == 4


async def test_search_of_backlog_needs_no_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contradiction_search, "BACKLOG", 2)
    store = EmptyStore()
    async with start_search(store, ("server", "proxy", "cache", "queue")):
        await wait_for_searches(store, 8)
    assert store.modes == ["lexical"] * 4 + ["hybrid"] * 4


async def test_search_waits_for_embedding_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contradiction_search, "MAX_WAIT_SECONDS", 60.0)
    store = EmptyStore()
    store.pending_embeddings = contradiction_search.EMBEDDING_BACKLOG + 1
    async with start_search(store):
        await wait_for_searches(store, 2)
        await asyncio.sleep(contradiction_search.PAUSE_SECONDS + 2 * contradiction_search.QUIET_SECONDS)
        assert len(store.looked) == 2  # by each kind
        store.pending_embeddings = 0
        await wait_for_searches(store, 4)
