"""Changes of a plan made: logged first, then committed a few at a time, and taken back the same way.

What somebody else changed meanwhile is left alone; the store and whoever sends signals are waited for.
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

# Memories whose changes are committed together: few enough that a question waits no more than 5 ms for them.
AT_ONCE: Final = 8
# Memories that are read and logged together; then the store keeps pace, and signals find the queue nearly empty.
LOGGED_AT_ONCE: Final = 256
# Changes that may wait for the store while the next are made, also where few long ones are handed over at a time: what
# several say of one memory is stored once.
LEFT_WAITING: Final = 8
LONG: Final = 16  # such texts in one change: what they took on their way is given back at once
QUEUE_FROM: Final = 1_000  # records that wait for the store, above which a run waits too
ROOM_LOOK: Final = 0.1  # seconds
ROOM_LOOKS: Final = 5  # then a run goes on, however long the flood lasts
PATIENCE: Final = 10  # times that the writer's own patience is tried, before a run gives up for now


class Making:
    """`log` is written before anything is changed, and says what is taken back."""

    def __init__(self, hot: HotTier, memories: Memories, writer: Writer, log: RunLog) -> None:
        self._hot = hot
        self._memories = memories
        self._writer = writer
        self._log = log
        self._passing: list[str] = []  # memories that are at hand only because they were changed

    async def ready(self) -> None:
        """Wait until what an earlier run of the daemon accepted is at hand."""
        await self._writer.begun()

    async def apply(self, run: str, entries: Sequence[Entry], stopping: asyncio.Event) -> list[Entry]:
        """Log the changes that can be made, then make them; which were made."""
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
        """Undo what a run changed, the last change first: all of it, an owner's, or one. How many changes are as they
        were, and how many were left, in whole or in part, because somebody has changed the same since. `only` one is
        taken back whole or not at all."""
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
        """The last first; or the one of that number."""
        if only is None:
            return (Entry.of_json(line) for line in self._log.backwards(run) if line["type"] == "change")
        changes = (line for line in self._log.lines(run) if line["type"] == "change")
        return (Entry.of_json(line) for line in islice(changes, only, only + 1))

    async def kept_pace(self, *, but: int) -> None:
        """Wait for the store, but for so many records: the last ones wait while the next are made, so that neither
        waits for the other. What is at hand only because it was changed would drive out what questions need."""
        await self.settled(but=but)
        self._hot.release(self._passing)
        self._passing = [one for one in self._passing if self._hot.get(one) is not None]

    async def settled(self, *, but: int = 0) -> None:
        """Wait until the store has what was accepted, also in a flood. Raises Unavailable when it is stuck."""
        for _ in range(PATIENCE):
            try:
                return await self._writer.drained(but=but)
            except Unavailable:
                if self._writer.trouble:
                    raise
        raise Unavailable("the store does not keep up with what is accepted")

    async def _room(self) -> None:
        """Signals come first: wait a moment while many of them wait for the store."""
        for _ in range(ROOM_LOOKS):
            if self._writer.pending <= QUEUE_FROM:
                return
            await asyncio.sleep(ROOM_LOOK)

    async def _accepted(self, changes: Sequence[Change]) -> None:
        """Commit, also when the queue is full for a while."""
        for _ in range(PATIENCE):
            try:
                await self._memories.commit(changes)
                return
            except Overloaded as error:
                await asyncio.sleep(error.retry_after)
        await self._memories.commit(changes)

    async def _known(self, entries: Sequence[Entry]) -> dict[str, Memory]:
        """The memories that the changes are about, as they are."""
        known: dict[str, Memory] = {}
        for owner in {entry.project for entry in entries}:
            wanted = dict.fromkeys(one for entry in entries if entry.project == owner for one in entry.ids)
            known |= await self._memories.known(list(wanted), owner)
        self._passing += [one for entry in entries for one in entry.ids if self._hot.get(one) is None]
        return known

    async def _make(
        self, entries: Sequence[Entry], known: dict[str, Memory], stopping: asyncio.Event | None = None
    ) -> list[Entry]:
        """Make the changes, a few at a time so that nobody waits for them; what was changed meanwhile is left alone."""
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
        """What somebody has changed since it was read is at hand."""
        if self._hot.is_tombstoned(identifier):
            return None
        return self._hot.get(identifier) or known.get(identifier)


def _sequence(entries: Sequence[Entry], known: Mapping[str, Memory]) -> tuple[list[Entry], int]:
    """Those of the changes that can be made one after the other, and how many others are made already."""
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
    """What can still be made of each change, one after the other; how many are made already; and of how many of those
    to be made it is not all."""
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
    """Whether bundles hold it only where a question finds it; what is told of sessions is held elsewhere too."""
    return memory.kind is Kind.EPISODE and HEAD_TAG not in memory.tags


def _step(present: dict[str, Memory], written: Sequence[Memory], gone: Sequence[str]) -> None:
    present.update({memory.id: memory for memory in written})
    for identifier in gone:
        present.pop(identifier, None)
