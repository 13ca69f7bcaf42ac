"""Resolution of claims: one value a key, and the conflicts that follow.

Reads only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from hunchd.consolidation.conflicts import conflict_of, is_asked_or_answered, overtaken
from hunchd.domain.facts import (
    Change,
    Ruling,
    Verdict,
    place_of,
    revised,
    ruled,
    same_value,
    since,
    turned_round,
    voice_of,
)
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.engine.keeping.kept import Kept


class Rulings:
    """Resolver of claims against the memories in `reader`."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    async def of(self, claims: Sequence[Memory], now: datetime) -> list[Ruling]:
        """Resolve `claims` in order; nothing is written."""
        heads = await self._heads(claims)
        said = self._said(claims)
        written: dict[str, Memory] = {}  # by the resolutions so far
        rulings = []
        for claim in claims:
            again = said.setdefault(told, claim) if (told := _statement(claim)) is not None else claim
            if again is not claim:
                rulings.append(Ruling(Verdict.SAME, again, Change((), project=again.project)))
                continue
            ruling = await self._by_place(claim, heads.get(claim.id), written, now)
            ruling = await self._replacing(claim, ruling, written, now)
            written.update({memory.id: memory for memory in ruling.change.memories})
            heads.update({memory.id: memory for memory in ruling.change.memories})
            rulings.append(ruling)
        return rulings

    async def _by_place(self, claim: Memory, head: Memory | None, written: dict[str, Memory], now: datetime) -> Ruling:
        if place_of(claim) is None:
            memory = claim if head is None else _renewed(head, claim)
            if memory is head:  # sent again unchanged
                return Ruling(Verdict.SAME, memory, Change((), project=memory.project), against=head)
            if head is not None and _says_else(head, memory):
                change = revised(head, memory, now)
                return Ruling(Verdict.REPLACED, change.memories[-1], change, against=head)
            return Ruling(Verdict.NEW, memory, Change((memory,), project=claim.project))
        earlier: Iterable[Memory] = ()
        if head is not None and since(claim) < since(head) and head.supersedes is not None:
            known = {one.id: one for one in await self._kept.family(claim.id, claim.project)} | written
            earlier = known.values()
        ruling = ruled(claim, head, tuple(earlier), now)
        agreeing = ruling.verdict in (Verdict.CONFIRMED, Verdict.SAME)
        if head is None or not (ruling.verdict is Verdict.REPLACED or (agreeing and voice_of(claim) != voice_of(head))):
            return ruling
        said = ruling.memory if ruling.verdict is Verdict.REPLACED else claim
        asked = [conflict_of(ruling.against, said, now)] if ruling.conflicting and ruling.against is not None else []
        asked = [*await self._unasked(asked), *await self.overtaken(said, now)]
        conflicts = {one.id: one for one in asked}  # the same conflict may be found twice
        return replace(
            ruling,
            conflicting=any(one.status is Status.ACTIVE for one in asked),
            change=replace(ruling.change, memories=(*ruling.change.memories, *conflicts.values())),
        )

    async def _replacing(self, claim: Memory, ruling: Ruling, written: dict[str, Memory], now: datetime) -> Ruling:
        """Supersede the memory that `claim` is said to replace, at once.

        Without this it would happen in the next nightly run. The same applies to a choice that the claim reverses.
        """
        other_way = turned_round(claim) if claim.supersedes is None else None
        named = place_of(other_way) if other_way is not None else claim.supersedes
        if named is None or "." in named or ruling.verdict not in (Verdict.NEW, Verdict.REPLACED):
            return ruling
        old = written.get(named) or (await self._kept.known([named], claim.project)).get(named)
        if old is None or old.id == ruling.memory.id or old.status not in (Status.ACTIVE, Status.SUSPECT):
            return ruling
        if other_way is not None and not (same_value(old, other_way) and old.confidence <= claim.confidence):
            return ruling
        if other_way is not None and since(claim) < since(old):  # an older statement, taken in late
            ended = replace(
                ruling.memory, status=Status.SUPERSEDED, superseded_by=old.id, valid_to=since(old), updated=now
            )
            memories = tuple(ended if one.id == ended.id else one for one in ruling.change.memories)
            return replace(ruling, memory=ended, change=replace(ruling.change, memories=memories))
        ends = min(old.valid_to or now, now)
        gone = replace(old, status=Status.SUPERSEDED, superseded_by=ruling.memory.id, valid_to=ends, updated=now)
        if other_way is not None and ruling.against is None:
            ruling = replace(ruling, verdict=Verdict.REPLACED, against=old)
        return replace(ruling, change=replace(ruling.change, memories=(*ruling.change.memories, gone)))

    async def overtaken(self, said: Memory, now: datetime, *, undone: Memory | None = None) -> list[Memory]:
        """Update the open contradictions of a slot after one source states `stated_memory` there."""
        place = place_of(said)
        known = await self._kept.conflicts_about({place}, said.project) if place is not None else []
        told = [one for conflict in known for one in overtaken(conflict, said, now, undone=undone)]
        opened = await self._unasked([one for one in told if one.status is Status.ACTIVE])
        return [*opened, *(one for one in told if one.status is not Status.ACTIVE)]

    async def _unasked(self, conflicts: Sequence[Memory]) -> list[Memory]:
        """Return the conflicts that are neither open nor answered already."""
        known = [await self._kept.known([one.id], one.project) for one in conflicts]
        return [
            one
            for one, before in zip(conflicts, known, strict=True)
            if not any(map(is_asked_or_answered, before.values()))
        ]

    async def _heads(self, claims: Sequence[Memory]) -> dict[str, Memory]:
        """Return the current values under the ids of `claims`, where they may exist."""
        wanted: dict[str | None, list[str]] = {}
        for claim in claims:
            if claim.ref is not None or place_of(claim) is not None:
                wanted.setdefault(claim.project, []).append(claim.id)
        heads: dict[str, Memory] = {}
        for project, identifiers in wanted.items():
            heads |= await self._kept.known(list(dict.fromkeys(identifiers)), project)
        return heads

    def _said(self, claims: Sequence[Memory]) -> dict[tuple[object, ...], Memory]:
        """Return the cached facts without a slot that a claim may repeat, by statement."""
        owners = {claim.project for claim in claims if _statement(claim) is not None}
        facts = (fact for owner in owners for fact in self._kept.at_hand(Filters(project=owner, kinds=(Kind.FACT,))))
        return {told: fact for fact in facts if (told := _statement(fact)) is not None}


