"""Tests of session logs under concurrent clients and erasure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.pending_erasures import PendingErasures
from hunchd.core.memory.session_log import session_tag
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.state.feature import Features
from hunchd.domain.facts import slot_of
from hunchd.domain.memory import Kind, Memory, Scope, Trust
from hunchd.domain.session import MessageType
from hunchd.features.sessions.session_registry import SessionRegistry
from hunchd.protocol.session_requests import AppendRequest, MessageDraft, PageRequest
from hunchd.store.client import StoreClient
from hunchd.store.journal.journal import Journal
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.port import MemoryPage

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class ForgetfulStore:
    """Fake store that is empty and accepts everything, so that writes stay cached."""

    async def put(self, memories: Sequence[Memory]) -> None:
        pass

    async def delete(self, ids: Sequence[str], project: str | None) -> None:
        pass

    async def purge(self, project: str | None) -> None:
        pass

    async def get(self, ids: Sequence[str], project: str | None) -> list[Memory]:
        return []

    async def list(self, *_: Any) -> MemoryPage:
        return MemoryPage((), None, 0)


@pytest.fixture
async def sessions(tmp_path: Path) -> AsyncIterator[SessionRegistry]:
    async with Journal.open(tmp_path / "journal", reserve_bytes=0) as journal:
        hot, store = MemoryCache(), cast(StoreClient, cast(Any, ForgetfulStore()))
        writer = StoreWriter(journal, hot, store, batch_size=8, gather_seconds=0.0, limit=1_000)
        memories = MemoryService(
            journal, hot, store, writer, now=lambda: NOW, pending_erasures=PendingErasures(tmp_path / "forgetting")
        )
        sessions = SessionRegistry(journal, hot, store, writer, memories, now=lambda: NOW, features=Features())
        running = asyncio.create_task(writer.run())
        await sessions.load_heads((None,))
        yield sessions
        running.cancel()


async def append_message(sessions: SessionRegistry, text: str) -> str:
    """Append a message and return its id."""
    asked = AppendRequest(messages=(MessageDraft(event=MessageType.USER, text=text),))
    answer = await sessions.append("torn", asked, None)
    return answer.ids[0]


async def test_append_after_concurrent_erasure_shares_log(sessions: SessionRegistry) -> None:
    await append_message(sessions, "what goes")

    async def talk(name: str) -> list[str]:
        return [await append_message(sessions, f"{name} says {number}") for number in range(5)]

    erasing = asyncio.create_task(sessions.erase("torn"))
    spoken = await asyncio.gather(*(talk(name) for name in ("Ada", "Ben", "Cleo", "Dora")))
    await erasing
    listed = (await sessions.list_messages("torn", PageRequest(limit=100))).items

    assert sorted(one.content for one in listed if one.content != "what goes") == sorted(
        f"{name} says {number}" for name in ("Ada", "Ben", "Cleo", "Dora") for number in range(5)
    )
    assert {one.id for one in listed} == {identifier for told in spoken for identifier in told}
    assert [one.number for one in listed] == list(range(1, 21))


async def test_erase_session_with_replaced_facts_keeps_originals(
    sessions: SessionRegistry,
) -> None:
    """Its facts have the ids of those they replaced, which become valid again and stay."""
    asked = AppendRequest(messages=(MessageDraft(event=MessageType.USER, text="I work with vim now"),))
    await sessions.append("torn", asked, "p")
    memories = sessions._memories
    before = Memory(
        id="", kind=Kind.FACT, title="editor: emacs", content="editor: emacs", key="editor", value="emacs",
        category="preference", scope=Scope.USER, project=None, at=NOW, created=NOW, updated=NOW, trust=Trust.USER,
        source={"type": "user"},
    )  # fmt: skip
    before = replace(before, id=slot_of(before) or "")
    later = NOW + timedelta(hours=1)
    said = replace(before, content="editor: vim", value="vim", at=later, created=later, updated=later)
    await memories.claim([before])
    await memories.claim([replace(said, tags=(session_tag("torn"),))])
    await sessions.erase("torn")
    held = await memories.find([before.id], None)
    assert held[before.id].value == "emacs"
