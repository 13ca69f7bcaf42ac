"""Execution of a consolidation plan for one owner, with regression gate and rollback.

An owner is a project, or the user. The gate repeats queries ("probes") after the run, and fails if they lost too
many results.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import structs

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.aging import iter_erasable
from hunchd.consolidation.plan import ChangeEntry, ConsolidationStep
from hunchd.consolidation.regression_gate import (
    MAX_RANK_AFTER,
    MAX_RANK_BEFORE,
    RANKING,
    GateVerdict,
    Probe,
    RunTrace,
    compare_results,
    trace_changes,
)
from hunchd.consolidation.usage_feedback import UsageTally
from hunchd.core.memory.journal_records import contains_memory_text
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.state.owners import MemoryOwner
from hunchd.domain.errors import NotFound, Unavailable
from hunchd.domain.facts import is_over
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Memory, Status
from hunchd.features.consolidation.change_applier import ChangeApplier
from hunchd.features.consolidation.planner_client import (
    PlannerSession,
    SpilledPlan,
    open_planner,
)
from hunchd.features.consolidation.run_records import (
    DidLine,
    LostLine,
    ProbesLine,
    RunLine,
    RunRecord,
    StepLine,
    TalliesLine,
    VerdictLine,
    remove_erased,
)
from hunchd.features.consolidation.usage import UsageTracker
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.consolidation_answers import GateFigures, StoreFigures
from hunchd.protocol.malloc_tuning import release_free_memory
from hunchd.protocol.responses import to_json
from hunchd.retrieval.ranking import rank_hits
from hunchd.store.journal.journal import Journal
from hunchd.store.port import MemoryStore, StoreQuery, TextModels
from hunchd.store.run_log import RunLog

logger = logging.getLogger(__name__)

# Queries that must find the same after a run. A larger number detects smaller losses and takes longer.
MAX_PROBES: Final = 200
MAX_PROBE_LOSS: Final = 0.01  # if a run loses a larger share of the results, changes are rolled back
MAX_QUERY_PROBES: Final = 50  # maximum number of probes from user queries
MIN_CHANGES_TO_OPTIMISE: Final = 50  # minimum changes for a compaction
PROBE_RESULTS: Final = 30  # results ranked for a probe; enough that some are left when new ones have been filtered out

OnChanged = Callable[[Sequence[ChangeEntry]], None]  # called with the changes just made


class RunStopped(Exception):
    """Raised when a run was asked to stop; the changes made so far are consistent."""


class OwnerRemoved(Exception):
    """Raised when the project whose memories are being consolidated has been removed."""


class PlanExecutor:
    """Service that executes consolidation plans and checks their effects with the regression gate."""

    def __init__(
        self,
        planner: HelperProcess,
        store: MemoryStore,
        journal: Journal,
        memories: MemoryService,
        applier: ChangeApplier,
        log: RunLog,
        usage: UsageTracker,
        settings: ConsolidationSettings,
        *,
        now: Callable[[], datetime],
        save_usage: Callable[[], Awaitable[None]],
        models: TextModels | None = None,
        verdicts: Path | None = None,
    ) -> None:
        self._planner = planner
        self._store = store
        self._journal = journal
        self._memories = memories
        self._applier = applier
        self._log = log
        self._usage = usage
        self._save_usage = save_usage
        self._settings = settings
        self._now = now
        self._models = models  # models that judge the pairs that the rules leave undecided
        self._verdicts = verdicts  # file with a language model's verdicts; None if switched off
        self._removed_owners: set[str] = set()  # owners that were removed during the run
        self._write_lock = asyncio.Lock()  # held while writing memories of an owner that may be removed

    def tallies(self) -> dict[str, UsageTally]:
        """Return the usage that no run has counted yet, keyed by memory id."""
        return self._usage.get_tallies()

    async def exclude_owner(self, owner: str) -> None:
        """Make the current run write no more memories of `owner`."""
        self._removed_owners.add(owner)
        async with self._write_lock:
            pass

    def begin_run(self) -> None:
        """Begin a run, and forget which owners were excluded from the previous one."""
        self._removed_owners.clear()

    @asynccontextmanager
    async def _keep_owner(self, owner: MemoryOwner) -> AsyncIterator[None]:
        """Delay the removal of an owner; raises OwnerRemoved."""
        async with self._write_lock:
            if owner.id in self._removed_owners:
                raise OwnerRemoved
            yield

    @asynccontextmanager
    async def open_planner(
        self, owner: MemoryOwner, tallies: Mapping[str, UsageTally]
    ) -> AsyncIterator[PlannerSession]:
        """Start a planning session with the memories of `owner` loaded.

        The session starts once the store has all accepted records.
        """
        await self._applier.drain_writer()
        now = self._now()
        async with open_planner(
            self._planner,
            self._store,
            owner,
            self._settings,
            tallies,
            now=now,
            models=self._models,
            verdicts=self._verdicts,
        ) as planning:
            yield planning

    async def execute(
        self,
        record: RunRecord,
        owner: MemoryOwner,
        *,
        set_step: Callable[[str], None],
        on_changed: OnChanged,
        stop_event: asyncio.Event,
    ) -> VerdictLine:
        """Execute the remaining steps of a run for one owner, then check the gate.

        Raises RunStopped if `stop_event` is set, and OwnerRemoved if the owner is removed in the meantime.
        """
        run = record.run
        if owner.id in record.failed_gates:  # a crash interrupted the rollback
            async with self._keep_owner(owner):
                return await self._roll_back(record, owner, record.failed_gates[owner.id])
        tallies = await self._get_tallies(record)
        with closing(await asyncio.to_thread(self._log.open_spill_file)) as spill_file:
            async with self.open_planner(owner, tallies) as planning:
                probes = record.probes.get(owner.id)
                if probes is None:
                    set_step("probes")
                    probes = await self._build_probes(planning, owner, run)
                    async with self._keep_owner(owner):
                        await self._append_to_log(run, ProbesLine(owner=owner.id, probes=probes))
                steps = [
                    step
                    for step in planning.select_steps(record.steps)
                    if (owner.id, str(step)) not in record.finished_steps
                ]
                set_step("planning")
                plan = await planning.plan_all(steps, spill_file, stop_event)
            change_count = 0
            for step in steps:
                set_step(str(step))
                change_count += await self._execute_step(run, owner, step, plan, on_changed, stop_event)
        set_step("gate")
        async with self._keep_owner(owner):
            verdict = await self._check_gate(record, owner, probes)
        if not verdict.rolled_back:
            if ConsolidationStep.DUPLICATES in record.steps:
                await plan.save_compared()
            await self._maintain_store(record, owner, plan.erasable, set_step, change_count)
        return verdict

    async def _execute_step(
        self,
        run: str,
        owner: MemoryOwner,
        step: ConsolidationStep,
        plan: SpilledPlan,
        on_changed: OnChanged,
        stop_event: asyncio.Event,
    ) -> int:
        """Execute one step and return the number of changes made.

        Raises RunStopped if `stop_event` is set, and OwnerRemoved if the owner is removed in the meantime.
        """
        change_count = 0
        async for entries in plan.iter_step(step):
            if stop_event.is_set():
                raise RunStopped
            async with self._keep_owner(owner):
                done_entries = await self._applier.apply(run, entries, stop_event)
            on_changed(done_entries)
            change_count += len(done_entries)
        if stop_event.is_set():
            raise RunStopped
        await self._append_to_log(run, StepLine(owner=owner.id, step=str(step)))
        await asyncio.to_thread(release_free_memory)
        return change_count

    async def _append_to_log(self, run: str, line: RunLine) -> None:
        await asyncio.to_thread(self._log.append, run, [to_json(line)])

    async def _get_tallies(self, record: RunRecord) -> dict[str, UsageTally]:
        """Return the usage that this run still has to count."""
        if ConsolidationStep.USE not in record.steps:
            return {}
        if record.tallies is None:
            tallies = self._usage.get_tallies()
            record.tallies = tallies
            await self._append_to_log(record.run, TalliesLine(tallies=tallies))
            await self._mark_counted(tallies, record.run)
            return tallies
        if self._usage.last_run != record.run:  # a crash came between writing the log and the usage file
            await self._mark_counted(record.tallies, record.run)
        counted_ids = await asyncio.to_thread(self._list_counted_ids, record)
        return {name: tally for name, tally in record.tallies.items() if name not in counted_ids}

    async def _mark_counted(self, tallies: Mapping[str, UsageTally], run: str) -> None:
        """Mark usage as counted, so that no run counts it again."""
        self._usage.subtract_tallies(tallies, run)
        await self._save_usage()

    def _list_counted_ids(self, record: RunRecord, owner: str | None = None, *, of_owner: bool = False) -> set[str]:
        """Return the ids of the memories whose usage the run has counted.

        If the step was undone for an owner, that owner's memories are left out. With `of_owner`, only the memories
        of `owner` are returned, even if the step was undone.
        """
        step = str(ConsolidationStep.USE)
        returned = {one for one, verdict in record.owners.items() if verdict.undoes(step)}
        return {
            identifier
            for _, entry in self._log.read_changes(record.run, ChangeEntry)
            if entry.step == step and (entry.project == owner if of_owner else entry.project not in returned)
            for identifier in entry.ids
        }

    # Gate

    async def _build_probes(self, planning: PlannerSession, owner: MemoryOwner, run: str) -> list[Probe]:
        """Build the probes, which are queries with the memories they find before the run.

        Queries by the user come first, then queries made from memories. A query is left out if it finds nothing, or
        if it was made from a memory and does not find it.
        """
        probes: list[Probe] = []
        for query in self._usage.list_queries(owner.id, MAX_QUERY_PROBES):
            if results := await self._search_lexically(query, owner.id):
                probes.append(Probe(query, owner.id, tuple(results)))
        for query, identifier in await planning.get_probes(MAX_PROBES - len(probes), run):
            if identifier in await self._search_lexically(query, owner.id):
                probes.append(Probe(query, owner.id, (identifier,)))
        return probes

    async def _check_gate(self, record: RunRecord, owner: MemoryOwner, probes: Sequence[Probe]) -> VerdictLine:
        """Repeat the probes, and undo the steps that lost too many results.

        If this does not help, or if undoing those steps would leave no changes, all changes for the owner are
        rolled back.
        """
        comparison, made_steps = await self._repeat_probes(record, owner, probes)
        gate = comparison.summarize()
        if comparison.loss_share <= MAX_PROBE_LOSS:
            return await self._finish(record, VerdictLine(owner=owner.id, rolled_back=False, gate=gate))
        steps = {loss.step for loss in comparison.losses}
        log_arguments = (record.run, len(comparison.losses), comparison.result_count, owner.name or "the user")
        logger.warning(
            "run %s lost %d of %d probe results for %s because of the steps %s; undoing these steps",
            *log_arguments,
            sorted(steps),
        )
        await self._append_to_log(record.run, LostLine(owner=owner.id, gate=gate))
        if RANKING not in steps and made_steps - steps:
            undone_count, left_count = await self._undo_steps(record, owner, steps)
            again, _ = await self._repeat_probes(record, owner, probes)
            if again.loss_share <= MAX_PROBE_LOSS:
                gate = structs.replace(gate, undone=undone_count, left=left_count, undone_steps=sorted(steps))
                return await self._finish(record, VerdictLine(owner=owner.id, rolled_back=False, gate=gate))
        return await self._roll_back(record, owner, gate)

    async def _repeat_probes(
        self, record: RunRecord, owner: MemoryOwner, probes: Sequence[Probe]
    ) -> tuple[GateVerdict, set[str]]:
        """Return the results lost by the probes, and the steps that made changes.

        Memories that others stored, changed or removed since the run began do not count as losses. Nor does a memory
        that is displaced from the results only by histories that the run created: its rank among the other memories is
        the same.
        """
        run = record.run
        await self._applier.wait_for_store(allowed_pending=0)
        wanted_ids = {identifier for probe in probes for identifier in probe.expected_ids}
        trace = await asyncio.to_thread(self._trace_run, run, owner.id, wanted_ids)

        def existed_before(memory: Memory) -> bool:
            return memory.created <= record.began or memory.id in trace.created_ids or memory.id in wanted_ids

        def existed_apart_from_run(memory: Memory) -> bool:
            return existed_before(memory) and memory.id not in trace.created_ids

        conditions = (existed_before, existed_apart_from_run) if trace.created_ids else (existed_before,)
        results = [
            [
                one
                for condition in conditions
                for one in await self._search_lexically(probe.query, owner.id, MAX_RANK_AFTER, condition)
            ]
            for probe in probes
        ]
        expected_ids = wanted_ids.union(map(trace.find_replacement, wanted_ids))
        there = await self._memories.find(list(expected_ids), owner.id)
        changed_ids = {one for one in there if there[one].updated > record.began and one not in trace.created_ids}
        comparison = compare_results(probes, results, trace, changed_ids, expected_ids.difference(there))
        return comparison, await asyncio.to_thread(self._list_changed_steps, run, owner.id)

    async def _finish(self, record: RunRecord, verdict: VerdictLine) -> VerdictLine:
        await self._append_to_log(record.run, verdict)
        return verdict

    async def _roll_back(self, record: RunRecord, owner: MemoryOwner, gate: GateFigures) -> VerdictLine:
        """Undo all changes that the run made for an owner."""
        undone_count, left_count = await self._undo_steps(record, owner, ())
        gate = structs.replace(gate, undone=undone_count, left=left_count)
        return await self._finish(record, VerdictLine(owner=owner.id, rolled_back=True, gate=gate))

    async def _undo_steps(self, record: RunRecord, owner: MemoryOwner, steps: Collection[str]) -> tuple[int, int]:
        """Undo the changes for an owner that were made in the given steps.

        If `steps` is empty, all changes are undone. Usage that the undone changes had counted is kept for the next
        run. Returns how many changes were undone and how many were left in place.
        """
        counts = await self._applier.undo(record.run, owner=owner.id, of_owner=True, steps=steps)
        if not steps or ConsolidationStep.USE in steps:
            await self.return_evidence(record, owner.id, of_owner=True)
        return counts

    async def return_evidence(self, record: RunRecord, owner: str | None = None, *, of_owner: bool = False) -> None:
        """Return the usage counted by undone changes to the usage tracker.

        The next run then counts it. With `of_owner`, only the usage of the memories of `owner` is returned.
        """
        ids = await asyncio.to_thread(self._list_counted_ids, record, owner, of_owner=of_owner)
        tallies = {name: tally for name, tally in (record.tallies or {}).items() if name in ids}
        self._usage.return_tallies(tallies, f"{record.run} {owner if of_owner else '*'}")
        await self._save_usage()

    def _trace_run(self, run: str, owner: str | None, wanted_ids: set[str]) -> RunTrace:
        return trace_changes(self._iter_changes(run, owner), wanted_ids)

    def _list_changed_steps(self, run: str, owner: str | None) -> set[str]:
        return {str(entry.step) for entry in self._iter_changes(run, owner)}

    def _iter_changes(self, run: str, owner: str | None) -> Iterator[ChangeEntry]:
        return (entry for _, entry in self._log.read_changes(run, ChangeEntry) if entry.project == owner)

    async def _search_lexically(
        self,
        query: str,
        project: str | None,
        k: int = MAX_RANK_BEFORE,
        existed_before: Callable[[Memory], bool] = lambda _: True,
    ) -> list[str]:
        """Return the ids of the `k` best matches that are still valid.

        The matches must also pass `existed_before`. Searching by words is enough, because the vectors change along
        with the words, and no model needs to be loaded.
        """
        now = self._now()
        filters = Filters(project=project, statuses=(Status.ACTIVE, Status.SUSPECT))
        findings = await self._store.search(StoreQuery(query, filters, PROBE_RESULTS, mode="lexical"))
        hits = [hit for hit in findings.hits if existed_before(hit.memory) and not is_over(hit.memory, now)]
        return [one.memory.id for one in rank_hits(query, hits, depth="shallow", k=k, now=now)]

    # Store maintenance

    async def _maintain_store(
        self,
        record: RunRecord,
        owner: MemoryOwner,
        erasable: Sequence[str],
        set_step: Callable[[str], None],
        change_count: int,
    ) -> None:
        """Execute the steps that need no plan: erasure, new embeddings, and compaction."""
        if ConsolidationStep.ERASE in record.steps:
            set_step(str(ConsolidationStep.ERASE))
            async with self._keep_owner(owner):
                await self._erase(record, owner, erasable)
        if ConsolidationStep.REEMBED in record.steps:
            set_step(str(ConsolidationStep.REEMBED))
            stats = await self._store.fetch_stats()
            pending_count = stats.pending_embeddings
            if pending_count:  # the store computes them when it is idle
                await self._append_to_log(record.run, DidLine(counts="embedded", number=pending_count))
        if ConsolidationStep.COMPACT in record.steps and change_count >= MIN_CHANGES_TO_OPTIMISE:
            set_step(str(ConsolidationStep.COMPACT))
            await self._store.optimise()

    async def measure_store(self) -> StoreFigures | None:
        """Return the current size of the store, or None if the store does not report it."""
        try:
            stats, tokens = await self._store.fetch_stats(), await self._store.count_tokens()
        except Unavailable:
            return None
        if stats.rows is None or stats.bytes is None:
            return None
        return StoreFigures(memories=stats.rows, bytes=stats.bytes, tokens=tokens)

    async def _erase(self, record: RunRecord, owner: MemoryOwner, planned_ids: Sequence[str]) -> None:
        """Irreversibly erase memories archived long ago from disk, logs and copies.

        Memories that were restored after the plan was made are not erased.
        """
        erasable_ids = [memory.id for memory in await self.list_erasable(planned_ids, owner)]
        if not erasable_ids:
            return
        async with self._memories.pending_erasures.record(erasable_ids, owner.id):
            await self._erase_memories(record, owner, erasable_ids)

    async def _erase_memories(self, record: RunRecord, owner: MemoryOwner, erasable_ids: Sequence[str]) -> None:
        # The logs come first: after a crash it would be unknown what to remove from them.
        await asyncio.to_thread(
            self._log.rewrite_lines, lambda line: remove_erased(line, frozenset(erasable_ids), None)
        )
        erased_ids, last = [], 0
        for identifier in erasable_ids:
            with suppress(NotFound):
                if await self.list_erasable([identifier], owner):
                    _, last = await self._memories.forget([identifier], [owner.id] if owner.id else [])
                    erased_ids.append(identifier)
        if not erased_ids:
            return
        await self._applier.drain_writer()
        await self._journal.erase_records(lambda record: contains_memory_text(record, erased_ids), up_to=last)
        await self._memories.purges.purge(owner.id)
        self._usage.forget(erased_ids)
        await self._append_to_log(record.run, DidLine(counts="erased", number=len(erased_ids)))

    async def list_erasable(self, identifiers: Sequence[str], owner: MemoryOwner) -> list[Memory]:
        """Return the given memories that still exist and are due for erasure."""
        memories = await self._memories.find(identifiers, owner.id)
        return list(iter_erasable(memories.values(), self._now()))
