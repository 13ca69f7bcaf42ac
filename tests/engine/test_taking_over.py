"""Tests of imports with concurrent project removal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

from hunchd.core.projects.open_projects import OpenProjects
from hunchd.domain.memory import Kind, Memory
from hunchd.features.knowledge.transfer import MemoryTransfer
from hunchd.protocol.exports import ImportLine
from hunchd.protocol.memories import memory_to_json
from hunchd.store.client import StoreClient
from tests.consolidation.made import NOW, memory
from tests.features.test_plan_executor import open_run_fixture


class FakeProjects:
    """Fake registry with the projects p and q."""

    ids = ("p", "q")

    def find(self, named: str) -> tuple[Any, None]:
        return type("Found", (), {"id": named}), None

    def find_by_id(self, identifier: str | None) -> None:
        return None


async def test_import_continues_after_project_removal(tmp_path: Path) -> None:
    goes, stays = memory("goes"), memory("stays", project="q", kind=Kind.FACT)

    async with open_run_fixture(tmp_path) as it:
        writer = it.memories._writer

        async def lines() -> AsyncIterator[ImportLine]:
            for number, one in enumerate((goes, stays)):
                yield ImportLine(number, "memory", memory_to_json(one))
            await writer.remove_project("p")

        store = cast(StoreClient, cast(Any, it.store))
        transfer = MemoryTransfer(
            cast(OpenProjects, cast(Any, FakeProjects())), it.memories, store, writer, now=lambda: NOW
        )
        done = await transfer.import_lines(lines())
        known: dict[str, Memory] = await it.memories.find(["stays"], "q")
    assert (done.memories, done.skipped) == (1, 1)
    assert list(known) == ["stays"]