def _statement(fact: Memory) -> tuple[object, ...] | None:
    """Return a comparison key of a fact without slot and ref.

    Repeated statements have equal keys.
    """
    if fact.kind is not Kind.FACT or fact.ref is not None or place_of(fact) is not None:
        return None
    holds = (fact.project, fact.scope, fact.branch, fact.valid_from, fact.valid_to, fact.status)
    return (*holds, fact.category, fact.tags, fact.trust, " ".join(fact.content.split()))


def _says_else(known: Memory, memory: Memory) -> bool:
    """Return True if the user changed the text under their own ref.

    The old text is then kept as a version, as when it is edited. What is read again from files and commits has its
    history
    there, and session messages never change.
    """
    told = known.status is Status.ACTIVE and known.trust is memory.trust is Trust.USER
    return told and memory.kind is not Kind.MESSAGE and known.content != memory.content


def _renewed(known: Memory, memory: Memory) -> Memory:
    """Merge a memory that was sent again with the stored one.

    Unchanged it stays as it is, changed it keeps its past.
    """
    renewed = replace(memory, created=known.created, at=memory.at if memory.at != memory.created else known.at)
    says_more = memory.content != known.content and known.superseded_by is not None  # it is not a duplicate any more
    status = memory.status if says_more else known.status
    renewed = replace(renewed, usage=known.usage, updated=known.updated, status=status)
    renewed = replace(renewed, supersedes=memory.supersedes or known.supersedes)
    return known if renewed == known else replace(renewed, updated=memory.updated)
