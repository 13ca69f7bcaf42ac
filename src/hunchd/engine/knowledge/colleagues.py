"""Import of a colleague's export as the colleague's word, beside one's own memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hunchd.consolidation.conflicts import conflict_of, lapsed, sides
from hunchd.domain.facts import Change, contested, place_of, same_value
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Status, Trust, Usage
from hunchd.domain.sharing import why_not
from hunchd.engine.keeping.memories import Memories

COLLEAGUE = "colleague"  # prefix of the source type: each colleague is a source of its own


class Colleagues:
    """Importer of what colleagues exported."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    async def take(self, said: Sequence[Memory], name: str) -> dict[str, int]:
        """Store what `name` states about a project and is not known.

        What contradicts a valid fact is stored as a contradiction. Personal memories, what files or commits state
        anyway, and
        duplicates are skipped. Returns counts.
        """
        counts = {"memories": 0, "known": 0, "contradictions": 0, "skipped": 0}
        taken: list[Memory] = []
        for memory in said:
            if why_not(memory, project=memory.project or "", branch=None, now=self._memories.now()):
                counts["skipped"] += 1
                continue
            told = _told_by(memory, name)
            counts[await self._take(told)] += 1
            taken.append(told)
        await self._lapse(taken)
        return counts

    async def _take(self, told: Memory) -> str:
        place, now = place_of(told), self._memories.now()
        told = replace(told, id=place or told.id, created=now, updated=now)
        async with self._memories.changing:
            head = (await self._memories.known([told.id], told.project)).get(told.id)
            if head is not None and (place is None or same_value(head, told)):
                return "known"
            if head is not None and head.status is Status.ACTIVE and head.source.get("type") != told.source["type"]:
                reason = f"{told.source['by']} says something else of '{told.key}'"
                ruling = contested(told, head, now)
                conflict = conflict_of(head, ruling.memory, now, reason=reason)
                if await self._memories.known([conflict.id], told.project):  # open or answered already
                    return "known"
                await self._memories.commit([replace(ruling.change, memories=(*ruling.change.memories, conflict))])
                return "contradictions"
            if head is None:
                await self._memories.commit([Change((told,), project=told.project)])
                return "memories"
        # The slot held an ended value, or an earlier one of this colleague.
        await self._memories.claim([told])
        return "memories"

    async def _lapse(self, taken: Sequence[Memory]) -> None:
        """Close contradictions whose side the colleague no longer states."""
        said = {place: memory for memory in taken if (place := place_of(memory)) is not None}
        if not said:
            return
        project = taken[0].project
        asked = Filters(project=project, kinds=(Kind.CONTRADICTION,), statuses=(Status.ACTIVE,))
        async with self._memories.changing:
            now = self._memories.now()
            open_ = await self._memories.all_of(asked)
            await self._memories.commit([lapsed(one, now) for one in open_ if _says_no_more(sides(one)[1], said)])


def _says_no_more(side: Memory, said: Mapping[str, Memory]) -> bool:
    told = said.get(place_of(side) or "")
    return told is not None and side.source.get("type") == told.source["type"] and not same_value(side, told)


def _told_by(memory: Memory, name: str) -> Memory:
    """Return the memory as a colleague's, without usage and links, which are meaningless here."""
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
