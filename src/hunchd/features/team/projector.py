"""Writing of a team's statements into the memories of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hunchd.consolidation.contradiction_records import is_about_one_key, parse_sides
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.state.feature import Features
from hunchd.core.state.project import Project
from hunchd.domain.errors import NotFound
from hunchd.domain.facts import MemoryChange, slot_of
from hunchd.domain.memory import Memory, Status
from hunchd.features.team.membership import TeamMembership
from hunchd.features.team.merge import ERASURES, STATEMENTS, Member, SubjectView, build_view, get_register_key
from hunchd.features.team.mirror import Mirror
from hunchd.features.team.projection import (
    ProjectionTarget,
    SlotState,
    build_claim,
    compute_single_id,
    is_about_key,
    is_said_before,
    plan_own_single,
    plan_single,
    plan_slot,
)
from hunchd.protocol.team_records import RecordKind, Statement, TeamRecord, decode_payload

BATCH: Final = 100  # subjects applied at once, while other changes wait
SHARED_BY_ALL: Final = ""  # stands for the author if a subject is a key


@dataclass(frozen=True, slots=True)
class _Plan:
    """Plan to update the memory that represents a subject.

    `author` is "" if the subject is the key of a fact, which all authors share; otherwise the memory is the
    statement of this one author. `erasures` are the records of authors who have erased earlier statements.
    """

    view: SubjectView
    author: str
    memory: str
    erasures: tuple[TeamRecord, ...]


class Projector:
    """Writer that stores members' statements as memories on this machine."""

    def __init__(
        self, memories: MemoryService, features: Features, find_project: Callable[[str | None], Project | None]
    ) -> None:
        self._memories = memories
        self._features = features
        self._find_project = find_project

    async def project(
        self,
        mirror: Mirror,
        membership: TeamMembership,
        roster: Mapping[str, Member],
        is_changed: Callable[[str], bool],
    ) -> bool:
        """Apply the records about the next pending subjects to the memories.

        A subject stays pending if `is_changed` returns True for the id of its memory, because that memory has
        changed since records were last created. Returns True if the records about any subject were applied. If a
        crash interrupts this method, the next call does the same work again, with the same result.
        """
        subjects = await asyncio.to_thread(mirror.list_pending, BATCH)
        project = self._find_project(membership.project)
        if not subjects or project is None:
            return False
        records = await asyncio.to_thread(mirror.load_subjects, subjects)
        shown = await asyncio.to_thread(mirror.load_shown, subjects)
        own = await asyncio.to_thread(mirror.load_own, subjects)
        hidden_ids = await asyncio.to_thread(mirror.load_hidden)
        target = ProjectionTarget(project.id, membership.author, roster, self._memories.now(), hidden_ids)
        plans = [
            plan
            for subject in subjects
            for plan in _list_plans(subject, records[subject], shown[subject], own.get(subject), target)
        ]
        for plan in plans:
            for erasure in plan.erasures:
                await self._erase(plan.memory, erasure, project.id)
        skipped_subjects = await self._apply(plans, project, target, is_changed)
        applied_subjects = [subject for subject in subjects if subject not in skipped_subjects]
        entries = [
            (plan.view.subject, plan.author, plan.memory)
            for plan in plans
            if plan.view.subject not in skipped_subjects and plan.author != target.own_author
        ]
        await asyncio.to_thread(mirror.set_shown, entries)
        await asyncio.to_thread(mirror.remove_pending, applied_subjects)
        return bool(applied_subjects)

    async def _apply(
        self, plans: Sequence[_Plan], project: Project, target: ProjectionTarget, is_changed: Callable[[str], bool]
    ) -> set[str]:
        """Apply the plans, and return the subjects that were skipped."""
        async with self._memories.change_lock:
            skipped_subjects = {plan.view.subject for plan in plans if is_changed(plan.memory)}
            plans = [plan for plan in plans if plan.view.subject not in skipped_subjects]
            stored = await self._memories.find([plan.memory for plan in plans], project.id)
            conflicts = _group_conflicts(project.conflicts.values())
            changes: list[MemoryChange] = []
            for plan in plans:
                memory = stored.get(plan.memory)
                if plan.author == SHARED_BY_ALL:
                    state = SlotState(memory, tuple(conflicts.get(plan.memory, ())))
                    changes += plan_slot(plan.view, state, target)
                elif plan.author == target.own_author:
                    changes += plan_own_single(plan.view, memory, target)
                else:
                    statement = next((one for one in plan.view.open_statements if one.author == plan.author), None)
                    is_shown = statement is not None and statement.id not in target.hidden_ids
                    claim = build_claim(statement, target) if statement is not None and is_shown else None
                    changes += plan_single(claim, memory, target.now)
            await self._memories.commit([*changes, *_end_contradictions(changes, project)])
        return skipped_subjects

    async def _erase(self, identifier: str, erasure: TeamRecord, project: str) -> None:
        """Erase an author's earlier statements, including versions and quotations."""
        family = await self._memories.list_family(identifier, project)
        theirs = [memory for memory in family if is_said_before(memory, erasure)]
        if not theirs:
            return
        async with self._memories.change_lock:  # the value that preceded theirs becomes valid again
            replaced_ids = await self._memories.relink(theirs, project)
        erased_ids = [memory.id for memory in theirs if memory.id not in replaced_ids]
        quoting = [
            conflict.id
            for conflict in await self._memories.list_conflicts_about({identifier, *erased_ids}, project)
            if any(is_said_before(side, erasure) for side in parse_sides(conflict))
        ]
        async with self._memories.pending_erasures.record([*erased_ids, *quoting], project):
            for one in (*quoting, *erased_ids):
                try:
                    await self._memories.erase([one], [project])
                except NotFound:  # already erased together with another one
                    continue
            await self._memories.purges.purge(project)
            await self._features.forget_memories([*erased_ids, *quoting])


