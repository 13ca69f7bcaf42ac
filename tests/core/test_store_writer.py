"""Tests of the writer from the journal to the store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from hunchd.core.memory.store_writer import PendingWrite, StoreWriter
from hunchd.domain.errors import NotFound
from hunchd.domain.memory import Kind, Memory
from hunchd.store.client import StoreClient
from hunchd.store.journal.journal import Journal
from hunchd.store.journal.segments import JournalRecord
from hunchd.store.memory_cache import MemoryCache

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class PickyStore:
    """Fake store that rejects the memories of one project."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    async def put(self, memories: Sequence[Memory]) -> None:
        if any(memory.project == "nobody's" for memory in memories):
            raise NotFound('there is no project "nobody\'s"')
        self.kept += [memory.id for memory in memories]


class NoJournal:
    checkpoint_sequence = 0
    last_sequence = 0

    async def write_checkpoint(self, sequence: int) -> None:
        self.checkpoint_sequence = sequence


def memory(number: int, project: str) -> Memory:
    return Memory(
        id=f"m{number}", kind=Kind.FACT, title="t", content="c", at=NOW, created=NOW, updated=NOW, project=project
    )


async def test_invalid_record_is_skipped() -> None:
    store, journal = PickyStore(), NoJournal()
    writer = StoreWriter(
        cast(Journal, journal),
        MemoryCache(),
        cast(StoreClient, cast(Any, store)),
        batch_size=8,
        gather_seconds=0.0,
        limit=100,
    )
    for number in range(1, 13):
        writer.add(PendingWrite(number, memories=(memory(number, "nobody's" if number in (3, 9) else "p"),)))

    running = asyncio.create_task(writer.run())
    async with asyncio.timeout(5):
        while writer.pending:
            await asyncio.sleep(0.01)
    running.cancel()

    assert store.kept == [f"m{number}" for number in range(1, 13) if number not in (3, 9)]
    assert journal.checkpoint_sequence == 12
    assert writer.trouble == ""


class CountingStore:
    """Fake store that records batches."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    async def put(self, memories: Sequence[Memory]) -> None:
        self.batches.append(len(memories))


def make_writer(store: CountingStore, *, batch: int) -> StoreWriter:
    client = cast(StoreClient, cast(Any, store))
    return StoreWriter(
        cast(Journal, NoJournal()), MemoryCache(), client, batch_size=batch, gather_seconds=60.0, limit=1_000
    )


async def test_streamed_records_share_batches() -> None:
    store = CountingStore()
    writer = make_writer(store, batch=8)
    running = asyncio.create_task(writer.run())
    for number in range(1, 17):
        writer.add(PendingWrite(number, memories=(memory(number, "p"),)))
        await asyncio.sleep(0)
    async with asyncio.timeout(5):
        while writer.pending:
            await asyncio.sleep(0.01)
    running.cancel()

    assert store.batches == [8, 8]


async def test_drain_does_not_wait_for_batch() -> None:
    store = CountingStore()
    writer = make_writer(store, batch=8)
    running = asyncio.create_task(writer.run())
    async with asyncio.timeout(5):
        for number in (1, 2, 3):
            writer.add(PendingWrite(number, memories=(memory(number, "p"),)))
            await asyncio.sleep(0.01)
            await writer.drain()
    running.cancel()

    assert store.batches == [1, 1, 1]


class SlowJournal(NoJournal):
    """Fake journal that accepts a record only on demand."""

    def __init__(self) -> None:
        self.let = asyncio.Event()

    async def append(self, records: Sequence[JournalRecord]) -> list[int]:
        await self.let.wait()
        self.last_sequence += len(records)
        return list(range(self.last_sequence - len(records) + 1, self.last_sequence + 1))


class RecordingStore:
    """Fake store that records what it is given."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    async def put(self, memories: Sequence[Memory]) -> None:
        self.kept += [memory.id for memory in memories]

    async def put_signals(self, signals: Sequence[dict[str, Any]]) -> int:
        self.kept += [signal["id"] for signal in signals]
        return len(signals)

    async def delete(self, identifiers: Sequence[str], project: str | None) -> None:
        self.kept += [f"without {identifier}" for identifier in identifiers]


async def test_removed_project_records_are_dropped() -> None:
    store, journal = RecordingStore(), SlowJournal()
    writer = StoreWriter(
        cast(Journal, journal),
        MemoryCache(),
        cast(StoreClient, cast(Any, store)),
        batch_size=8,
        gather_seconds=0.0,
        limit=100,
    )

    def record(project: str) -> JournalRecord:
        return JournalRecord(id="x", type="signal", project=project, data={}, at=0.0)

    def queued(sequences: list[int]) -> None:
        signals = ({"id": "s1", "project": "gone"}, {"id": "s2", "project": "p"})
        writer.add(
            PendingWrite(sequences[0], (memory(1, "gone"), memory(2, "p")), signals, (("gone", "m3"), ("p", "m4")))
        )

    running = asyncio.create_task(writer.run())
    arriving = asyncio.create_task(writer.accept([record("gone")], queued))
    await asyncio.sleep(0)
    leaving = asyncio.create_task(writer.remove_project("gone"))
    await asyncio.sleep(0)
    assert not leaving.done()  # a record of it is on its way to the disk
    journal.let.set()
    async with asyncio.timeout(5):
        await asyncio.gather(arriving, leaving)
    assert store.kept == ["m2", "s2", "without m4"]
    with pytest.raises(NotFound):
        await writer.accept([record("p"), record("gone")], queued)
    running.cancel()
