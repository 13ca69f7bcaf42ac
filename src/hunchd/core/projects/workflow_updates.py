"""Storage of the workflows that a project's files define or that its commands reveal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.state.project import Project
from hunchd.domain.facts import MemoryChange, revise_fact, withdraw_fact
from hunchd.domain.memory import Memory, Status
from hunchd.ingestion.workflows.workflow_memories import SCRIPT_SOURCE, compare_memories, is_edited


async def update_workflows(
    memories: MemoryService,
    project: Project,
    mined_workflows: Sequence[Memory],
    voice: str,
    now: datetime,
    *,
    since: float = 0.0,
) -> None:
    """Update the workflows that come from one source, whose type is `voice`.

    New workflows are stored, and changed ones keep their history. Workflows that are no longer found are ended,
    unless they were last run before `since`, in seconds since the epoch.
    """
    wanted_workflows = [memory for memory in mined_workflows if memory.id not in project.command_history.forgotten_ids]
    async with memories.lock_changes([memory.id for memory in wanted_workflows], project.id) as stored_workflows:
        shown_workflows = {
            memory.id: memory for memory in project.workflows.values() if memory.source.get("type") == voice
        }
        known_workflows = {
            memory.id: memory
            for memory in (shown_workflows | stored_workflows).values()
            if memory.status is Status.ACTIVE
        }
        # Workflows that the user edited keep the user's wording.
        own = {memory.id for memory in known_workflows.values() if is_edited(memory)}
        changed_workflows, gone_workflows = compare_memories(
            list(known_workflows.values()), [memory for memory in wanted_workflows if memory.id not in own]
        )
        changes = [_to_change(known_workflows.get(memory.id), memory, now) for memory in changed_workflows]
        changes += [
            MemoryChange((_carry_over(before, memory),), project=project.id)
            for memory in wanted_workflows
            if (before := known_workflows.get(memory.id)) is not None
            and memory not in changed_workflows
            and memory.id not in own
            and _has_more_runs(before, memory)
        ]
        changes += [
            withdraw_fact(memory, now)
            for memory in gone_workflows
            if memory.id not in own and float(memory.source.get("last") or since) >= since
        ]
        await memories.commit(changes)


async def update_file_workflows(memories: MemoryService, project: Project, file_workflows: Sequence[Memory]) -> None:
    """Update the workflows that the project's files define."""
    await update_workflows(memories, project, file_workflows, SCRIPT_SOURCE, memories.now())


def _to_change(before: Memory | None, memory: Memory, now: datetime) -> MemoryChange:
    if before is None:
        return MemoryChange((memory,), project=memory.project)
    return revise_fact(before, _carry_over(before, memory), now)


def _carry_over(before: Memory, memory: Memory) -> Memory:
    """Return `memory` with the creation time, usage and history of `before`."""
    return replace(memory, created=before.created, usage=before.usage, supersedes=before.supersedes)


def _has_more_runs(before: Memory, after: Memory) -> bool:
    """Return True if the number of runs has changed considerably.

    Smaller changes are not worth storing.
    """
    earlier_runs, now = int(before.source.get("runs") or 0), int(after.source.get("runs") or 0)
    return now >= earlier_runs * 1.2 + 1 or now < earlier_runs * 0.8
