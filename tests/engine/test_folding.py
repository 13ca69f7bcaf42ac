"""Tests of concurrent prompt compilations of one session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from hunchd.assembly.history import SessionHistory
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.pending_erasures import PendingErasures
from hunchd.core.memory.question_preferences import QuestionPreferences
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.state.feature import Features
from hunchd.domain.session import Message, MessageType
from hunchd.features.sessions.session_registry import SessionRegistry
from hunchd.features.sessions.session_service import SessionService
from hunchd.protocol.session_requests import AppendRequest, CompileRequest, MessageDraft
from hunchd.store.client import StoreClient
from hunchd.store.journal.journal import Journal
from hunchd.store.memory_cache import MemoryCache
from tests.engine.test_session_erasure import NOW, ForgetfulStore

SAID = tuple(f"word {number} " * 30 for number in range(300))


@asynccontextmanager
async def long_session(folder: Path) -> AsyncIterator[tuple[SessionService, SessionService]]:
    """Build a session of 300 turns for two services that have not compiled it yet."""
    async with Journal.open(folder / "journal", reserve_bytes=0) as journal:
        hot, store = MemoryCache(), cast(StoreClient, cast(Any, ForgetfulStore()))
        writer = StoreWriter(journal, hot, store, batch_size=8, gather_seconds=0.0, limit=1_000)
        memories = MemoryService(
            journal, hot, store, writer, now=lambda: NOW, pending_erasures=PendingErasures(folder / "forgetting")
        )
        running = asyncio.create_task(writer.run())
        sessions = SessionRegistry(journal, hot, store, writer, memories, now=lambda: NOW, features=Features())
        await sessions.load_heads((None,))
        spoken = tuple(MessageDraft(event=MessageType.USER, text=text) for text in SAID)
        await sessions.append("long", AppendRequest(messages=spoken), None)
        one, other = (
            SessionService(
                sessions,
                memories,
                cast(Any, None),
                lambda _: (),
                secret=b"s",
                find_project_id=lambda named: named,
                now=lambda: NOW,
                preferences=QuestionPreferences(folder / "reactions.json"),
            )
            for _ in range(2)
        )
        yield one, other
        running.cancel()


async def compile_prompt(conversations: SessionService, budget: int = 32_000, *, system: str = "") -> list[Any]:
    answer = await conversations.compile(CompileRequest(session="long", budget=budget, system=system))
    return list(answer.messages)


def slow_down_folding(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    add = SessionHistory.add

    def slowly(self: SessionHistory, message: Message) -> None:
        time.sleep(seconds)
        add(self, message)

    monkeypatch.setattr(SessionHistory, "add", slowly)


async def test_compile_after_cancel_folds_turns_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller cancelled during the first folding leaves a thread that continues it."""
    async with long_session(tmp_path) as (asked_twice, asked_once), asyncio.timeout(20):
        expected = await compile_prompt(asked_once)
        slow_down_folding(0.001, monkeypatch)
        leaving = asyncio.create_task(compile_prompt(asked_twice))
        await asyncio.sleep(0.05)
        leaving.cancel()
        assert await compile_prompt(asked_twice) == expected


async def test_concurrent_compiles_equal_single_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (32_000, 16_000, 8_000, 4_000, 2_000, 1_000)
    async with long_session(tmp_path) as (asked_at_once, asked_in_turn), asyncio.timeout(20):
        expected = [await compile_prompt(asked_in_turn, size) for size in sizes]
        slow_down_folding(0.0002, monkeypatch)
        assert await asyncio.gather(*(compile_prompt(asked_at_once, size) for size in sizes)) == expected


async def test_folding_long_history_does_not_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with long_session(tmp_path) as (conversations, _), asyncio.timeout(20):
        slow_down_folding(0.001, monkeypatch)
        compiling = asyncio.create_task(compile_prompt(conversations, 8_000, system="be brief " * 3_400))
        turns_of_others = 0
        while not compiling.done():
            await asyncio.sleep(0.005)
            turns_of_others += 1
    assert turns_of_others > 10  # foldings of 0.3 s each would leave two or three


async def test_append_does_not_wait_for_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_read, may_end = asyncio.Event(), asyncio.Event()

    async def rate(sentences: object) -> None:
        is_read.set()
        await may_end.wait()

    async with long_session(tmp_path) as (conversations, _), asyncio.timeout(20):
        monkeypatch.setattr(conversations, "_rate", rate)
        condensing = asyncio.create_task(conversations.run_condensing())
        conversations.on_session_grown("long")
        await is_read.wait()
        said = MessageDraft(event=MessageType.USER, text="We keep the loans in SQLite.")
        assert (await conversations.append("long", AppendRequest(messages=(said,)))).accepted == 1
        assert len(await compile_prompt(conversations)) > 1
        may_end.set()
        condensing.cancel()
