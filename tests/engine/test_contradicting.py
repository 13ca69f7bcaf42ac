"""Tests of the background contradiction search: requests have priority."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from hunchd.domain.facts import Change
from hunchd.domain.memory import Kind, Memory
from hunchd.engine.learning import contradicting
from hunchd.engine.learning.contradicting import Contradicting
from hunchd.store.client import Findings
from hunchd.store.hot import HotTier

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
pytestmark = pytest.mark.asyncio


class EmptyStore:
    """Fake store that is empty and records searches."""

    unasked = float("inf")

    def __init__(self) -> None:
        self.looked: list[str] = []

    async def search(self, question: str, *_: Any, **__: Any) -> Findings:
        self.looked.append(question)
        return Findings()


@asynccontextmanager
async def start_search(store: EmptyStore) -> AsyncIterator[None]:
    """Start a search with two queued statements."""
    work = Contradicting(cast(Any, None), HotTier(), cast(Any, store), now=lambda: NOW)
    facts = tuple(
        Memory(id=name, kind=Kind.FACT, title="", content=f"the {name} listens on port 80", at=NOW, created=NOW,
               updated=NOW, project="p")
        for name in ("server", "proxy")
    )  # fmt: skip
    work.on_memory_changed(Change(facts, project="p"), None)
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
    monkeypatch.setattr(contradicting, "LONGEST_WAIT", 60.0)
    store = EmptyStore()
    store.unasked = 0.0
    async with start_search(store):
        await wait_for_searches(store, 1)
        await asyncio.sleep(contradicting.PAUSE + 2 * contradicting.QUIET)
        assert len(store.looked) == 1
        store.unasked = contradicting.QUIET
        await wait_for_searches(store, 2)


async def test_search_proceeds_under_constant_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contradicting, "LONGEST_WAIT", 0.05)
    store = EmptyStore()
    store.unasked = 0.0
    async with start_search(store):
        await wait_for_searches(store, 2)
    assert len(store.looked) == 2
