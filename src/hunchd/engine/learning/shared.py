"""Synchronization with the repository's shared files: pulls, checkouts, deletions.

Shared facts follow the usual resolution with one exception: what the user stated is not replaced by what came with a
pull. The two are shown as a contradiction until the user settles it, or the file says something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hunchd.consolidation.conflicts import conflict_of, lapsed, sides
from hunchd.domain.facts import Change, contested, same_value, withdrawn
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.domain.sharing import KINDS, is_shared
from hunchd.engine.keeping.drafts import memory_id
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.learning.claims import CLAIMED_AT_ONCE, is_no_news, on_line, side_line
from hunchd.engine.state.project import Project


class Shared:
    """Synchronizer of shared memories."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    async def read(self, project: Project, said: Sequence[Memory]) -> None:
        """Update the shared memories to `file_memories`, everything that the working tree's files state."""
        line = side_line(project)
        before = await self._known(project)
        if not said and not before:
            project.shared = {}
            return
        async with self._memories.changing:  # later statements come after it
            said = await self._not_our_own(project, said)
            here = [_bound(memory, line) for memory in said]
            stated: dict[str, str | None] = {memory.id: line for memory in here}
            await self._withdraw(project, [name for name, on in before.items() if on == line and name not in stated])
            await self._take_facts(project, [one for one in zip(said, here, strict=True) if one[0].kind is Kind.FACT])
            await self._take_others(project, [memory for memory in here if memory.kind is not Kind.FACT])
            await self._lapse(project, said)
        project.shared = {name: on for name, on in before.items() if on != line} | stated

    async def _known(self, project: Project) -> dict[str, str | None]:
        """Return the ids shared until now, with the branch of each."""
        if project.shared is not None:
            return project.shared
        found = await self._memories.all_of(Filters(project=project.id, kinds=KINDS))
        return {one.id: one.branch for one in found if is_shared(one) and "." not in one.id}

    async def _not_our_own(self, project: Project, said: Sequence[Memory]) -> list[Memory]:
        """Drop memories that were shared from here and have no key: they exist already."""
        named = [str(memory.source["id"]) for memory in said if memory.source.get("id")]
        known = await self._memories.known(named, project.id) if named else {}
        own = {name for name, memory in known.items() if _holds(memory) and not is_shared(memory)}
        return [memory for memory in said if memory.source.get("id") not in own]

    async def _take_facts(self, project: Project, said: Sequence[tuple[Memory, Memory]]) -> None:
        """Store shared facts.

        Each is given as on the main line and as on the current branch.
        """
        places = [fact.id for pair in said for fact in pair]
        heads = await self._memories.known(list(dict.fromkeys(places)), project.id)
        now = self._memories.now()
        claims, changes, contests = list[Memory](), list[Change](), list[tuple[Memory, Memory]]()
        for everywhere, here in said:
            standing = next((head for fact in (here, everywhere) if _holds(head := heads.get(fact.id))), None)
            if standing is None and await self._is_merged(heads.get(here.id), here):
                continue
            if standing is None:
                claims.append(here if here.id not in heads else replace(here, valid_from=now))
            elif same_value(standing, here):
                changes += _retold(standing, here, now)
            elif await is_no_news(self._memories, replace(here, id=standing.id), standing):
                continue
            elif standing.trust is Trust.USER:
                contests.append((replace(here, id=standing.id, branch=standing.branch), standing))
            else:
                claims.append(replace(here, valid_from=now))
        await self._memories.commit(changes)
        for begin in range(0, len(claims), CLAIMED_AT_ONCE):
            await self._memories.claimed(claims[begin : begin + CLAIMED_AT_ONCE])
        await self._memories.commit([_contradiction(claim, standing, now) for claim, standing in contests])

    async def _is_merged(self, head: Memory | None, said: Memory) -> bool:
        """Return True if the memory was merged into an active duplicate."""
        if head is None or head.superseded_by is None or not same_value(head, said):
            return False
        keeper = (await self._memories.known([head.superseded_by], head.project)).get(head.superseded_by)
        return _holds(keeper)

    async def _take_others(self, project: Project, said: Sequence[Memory]) -> None:
        known = await self._memories.known([memory.id for memory in said], project.id) if said else {}
        await self._memories.keep([new for memory in said if (new := _renewed(memory, known.get(memory.id)))])

    async def _withdraw(self, project: Project, gone: Sequence[str]) -> None:
        """End the memories that no file states any more."""
        heads = await self._memories.known(gone, project.id) if gone else {}
        now = self._memories.now()
        held = (head for head in heads.values() if _holds(head) and is_shared(head))
        await self._memories.commit([withdrawn(head, now) for head in held])

    async def _lapse(self, project: Project, said: Sequence[Memory]) -> None:
        """Close contradictions whose shared side changed or was deleted."""
        stated = {_statement(memory) for memory in said}
        now = self._memories.now()
        over = [
            lapsed(conflict, now)
            for conflict in project.conflicts.values()
            if any(is_shared(side) and _statement(side) not in stated for side in sides(conflict))
        ]
        await self._memories.commit(over)


def _bound(memory: Memory, line: str | None) -> Memory:
    """Return the memory restricted to a branch, or valid everywhere."""
    if memory.kind is Kind.FACT:
        return on_line(memory, line)
    identifier = memory_id(memory.project, f"{line or ''}:{memory.ref}")
    return replace(memory, id=identifier, branch=line, ref=None if line else memory.ref)


def _holds(head: Memory | None) -> bool:
    return head is not None and head.status is Status.ACTIVE


def _statement(memory: Memory) -> tuple[str, str]:
    return str(memory.source.get("path")), memory.value or memory.content


def _retold(standing: Memory, said: Memory, now: datetime) -> list[Change]:
    """Update wording and source of an unchanged value.

    Nothing if it was not shared before.
    """
    if not is_shared(standing):
        return []
    told = replace(
        standing,
        title=said.title,
        content=said.content,
        levels=said.levels,
        confidence=said.confidence,
        importance=said.importance,
        tags=said.tags,
        artifacts=said.artifacts,
        source={**standing.source, "by": None, **said.source},
    )
    told = replace(told, source={name: value for name, value in told.source.items() if value is not None})
    return [] if told == standing else [Change((replace(told, updated=now),), project=standing.project)]


def _renewed(said: Memory, known: Memory | None) -> Memory | None:
    """Return a workflow as it is to be stored.

    Returns None if it is stored already.
    """
    if known is None:
        return said
    renewed = replace(
        said, created=known.created, usage=known.usage, updated=known.updated, valid_from=known.valid_from
    )
    renewed = replace(renewed, at=known.at) if said.at > known.at and _holds(known) else renewed
    return None if renewed == known else replace(renewed, updated=said.updated)


def _contradiction(claim: Memory, standing: Memory, now: datetime) -> Change:
    """Store the claim beside the user's statement, with a contradiction of both."""
    ruling = contested(replace(claim, valid_from=now), standing, now)
    conflict = conflict_of(standing, ruling.memory, now, reason=f"the project shares something else of '{claim.key}'")
    return replace(ruling.change, memories=(*ruling.change.memories, conflict))
