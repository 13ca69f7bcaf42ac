"""Synchronization with the repository's shared files after pulls, checkouts and deletions.

Shared facts are resolved like any other facts, with one exception: a statement by the user is not replaced by a
statement that came with a pull. Instead, the two are shown as a contradiction until the user resolves it or the
file changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hunchd.consolidation.contradiction_records import close_lapsed, create_contradiction, parse_sides
from hunchd.core.memory.drafts import memory_id
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.projects.project_claims import CLAIM_BATCH_SIZE, get_side_branch, is_overruled, restrict_to_branch
from hunchd.core.state.project import Project
from hunchd.domain.facts import MemoryChange, is_same_value, resolve_as_conflict, withdraw_fact
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.domain.sharing import SHARED_KINDS, is_shared


class SharedMemories:
    """Service that keeps memories in line with a repository's shared files."""

    def __init__(self, memories: MemoryService) -> None:
        self._memories = memories

    async def update(self, project: Project, file_memories: Sequence[Memory]) -> None:
        """Update the shared memories to match the files in the working tree.

        `file_memories` must contain every memory that the files state.
        """
        line = get_side_branch(project)
        before = await self._get_shared_ids(project)
        if not file_memories and not before:
            project.shared_ids = {}
            return
        async with self._memories.change_lock:  # statements made in the meantime wait
            file_memories = await self._drop_own(project, file_memories)
            here = [_restrict_to_branch(memory, line) for memory in file_memories]
            stated_ids: dict[str, str | None] = {memory.id: line for memory in here}
            await self._withdraw_missing(
                project, [name for name, on in before.items() if on == line and name not in stated_ids]
            )
            await self._store_facts(
                project, [one for one in zip(file_memories, here, strict=True) if one[0].kind is Kind.FACT]
            )
            await self._store_others(project, [memory for memory in here if memory.kind is not Kind.FACT])
            await self._close_outdated_conflicts(project, file_memories)
        project.shared_ids = {name: on for name, on in before.items() if on != line} | stated_ids

    async def _get_shared_ids(self, project: Project) -> dict[str, str | None]:
        """Map the ids of the memories shared so far to branches.

        The branch is None for memories that are valid on the main line.
        """
        if project.shared_ids is not None:
            return project.shared_ids
        memories = await self._memories.list_all(Filters(project=project.id, kinds=SHARED_KINDS))
        return {one.id: one.branch for one in memories if is_shared(one) and "." not in one.id}

    async def _drop_own(self, project: Project, file_memories: Sequence[Memory]) -> list[Memory]:
        """Return `file_memories` without those that this user shared.

        A memory that the user shared is kept if it no longer exists under its original id.
        """
        ids = [str(memory.source["id"]) for memory in file_memories if memory.source.get("id")]
        memories = await self._memories.find(ids, project.id) if ids else {}
        own = {name for name, memory in memories.items() if _is_active(memory) and not is_shared(memory)}
        return [memory for memory in file_memories if memory.source.get("id") not in own]

    async def _store_facts(self, project: Project, file_facts: Sequence[tuple[Memory, Memory]]) -> None:
        """Store shared facts.

        Each fact is passed as a pair: one version valid on the main line, the other valid on the current branch.
        """
        slots = [fact.id for pair in file_facts for fact in pair]
        heads = await self._memories.find(list(dict.fromkeys(slots)), project.id)
        now = self._memories.now()
        claims, changes, contests = list[Memory](), list[MemoryChange](), list[tuple[Memory, Memory]]()
        for everywhere, here in file_facts:
            current = next((head for fact in (here, everywhere) if _is_active(head := heads.get(fact.id))), None)
            if current is None and await self._is_merged_duplicate(heads.get(here.id), here):
                continue
            if current is None:
                claims.append(here if here.id not in heads else replace(here, valid_from=now))
            elif is_same_value(current, here):
                changes += _update_wording(current, here, now)
            elif await is_overruled(self._memories, replace(here, id=current.id), current):
                continue
            elif current.trust is Trust.USER:
                contests.append((replace(here, id=current.id, branch=current.branch), current))
            else:
                claims.append(replace(here, valid_from=now))
        await self._memories.commit(changes)
        for begin in range(0, len(claims), CLAIM_BATCH_SIZE):
            await self._memories.claim_locked(claims[begin : begin + CLAIM_BATCH_SIZE])
        await self._memories.commit([_build_contradiction(claim, current, now) for claim, current in contests])

    async def _is_merged_duplicate(self, head: Memory | None, file_memory: Memory) -> bool:
        """Return True if the memory was merged into an active duplicate."""
        if head is None or head.superseded_by is None or not is_same_value(head, file_memory):
            return False
        keeper = (await self._memories.find([head.superseded_by], head.project)).get(head.superseded_by)
        return _is_active(keeper)

    async def _store_others(self, project: Project, file_memories: Sequence[Memory]) -> None:
        memories = (
            await self._memories.find([memory.id for memory in file_memories], project.id) if file_memories else {}
        )
        await self._memories.store(
            [new for memory in file_memories if (new := _merge_known(memory, memories.get(memory.id)))]
        )

    async def _withdraw_missing(self, project: Project, ids: Sequence[str]) -> None:
        """End the memories with these ids, because no file states them any more."""
        heads = await self._memories.find(ids, project.id) if ids else {}
        now = self._memories.now()
        valid_heads = (head for head in heads.values() if _is_active(head) and is_shared(head))
        await self._memories.commit([withdraw_fact(head, now) for head in valid_heads])

    async def _close_outdated_conflicts(self, project: Project, file_memories: Sequence[Memory]) -> None:
        """Close contradictions whose shared statement was changed or deleted."""
        statement_keys = {_build_statement_key(memory) for memory in file_memories}
        now = self._memories.now()
        over = [
            close_lapsed(conflict, now)
            for conflict in project.conflicts.values()
            if any(
                is_shared(side) and _build_statement_key(side) not in statement_keys for side in parse_sides(conflict)
            )
        ]
        await self._memories.commit(over)


