"""Applier of planned changes: logged first, committed in small batches, undone alike.

What somebody else changed meanwhile is left alone; the store and signals have priority.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from hunchd.consolidation.plan import Entry, applied, applies, in_batches, outcome, remaining, weight
from hunchd.domain.errors import Overloaded, Unavailable
from hunchd.domain.facts import Change
from hunchd.domain.memory import Kind, Memory
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.session_log import HEAD_TAG
from hunchd.engine.keeping.writing import Writer
from hunchd.protocol.allocating import give_memory_back
from hunchd.store.hot import HotTier
from hunchd.store.run_log import RunLog

# Memories committed together: few enough that a request waits no more than 5 ms.
AT_ONCE: Final = 8
# Memories read and logged together; few enough that the store keeps pace and the queue stays short.
LOGGED_AT_ONCE: Final = 256
# Changes that may wait for the store while the next are applied, even in small batches: several
# changes of one memory are then stored once.
LEFT_WAITING: Final = 8
LONG: Final = 16  # texts of this kind in one change; their memory is freed at once
QUEUE_FROM: Final = 1_000  # queue length above which a run waits
ROOM_LOOK: Final = 0.1  # seconds
ROOM_LOOKS: Final = 5  # then a run continues, however long the load lasts
PATIENCE: Final = 10  # timeouts of the writer before a run gives up for now


class Making:
    """Applier of changes.

    `log` is written before anything is changed, and is what an undo reads.
    """

    def __init__(self, hot: HotTier, memories: Memories, writer: Writer, log: RunLog) -> None:
        self._hot = hot
        self._memories = memories
        self._writer = writer
        self._log = log
        self._passing: list[str] = []  # memories cached only because they were changed

    async def ready(self) -> None:
        """Wait until the records of an earlier process are loaded."""
        await self._writer.begun()

    async def apply(self, run: str, entries: Sequence[Entry], stopping: asyncio.Event) -> list[Entry]:
        """Log the applicable changes, then apply them; return those applied."""
        await self._room()
        known = await self._known(entries)
        applicable, _ = _sequence(entries, known)
        lines = [{"type": "change", **entry.json()} for entry in applicable]
        await asyncio.to_thread(self._log.append, run, lines)
        made = await self._make(applicable, known, stopping)
        await self.kept_pace(but=max(len(made), LEFT_WAITING))
        if any(weight(entry) > len(entry.edits) + LONG for entry in entries):
            await asyncio.to_thread(give_memory_back)
        return made

    async def take_back(
        self, run: str, *, owner: str | None = None, of_owner: bool = False, only: int | None = None
    ) -> tuple[int, int]:
        """Undo the changes of a run in reverse order.

        All of them, those of an owner, or `only` one. Returns how many changes are undone, and how many were left,
        in whole or in part, because somebody has changed the same memory since. A single change is undone as a
        whole or not at all.
        """
        batches = in_batches(self._changes(run, only), LOGGED_AT_ONCE)
        undone = left = 0
        nothing: list[Entry] = []
        while entries := await asyncio.to_thread(next, batches, nothing):
            back = [entry.inverse for entry in entries if not of_owner or entry.project == owner]
            known = await self._known(back)
            applicable, done, in_part = _eased(back, known) if only is None else (*_sequence(back, known), 0)
            made = await self._make(applicable, known)
            as_it_was = len(made) + done - in_part
            undone, left = undone + as_it_was, left + len(back) - as_it_was
            await self.kept_pace(but=max(len(made), LEFT_WAITING))
        await self.kept_pace(but=0)
        return undone, left

    def _changes(self, run: str, only: int | None) -> Iterator[Entry]:
        """Yield the changes in reverse order, or the one with this number."""
        if only is None:
            return (Entry.of_json(line) for line in self._log.backwards(run) if line["type"] == "change")
        changes = (line for line in self._log.lines(run) if line["type"] == "change")
        return (Entry.of_json(line) for line in islice(changes, only, only + 1))

    async def kept_pace(self, *, but: int) -> None:
        """Wait until the store has all but `allowed_pending` records, then release cached memories.

        The last records wait while the next are made, so that neither side idles. Memories cached only because they
        were
        changed would evict those that questions need.
        """
        await self.settled(but=but)
        self._hot.release(self._passing)
        self._passing = [one for one in self._passing if self._hot.get(one) is not None]

    async def settled(self, *, but: int = 0) -> None:
        """Wait until the store has what was accepted, even under load.

        Raises Unavailable when it is stuck.
        """
        for _ in range(PATIENCE):
            try:
                return await self._writer.drained(but=but)
            except Unavailable:
                if self._writer.trouble:
                    raise
        raise Unavailable("the store does not keep up with accepted records")

    async def _room(self) -> None:
        """Wait a moment while many records wait for the store: signals have priority."""
        for _ in range(ROOM_LOOKS):
            if self._writer.pending <= QUEUE_FROM:
                return
            await asyncio.sleep(ROOM_LOOK)

    async def _accepted(self, changes: Sequence[Change]) -> None:
        """Commit changes; retry while the queue is full."""
        for _ in range(PATIENCE):
            try:
                await self._memories.commit(changes)
                return
            except Overloaded as error:
                await asyncio.sleep(error.retry_after)
        await self._memories.commit(changes)

    async def _known(self, entries: Sequence[Entry]) -> dict[str, Memory]:
        """Return the current memories that the changes concern."""
        known: dict[str, Memory] = {}
        for owner in {entry.project for entry in entries}:
            wanted = dict.fromkeys(one for entry in entries if entry.project == owner for one in entry.ids)
            known |= await self._memories.known(list(wanted), owner)
        self._passing += [one for entry in entries for one in entry.ids if self._hot.get(one) is None]
        return known

    async def _make(
        self, entries: Sequence[Entry], known: dict[str, Memory], stopping: asyncio.Event | None = None
    ) -> list[Entry]:
        """Apply changes in small batches so that nobody waits.

        Skip what was changed meanwhile.
        """
        made: list[Entry] = []
        for some in in_batches(entries, AT_ONCE):
            if stopping is not None and stopping.is_set():
                break
            async with self._memories.changing:
                present = {one: memory for entry in some for one in entry.ids if (memory := self._present(one, known))}
                applicable, _ = _sequence(some, present)
                changes: list[Change] = []
                for entry in applicable:
                    written, gone = outcome(entry, present)
                    changes.append(
                        Change(written, gone, entry.project, silent=not gone and all(map(_is_past, written)))
                    )
                    _step(present, written, gone)
                    _step(known, written, gone)
                made += applicable
                await self._accepted(changes)
            await asyncio.sleep(0)
        return made

    def _present(self, identifier: str, known: Mapping[str, Memory]) -> Memory | None:
        """Return the current version of a memory.

        A cached one is newer than the one that was read.
        """
        if self._hot.is_tombstoned(identifier):
            return None
        return self._hot.get(identifier) or known.get(identifier)


def _sequence(entries: Sequence[Entry], known: Mapping[str, Memory]) -> tuple[list[Entry], int]:
    """Return the changes applicable in sequence, and how many others are applied already."""
    present = dict(known)
    applicable: list[Entry] = []
    done = 0
    for entry in entries:
        if applies(entry, present):
            _step(present, *outcome(entry, present))
            applicable.append(entry)
        else:
            done += applied(entry, present)
    return applicable, done


def _eased(entries: Sequence[Entry], known: Mapping[str, Memory]) -> tuple[list[Entry], int, int]:
    """Return what is still applicable of each change, in sequence.

    Also returns how many are applied already, and how many of the returned ones are partial.
    """
    present = dict(known)
    applicable: list[Entry] = []
    done = in_part = 0
    for entry in entries:
        rest, whole = remaining(entry, present)
        if rest.edits:
            _step(present, *outcome(rest, present))
            applicable.append(rest)
            in_part += not whole
        else:
            done += whole
    return applicable, done, in_part


def _is_past(memory: Memory) -> bool:
    """Return True if bundles contain the memory only as a search result.

    What is shown of sessions is cached elsewhere too.
    """
    return memory.kind is Kind.EPISODE and HEAD_TAG not in memory.tags


def _step(present: dict[str, Memory], written: Sequence[Memory], gone: Sequence[str]) -> None:
    present.update({memory.id: memory for memory in written})
    for identifier in gone:
        present.pop(identifier, None)
