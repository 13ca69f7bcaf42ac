"""Import of a colleague's export; the memories stay separate from the user's own statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hunchd.consolidation.contradiction_records import close_lapsed, create_contradiction, parse_sides
from hunchd.core.memory.memory_service import MemoryService
from hunchd.domain.facts import MemoryChange, is_same_value, resolve_as_conflict, slot_of
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Status, Trust, Usage
from hunchd.domain.sharing import explain_not_shared
from hunchd.protocol.exports import ImportCounts

COLLEAGUE_SOURCE_PREFIX = "colleague"  # prefix of the source type: each colleague is a separate source


class ColleagueImporter:
    """Importer of memories that colleagues exported."""

    def __init__(self, memories: MemoryService) -> None:
        self._memories = memories

    async def import_memories(self, memories: Sequence[Memory], name: str) -> ImportCounts:
        """Store the new memories of the colleague `name`, and return counts.

        A memory that contradicts a valid fact is stored as a contradiction. Personal memories, duplicates, and
        statements that files or commits make as well are skipped.
        """
        outcomes = Counter[str]()
        imported_memories: list[Memory] = []
        for memory in memories:
            if explain_not_shared(memory, project=memory.project or "", branch=None, now=self._memories.now()):
                outcomes["skipped"] += 1
                continue
            attributed_memory = _attribute_to_colleague(memory, name)
            outcomes[await self._import_memory(attributed_memory)] += 1
            imported_memories.append(attributed_memory)
        await self._close_outdated_conflicts(imported_memories)
        return ImportCounts(
            memories=outcomes["memories"],
            known=outcomes["known"],
            contradictions=outcomes["contradictions"],
            skipped=outcomes["skipped"],
            rejected=[],
        )

    async def _import_memory(self, memory: Memory) -> str:
        place, now = slot_of(memory), self._memories.now()
        memory = replace(memory, id=place or memory.id, created=now, updated=now)
        async with self._memories.change_lock:
            head = (await self._memories.find([memory.id], memory.project)).get(memory.id)
            if head is not None and (place is None or is_same_value(head, memory)):
                return "known"
            if head is not None and head.status is Status.ACTIVE and head.source.get("type") != memory.source["type"]:
                reason = f"{memory.source['by']} says something else about '{memory.key}'"
                ruling = resolve_as_conflict(memory, head, now)
                conflict = create_contradiction(head, ruling.memory, now, reason=reason)
                if await self._memories.find([conflict.id], memory.project):  # already open or resolved
                    return "known"
                await self._memories.commit([replace(ruling.change, memories=(*ruling.change.memories, conflict))])
                return "contradictions"
            if head is None:
                await self._memories.commit([MemoryChange((memory,), project=memory.project)])
                return "memories"
        # The key had a value that is no longer valid, or an earlier value from this colleague.
        await self._memories.claim([memory])
        return "memories"

    async def _close_outdated_conflicts(self, imported_memories: Sequence[Memory]) -> None:
        """Close contradictions with statements that the colleague no longer makes."""
        statements = {place: memory for memory in imported_memories if (place := slot_of(memory)) is not None}
        if not statements:
            return
        project = imported_memories[0].project
        filters = Filters(project=project, kinds=(Kind.CONTRADICTION,), statuses=(Status.ACTIVE,))
        async with self._memories.change_lock:
            now = self._memories.now()
            open_ = await self._memories.list_all(filters)
            await self._memories.commit(
                [close_lapsed(one, now) for one in open_ if _is_no_longer_stated(parse_sides(one)[1], statements)]
            )


def _is_no_longer_stated(side: Memory, statements: Mapping[str, Memory]) -> bool:
    statement = statements.get(slot_of(side) or "")
    return (
        statement is not None
        and side.source.get("type") == statement.source["type"]
        and not is_same_value(side, statement)
    )


def _attribute_to_colleague(memory: Memory, name: str) -> Memory:
    """Return the memory as a statement by the colleague `name`.

    Usage and links are removed, because they have no meaning on this machine.
    """
    source = {"type": f"{COLLEAGUE_SOURCE_PREFIX} {name}", "by": name, "id": memory.id}
    return replace(
        memory,
        trust=Trust.UNTRUSTED,
        source=source,
        usage=Usage(),
        links=(),
        supersedes=None,
        superseded_by=None,
        ref=None,
    )
