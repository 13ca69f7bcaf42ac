"""Execution of a consolidation plan for one owner, with regression gate and rollback."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.aging import erasable
from hunchd.consolidation.plan import Entry, Step
from hunchd.consolidation.probing import FOUND, FOUND_AFTER, Probe, Trace, compared, traced
from hunchd.consolidation.usefulness import Tally
from hunchd.domain.errors import NotFound
from hunchd.domain.facts import is_over
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Memory, Status
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.records import tells_of
from hunchd.engine.nightly.making import Making
from hunchd.engine.nightly.planning import Plan, Planning, opened, tally_json, tally_of
from hunchd.engine.nightly.run_records import Record, Verdict, without
from hunchd.engine.nightly.usage import Usage
from hunchd.engine.state.owners import Owner
from hunchd.protocol.allocating import give_memory_back
from hunchd.protocol.child import Child
from hunchd.retrieval.ranking import ranking
from hunchd.store.client import StoreClient
from hunchd.store.journal.journal import Journal
from hunchd.store.run_log import RunLog

logger = logging.getLogger(__name__)

ASKED_PROBES: Final = 50  # maximum number of probes from user queries
OPTIMISED_FROM: Final = 50  # minimum changes for a compaction
SOUGHT: Final = 30  # results ranked for a probe: enough to have some left after new ones are filtered out

Did = Callable[[Sequence[Entry]], None]  # called with the changes just made


class Stopped(Exception):
    """The run was asked to stop; completed changes are consistent."""


class Gone(Exception):
    """The owner was removed during the run."""


class CarryingOut:
    """Executor of consolidation plans."""

    def __init__(
        self,
        planner: Child,
        store: StoreClient,
        journal: Journal,
        memories: Memories,
        making: Making,
        log: RunLog,
        usage: Usage,
        settings: ConsolidationSettings,
        *,
        now: Callable[[], datetime],
        keep_usage: Callable[[], Awaitable[None]],
        reads: bool = False,
        verdicts: Path | None = None,
    ) -> None:
        self._planner = planner
        self._store = store
        self._journal = journal
        self._memories = memories
        self._making = making
        self._log = log
        self._usage = usage
        self._keep_usage = keep_usage
        self._settings = settings
        self._now = now
        self._reads = reads  # True if a model judges pairs that the rules leave open
        self._verdicts = verdicts  # file of the language model's verdicts; None: switched off
        self._gone: set[str] = set()  # removed owners
        self._touching = asyncio.Lock()  # held while writing for an owner that may be removed

    def tallies(self) -> dict[str, Tally]:
        """Return the usage that was not consolidated yet, by memory id."""
        return self._usage.tallies()

    async def leave(self, owner: str) -> None:
        """Stop writing memories of an owner.

        The current run writes none after this returns.
        """
        self._gone.add(owner)
        async with self._touching:
            pass

    def begin(self) -> None:
        """Begin a run whose owners all exist."""
        self._gone.clear()

    @asynccontextmanager
    async def _staying(self, owner: Owner) -> AsyncIterator[None]:
        """Prevent the removal of an owner during the block.

        Raises Gone if it is removed already.
        """
        async with self._touching:
            if owner.id in self._gone:
                raise Gone
            yield

    @asynccontextmanager
    async def planning(self, owner: Owner, tallies: Mapping[str, Tally]) -> AsyncIterator[Planning]:
        """Open a planner loaded with the memories of `owner`."""
        await self._making.settled()
        now = self._now()
        async with opened(
            self._planner,
            self._store,
            owner,
            self._settings,
            tallies,
            now=now,
            reads=self._reads,
            verdicts=self._verdicts,
        ) as planning:
            yield planning

    async def carry_out(
        self,
        record: Record,
        owner: Owner,
        *,
        said: Callable[[str], None],
        did: Did,
        stopping: asyncio.Event,
    ) -> Verdict:
        """Execute the remaining steps of `record` for one owner, then the gate.

        Raises Stopped or Gone.
        """
        run = record.run
        if owner.id in record.lost:  # a crash interrupted the rollback
            async with self._staying(owner):
                return await self._lost(run, owner, record.lost[owner.id])
        tallies = await self._tallies_of(record)
        with closing(await asyncio.to_thread(self._log.aside)) as kept:
            async with self.planning(owner, tallies) as planning:
                probes = record.probes.get(owner.id)
                if probes is None:
                    said("probes")
                    probes = await self._probes(planning, owner, run)
                    line = {"type": "probes", "owner": owner.id, "probes": [probe.json() for probe in probes]}
                    async with self._staying(owner):
                        await self._note(run, line)
                steps = [step for step in planning.steps(record.steps) if (owner.id, str(step)) not in record.done]
                said("planning")
                plan = await planning.whole(steps, kept, stopping)
            changed = 0
            for step in steps:
                said(str(step))
                changed += await self._carry_out(run, owner, step, plan, did, stopping)
        said("gate")
        async with self._staying(owner):
            verdict = await self._gate(record, owner, probes)
            if not verdict.rolled_back:
                await self._note(run, verdict.line(owner.id))
        if not verdict.rolled_back:
            if Step.DUPLICATES in record.steps:
                await plan.compared()
            await self._upkeep(record, owner, plan.erasable, said, changed)
        return verdict

    async def _carry_out(
        self, run: str, owner: Owner, step: Step, plan: Plan, did: Did, stopping: asyncio.Event
    ) -> int:
        """Execute one step and return the number of changes.

        Raises Stopped or Gone.
        """
        changed = 0
        async for entries in plan.of(step):
            if stopping.is_set():
                raise Stopped
            async with self._staying(owner):
                done = await self._making.apply(run, entries, stopping)
            did(done)
            changed += len(done)
        if stopping.is_set():
            raise Stopped
        await self._note(run, {"type": "step", "owner": owner.id, "step": str(step)})
        await asyncio.to_thread(give_memory_back)
        return changed

    async def _note(self, run: str, line: dict[str, Any]) -> None:
        await asyncio.to_thread(self._log.append, run, [line])

    async def _tallies_of(self, record: Record) -> dict[str, Tally]:
        """Return the usage to be counted in this run.

        It is taken once, even if a crash comes between.
        """
        if Step.USE not in record.steps:
            return {}
        if record.tallies is None:
            taken = self._usage.tallies()
            record.tallies = {name: tally_json(tally) for name, tally in taken.items()}
            await self._note(record.run, {"type": "tallies", "tallies": record.tallies})
            await self._taken(taken, record.run)
            return taken
        if self._usage.taken_by != record.run:  # a crash came between writing the log and the usage file
            await self._taken({name: tally_of(told) for name, told in record.tallies.items()}, record.run)
        counted = await asyncio.to_thread(self._counted_in, record.run)
        return {name: tally_of(told) for name, told in record.tallies.items() if name not in counted}

    async def _taken(self, tallies: Mapping[str, Tally], run: str) -> None:
        """Mark usage as counted by this run.

        So the next one does not count it again.
        """
        self._usage.counted(tallies, run)
        await self._keep_usage()

    def _counted_in(self, run: str) -> set[str]:
        lines = (line for line in self._log.lines(run) if line["type"] == "change" and line["step"] == str(Step.USE))
        return {edit["id"] for line in lines for edit in line["edits"]}

    # Gate

    async def _probes(self, planning: Planning, owner: Owner, run: str) -> list[Probe]:
        """Build probes: queries that find something before the run."""
        probes: list[Probe] = []
        for query in self._usage.queries(owner.id, min(ASKED_PROBES, self._settings.probes)):
            if found := await self._found(query, owner.id):
                probes.append(Probe(query, owner.id, tuple(found), asked=True))
        for query, identifier in await planning.probes(self._settings.probes - len(probes), run):
            if identifier in await self._found(query, owner.id):
                probes.append(Probe(query, owner.id, (identifier,)))
        return probes

    async def _gate(self, record: Record, owner: Owner, probes: Sequence[Probe]) -> Verdict:
        """Repeat the probes.

        Roll back the owner's changes if too many answers are lost. What others stored, changed or removed since the
        run began is not attributed to the run.
        """
        run = record.run
        await self._making.kept_pace(but=0)
        wanted = {identifier for probe in probes for identifier in probe.wanted}
        trace = await asyncio.to_thread(self._traced, run, owner.id, wanted)

        def stood(memory: Memory) -> bool:
            return memory.created <= record.began or memory.id in trace.made or memory.id in wanted

        found = [await self._found(probe.query, owner.id, FOUND_AFTER, stood) for probe in probes]
        standing = wanted.union(map(trace.heir, wanted))
        there = await self._memories.known(list(standing), owner.id)
        changed = {one for one in there if there[one].updated > record.began and one not in trace.made}
        judged = compared(probes, found, trace, changed, standing.difference(there))
        if judged.share <= self._settings.probe_loss:
            return Verdict(False, judged.json())
        steps = ", ".join(sorted({loss.step for loss in judged.losses}))
        told = (run, len(judged.losses), judged.answers, owner.name or "the user", steps)
        logger.warning("run %s lost %d of %d answers of %s in steps %s; rolling it back", *told)
        await self._note(run, {"type": "lost", "owner": owner.id, "gate": judged.json()})
        return await self._lost(run, owner, judged.json())

    async def _lost(self, run: str, owner: Owner, gate: Mapping[str, Any]) -> Verdict:
        """Roll back the changes of an owner."""
        undone, left = await self._making.take_back(run, owner=owner.id, of_owner=True)
        verdict = Verdict(True, {**gate, "undone": undone, "left": left})
        await self._note(run, verdict.line(owner.id))
        return verdict

    def _traced(self, run: str, owner: str | None, wanted: set[str]) -> Trace:
        changes = (Entry.of_json(line) for line in self._log.lines(run) if line["type"] == "change")
        return traced((entry for entry in changes if entry.project == owner), wanted)

    async def _found(
        self, query: str, project: str | None, k: int = FOUND, stood: Callable[[Memory], bool] = lambda _: True
    ) -> list[str]:
        """Return the best lexical matches that pass `existed_before` and are still valid.

        Vectors change with the words, and no model needs to be loaded for this.
        """
        now = self._now()
        filters = Filters(project=project, statuses=(Status.ACTIVE, Status.SUSPECT))
        findings = await self._store.search(query, filters, SOUGHT, mode="lexical")
        hits = [hit for hit in findings.hits if stood(hit.memory) and not is_over(hit.memory, now)]
        return [one.memory.id for one in ranking(query, hits, depth="shallow", k=k, now=now)]

    # Store maintenance

    async def _upkeep(
        self, record: Record, owner: Owner, erasable: Sequence[str], said: Callable[[str], None], changed: int
    ) -> None:
        """Execute the steps that need no plan: erasure, embeddings of another model, compaction."""
        if Step.ERASE in record.steps:
            said(str(Step.ERASE))
            async with self._staying(owner):
                await self._erase(record, owner, erasable)
        if Step.REEMBED in record.steps:
            said(str(Step.REEMBED))
            stats = await self._store.stats()
            waiting = int(stats.get("pending_embeddings", 0))
            if waiting:  # the store does it when idle
                await self._note(record.run, {"type": "did", "counts": "embedded", "number": waiting})
        if Step.COMPACT in record.steps and changed >= OPTIMISED_FROM:
            said(str(Step.COMPACT))
            await self._store.optimise()

    async def _erase(self, record: Record, owner: Owner, planned: Sequence[str]) -> None:
        """Erase memories archived long ago from disk, logs and copies, irreversibly.

        Those that were restored since the plan was made stay.
        """
        going = [memory.id for memory in await self.erasable(planned, owner)]
        if not going:
            return
        async with self._memories.unfinished.promised(going, owner.id):
            await self._erase_all(record, owner, going)

    async def _erase_all(self, record: Record, owner: Owner, going: Sequence[str]) -> None:
        # First: after a crash it would be unknown what to remove from the logs.
        await asyncio.to_thread(self._log.rewrite, lambda line: without(line, frozenset(going), None))
        gone, last = [], 0
        for identifier in going:
            with suppress(NotFound):
                if await self.erasable([identifier], owner):
                    _, last = await self._memories.forget(identifier, [owner.id] if owner.id else [])
                    gone.append(identifier)
        if not gone:
            return
        await self._making.settled()
        await self._journal.rewrite(lambda record: any(tells_of(record, one) for one in gone), up_to=last)
        await self._memories.purges.purge(owner.id)
        self._usage.forget(gone)
        await self._note(record.run, {"type": "did", "counts": "erased", "number": len(gone)})

    async def erasable(self, identifiers: Sequence[str], owner: Owner) -> list[Memory]:
        """Return the memories that exist and have been archived long enough."""
        known = await self._memories.known(identifiers, owner.id)
        return list(erasable(known.values(), self._now()))
