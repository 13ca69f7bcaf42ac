"""Workflows follow the files that define them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from hunchd.core.projects.workflow_updates import update_file_workflows
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Memory
from hunchd.ingestion.workflows.scripts import parse_workflows
from hunchd.ingestion.workflows.workflow_memories import workflow_to_memory
from hunchd.repository.layout import RepositoryLayout

NOW = datetime(2026, 11, 22, tzinfo=UTC)


async def update(project: Project, workflows: Sequence[Memory]) -> list[MemoryChange]:
    changes: list[MemoryChange] = []

    @asynccontextmanager
    async def lock_changes(ids: Sequence[str], project_id: str) -> AsyncIterator[dict[str, Memory]]:
        yield {}

    async def commit(committed: Sequence[MemoryChange]) -> None:
        changes.extend(committed)

    memories = SimpleNamespace(now=lambda: NOW, lock_changes=lock_changes, commit=commit)
    await update_file_workflows(cast(Any, memories), project, workflows)
    return changes


async def test_shared_workflow_survives_update(tmp_path: Path) -> None:
    project = Project("p", "shop", WorkingTree(tmp_path, RepositoryLayout(tmp_path, None, None)), tmp_path)
    [script] = (workflow_to_memory(one, "p", NOW) for one in parse_workflows("Makefile", "test:\n\tpytest\n"))
    gone = replace(script, id="m1")
    shared = replace(script, id="m2", source={"type": "shared"})
    project.workflows = {"m1": gone, "m2": shared}

    stored, ended = await update(project, [script])

    assert [memory.id for memory in stored.memories] == [script.id]
    assert "m1" in [memory.id for memory in ended.memories]
    assert "m2" not in [memory.id for change in (stored, ended) for memory in change.memories]
