"""Contradictions, looked for in the background: every memory that is new or says something else is held against what is
known. The nightly run looks through all of them."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from hunchd.consolidation.contradictions.readings import pair_name
from hunchd.consolidation.contradictions.scanning import (
    CANDIDATES,
    MOST_READ,
    Look,
    Opposition,
    held_against,
    question_for,
    statement,
    states,
)
from hunchd.domain.errors import HunchError
from hunchd.domain.facts import Change
from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Kind, Memory
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.learning.judging import Judging
from hunchd.store.client import StoreClient
from hunchd.store.hot import HotTier

logger = logging.getLogger(__name__)

MOST_WAITING: Final = 5_000  # memories; what comes above that is looked at in the night
PAUSE: Final = 0.1  # seconds between two memories, each of which takes 20 ms of the front
# Questions come first: while one follows the other a memory is looked at only so often.
QUIET: Final = 0.25  # seconds without a question
LONGEST_WAIT: Final = 3.0  # seconds
PATIENCE: Final = 0.0  # seconds to wait for an embedding: words find what says something about the same
REMEMBERED: Final = 2_000  # pairs that need not be read again when something else of a memory changes
KINDS: Final = (Kind.FACT, Kind.EPISODE)


class Contradicting:
    def __init__(
        self,
        memories: Memories,
        hot: HotTier,
        store: StoreClient,
        *,
        now: Callable[[], datetime],
        judging: Judging | None = None,
        reads: bool = False,
    ) -> None:
        self._memories = memories
        self._hot = hot
        self._store = store
        self._now = now
        self._judging = judging
        self._reads = reads  # whether a model reads what the rules leave open
        self._read: OrderedDict[str, float] = OrderedDict()
        self._waiting: dict[str, Memory] = {}
        self._work = asyncio.Event()

    def note(self, change: Change) -> None:
        """Something was kept: what it states is looked at soon."""
        for identifier in change.deletions:
            self._waiting.pop(identifier, None)
        for memory in change.memories:
            if states(memory) and len(self._waiting) < MOST_WAITING:
                self._waiting[memory.id] = memory
                self._work.set()

    async def run(self) -> None:
        """Look at one memory after the other, for ever."""
        while True:
            await self._work.wait()
            self._work.clear()
            while self._waiting:
                memory = self._waiting.pop(next(iter(self._waiting)))
                try:
                    await self.look(memory)
                except HunchError as error:  # the night looks again
                    logger.warning("'%s' could not be held against the others: %s", memory.id, error.message)
                await asyncio.sleep(PAUSE)
                await self._questions_over()

    async def _questions_over(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_WAIT):
                while (quiet := self._store.unasked) < QUIET:
                    await asyncio.sleep(QUIET - quiet)

    async def look(self, memory: Memory) -> list[Memory]:
        """Open the contradictions of one memory that were never asked about; which they are."""
        candidates = await self.candidates(memory)
        look = await asyncio.to_thread(held_against, memory, candidates)
        said = await self._said(look)
        if self._judging is None:
            found = look.as_read(said)
        else:
            found = await self._judging.oppositions(memory, look, look.told(said))
        return [record for one in found if (record := await self._open(one)) is not None]

    async def candidates(self, memory: Memory) -> Sequence[Memory]:
        """What says something about the same: by word and meaning from the store, by word from what is at hand."""
        filters = Filters(project=memory.project, kinds=KINDS)
        question = question_for(memory)
        stored = await self._store.search(question, filters, CANDIDATES, patience=PATIENCE)
        found = {hit.memory.id: hit.memory for hit in stored.hits if not self._hot.is_tombstoned(hit.memory.id)}
        for hit in self._hot.search(question, filters, CANDIDATES):
            if (known := self._hot.get(hit.memory_id)) is not None:
                found[known.id] = known
        newest = ((self._hot.get(identifier) or one) for identifier, one in found.items())
        return [one for one in newest if one.id != memory.id and matches(one, filters)]

    async def _said(self, look: Look) -> dict[tuple[str, str], float]:
        """How probable it is of pairs, by the ids of both sides, that they cannot both hold, as a model reads them."""
        if not self._reads:
            return {}
        pairs = {pair_name(statement(a), statement(b)): (a, b) for a, b in look.open[:MOST_READ]}
        new = {name: (statement(a), statement(b)) for name, (a, b) in pairs.items() if name not in self._read}
        try:
            said = await self._store.contradict(list(new.values())) if new else None
        except HunchError as error:  # what the rules have found is opened all the same
            logger.warning("pairs of statements are not read: %s", error.message)
            said = None
        if said is not None:
            self._read.update(zip(new, said, strict=True))
        told = {(a.id, b.id): self._read[name] for name, (a, b) in pairs.items() if name in self._read}
        while len(self._read) > REMEMBERED:
            self._read.popitem(last=False)
        return told

    async def _open(self, found: Opposition) -> Memory | None:
        """Keep a contradiction, if both sides still say what they said and nobody was asked before."""
        record = found.record(self._now())
        async with self._memories.changing:
            known = await self._memories.known([found.a.id, found.b.id, record.id], record.project)
            if record.id in known or any(_changed(side, known) for side in (found.a, found.b)):
                return None
            await self._memories.commit([Change((record,), project=record.project)])
        logger.info("contradiction %s is open", record.id)
        return record


def _changed(side: Memory, known: dict[str, Memory]) -> bool:
    now = known.get(side.id)
    return now is None or (now.status, now.content, now.value) != (side.status, side.content, side.value)
