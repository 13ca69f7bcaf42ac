"""One record that the store can never take does not keep the others out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

from hunchd.domain.errors import NotFound
from hunchd.domain.memory import Kind, Memory
from hunchd.engine.writing import Write, Writer
from hunchd.store.client import StoreClient
from hunchd.store.hot import HotTier
from hunchd.store.journal import Journal

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class PickyStore:
    """Takes all memories but those of one project."""

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


async def test_a_record_that_can_never_be_stored_is_passed_over() -> None:
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
