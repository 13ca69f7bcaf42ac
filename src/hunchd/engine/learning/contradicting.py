"""Background search for contradictions of new and changed memories.

Every memory that is new or says something else is compared with the known ones. The nightly run searches all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, TypeAlias

from hunchd.consolidation.conflicts import conflict_of
from hunchd.consolidation.contradictions.readings import pair_name
from hunchd.consolidation.contradictions.scanning import (
    CANDIDATES,
    MOST_READ,
    Look,
    Opposition,
    held_against,
    may_be_asked,
    nearness,
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
from hunchd.engine.state.feature import Feature
from hunchd.engine.state.parts import Tasks
from hunchd.engine.state.project import Project
from hunchd.store.client import StoreClient
from hunchd.store.hot import HotTier

logger = logging.getLogger(__name__)

MOST_WAITING: Final = 5_000  # queued memories; the nightly run handles the rest
PAUSE: Final = 0.1  # seconds between two memories, each of which takes 20 ms
# Search requests have priority: while they keep coming, memories are compared only this often.
QUIET: Final = 0.25  # seconds without a search request
LONGEST_WAIT: Final = 3.0  # seconds
PATIENCE: Final = 0.0  # seconds to wait for an embedding: lexical search finds statements on the same subject
LONGEST_LOOK: Final = 3.0  # seconds that a client waits for similar statements: the store may be starting
MEANT: Final = 1.0  # seconds to wait for an embedding if a client asks, to find other wordings
REMEMBERED: Final = 2_000  # cached pairs, so that other changes of a memory do not judge them again
# Minimum similarity of a statement that is reported: of 540 that contradict another one, 94 % are among the four
# nearest above it (six development sets of pairs).
NEAR: Final = 0.35
KINDS: Final = (Kind.FACT, Kind.EPISODE)

Candidate: TypeAlias = tuple[Memory, float | None]  # memory and cosine similarity, if known


class Contradicting(Feature):
    """Background task that compares memories and opens contradictions."""

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
        self._reads = reads  # True if a model judges what the rules leave open
        self._read: OrderedDict[str, float] = OrderedDict()
        self._waiting: dict[str, Memory] = {}
        self._work = asyncio.Event()

    def start(self, tasks: Tasks) -> None:
        tasks.start("contradictions", self.run)

    def on_memory_changed(self, change: Change, project: Project | None) -> None:
        """Queue changed memories for comparison."""
        for identifier in change.deletions:
            self._waiting.pop(identifier, None)
        for memory in change.memories:
            if states(memory) and len(self._waiting) < MOST_WAITING:
                self._waiting[memory.id] = memory
                self._work.set()

    async def run(self) -> None:
        """Compare queued memories one after the other, forever."""
        while True:
            await self._work.wait()
            self._work.clear()
            while self._waiting:
                memory = self._waiting.pop(next(iter(self._waiting)))
                try:
                    await self.look(memory)
                except HunchError as error:  # the nightly run retries
                    logger.warning("'%s' could not be compared with the others: %s", memory.id, error.message)
                await asyncio.sleep(PAUSE)
                await self._questions_over()

    async def _questions_over(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_WAIT):
                while (quiet := self._store.unasked) < QUIET:
                    await asyncio.sleep(QUIET - quiet)

    async def look(self, memory: Memory) -> list[Memory]:
        """Open the new contradictions of one memory and return them."""
        candidates = await self.candidates(memory)
        look = await asyncio.to_thread(held_against, memory, candidates)
        said = await self._said(look)
        if self._judging is None:
            found = look.as_read(said)
        else:
            found = await self._judging.oppositions(memory, look, look.told(said))
        return [record for one in found if (record := await self._open(one)) is not None]

    async def near(self, memory: Memory, most: int) -> tuple[list[Memory], str]:
        """Return similar statements that were never reported as contradictions, nearest first.

        Also returns the reason why the search was incomplete, or "". The client that stores a memory can judge
        better than any
        rule whether both hold.
        """
        if not states(memory):
            return [], ""
        found, missing = await self._with_meaning(memory)
        closeness = {one.id: nearness(memory, one, like) for one, like in found if may_be_asked(memory, one)}
        near = [one for one, _ in found if closeness.get(one.id, 0.0) >= NEAR]
        near.sort(key=lambda one: -closeness[one.id])
        records = {one.id: conflict_of(memory, one, self._now()).id for one in near}
        asked = await self._memories.known(list(records.values()), memory.project)
        return [one for one in near if records[one.id] not in asked][:most], missing

    async def _with_meaning(self, memory: Memory) -> tuple[list[Candidate], str]:
        """Return candidates by word and meaning, and the reason if they are incomplete."""
        try:
            async with asyncio.timeout(LONGEST_LOOK):
                return await self._found(memory, patience=MEANT), ""
        except TimeoutError:
            missing = "the store is still starting"
        except HunchError as error:
            missing = error.message
        return self._at_hand(memory, {}), f"only recent memories were compared: {missing}"

    async def candidates(self, memory: Memory) -> Sequence[Memory]:
        """Return the memories that may be about the same subject."""
        return [one for one, _ in await self._found(memory, patience=PATIENCE)]

    async def _found(self, memory: Memory, *, patience: float) -> list[Candidate]:
        """Search candidates in the store and the cache.

        By word and meaning in the store, by word in the cache.
        """
        stored = await self._store.search(question_for(memory), _filters(memory), CANDIDATES, patience=patience)
        hits = {hit.memory.id: hit for hit in stored.hits if not self._hot.is_tombstoned(hit.memory.id)}
        return self._at_hand(memory, {name: (hit.memory, hit.similarity) for name, hit in hits.items()})

    def _at_hand(self, memory: Memory, stored: Mapping[str, Candidate]) -> list[Candidate]:
        """Merge stored candidates with cached ones; newer versions win."""
        filters, found = _filters(memory), dict(stored)
        for hit in self._hot.search(question_for(memory), filters, CANDIDATES):
            if (known := self._hot.get(hit.memory_id)) is not None:
                found.setdefault(known.id, (known, None))
        newest = [((self._hot.get(name) or one), like) for name, (one, like) in found.items()]
        return [(one, like) for one, like in newest if one.id != memory.id and matches(one, filters)]

    async def _said(self, look: Look) -> dict[tuple[str, str], float]:
        """Return the model's contradiction probability of each open pair, by both ids."""
        if not self._reads:
            return {}
        pairs = {pair_name(statement(a), statement(b)): (a, b) for a, b in look.open[:MOST_READ]}
        new = {name: (statement(a), statement(b)) for name, (a, b) in pairs.items() if name not in self._read}
        try:
            said = await self._store.contradict(list(new.values())) if new else None
        except HunchError as error:  # contradictions found by rules are opened anyway
            logger.warning("statement pairs could not be judged: %s", error.message)
            said = None
        if said is not None:
            self._read.update(zip(new, said, strict=True))
        told = {(a.id, b.id): self._read[name] for name, (a, b) in pairs.items() if name in self._read}
        while len(self._read) > REMEMBERED:
            self._read.popitem(last=False)
        return told

    async def _open(self, found: Opposition) -> Memory | None:
        """Store a contradiction if both sides are unchanged and it was never reported before."""
        record = found.record(self._now())
        async with self._memories.changing:
            known = await self._memories.known([found.a.id, found.b.id, record.id], record.project)
            if record.id in known or any(_changed(side, known) for side in (found.a, found.b)):
                return None
            await self._memories.commit([Change((record,), project=record.project)])
        logger.info("contradiction %s is open", record.id)
        return record


def _filters(memory: Memory) -> Filters:
    return Filters(project=memory.project, kinds=KINDS)


def _changed(side: Memory, known: dict[str, Memory]) -> bool:
    now = known.get(side.id)
    return now is None or (now.status, now.content, now.value) != (side.status, side.content, side.value)
