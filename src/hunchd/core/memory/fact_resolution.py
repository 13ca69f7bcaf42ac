"""Resolution of claims: one value per key, and the conflicts that result.

A claim is a memory that may replace, repeat or contradict a stored one. This module reads memories but writes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from hunchd.consolidation.contradiction_records import close_overtaken, create_contradiction, needs_no_question
from hunchd.core.memory.memory_reader import MemoryReader
from hunchd.domain.facts import (
    ClaimOutcome,
    ClaimResolution,
    MemoryChange,
    get_source_name,
    get_valid_from,
    is_same_value,
    resolve_claim,
    reverse_choice,
    revise_fact,
    slot_of,
)
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Status, Trust


class FactResolver:
    """Resolver that compares claims with the stored memories, and plans the changes."""

    def __init__(self, reader: MemoryReader) -> None:
        self._reader = reader

    async def resolve(self, claims: Sequence[Memory], now: datetime) -> list[ClaimResolution]:
        """Decide in order how each of `claims` is resolved, without writing anything."""
        heads = await self._load_heads(claims)
        statements = self._index_statements(claims)
        written_by_id: dict[str, Memory] = {}  # memories that the resolutions so far write
        rulings = []
        for claim in claims:
            again = (
                statements.setdefault(statement_key, claim)
                if (statement_key := _build_statement_key(claim)) is not None
                else claim
            )
            if again is not claim:
                rulings.append(ClaimResolution(ClaimOutcome.SAME, again, MemoryChange((), project=again.project)))
                continue
            ruling = await self._resolve_by_slot(claim, heads.get(claim.id), written_by_id, now)
            ruling = await self._supersede_replaced(claim, ruling, written_by_id, now)
            written_by_id.update({memory.id: memory for memory in ruling.change.memories})
            heads.update({memory.id: memory for memory in ruling.change.memories})
            rulings.append(ruling)
        return rulings

    async def _resolve_by_slot(
        self, claim: Memory, head: Memory | None, written_by_id: dict[str, Memory], now: datetime
    ) -> ClaimResolution:
        if slot_of(claim) is None:
            memory = claim if head is None else _merge_resent(head, claim)
            if memory is head:  # sent again unchanged
                return ClaimResolution(
                    ClaimOutcome.SAME, memory, MemoryChange((), project=memory.project), compared_with=head
                )
            if head is not None and _is_changed_by_user(head, memory):
                change = revise_fact(head, memory, now)
                return ClaimResolution(ClaimOutcome.REPLACED, change.memories[-1], change, compared_with=head)
            return ClaimResolution(ClaimOutcome.NEW, memory, MemoryChange((memory,), project=claim.project))
        earlier: Iterable[Memory] = ()
        if head is not None and get_valid_from(claim) < get_valid_from(head) and head.supersedes is not None:
            family = {one.id: one for one in await self._reader.list_family(claim.id, claim.project)} | written_by_id
            earlier = family.values()
        ruling = resolve_claim(claim, head, tuple(earlier), now)
        is_agreeing = ruling.verdict in (ClaimOutcome.CONFIRMED, ClaimOutcome.SAME)
        if head is None or not (
            ruling.verdict is ClaimOutcome.REPLACED or (is_agreeing and get_source_name(claim) != get_source_name(head))
        ):
            return ruling
        stated_memory = ruling.memory if ruling.verdict is ClaimOutcome.REPLACED else claim
        conflicts_to_open = (
            [create_contradiction(ruling.compared_with, stated_memory, now)]
            if ruling.conflicting and ruling.compared_with is not None
            else []
        )
        conflicts_to_open = [
            *await self._filter_unasked(conflicts_to_open),
            *await self.update_conflicts(stated_memory, now),
        ]
        conflicts = {one.id: one for one in conflicts_to_open}  # the same conflict may be found twice
        return replace(
            ruling,
            conflicting=any(one.status is Status.ACTIVE for one in conflicts_to_open),
            change=replace(ruling.change, memories=(*ruling.change.memories, *conflicts.values())),
        )

    async def _supersede_replaced(
        self, claim: Memory, ruling: ClaimResolution, written_by_id: dict[str, Memory], now: datetime
    ) -> ClaimResolution:
        """Supersede at once the memory that `claim` says it replaces.

        Without this, the memory would be superseded only in the next nightly run. If the claim reverses an earlier
        choice, the memory of that choice is superseded in the same way. Returns `ruling` with the additional
        change, or unchanged if there is none.
        """
        other_way = reverse_choice(claim) if claim.supersedes is None else None
        replaced_id = slot_of(other_way) if other_way is not None else claim.supersedes
        if replaced_id is None or "." in replaced_id or ruling.verdict not in (ClaimOutcome.NEW, ClaimOutcome.REPLACED):
            return ruling
        old = written_by_id.get(replaced_id) or (await self._reader.find([replaced_id], claim.project)).get(replaced_id)
        if old is None or old.id == ruling.memory.id or old.status not in (Status.ACTIVE, Status.SUSPECT):
            return ruling
        if other_way is not None and not (is_same_value(old, other_way) and old.confidence <= claim.confidence):
            return ruling
        if other_way is not None and get_valid_from(claim) < get_valid_from(old):  # an older statement that came late
            ended_claim = replace(
                ruling.memory, status=Status.SUPERSEDED, superseded_by=old.id, valid_to=get_valid_from(old), updated=now
            )
            memories = tuple(ended_claim if one.id == ended_claim.id else one for one in ruling.change.memories)
            return replace(ruling, memory=ended_claim, change=replace(ruling.change, memories=memories))
        ends = min(old.valid_to or now, now)
        ended_memory = replace(
            old, status=Status.SUPERSEDED, superseded_by=ruling.memory.id, valid_to=ends, updated=now
        )
        if other_way is not None and ruling.compared_with is None:
            ruling = replace(ruling, verdict=ClaimOutcome.REPLACED, compared_with=old)
        return replace(ruling, change=replace(ruling.change, memories=(*ruling.change.memories, ended_memory)))

    async def update_conflicts(
        self, stated_memory: Memory, now: datetime, *, undone_memory: Memory | None = None
    ) -> list[Memory]:
        """Return the contradictions changed by a new statement about a fact.

        `stated_memory` is the new statement. Contradictions that are already open or resolved are not opened again.
        `undone_memory` is the memory whose last change was just undone, if there is one. Nothing is written.
        """
        place = slot_of(stated_memory)
        open_conflicts = (
            await self._reader.list_conflicts_about({place}, stated_memory.project) if place is not None else []
        )
        updated_conflicts = [
            one
            for conflict in open_conflicts
            for one in close_overtaken(conflict, stated_memory, now, withdrawn=undone_memory)
        ]
        conflicts_to_open = await self._filter_unasked(
            [one for one in updated_conflicts if one.status is Status.ACTIVE]
        )
        return [*conflicts_to_open, *(one for one in updated_conflicts if one.status is not Status.ACTIVE)]

    async def _filter_unasked(self, conflicts: Sequence[Memory]) -> list[Memory]:
        """Return the conflicts that are not yet stored as open or resolved."""
        existing = [await self._reader.find([one.id], one.project) for one in conflicts]
        return [
            one
            for one, before in zip(conflicts, existing, strict=True)
            if not any(map(needs_no_question, before.values()))
        ]

    async def _load_heads(self, claims: Sequence[Memory]) -> dict[str, Memory]:
        """Return the stored memories with the ids of `claims`, keyed by id.

        Claims with a random id are skipped, because no stored memory can have the same id.
        """
        ids_by_project: dict[str | None, list[str]] = {}
        for claim in claims:
            if claim.ref is not None or slot_of(claim) is not None:
                ids_by_project.setdefault(claim.project, []).append(claim.id)
        heads: dict[str, Memory] = {}
        for project, identifiers in ids_by_project.items():
            heads |= await self._reader.find(list(dict.fromkeys(identifiers)), project)
        return heads

    def _index_statements(self, claims: Sequence[Memory]) -> dict[tuple[object, ...], Memory]:
        """Index the cached facts that have no key, to recognise repeated claims.

        The facts are keyed by statement.
        """
        owners = {claim.project for claim in claims if _build_statement_key(claim) is not None}
        facts = (
            fact for owner in owners for fact in self._reader.list_cached(Filters(project=owner, kinds=(Kind.FACT,)))
        )
        return {statement_key: fact for fact in facts if (statement_key := _build_statement_key(fact)) is not None}


def is_independent(claim: Memory) -> bool:
    """Return True if resolving a claim depends on no stored memory.

    Such a claim is not a fact, has neither a ref nor a key, and supersedes nothing, so no stored memory can be the
    same, be replaced by it, or contradict its key.
    """
    return claim.kind is not Kind.FACT and claim.ref is None and claim.supersedes is None and slot_of(claim) is None


def _build_statement_key(fact: Memory) -> tuple[object, ...] | None:
    """Return a comparison key for a fact that has neither a key nor a ref.

    Repeated statements have equal comparison keys. Returns None for other memories.
    """
    if fact.kind is not Kind.FACT or fact.ref is not None or slot_of(fact) is not None:
        return None
    holds = (fact.project, fact.scope, fact.branch, fact.valid_from, fact.valid_to, fact.status)
    return (*holds, fact.category, fact.tags, fact.trust, " ".join(fact.content.split()))


def _is_changed_by_user(stored_memory: Memory, memory: Memory) -> bool:
    """Return True if the user sent a changed text under the same ref.

    The old text is then kept as a version, as after an edit. Facts that are read again from files and commits need
    no versions, since the files and commits have their own history, and session messages never change.
    """
    is_user_statement = stored_memory.status is Status.ACTIVE and stored_memory.trust is memory.trust is Trust.USER
    return is_user_statement and memory.kind is not Kind.MESSAGE and stored_memory.content != memory.content


def _merge_resent(stored_memory: Memory, memory: Memory) -> Memory:
    """Merge a memory that was sent again with the stored memory.

    An unchanged memory is returned as stored; a changed memory keeps its creation time, usage and history.
    """
    merged_memory = replace(
        memory, created=stored_memory.created, at=memory.at if memory.at != memory.created else stored_memory.at
    )
    says_more = (
        memory.content != stored_memory.content and stored_memory.superseded_by is not None
    )  # it is no longer a duplicate
    status = memory.status if says_more else stored_memory.status
    merged_memory = replace(merged_memory, usage=stored_memory.usage, updated=stored_memory.updated, status=status)
    merged_memory = replace(merged_memory, supersedes=memory.supersedes or stored_memory.supersedes)
    return stored_memory if merged_memory == stored_memory else replace(merged_memory, updated=memory.updated)
