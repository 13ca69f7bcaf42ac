"""Storage of the workflows that a project's files define."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.state.project import Project
from hunchd.domain.facts import MemoryChange, revise_fact, withdraw_fact
from hunchd.domain.memory import Memory, Status
from hunchd.ingestion.workflows.workflow_memories import SCRIPT_SOURCE, compare_memories, is_edited


async def update_file_workflows(memories: MemoryService, project: Project, file_workflows: Sequence[Memory]) -> None:
    """Update the workflows that the project's files define.

    New workflows are stored, and changed ones keep their history. The validity of workflows that are no longer
    found is ended.
    """
    async with memories.lock_changes([memory.id for memory in file_workflows], project.id) as stored_workflows:
        now = memories.now()
        shown_workflows = {
            memory.id: memory for memory in project.workflows.values() if memory.source.get("type") == SCRIPT_SOURCE
        }
        known_workflows = {
            memory.id: memory
            for memory in (shown_workflows | stored_workflows).values()
            if memory.status is Status.ACTIVE
        }
        # Workflows that the user edited keep the user's wording.
        own = {memory.id for memory in known_workflows.values() if is_edited(memory)}
        changed_workflows, gone_workflows = compare_memories(
            list(known_workflows.values()), [memory for memory in file_workflows if memory.id not in own]
        )
        changes = [_to_change(known_workflows.get(memory.id), memory, now) for memory in changed_workflows]
        changes += [withdraw_fact(memory, now) for memory in gone_workflows if memory.id not in own]
        await memories.commit(changes)


def _to_change(before: Memory | None, memory: Memory, now: datetime) -> MemoryChange:
    if before is None:
        return MemoryChange((memory,), project=memory.project)
    after = replace(memory, created=before.created, usage=before.usage, supersedes=before.supersedes)
    return revise_fact(before, after, now)
