"""What a colleague exported, taken over as the colleague's word: beside what is known here, never in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hunchd.consolidation.conflicts import conflict_of
from hunchd.domain.facts import Change, contested, place_of, same_value
from hunchd.domain.memory import Memory, Status, Trust, Usage
from hunchd.domain.sharing import why_not
from hunchd.engine.memories import Memories

COLLEAGUE = "colleague"  # source type begins with it: two colleagues are two voices


class Colleagues:
    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    async def take(self, said: Sequence[Memory], name: str) -> dict[str, int]:
        """Keep what `name` says of a project and is not known: what contradicts what holds here is told as a
        contradiction. Nothing personal is taken, nothing that files or commits say anyway, and nothing twice."""
        counts = {"memories": 0, "known": 0, "contradictions": 0, "skipped": 0}
        for memory in said:
            if why_not(memory, project=memory.project or "", branch=None):
                counts["skipped"] += 1
                continue
            counts[await self._take(_told_by(memory, name))] += 1
        return counts

    async def _take(self, told: Memory) -> str:
        place, now = place_of(told), self._memories.now()
        told = replace(told, id=place or told.id, created=now, updated=now)
        async with self._memories.changing:
            head = (await self._memories.known([told.id], told.project)).get(told.id)
            if head is not None and (place is None or same_value(head, told)):
                return "known"
            if head is not None and head.status is Status.ACTIVE:
                reason = f"{told.source['by']} says something else of '{told.key}'"
                ruling = contested(told, head, now)
                conflict = conflict_of(head, ruling.memory, now, reason=reason)
                if await self._memories.known([conflict.id], told.project):  # asked already, or answered
                    return "known"
                await self._memories.commit([replace(ruling.change, memories=(*ruling.change.memories, conflict))])
                return "contradictions"
            if head is None:
                await self._memories.commit([Change((told,), project=told.project)])
                return "memories"
        await self._memories.claim([told])  # something held here once, and holds no more
        return "memories"


def _told_by(memory: Memory, name: str) -> Memory:
    """The memory as a colleague's: how it was used and what it was linked to there says nothing here."""
    source = {"type": f"{COLLEAGUE} {name}", "by": name, "id": memory.id}
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
