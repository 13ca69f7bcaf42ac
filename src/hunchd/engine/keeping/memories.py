"""Memory service: add, edit, undo, forget.

Accepted means durable and searchable at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, assert_never

from hunchd.domain.errors import Conflict, InvalidInput, NotFound
from hunchd.domain.facts import (
    Change,
    Ruling,
    brought_back,
    is_over,
    moved,
    moved_back,
    moved_from,
    place_of,
    revised,
    since,
    undone,
    without,
)
from hunchd.domain.memory import Kind, Memory, Status, Usage
from hunchd.engine.keeping.drafts import memory_of, without_secrets
from hunchd.engine.keeping.kept import Kept
from hunchd.engine.keeping.purging import Purges
from hunchd.engine.keeping.records import record_of, record_of_forgetting, tells_of
from hunchd.engine.keeping.rulings import Rulings
from hunchd.engine.keeping.session_log import head_id
from hunchd.engine.keeping.unfinished import Unfinished
from hunchd.engine.keeping.writing import Write, Writer
from hunchd.engine.state.absorbing import error_told_by
from hunchd.protocol.memories import MemoryDraft
from hunchd.protocol.requests import FeedbackItem, Outcome
from hunchd.store.client import StoreClient
from hunchd.store.hot import HotTier
from hunchd.store.journal.journal import Journal


class Memories(Kept):
    """Service that changes memories; `on_changed` is called with every durable change."""

    def __init__(
        self,
        journal: Journal,
        hot: HotTier,
        store: StoreClient,
        writer: Writer,
        *,
        now: Callable[[], datetime],
        unfinished: Unfinished,
        on_changed: Callable[[Change], None] = lambda _: None,
    ) -> None:
        super().__init__(hot, store, writer)
        self._journal = journal
        self._rulings = Rulings(self)
        self.now = now
        self._on_changed = on_changed
        self.changing = asyncio.Lock()  # one change of a memory at a time: read, change, write
        self.purges = Purges(store)
        self.unfinished = unfinished
        self._newer: set[str] = set()  # ids written since the start, while the journal is still being replayed

    # Storing

    async def remember(self, drafts: Sequence[MemoryDraft], projects: Sequence[str | None]) -> list[Memory]:
        """Store `drafts`, each for its project id.

        The same ref in a project is the same memory.
        """
        return [ruling.memory for ruling in await self.file(drafts, projects)]

    async def file(self, drafts: Sequence[MemoryDraft], projects: Sequence[str | None]) -> list[Ruling]:
        """Store `drafts` and return the resolution of each.

        A fact with a key replaces the value in its slot, or is rejected.
        """
        now = self.now()
        return await self.claim(
            [memory_of(draft, project, now) for draft, project in zip(drafts, projects, strict=True)]
        )

    async def claim(self, claims: Sequence[Memory]) -> list[Ruling]:
        """Store claims under the rule that one key has one value."""
        await self._writer.begun()
        async with self.changing:
            return await self.claimed(claims)

    async def claimed(self, claims: Sequence[Memory]) -> list[Ruling]:
        """Same as `claim`, for callers that hold `change_lock`."""
        rulings = await self._rulings.of(claims, self.now())
        await self.commit([ruling.change for ruling in rulings if ruling.change.memories])
        return rulings

    async def keep(self, memories: Sequence[Memory]) -> None:
        """Make `memories` durable as they are, and searchable."""
        await self.commit([Change((memory,), project=memory.project) for memory in memories])

    async def commit(self, changes: Sequence[Change]) -> None:
        """Make `changes` durable, each atomically, and searchable."""
        if not changes:
            return
        records = [record_of(change) for change in changes]

        def queue(sequences: list[int]) -> None:
            for sequence, change in zip(sequences, changes, strict=True):
                self.apply(sequence, change)

        await self._writer.accept(records, queue)

    def apply(self, sequence: int, change: Change, *, replayed: bool = False) -> None:
        """Make an accepted change visible and queue it for the store.

        Replayed changes (`replayed`) come in the order of acceptance, whatever the clock said then; they never
        override what
        was accepted since the start.
        """
        for identifier in change.deletions:
            if not replayed or identifier not in self._newer:
                self._hot.tombstone(identifier)
        for memory in change.memories:
            if not replayed or memory.id not in self._newer:
                self._hot.upsert(memory)
        if not replayed and not self._writer.has_begun:
            self._newer.update((*change.deletions, *(memory.id for memory in change.memories)))
        deletions = tuple((change.project, identifier) for identifier in change.deletions)
        self._writer.add(Write(sequence, memories=change.memories, deletions=deletions))
        if not change.silent:
            self._on_changed(change)

    # Changing

    async def edit(self, identifier: str, patch: dict[str, Any], projects: Sequence[str]) -> Memory:
        """Change the given fields; the text is redacted like a new one.

        A fact that gets another key, category, scope or branch moves to that slot, and gets another id. Raises
        Conflict if
        the memory is a version, a contradiction, or no longer valid.
        """
        async with self.changing:
            memory, now = await self.get(identifier, projects), self.now()
            _refuse_version(memory)
            _refuse_what_is_past(memory, patch)
            if patch.get("status") is Status.ACTIVE and is_over(memory, now):
                patch = {"valid_to": None, **patch}  # valid again
            changed = without_secrets(replace(memory, **patch, updated=now))
            if changed.valid_to is not None and changed.valid_to < since(changed):
                raise InvalidInput("'valid_to' lies before 'valid_from'", field="valid_to")
            place = place_of(changed)
            if place is None or place == place_of(memory):  # an imported memory may have an id other than its slot's
                change = revised(memory, changed, now)
                result = next(one for one in change.memories if one.id == memory.id)
            else:
                head = (await self.known([place], memory.project)).get(place)
                result, change = moved(memory, replace(changed, id=place), head, now)
            conflicts = await self._rulings.overtaken(result, now)
            await self.commit([replace(change, memories=(*change.memories, *conflicts))])
            return result

    async def undo(self, identifier: str, projects: Sequence[str]) -> Memory:
        """Undo the last change of a memory: what it said before is valid again.

        Raises Conflict if there is nothing to undo.
        """
        async with self.changing:
            memory, now = await self.get(identifier, projects), self.now()
            _refuse_version(memory)
            if memory.status is Status.ARCHIVED and memory.supersedes is None:
                raise Conflict("there is nothing to undo")
            if memory.status is Status.SUPERSEDED and memory.superseded_by is not None:
                restored, change = await self._returned(memory, now)
            else:
                restored, change = await self._stepped_back(memory, now)
            conflicts = await self._rulings.overtaken(restored, now, undone=memory)
            await self.commit([replace(change, memories=(*change.memories, *conflicts))])
            return restored

    async def _stepped_back(self, head: Memory, now: datetime) -> tuple[Memory, Change]:
        """Undo the last step of `head`.

        A move is undone into the slot it came from.
        """
        places = [one for one in (head.supersedes, moved_from(head)) if one is not None]
        known = await self.known(places, head.project)
        before, old = known.get(head.supersedes or ""), known.get(moved_from(head) or "")
        restored, change = undone(head, before, now)
        back = moved_back(old, head, before, now) if old is not None else None
        if back is None:
            return restored, change
        return back, replace(change, memories=(*change.memories, back))

    async def _returned(self, memory: Memory, now: datetime) -> tuple[Memory, Change]:
        """Reactivate `memory`, which was superseded by another one.

        Raises Conflict if something else must be undone first.
        """
        by = memory.superseded_by or ""
        other = (await self.known([by], memory.project)).get(by)
        if other is None:  # the other was forgotten
            back = brought_back(memory, now)
            return back, Change((back,), project=memory.project)
        restored, change = await self._stepped_back(other, now) if other.status is Status.ACTIVE else (other, Change())
        if restored.id == memory.id:
            return restored, change
        raise Conflict(
            f"'{memory.id}' was replaced by '{by}'",
            hint=f"'hunch why {memory.id}' shows how: undo that run, that contradiction, or the value of '{by}'",
        )

    async def used(self, items: Sequence[FeedbackItem], projects: Sequence[str]) -> dict[str, Memory]:
        """Count feedback on memories; return those that exist, by id."""
        changed: dict[str, Memory] = {}  # an id may occur twice
        async with self.changing:
            for item in items:
                with suppress(NotFound):
                    memory = changed.get(item.id) or await self.get(item.id, projects)
                    changed[item.id] = replace(memory, usage=_counted(memory.usage, item.outcome))
            if changed:
                await self.keep(list(changed.values()))
        return changed

    # Forgetting

    async def forget(self, identifier: str, projects: Sequence[str]) -> tuple[Memory, int]:
        """Remove a memory and everything stored under it from all answers.

        Its bytes leave the disk as soon as the store has purged them. Returns the memory and the sequence number of
        the
        deletion in the journal.
        """
        async with self.changing:
            memory = await self.get(identifier, projects)
            gone = {one.id: one for one in await self.family(identifier, memory.project)} | {identifier: memory}
            for conflict in await self.conflicts_about(gone, memory.project):
                gone[conflict.id] = conflict
            if "." in identifier:  # a version: those before and after it stay
                await self.relink([memory], memory.project)
            last = await self.bury(tuple(gone), memory.project)
            return memory, last

    async def bury(self, identifiers: Sequence[str], project: str | None) -> int:
        """Delete memories of one project durably.

        Returns the sequence number of the last journal record, 0 if there is none.
        """
        if not identifiers:
            return 0
        records = [record_of_forgetting(one, project) for one in identifiers]
        last = 0

        def queue(sequences: list[int]) -> None:
            nonlocal last
            last = sequences[-1]
            for sequence, one in zip(sequences, identifiers, strict=True):
                self._hot.tombstone(one)
                self._writer.add(Write(sequence, deletions=((project, one),)))
            self._on_changed(Change(deletions=tuple(identifiers), project=project))

        await self._writer.accept(records, queue)
        return last

    async def erase(self, identifier: str, projects: Sequence[str]) -> None:
        """Forget a memory and wait until no file contains it.

        A memory that is accepted under the same id meanwhile is another one, and stays. Callers must have recorded
        the erasure
        with `PendingErasures.record`, including everything removed with it.
        """
        with self.purges.coming():
            memory, sequence = await self.forget(identifier, projects)
            await self._writer.drained()
            told = [memory.id]
            if memory.kind is Kind.MESSAGE and "session" in memory.source:  # the session's title may quote it
                told.append(head_id(str(memory.source["session"]), memory.project))
            signals = (
                await self._drop_signals([memory.id], memory.project) if memory.kind is Kind.ERROR else frozenset()
            )
            await self._journal.rewrite(
                lambda record: record.id in signals or any(tells_of(record, one) for one in told), up_to=sequence
            )
        await self.purges.purge(memory.project)

    async def _drop_signals(self, errors: Sequence[str], project: str | None) -> frozenset[str]:
        """Delete the signals that hold the text of forgotten errors.

        Returns their ids.
        """
        if project is None:
            return frozenset()
        kept = [(signal["id"], signal["data"]) async for signal in self._store.signals(project)]
        gone = frozenset(identifier for identifier, told in kept if error_told_by(told, project) in errors)
        if gone:
            await self._store.delete_signals(list(gone), project)
        return gone

    async def finish_erasing(self, ids: Sequence[str], project: str | None) -> list[str]:
        """Complete an erasure that an earlier process began; return the ids erased.

        An id that exists was not forgotten, or is another memory by now. Of the others no file contains anything
        when this
        returns.
        """
        there = await self.known(ids, project)
        gone = [one for one in ids if one not in there]
        if gone:
            last = self._journal.last
            await self._writer.drained()
            signals = await self._drop_signals(gone, project)
            await self._journal.rewrite(
                lambda record: record.id in signals or any(tells_of(record, one) for one in gone), up_to=last
            )
            await self.purges.purge(project)
        return gone

    async def relink(self, gone: Sequence[Memory], project: str | None) -> frozenset[str]:
        """Close the gaps in version histories that forgetting `removed` will leave.

        The value that one of them replaced becomes valid again. Returns the ids among them that now hold another
        value. The
        caller holds `change_lock`.
        """
        going = frozenset(one.id for one in gone)
        changes = []
        for place in dict.fromkeys(one.id.partition(".")[0] for one in gone):
            family = {one.id: one for one in await self.family(place, project)}
            head = family.get(place)
            if head is not None and (change := without(head, family, going, self.now())) is not None:
                changes.append(change)
        await self.commit(changes)
        return going.intersection(one.id for change in changes for one in change.memories)


def _refuse_version(memory: Memory) -> None:
    if "." in memory.id:
        raise Conflict(
            f"'{memory.id}' is what '{memory.id.partition('.')[0]}' said before; history cannot be changed",
            hint="change or undo the memory itself",
        )


def _refuse_what_is_past(memory: Memory, patch: Mapping[str, Any]) -> None:
    """Reject a change of a memory that is not valid.

    It would have no visible effect.
    """
    if memory.kind is Kind.CONTRADICTION:
        raise Conflict(
            f"'{memory.id}' is a contradiction; resolve it instead of editing it",
            hint=f"hunch contradictions resolve {memory.id}",
        )
    if memory.status in (Status.ARCHIVED, Status.SUPERSEDED) and "status" not in patch:
        raise Conflict(
            f"'{memory.id}' is no longer valid: it is {memory.status}",
            hint=f"'hunch undo {memory.id}' may restore it; or state it again",
        )


def _counted(usage: Usage, outcome: Outcome) -> Usage:
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