def _list_plans(
    subject: str, records: Sequence[TeamRecord], shown: Mapping[str, str], own: str | None, target: ProjectionTarget
) -> list[_Plan]:
    """Return the plans for the memories that represent a subject.

    A memory into which the subject was projected earlier gets a plan as well. `own` is the id of the memory with the
    user's own statement, if there is one.
    """
    view = build_view(subject, records, target.roster)
    erasures = [one for one in records if one.kind is RecordKind.ERASE and one.author != target.own_author]
    slot = shown.get(SHARED_BY_ALL) or _find_slot(view, target)
    if slot is not None:
        return [_Plan(view, SHARED_BY_ALL, slot, tuple(erasures))]
    groups = (STATEMENTS, ERASURES)
    authors = {one.author for one in records if get_register_key(one).group in groups} - {target.own_author}
    own_plans = [_Plan(view, target.own_author, own, ())] if own is not None else []
    return own_plans + [
        _Plan(
            view,
            author,
            compute_single_id(author, subject, target.project),
            tuple(one for one in erasures if one.author == author),
        )
        for author in sorted(authors)
        if author in shown or any(one.author == author for one in view.statements)
    ]


def _find_slot(view: SubjectView, target: ProjectionTarget) -> str | None:
    """Return the id of the memory for a subject's key."""
    for record in view.statements:
        statement = decode_payload(record, Statement)
        if statement is not None and is_about_key(statement) and (claim := build_claim(record, target)) is not None:
            return claim.memory.id
    return None


def _end_contradictions(changes: Iterable[MemoryChange], project: Project) -> list[MemoryChange]:
    """Return the changes that delete the open contradictions with statements that `changes` end.

    Contradictions about one key are not affected. If a statement becomes valid again, they are found again.
    """
    ended = {one.id for change in changes for one in change.memories if one.status is Status.SUPERSEDED}
    return [
        MemoryChange(deletions=(conflict.id,), project=project.id)
        for conflict in project.conflicts.values()
        if not is_about_one_key(conflict) and any(link["ref"] in ended for link in conflict.links)
    ]


def _group_conflicts(conflicts: Iterable[Memory]) -> dict[str, list[Memory]]:
    """Group the open contradictions about a single key by memory id."""
    by_memory: dict[str, list[Memory]] = {}
    for conflict in conflicts:
        if is_about_one_key(conflict):
            by_memory.setdefault(slot_of(parse_sides(conflict)[1]) or "", []).append(conflict)
    return by_memory
