"""Tests of the session reader: budget, retries, ranges."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from hunchd.config.settings import LanguageSettings
from hunchd.core.cost_ledger import CostLedger, TokenPrices
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.pending_erasures import PendingErasures
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.state.feature import Features
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.domain.session import MessageType, group_into_turns
from hunchd.features.sessions.session_reader import (
    MAX_FAILURES,
    MAX_INVALID_ANSWERS,
    MAX_PAUSE_SECONDS,
    SessionReader,
    split_into_ranges,
)
from hunchd.features.sessions.session_registry import SessionRegistry
from hunchd.language.client import LanguageClient
from hunchd.language.model_requests import ModelAnswer, ModelFailure, ModelRequest, TokenUsage
from hunchd.protocol.session_requests import AppendRequest, MessageDraft
from hunchd.store.client import StoreClient
from hunchd.store.journal.journal import Journal
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.port import MemoryPage

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FACT = {
    "category": "decision",
    "key": "package manager",
    "value": "pnpm",
    "quote": "the lock file belongs to pnpm",
    "turn": 1,
    "importance": 0.8,
}


class EmptyStore:
    """Fake store that is empty and accepts everything, so that writes stay cached."""

    async def put(self, memories: Sequence[Memory]) -> None:
        pass

    async def get(self, ids: Sequence[str], project: str | None) -> list[Memory]:
        return []

    async def list(self, filters: Filters, limit: int, cursor: str | None = None) -> MemoryPage:
        return MemoryPage((), None, 0)


@dataclass
class Model:
    """Fake model that returns given answers, then repeats the last one."""

    outcomes: list[ModelAnswer | ModelFailure]
    asked: list[ModelRequest] = field(default_factory=list)

    async def ask(self, question: ModelRequest) -> ModelAnswer | ModelFailure:
        self.asked.append(question)
        return self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]


@dataclass
class ReaderFixture:
    sessions: SessionRegistry
    memories: MemoryService
    hot: MemoryCache
    path: Path
    settings: LanguageSettings = field(default_factory=lambda: LanguageSettings(enabled=True, rest_seconds=0.0))
    pauses: list[float] = field(default_factory=list)
    now: datetime = NOW

    def reading(self, model: Model) -> SessionReader:
        settings = self.settings
        prices = TokenPrices(settings.input_usd_per_million, settings.output_usd_per_million)
        self.ledger = CostLedger(self.path, limit=settings.daily_limit_usd, prices=prices, now=lambda: self.now)
        client = cast(LanguageClient, cast(Any, model))
        return SessionReader(self.sessions, self.memories, client, self.ledger, settings, sleep=self._rest)

    async def _rest(self, seconds: float) -> None:
        if seconds:
            self.pauses.append(seconds)
            self.now += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    async def say(self, session: str, *texts: str) -> None:
        """Append turns that the fact rules have processed."""
        drafts = tuple(MessageDraft(event=MessageType.USER, text=text) for text in texts)
        await self.sessions.append(session, AppendRequest(messages=drafts, project=None, rejections=()), None)
        async with self.sessions.hold_log(session) as log:
            await self.sessions.write_head(log, replace(log.head, facts_until_turn=len(log.messages)))

    def facts(self) -> list[Memory]:
        return list(self.hot.list_memories(Filters(kinds=(Kind.FACT,), statuses=())))


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[ReaderFixture]:
    async with Journal.open(tmp_path / "journal", reserve_bytes=0) as journal:
        hot, store = MemoryCache(), cast(StoreClient, cast(Any, EmptyStore()))
        writer = StoreWriter(journal, hot, store, batch_size=8, gather_seconds=0.0, limit=1_000)
        memories = MemoryService(
            journal, hot, store, writer, now=lambda: NOW, pending_erasures=PendingErasures(tmp_path / "forgetting")
        )
        sessions = SessionRegistry(journal, hot, store, writer, memories, now=lambda: NOW, features=Features())
        running = asyncio.create_task(writer.run())
        await sessions.load_heads((None,))
        yield ReaderFixture(sessions, memories, hot, tmp_path / "spending.json")
        running.cancel()


async def run_reader(reading: SessionReader, *sessions: str, until: Any = None) -> None:
    """Run until the queue is empty, or until `until()`."""
    for session in sessions:
        reading.enqueue(session)
    running = asyncio.create_task(reading.run())
    async with asyncio.timeout(10):
        while not (until() if until is not None else reading.status()["language"].waiting == 0):
            if running.done():
                running.result()
            await asyncio.sleep(0)
    running.cancel()


async def test_verified_claim_becomes_fact_with_source(bench: ReaderFixture) -> None:
    await bench.say("s", "As of today the lock file belongs to pnpm.")
    model = Model([ModelAnswer({"facts": [FACT]}, TokenUsage(1_000, 100))])
    reading = bench.reading(model)

    await run_reader(reading, "s")

    [fact] = bench.facts()
    assert (fact.category, fact.key, fact.value) == ("decision", "package manager", "pnpm")
    assert fact.content == "As of today the lock file belongs to pnpm."
    assert fact.trust is Trust.DERIVED
    assert fact.source["read_by"] == bench.settings.model
    assert fact.source["prompt"].startswith("facts-")
    assert reading.status()["language"].spent_today_usd == pytest.approx(0.0015)


async def test_turns_are_requested_only_once(bench: ReaderFixture) -> None:
    await bench.say("s", "As of today the lock file belongs to pnpm.")
    model = Model([ModelAnswer({"facts": []})])
    await run_reader(bench.reading(model), "s")
    await run_reader(bench.reading(model), "s")
    assert len(model.asked) == 1

    await bench.say("s", "And the tests belong to vitest.")
    await run_reader(bench.reading(model), "s")
    assert len(model.asked) == 2
    assert "pnpm" not in model.asked[1].text


async def test_unread_turns_are_read_at_start(bench: ReaderFixture) -> None:
    model = Model([ModelAnswer({"facts": []})])
    reading = bench.reading(model)
    await bench.say("s", "As of today the lock file belongs to pnpm.")
    await run_reader(reading, until=lambda: len(model.asked) == 1)


async def test_sessions_before_activation_are_skipped(bench: ReaderFixture) -> None:
    await bench.say("s", "As of today the lock file belongs to pnpm.")
    bench.now += timedelta(days=1)
    model = Model([ModelAnswer({"facts": []})])
    reading = bench.reading(model)
    await run_reader(reading)
    assert model.asked == []


async def test_request_redacts_secrets(bench: ReaderFixture) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    await bench.say("s", f"The token is {secret}, keep it.")
    model = Model([ModelAnswer({"facts": []})])
    await run_reader(bench.reading(model), "s")
    assert secret not in model.asked[0].text
    assert "redacted" in model.asked[0].text


async def test_model_claim_does_not_replace_rule_fact(bench: ReaderFixture) -> None:
    reading = bench.reading(Model([ModelAnswer({"facts": [{**FACT, "category": "decision"}]})]))
    await bench.say("s", "As of today the lock file belongs to pnpm.")
    await run_reader(reading, "s")
    [fact] = bench.facts()
    assert fact.confidence < 0.8


@pytest.mark.parametrize("trouble", ["busy", "unreachable"])
async def test_transient_failure_is_retried(bench: ReaderFixture, trouble: Any) -> None:
    await bench.say("s", "As of today the lock file belongs to pnpm.")
    model = Model([ModelFailure(trouble, "not now"), ModelFailure(trouble, "not now"), ModelAnswer({"facts": [FACT]})])
    await run_reader(bench.reading(model), "s")
    assert len(bench.facts()) == 1
    assert bench.pauses == [10.0, 20.0]


async def test_retry_after_is_respected(bench: ReaderFixture) -> None:
    await bench.say("s", "As of today the lock file belongs to pnpm.")
    model = Model([ModelFailure("busy", "slow down", retry_after=77.0), ModelAnswer({"facts": []})])
    await run_reader(bench.reading(model), "s")
    assert bench.pauses == [77.0]


async def test_refusal_pauses_and_sets_trouble(bench: ReaderFixture) -> None:
    await bench.say("s", "As of today the lock file belongs to pnpm.")
    reading = bench.reading(Model([ModelFailure("refused", "answered 401: no such key")]))
    await run_reader(reading, "s", until=lambda: len(bench.pauses) == 1)
    assert bench.pauses == [MAX_PAUSE_SECONDS]
    assert reading.status()["language"].trouble == "refused: answered 401: no such key"


async def test_five_failures_pause_longest(bench: ReaderFixture) -> None:
    await bench.say("s", "As of today the lock file belongs to pnpm.")
    bench.settings = replace(bench.settings, daily_limit_usd=100.0)
    model = Model([ModelFailure("unreachable", "nobody")])
    await run_reader(bench.reading(model), "s", until=lambda: len(bench.pauses) == MAX_FAILURES + 1)
    assert bench.pauses[MAX_FAILURES - 2 :] == [80.0, MAX_PAUSE_SECONDS, MAX_PAUSE_SECONDS]


async def test_invalid_answers_skip_range(bench: ReaderFixture) -> None:
    await bench.say("s", "As of today the lock file belongs to pnpm.")
    model = Model([ModelFailure("nonsense", "what")])
    await run_reader(bench.reading(model), "s")
    assert len(model.asked) == MAX_INVALID_ANSWERS
    assert bench.facts() == []


async def test_daily_limit_stops_requests_until_midnight(bench: ReaderFixture) -> None:
    await bench.say("a", "As of today the lock file belongs to pnpm.")
    await bench.say("b", "The tests belong to vitest.")
    bench.settings = replace(bench.settings, daily_limit_usd=0.015)
    model = Model(
        [ModelAnswer({"facts": []}, TokenUsage(1_000, 1_000))]
    )  # 0.006 $, and more than that is left for none
    reading = bench.reading(model)
    await run_reader(reading, "a", "b", until=lambda: bench.pauses)
    first = bench.ledger.today
    assert (first.questions, len(model.asked)) == (0, 1)  # the pause has passed midnight
    await run_reader(reading, until=lambda: len(model.asked) == 2)


async def test_broken_answer_costs_full_reservation(bench: ReaderFixture) -> None:
    await bench.say("s", "As of today the lock file belongs to pnpm.")
    reading = bench.reading(
        Model([ModelFailure("cut short", "lost", used=TokenUsage(900, 3)), ModelAnswer({"facts": []})])
    )
    await run_reader(reading, "s")
    assert reading.status()["language"].failed == 1
    assert bench.ledger.today.usd > TokenPrices(1.0, 5.0).compute_cost(900, 1_000)


async def test_erased_session_is_dropped_from_queue(bench: ReaderFixture) -> None:
    model = Model([ModelAnswer({"facts": []})])
    await run_reader(bench.reading(model), "never there")
    assert model.asked == []


async def test_long_session_is_split_completely(bench: ReaderFixture) -> None:
    await bench.say("s", *(f"number {n} " + "of many words " * 200 for n in range(40)))
    async with bench.sessions.hold_log("s") as log:
        turns = group_into_turns(log.messages)
    pieces = list(split_into_ranges(turns))
    assert len(pieces) > 2
    assert [turn.number for piece in pieces for turn in piece] == [turn.number for turn in turns]
