"""Tests of the writer from the journal to the store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from hunchd.domain.errors import NotFound
from hunchd.domain.memory import Kind, Memory
from hunchd.engine.keeping.writing import Write, Writer
from hunchd.store.client import StoreClient
from hunchd.store.hot import HotTier
from hunchd.store.journal.journal import Journal
from hunchd.store.journal.segments import Record

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
    checkpointed = 0
    last = 0

    async def checkpoint(self, sequence: int) -> None:
        self.checkpointed = sequence


def memory(number: int, project: str) -> Memory:
    return Memory(
        id=f"m{number}", kind=Kind.FACT, title="t", content="c", at=NOW, created=NOW, updated=NOW, project=project
    )


async def test_invalid_record_is_skipped() -> None:
    store, journal = PickyStore(), NoJournal()
    writer = Writer(
        cast(Journal, journal), HotTier(), cast(StoreClient, cast(Any, store)), batch=8, gather=0.0, most=100
    )
    for number in range(1, 13):
        writer.add(Write(number, memories=(memory(number, "nobody's" if number in (3, 9) else "p"),)))

    running = asyncio.create_task(writer.run())
    async with asyncio.timeout(5):
        while writer.pending:
            await asyncio.sleep(0.01)
    running.cancel()

    assert store.kept == [f"m{number}" for number in range(1, 13) if number not in (3, 9)]
    assert journal.checkpointed == 12
    assert writer.trouble == ""


class CountingStore:
    """Fake store that records batches."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    async def put(self, memories: Sequence[Memory]) -> None:
        self.batches.append(len(memories))


def make_writer(store: CountingStore, *, batch: int) -> Writer:
    client = cast(StoreClient, cast(Any, store))
    return Writer(cast(Journal, NoJournal()), HotTier(), client, batch=batch, gather=60.0, most=1_000)


async def test_streamed_records_share_batches() -> None:
    store = CountingStore()
    writer = make_writer(store, batch=8)
    running = asyncio.create_task(writer.run())
    for number in range(1, 17):
        writer.add(Write(number, memories=(memory(number, "p"),)))
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
            writer.add(Write(number, memories=(memory(number, "p"),)))
            await asyncio.sleep(0.01)
            await writer.drained()
    running.cancel()

    assert store.batches == [1, 1, 1]


class SlowJournal(NoJournal):
    """Fake journal that accepts a record only on demand."""

    def __init__(self) -> None:
        self.let = asyncio.Event()

    async def append(self, records: Sequence[Record]) -> list[int]:
        await self.let.wait()
        self.last += len(records)
        return list(range(self.last - len(records) + 1, self.last + 1))


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
    writer = Writer(
        cast(Journal, journal), HotTier(), cast(StoreClient, cast(Any, store)), batch=8, gather=0.0, most=100
    )

    def record(project: str) -> Record:
        return Record(id="x", type="signal", project=project, data={}, at=0.0)

    def queued(sequences: list[int]) -> None:
        signals = ({"id": "s1", "project": "gone"}, {"id": "s2", "project": "p"})
        writer.add(Write(sequences[0], (memory(1, "gone"), memory(2, "p")), signals, (("gone", "m3"), ("p", "m4"))))

    running = asyncio.create_task(writer.run())
    arriving = asyncio.create_task(writer.accept([record("gone")], queued))
    await asyncio.sleep(0)
    leaving = asyncio.create_task(writer.leave("gone"))
    await asyncio.sleep(0)
    assert not leaving.done()  # a record of it is on its way to the disk
    journal.let.set()
    async with asyncio.timeout(5):
        await asyncio.gather(arriving, leaving)
    assert store.kept == ["m2", "s2", "without m4"]
    with pytest.raises(NotFound):
        await writer.accept([record("p"), record("gone")], queued)
    running.cancel()