def _restrict_to_branch(memory: Memory, line: str | None) -> Memory:
    """Return the memory restricted to a branch.

    If `line` is None, the memory is valid on all branches.
    """
    if memory.kind is Kind.FACT:
        return restrict_to_branch(memory, line)
    identifier = memory_id(memory.project, f"{line or ''}:{memory.ref}")
    return replace(memory, id=identifier, branch=line, ref=None if line else memory.ref)


def _is_active(head: Memory | None) -> bool:
    return head is not None and head.status is Status.ACTIVE


def _build_statement_key(memory: Memory) -> tuple[str, str]:
    return str(memory.source.get("path")), memory.value or memory.content


def _update_wording(current: Memory, file_memory: Memory, now: datetime) -> list[MemoryChange]:
    """Return the change to the wording and source of an unchanged value.

    Returns an empty list if nothing differs, or if the stored memory is not a shared one.
    """
    if not is_shared(current):
        return []
    updated_memory = replace(
        current,
        title=file_memory.title,
        content=file_memory.content,
        levels=file_memory.levels,
        confidence=file_memory.confidence,
        importance=file_memory.importance,
        tags=file_memory.tags,
        artifacts=file_memory.artifacts,
        source={**current.source, "by": None, **file_memory.source},
    )
    updated_memory = replace(
        updated_memory, source={name: value for name, value in updated_memory.source.items() if value is not None}
    )
    return (
        []
        if updated_memory == current
        else [MemoryChange((replace(updated_memory, updated=now),), project=current.project)]
    )


def _merge_known(file_memory: Memory, stored_memory: Memory | None) -> Memory | None:
    """Merge a memory from a file with its stored version.

    The creation time and usage are kept. Returns None if the memory is already stored unchanged.
    """
    if stored_memory is None:
        return file_memory
    merged_memory = replace(
        file_memory,
        created=stored_memory.created,
        usage=stored_memory.usage,
        updated=stored_memory.updated,
        valid_from=stored_memory.valid_from,
    )
    merged_memory = (
        replace(merged_memory, at=stored_memory.at)
        if file_memory.at > stored_memory.at and _is_active(stored_memory)
        else merged_memory
    )
    return None if merged_memory == stored_memory else replace(merged_memory, updated=file_memory.updated)


def _build_contradiction(claim: Memory, current: Memory, now: datetime) -> MemoryChange:
    """Return a change that stores the claim and its contradiction with `current`.

    `current` is the user's statement, which remains valid.
    """
    ruling = resolve_as_conflict(replace(claim, valid_from=now), current, now)
    conflict = create_contradiction(
        current, ruling.memory, now, reason=f"the project shares a different value for '{claim.key}'"
    )
    return replace(ruling.change, memories=(*ruling.change.memories, conflict))
