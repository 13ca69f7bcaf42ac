"""Memory service, which adds, edits, undoes and forgets memories.

An accepted memory is durable and can be searched immediately.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, assert_never

from hunchd.core.memory.drafts import draft_to_memory, redact_memory
from hunchd.core.memory.fact_resolution import FactResolver, is_independent
from hunchd.core.memory.journal_records import change_to_record, contains_memory_text, deletion_to_record
from hunchd.core.memory.memory_reader import MemoryReader
from hunchd.core.memory.pending_erasures import PendingErasures
from hunchd.core.memory.purge_scheduler import PurgeScheduler
from hunchd.core.memory.session_log import session_head_id
from hunchd.core.memory.store_writer import PendingWrite, StoreWriter
from hunchd.core.state.apply_signal import get_reported_error_id
from hunchd.domain.errors import Conflict, InvalidInput, NotFound
from hunchd.domain.facts import (
    ClaimResolution,
    MemoryChange,
    find_origin_id,
    get_valid_from,
    is_over,
    move_fact,
    reactivate,
    remove_versions,
    revise_fact,
    slot_of,
    undo_last_step,
    undo_move,
)
from hunchd.domain.memory import Kind, Memory, Status, Usage
from hunchd.protocol.memories import MemoryDraft, MemoryFields
from hunchd.protocol.requests import FeedbackItem, Outcome
from hunchd.store.journal.journal import Journal
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.port import MemoryStore


class MemoryService(MemoryReader):
    """Service that changes memories; `on_changed` is called with every durable change."""

    def __init__(
        self,
        journal: Journal,
        memory_cache: MemoryCache,
        store: MemoryStore,
        writer: StoreWriter,
        *,
        now: Callable[[], datetime],
        pending_erasures: PendingErasures,
        on_changed: Callable[[MemoryChange], None] = lambda _: None,
    ) -> None:
        super().__init__(memory_cache, store, writer)
        self._journal = journal
        self._resolver = FactResolver(self)
        self.now = now
        self._on_changed = on_changed
        self.change_lock = asyncio.Lock()  # one change of a memory at a time: read, change, write
        self._changes_since_read: list[set[str]] = []  # for each reader that waits for the lock, ids changed meanwhile
        self.purges = PurgeScheduler(store)
        self.pending_erasures = pending_erasures
        self._written_ids: set[str] = set()  # ids written since the start, while the journal is still being replayed

    # Storing

    async def remember(self, drafts: Sequence[MemoryDraft], projects: Sequence[str | None]) -> list[Memory]:
        """Store each draft in the project at its position.

        `projects` contains project ids, or None for the user. Drafts with the same ref in a project are stored as
        one memory.
        """
        return [ruling.memory for ruling in await self.store_drafts(drafts, projects)]

    async def store_drafts(
        self, drafts: Sequence[MemoryDraft], projects: Sequence[str | None]
    ) -> list[ClaimResolution]:
        """Store `drafts` and return the resolution of each.

        A fact with a key replaces the current value of that key, or is rejected.
        """
        now = self.now()
        return await self.claim(
            [draft_to_memory(draft, project, now) for draft, project in zip(drafts, projects, strict=True)]
        )

    async def claim(self, claims: Sequence[Memory]) -> list[ClaimResolution]:
        """Store claims under the rule that each key has one value.

        If no stored memory can affect the claims, they are stored without waiting for other changes.
        """
        await self._writer.wait_until_started()
        if all(map(is_independent, claims)):
            return await self.claim_locked(claims)
        async with self.change_lock:
            return await self.claim_locked(claims)

    @asynccontextmanager
    async def lock_changes(self, identifiers: Sequence[str], project: str | None) -> AsyncIterator[dict[str, Memory]]:
        """Hold `change_lock` and yield the current memories with these ids, keyed by id.

        The memories are read before the lock is taken, so that nobody waits for the store process. Those that
        changed in between are read again, usually from the cache.
        """
        changed: set[str] = set()
        self._changes_since_read.append(changed)
        try:
            memories = await self.find(identifiers, project)
            async with self.change_lock:
                stale = [one for one in identifiers if one in changed]
                current = {one: memory for one, memory in memories.items() if one not in changed}
                yield current | (await self.find(stale, project) if stale else {})
        finally:
            self._changes_since_read = [one for one in self._changes_since_read if one is not changed]

    async def claim_locked(self, claims: Sequence[Memory]) -> list[ClaimResolution]:
        """Store claims as `claim` does, for callers that hold `change_lock`."""
        rulings = await self._resolver.resolve(claims, self.now())
        await self.commit([ruling.change for ruling in rulings if ruling.change.memories])
        return rulings

    async def store(self, memories: Sequence[Memory]) -> None:
        """Make `memories` durable and searchable without changing them."""
        await self.commit([MemoryChange((memory,), project=memory.project) for memory in memories])

    async def commit(self, changes: Sequence[MemoryChange]) -> None:
        """Make `changes` durable and searchable, each of them atomically."""
        if not changes:
            return
        records = [change_to_record(change) for change in changes]

        def queue(sequences: list[int]) -> None:
            for sequence, change in zip(sequences, changes, strict=True):
                self.apply(sequence, change)

        await self._writer.accept(records, queue)

    def apply(self, sequence: int, change: MemoryChange, *, is_replay: bool = False) -> None:
        """Make an accepted change visible; queue it for the store.

        Replayed changes (`is_replay`) arrive in the order in which they were accepted, regardless of their
        timestamps. They never override changes accepted since startup.
        """
        self._record_changed([*change.deletions, *(memory.id for memory in change.memories)])
        for identifier in change.deletions:
            if not is_replay or identifier not in self._written_ids:
                self._memory_cache.tombstone(identifier)
        for memory in change.memories:
            if not is_replay or memory.id not in self._written_ids:
                self._memory_cache.upsert(memory)
        if not is_replay and not self._writer.has_started:
            self._written_ids.update((*change.deletions, *(memory.id for memory in change.memories)))
        deletions = tuple((change.project, identifier) for identifier in change.deletions)
        self._writer.add(PendingWrite(sequence, memories=change.memories, deletions=deletions))
        if not change.silent:
            self._on_changed(change)

    # Changing

    async def edit(self, identifier: str, patch: MemoryFields, projects: Sequence[str]) -> Memory:
        """Apply `patch` to the fields of a memory.

        Secrets are redacted as in a new memory. A fact that gets a different key, category, scope or branch also
        gets a different id. Raises Conflict if the memory is an earlier version, a contradiction, or no longer
        valid.
        """
        async with self.change_lock:
            memory, now = await self.get(identifier, projects), self.now()
            _reject_version(memory)
            _reject_invalid_memory(memory, patch)
            if patch.get("status") is Status.ACTIVE and is_over(memory, now):
                patch = {"valid_to": None, **patch}  # valid again
            edited_memory = redact_memory(replace(memory, **patch, updated=now))
            if edited_memory.valid_to is not None and edited_memory.valid_to < get_valid_from(edited_memory):
                raise InvalidInput("'valid_to' is before 'valid_from'", field="valid_to")
            place = slot_of(edited_memory)
            if place is None or place == slot_of(memory):  # an imported memory may have an id other than its slot's
                change = revise_fact(memory, edited_memory, now)
                result = next(one for one in change.memories if one.id == memory.id)
            else:
                head = (await self.find([place], memory.project)).get(place)
                result, change = move_fact(memory, replace(edited_memory, id=place), head, now)
            conflicts = await self._resolver.update_conflicts(result, now)
            await self.commit([replace(change, memories=(*change.memories, *conflicts))])
            return result

    async def undo(self, identifier: str, projects: Sequence[str]) -> Memory:
        """Undo the last change to a memory.

        Its previous content is then valid again. Raises Conflict if there is nothing to undo.
        """
        async with self.change_lock:
            memory, now = await self.get(identifier, projects), self.now()
            _reject_version(memory)
            if memory.status is Status.ARCHIVED and memory.supersedes is None:
                raise Conflict("there is nothing to undo")
            if memory.status is Status.SUPERSEDED and memory.superseded_by is not None:
                result, change = await self._reactivate(memory, now)
            else:
                result, change = await self._undo_step(memory, now)
            conflicts = await self._resolver.update_conflicts(result, now, undone_memory=memory)
            await self.commit([replace(change, memories=(*change.memories, *conflicts))])
            return result

    async def _undo_step(self, head: Memory, now: datetime) -> tuple[Memory, MemoryChange]:
        """Undo the last change to `head`.

        If the fact got a new id in that change, it becomes valid again under its old id.
        """
        ids = [one for one in (head.supersedes, find_origin_id(head)) if one is not None]
        memories = await self.find(ids, head.project)
        before, old = memories.get(head.supersedes or ""), memories.get(find_origin_id(head) or "")
        result, change = undo_last_step(head, before, now)
        back = undo_move(old, head, before, now) if old is not None else None
        if back is None:
            return result, change
        return back, replace(change, memories=(*change.memories, back))

    async def _reactivate(self, memory: Memory, now: datetime) -> tuple[Memory, MemoryChange]:
        """Reactivate `memory`, which was superseded by a different memory.

        Raises Conflict if some other change must be undone first.
        """
        by = memory.superseded_by or ""
        other = (await self.find([by], memory.project)).get(by)
        if other is None:  # the other was forgotten
            back = reactivate(memory, now)
            return back, MemoryChange((back,), project=memory.project)
        result, change = await self._undo_step(other, now) if other.status is Status.ACTIVE else (other, MemoryChange())
        if result.id == memory.id:
            return result, change
        raise Conflict(
            f"'{memory.id}' was replaced by '{by}'",
            hint=f"run `hunch why {memory.id}` to see how; then undo that run, that resolution, or the value of '{by}'",
        )

    async def record_feedback(self, items: Sequence[FeedbackItem], projects: Sequence[str]) -> dict[str, Memory]:
        """Count the feedback on memories; return those that exist, keyed by id."""
        updated_memories: dict[str, Memory] = {}  # an id may occur twice
        async with self.change_lock:
            for item in items:
                with suppress(NotFound):
                    memory = updated_memories.get(item.id) or await self.get(item.id, projects)
                    updated_memories[item.id] = replace(memory, usage=_count_outcome(memory.usage, item.outcome))
            if updated_memories:
                await self.store(list(updated_memories.values()))
        return updated_memories

    # Forgetting

    async def forget(self, identifiers: Sequence[str], projects: Sequence[str]) -> tuple[list[Memory], int]:
        """Remove memories and everything stored under their ids from all answers.

        The data leaves the disk as soon as the store has been purged. Returns the memories that existed, and the
        sequence number of the last deletion in the journal. Raises NotFound if none of them exists.
        """
        async with self.change_lock:
            memories, last = await self.find_anywhere(identifiers, projects), 0
            for project in dict.fromkeys(one.project for one in memories):
                of_project = [one for one in memories if one.project == project]
                families = await asyncio.gather(*(self.list_family(one.id, project) for one in of_project))
                removed_ids = dict.fromkeys(one.id for family in (of_project, *families) for one in family)
                conflicts = await self.list_conflicts_about(removed_ids, project)
                versions = [one for one in of_project if "." in one.id]  # versions before and after these stay
                await self.relink(versions, project)
                last = await self.delete(tuple(removed_ids | dict.fromkeys(one.id for one in conflicts)), project)
            return memories, last

    def _record_changed(self, ids: Iterable[str]) -> None:
        """Tell callers waiting for the lock that their copies of these memories are outdated."""
        for changed_ids in self._changes_since_read:
            changed_ids.update(ids)

    async def delete(self, identifiers: Sequence[str], project: str | None) -> int:
        """Delete memories of one project durably.

        Returns the sequence number of the last journal record, or 0 if `identifiers` is empty.
        """
        if not identifiers:
            return 0
        records = [deletion_to_record(one, project) for one in identifiers]
        last = 0

        def queue(sequences: list[int]) -> None:
            nonlocal last
            last = sequences[-1]
            self._record_changed(identifiers)
            for sequence, one in zip(sequences, identifiers, strict=True):
                self._memory_cache.tombstone(one)
                self._writer.add(PendingWrite(sequence, deletions=((project, one),)))
            self._on_changed(MemoryChange(deletions=tuple(identifiers), project=project))

        await self._writer.accept(records, queue)
        return last

    async def erase(self, identifiers: Sequence[str], projects: Sequence[str]) -> None:
        """Forget memories, and wait until no file contains them.

        Erasing many memories at once costs little more than erasing one. If a new memory is accepted under the same
        id in the meantime, the new memory is kept. Raises NotFound if none of the memories exists. Callers must
        have recorded the erasure with `PendingErasures.record`, including everything that is removed with the
        memories.
        """
        with self.purges.announce_deletion():
            memories, sequence = await self.forget(identifiers, projects)
            await self._writer.drain()
            owners = dict.fromkeys(one.project for one in memories)
            ids = {one.id for one in memories} | {
                session_head_id(str(one.source["session"]), one.project)
                for one in memories
                if one.kind is Kind.MESSAGE and "session" in one.source  # the session's title may quote it
            }
            signals: frozenset[str] = frozenset()
            for project in owners:
                errors = [one.id for one in memories if one.kind is Kind.ERROR and one.project == project]
                signals |= await self._delete_signals(errors, project)
            await self._journal.erase_records(
                lambda record: record.id in signals or contains_memory_text(record, ids), up_to=sequence
            )
        await asyncio.gather(*map(self.purges.purge, owners))

    async def _delete_signals(self, errors: Sequence[str], project: str | None) -> frozenset[str]:
        """Delete the signals that contain the text of forgotten errors.

        Returns the ids of the deleted signals.
        """
        if project is None or not errors:
            return frozenset()
        stored_signals = [(signal["id"], signal["data"]) async for signal in self._store.stream_signals(project)]
        removed_ids = frozenset(
            identifier for identifier, data in stored_signals if get_reported_error_id(data, project) in errors
        )
        if removed_ids:
            await self._store.delete_signals(list(removed_ids), project)
        return removed_ids

    async def finish_erasing(self, ids: Sequence[str], project: str | None) -> list[str]:
        """Complete an erasure that an earlier process started; return the ids erased.

        If a memory exists under an id, the id is skipped: either the memory was never forgotten, or it is a new
        one. When this returns, no file contains anything of the other ids.
        """
        there = await self.find(ids, project)
        erased_ids = [one for one in ids if one not in there]
        if erased_ids:
            last = self._journal.last_sequence
            await self._writer.drain()
            signals = await self._delete_signals(erased_ids, project)
            erased = frozenset(erased_ids)
            await self._journal.erase_records(
                lambda record: record.id in signals or contains_memory_text(record, erased), up_to=last
            )
            await self.purges.purge(project)
        return erased_ids

    async def relink(self, removed_memories: Sequence[Memory], project: str | None) -> frozenset[str]:
        """Close the gaps that forgetting `removed_memories` will leave in version histories.

        If a forgotten version had replaced an earlier value, that value becomes valid again. Returns the removed
        ids under which a different value is now stored. The caller must hold `change_lock`.
        """
        removed_ids = frozenset(one.id for one in removed_memories)
        changes = []
        for place in dict.fromkeys(one.id.partition(".")[0] for one in removed_memories):
            family = {one.id: one for one in await self.list_family(place, project)}
            head = family.get(place)
            if head is not None and (change := remove_versions(head, family, removed_ids, self.now())) is not None:
                changes.append(change)
        await self.commit(changes)
        return removed_ids.intersection(one.id for change in changes for one in change.memories)


def _reject_version(memory: Memory) -> None:
    if "." in memory.id:
        raise Conflict(
            f"'{memory.id}' is an earlier version of '{memory.id.partition('.')[0]}' and cannot be changed",
            hint="change or undo the current version instead",
        )


def _reject_invalid_memory(memory: Memory, patch: Mapping[str, Any]) -> None:
    """Raise Conflict if a memory is not valid.

    Changing such a memory would have no visible effect.
    """
    if memory.kind is Kind.CONTRADICTION:
        raise Conflict(
            f"'{memory.id}' is a contradiction; resolve it instead of editing it",
            hint=f"run `hunch contradictions resolve {memory.id}`",
        )
    if memory.status in (Status.ARCHIVED, Status.SUPERSEDED) and "status" not in patch:
        raise Conflict(
            f"'{memory.id}' is no longer valid: it is {memory.status}",
            hint=f"run `hunch undo {memory.id}` to restore it, or store it again",
        )


def _count_outcome(usage: Usage, outcome: Outcome) -> Usage:
    match outcome:
        case "cited":
            return replace(usage, cited=usage.cited + 1)
        case "ignored":
            return replace(usage, ignored=usage.ignored + 1)
        case "wrong":  # counts as ignored too
            return replace(usage, ignored=usage.ignored + 1, wrong=usage.wrong + 1)
        case "missed":
            return replace(usage, missed=usage.missed + 1)
        case _:
            assert_never(outcome)
