"""Consolidation runs: one at a time, with durable, reversible changes and a regression gate.

A run writes each planned change to its log, then commits it through the journal like any other change. After a crash,
the run continues with the step it had reached. If the gate finds that queries lost too many results, the changes that
caused this, or all changes for the owner concerned, are rolled back. An owner is a project, or the user. Neither a run
nor its undo touches what others have changed in the meantime.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import UNSET, UnsetType, structs

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.aging import ARCHIVE_REASON
from hunchd.consolidation.plan import ChangeEntry, ConsolidationStep
from hunchd.core.state.events import EventBus
from hunchd.core.state.owners import MemoryOwner
from hunchd.domain.errors import Conflict, HunchError, NotFound, StorageFull
from hunchd.domain.memory import Memory
from hunchd.features.consolidation.change_applier import ChangeApplier
from hunchd.features.consolidation.plan_executor import OwnerRemoved, PlanExecutor, RunStopped
from hunchd.features.consolidation.run_records import (
    END_TYPES,
    BegunLine,
    EndedLine,
    LeftHalfDoneLine,
    NoRoomLine,
    ResumedLine,
    RunLine,
    RunRecord,
    UndoingLine,
    UndoneLine,
    load_run_record,
    remove_erased,
)
from hunchd.protocol.consolidation_answers import COUNTERS, ChangeAnswer, EditAnswer, RunAnswer, RunStatus, UndoneAnswer
from hunchd.protocol.consolidation_requests import ConsolidateRequest
from hunchd.protocol.knowledge_answers import MemoryChangeAnswer
from hunchd.protocol.requests import ListSlice
from hunchd.protocol.responses import PageAnswer, format_iso, slice_page, to_json
from hunchd.store.run_log import RunLog

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

KEPT_RUNS: Final = 30  # runs that can be undone: a month of nights
MAX_CHANGES: Final = 500  # changes in one answer; others are on further pages
MAX_STEP_CHANGES: Final = 100  # changes of one step in the answer to a dry run, which has no further pages
MAX_RUNS: Final = 200  # runs that are listed
MAX_MEMORY_CHANGES: Final = 20  # listed changes of one memory
# Seconds before an interrupted run is retried: at first, a helper process may merely have been slow to start.
RETRY_DELAYS_SECONDS: Final = (3.0, 30.0)
UNDO: Final = "undo"  # step of an undo in progress
MAX_TRIES: Final = 4  # times that a run is continued before it is rolled back
# A nightly run counts as missed when the last run is older than a day and a bit.
DUE_AFTER: Final = timedelta(hours=26)
# If the last run is older than this, the user was away, or the clock was wrong.
AWAY_AFTER: Final = timedelta(days=7)
STOP_TIMEOUT_SECONDS: Final = 0.6  # seconds before a stopped run is cancelled; the daemon has one second to stop


@dataclass(slots=True)
class _CurrentRun:
    """State of the run in progress."""

    run: str
    is_dry_run: bool
    began: datetime
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    finish_event: asyncio.Event = field(default_factory=asyncio.Event)
    owner: str = ""
    step: str = ""
    done_count: int = 0
    undoing_count: int = 0  # changes that an undo is to undo
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))

    @property
    def undoing(self) -> tuple[int, int] | UnsetType:
        return (self.done_count, self.undoing_count) if self.undoing_count else UNSET

    def to_answer(
        self, status: RunStatus = "running", *, counts: bool = False, dry_run: bool | None = None
    ) -> RunAnswer:
        return RunAnswer(
            run=self.run,
            status=status,
            dry_run=UNSET if dry_run is None else dry_run,
            step=self.step,
            project=self.owner or None,
            changes=[],  # available when the run has ended
            total=self.done_count,
            undoing=self.undoing,
            began=format_iso(self.began),
        ).with_counts(self.counts if counts else {})


class RunManager:
    """Manager that starts, stops, lists and undoes consolidation runs."""

    def __init__(
        self,
        executor: PlanExecutor,
        applier: ChangeApplier,
        log: RunLog,
        events: EventBus,
        settings: ConsolidationSettings,
        *,
        list_owners: Callable[[str | None], Sequence[MemoryOwner]],
        now: Callable[[], datetime],
    ) -> None:
        self._executor = executor
        self._applier = applier
        self._log = log
        self._events = events
        self._settings = settings
        self._list_owners = list_owners
        self._now = now
        self._current: _CurrentRun | None = None
        self._run_tasks: set[asyncio.Task[Any]] = set()
        self._unfinished_event = asyncio.Event()
        self._last_record: RunRecord | None = None
        self._records: dict[str, tuple[object, RunRecord]] = {}  # by run: version of its log, and its record
        self._is_closing = False

    # API

    async def consolidate(self, request: ConsolidateRequest, *, trigger: str = "asked") -> RunAnswer:
        """Start a run or a dry run.

        Returns the result, or only the progress so far if `request.wait` is False. Raises Conflict if another run is
        in progress.
        """
        self._reject_second_run()
        owners, steps = self._list_owners(request.project), tuple(map(ConsolidationStep, request.steps))
        run = "r" + self._now().strftime("%Y%m%d%H%M%S") + secrets.token_hex(2)
        current = self._current = _CurrentRun(run, request.dry_run, self._now())
        dry = self._dry_run(current, owners, steps) if request.dry_run else None
        task = self._start_task(dry or self._run(current, owners, steps, trigger))
        if not request.wait:
            return current.to_answer(dry_run=request.dry_run)
        return await _wait_for_result(task)

    async def undo(self, run: str, numbers: frozenset[int] | None = None) -> UndoneAnswer | RunAnswer:
        """Undo a whole run, or only the changes with these numbers: all of them or none.

        An undo in progress is finished first. Raises NotFound if there is no such run or change. Raises Conflict if a
        run is in progress, if the run has not ended or has already been undone, or if a memory of the changes has been
        changed since.
        """
        record = await self._load_after_undo(run)
        self._reject_second_run()
        if record.end is None:
            raise Conflict(f"run '{run}' has not ended", hint=f"stop it first: POST /consolidate/{run}/stop")
        if record.is_undone or (numbers is not None and numbers <= record.undone_changes):
            raise Conflict(f"run '{run}' is already undone" if numbers is None else "this is already undone")
        if numbers is not None and (last := max(numbers)) >= record.changes:
            raise NotFound(
                f"run '{run}' has no change {last}; it has {record.changes} changes, numbered from 0", field="change"
            )
        remaining = None if numbers is None else numbers - record.undone_changes
        current = self._current = _CurrentRun(run, False, self._now(), step=UNDO)
        return await _wait_for_result(self._start_task(self._undo(current, record, remaining)))

    async def _load_after_undo(self, run: str) -> RunRecord:
        """Load a run once no undo is in progress."""
        while True:
            while self._current is not None and self._current.step == UNDO:
                await self._current.finish_event.wait()
            record = await asyncio.to_thread(load_run_record, self._log, run)
            if self._current is None or self._current.step != UNDO:
                return record

    async def stop(self, run: str) -> RunAnswer:
        """Stop the current run after the change that it is making.

        The stopped run can be undone. Raises NotFound if `run` is not in progress.
        """
        current = self._current
        if current is None or current.run != run:
            raise NotFound(f"run '{run}' is not in progress", field="id")
        current.stopping.set()
        await self._wait_for_stop(current)
        return current.to_answer("stopped", dry_run=True) if current.is_dry_run else await self.get_run(run)

    async def get_run(self, run: str, *, after: int = 0, limit: int = MAX_CHANGES) -> RunAnswer:
        """Return one run with its changes, starting at number `after`.

        At most `limit` changes are listed, and none while the run is in progress, unless it is being undone.
        """
        current = self._current if self._current is not None and self._current.run == run else None
        if current is not None and current.step != UNDO:
            return current.to_answer(counts=True)
        record = await asyncio.to_thread(self._load_for_display, run)
        changes = await asyncio.to_thread(self._list_changes, record, after, limit)
        answer = structs.replace(record.to_answer(), changes=changes)
        return answer if current is None else structs.replace(answer, status="running", undoing=current.undoing)

    async def list_runs(self, part: ListSlice) -> PageAnswer[RunAnswer]:
        """Return a page of the recorded runs, newest first."""
        ids = (await asyncio.to_thread(self._log.list_runs))[:MAX_RUNS]
        answers = {}
        for run in ids[part.offset : part.offset + part.limit]:
            if self._current is not None and self._current.run == run:
                answers[run] = self._current.to_answer(counts=True)
            else:
                answers[run] = (await asyncio.to_thread(self._load_for_display, run)).to_answer()
        self._records = {run: self._records[run] for run in ids if run in self._records}
        return slice_page(ids, answers.__getitem__, offset=part.offset, limit=part.limit)

    def _load_for_display(self, run: str) -> RunRecord:
        """Load a run to show it; read only a changed log."""
        version = self._log.get_version(run)
        record_version, record = self._records.get(run) or (None, None)
        if record is None or record_version != version:
            record = load_run_record(self._log, run)
            record.probes, record.tallies = {}, None
            self._records[run] = version, record
        return record

    async def list_memory_changes(self, identifier: str) -> list[MemoryChangeAnswer]:
        """Return the changes that runs made to a memory, newest first."""
        return await asyncio.to_thread(self._find_memory_changes, identifier)

    def _find_memory_changes(self, identifier: str) -> list[MemoryChangeAnswer]:
        lines = self._log.find_changes(identifier, MAX_MEMORY_CHANGES)
        records = {run: self._load_for_display(run) for run in {run for run, _, _ in lines}}
        return [
            MemoryChangeAnswer(
                run=run,
                step=line["step"],
                what=line["what"],
                why=line["why"],
                undone=records[run].is_change_undone(number, line["project"], line["step"]),
            )
            for run, number, line in lines
        ]

    def status(self) -> RunAnswer | None:
        """Return the status of the current or last run, if any."""
        if self._current is not None:
            return self._current.to_answer()
        return self._last_record.to_answer() if self._last_record is not None else None

    async def exclude_project(self, project: str) -> None:
        """Stop the current run from writing to a project that is being removed."""
        await self._executor.exclude_owner(project)

    async def forget_memories(self, identifiers: Sequence[str], project: str | None = None) -> None:
        """Remove erased memories, or all of `project`, from the logs."""
        await asyncio.to_thread(
            self._log.rewrite_lines, partial(remove_erased, erased_ids=frozenset(identifiers), project=project)
        )

    # Automatic

    async def run_nightly(self) -> None:
        """Start the nightly run, unless it is switched off or another run is active.

        The first run after a long absence erases nothing, so that a user who was away, or whose clock was wrong, still
        finds what was archived.
        """
        if self._settings.nightly and self._current is None:
            request = ConsolidateRequest()
            if not await self._has_run_within(AWAY_AFTER):
                request = structs.replace(
                    request, steps=tuple(step for step in request.steps if step != ConsolidationStep.ERASE)
                )
            await self.consolidate(request, trigger="nightly")

    async def is_due(self, installation_time: datetime) -> bool:
        """Return True if a nightly run was missed.

        This is the case if no run began within the last DUE_AFTER. An installation on which nothing has run yet must
        also be older than DUE_AFTER.
        """
        run_ids = await asyncio.to_thread(self._log.list_runs)
        return not await self._has_run_within(DUE_AFTER) and (
            bool(run_ids) or self._now() - installation_time > DUE_AFTER
        )

    async def _has_run_within(self, time: timedelta) -> bool:
        """Return True if a run began within `time`, not later."""
        runs = await asyncio.to_thread(self._log.list_runs)
        return any(
            [
                timedelta() <= self._now() - await asyncio.to_thread(_get_start_time, self._log, run) <= time
                for run in runs
            ]
        )

    async def run_unfinished(self) -> None:
        """Continue runs that were interrupted by a crash or a full disk, until cancelled."""
        await self._applier.wait_until_ready()
        await self._find_unfinished()
        failure_count = 0
        while True:
            await self._unfinished_event.wait()
            self._unfinished_event.clear()
            while self._current is not None:  # a requested run goes first
                await self._current.finish_event.wait()
                await asyncio.sleep(0)
            if await self._resume():
                failure_count = 0
                continue
            self._unfinished_event.set()
            await asyncio.sleep(RETRY_DELAYS_SECONDS[min(failure_count, len(RETRY_DELAYS_SECONDS) - 1)])
            failure_count += 1

    async def close(self) -> None:
        """Stop the current run, which continues when the daemon starts again."""
        self._is_closing = True
        if self._current is not None:
            self._current.stopping.set()
            await self._wait_for_stop(self._current)

    # Internal

    async def _wait_for_stop(self, current: _CurrentRun) -> None:
        """Wait for a run to stop, and cancel it after STOP_TIMEOUT_SECONDS."""
        try:
            async with asyncio.timeout(STOP_TIMEOUT_SECONDS):
                await current.finish_event.wait()
        except TimeoutError:
            for task in self._run_tasks:
                task.cancel()
            await current.finish_event.wait()

    def _reject_second_run(self) -> None:
        if self._current is not None:
            raise Conflict(
                f"run '{self._current.run}' is in progress",
                hint="GET /consolidate lists the runs; wait until this one has ended",
            )

    def _start_task(self, work: Awaitable[ResultT]) -> asyncio.Task[ResultT]:
        task = asyncio.create_task(self._supervise(work), name="consolidation-run")
        self._run_tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    async def _supervise(self, work: Awaitable[ResultT]) -> ResultT:
        current = self._current
        try:
            return await work
        except HunchError as error:
            logger.warning("run %s was interrupted: %s", current.run if current else "", error.message)
            self._unfinished_event.set()
            if isinstance(error, StorageFull) and current is not None and await self._record_disk_wait(current.run):
                raise StorageFull(
                    f"the disk is full: run '{current.run}' is paused",
                    hint="free some disk space; the run then continues automatically",
                ) from error
            raise
        except Exception:
            logger.exception("run %s was interrupted", current.run if current else "")
            self._unfinished_event.set()
            raise
        finally:
            self._current = None
            if current is not None:
                current.finish_event.set()

    async def _record_disk_wait(self, run: str) -> bool:
        """Record in its log that a run is waiting for disk space.

        Such an interruption does not count as a try: the run continues afterwards, however long the disk was full.
        Returns False if the run has no log yet or has already ended. Returns True even if the record itself could not
        be written.
        """
        try:
            if await asyncio.to_thread(_has_ended, self._log, run):
                return False
            await asyncio.to_thread(self._log.append, run, [to_json(NoRoomLine(at=format_iso(self._now())))])
        except NotFound:
            return False
        except (StorageFull, OSError):
            logger.warning("could not record that run %s is waiting for disk space", run, exc_info=True)
        return True

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        self._run_tasks.discard(task)
        if not task.cancelled():
            task.exception()  # already logged; nobody may be waiting for it

    async def _dry_run(
        self, current: _CurrentRun, owners: Sequence[MemoryOwner], steps: Sequence[ConsolidationStep]
    ) -> RunAnswer:
        """Return the first MAX_STEP_CHANGES of each step, erasures last."""
        changes: list[ChangeAnswer] = []
        shown_counts = Counter[str]()

        def show(entries: Sequence[ChangeEntry]) -> None:
            for number, entry in enumerate(entries, start=current.done_count):
                if shown_counts[entry.step] < MAX_STEP_CHANGES:
                    changes.append(_describe_change(entry, number))
                shown_counts[entry.step] += 1
            self._count_changes(current, entries)

        for owner in owners:
            self._set_progress(current, owner, "")
            async with self._executor.open_planner(owner, self._executor.tallies()) as planning:
                for step in planning.select_steps(steps):
                    self._set_progress(current, owner, str(step))
                    async for entries in planning.plan(step):
                        show(entries)
                        if current.stopping.is_set():
                            raise Conflict("the run was stopped")
                if ConsolidationStep.ERASE in steps:
                    show(
                        [
                            _erasure_to_entry(memory)
                            for memory in await self._executor.list_erasable(await planning.list_erasable(), owner)
                        ]
                    )
        return RunAnswer(
            run=current.run,
            status="dry_run",
            dry_run=True,
            changes=changes,
            more=current.done_count - len(changes),
        ).with_counts(current.counts)

    async def _run(
        self, current: _CurrentRun, owners: Sequence[MemoryOwner], steps: Sequence[ConsolidationStep], trigger: str
    ) -> RunAnswer:
        owner_ids = tuple(owner.id for owner in owners)
        start_line = BegunLine(
            run=current.run, at=format_iso(current.began), trigger=trigger, steps=tuple(steps), owners=owner_ids
        )
        await asyncio.to_thread(self._log.append, current.run, [to_json(start_line)])
        record = RunRecord(current.run, current.began, trigger, tuple(steps), owner_ids)
        return await self._continue_run(current, owners, record)

    async def _continue_run(self, current: _CurrentRun, owners: Sequence[MemoryOwner], record: RunRecord) -> RunAnswer:
        """Continue a run from the point recorded in its log, and record its end."""
        verdicts = dict(record.owners)
        self._executor.begin_run()
        try:
            for owner in owners:
                if verdicts.get(owner.id) is None:
                    with suppress(OwnerRemoved):
                        verdicts[owner.id] = await self._executor.execute(
                            record,
                            owner,
                            set_step=partial(self._set_progress, current, owner),
                            on_changed=partial(self._count_changes, current),
                            stop_event=current.stopping,
                        )
            status: RunStatus = "rolled_back" if any(one.rolled_back for one in verdicts.values()) else "done"
        except (RunStopped, asyncio.CancelledError):
            if not current.stopping.is_set():
                raise
            if self._is_closing:  # the run continues at the next start
                return current.to_answer("interrupted")
            status = "stopped"
        counts = {name: count for name, count in current.counts.items() if count}
        await self._append_end(current.run, status, counts)
        await asyncio.to_thread(self._log.delete_old_runs, KEPT_RUNS)
        self._last_record = await asyncio.to_thread(load_run_record, self._log, current.run)
        self._events.publish("consolidation", run=current.run, status=status, **current.counts)
        changes = await asyncio.to_thread(self._list_changes, self._last_record, 0, MAX_CHANGES)
        more = max(0, self._last_record.changes - len(changes))
        return structs.replace(self._last_record.to_answer(), changes=changes, more=more)

    async def _undo(self, current: _CurrentRun, record: RunRecord, numbers: frozenset[int] | None) -> UndoneAnswer:
        change = None if numbers is None else max(numbers)
        try:
            if numbers is not None:
                done_count, left_count = await self._undo_changes(current, record, numbers), 0
            else:
                await self._append_line(record.run, self._make_undoing_line(None))
                done_count, left_count = await self._applier.undo(record.run)
                await self._executor.return_evidence(record)
                await self._append_line(
                    record.run, UndoneLine(at=format_iso(self._now()), change=None, left=left_count)
                )
        except asyncio.CancelledError:
            if not self._is_closing:  # it was stopped; otherwise it continues at the next start
                await self._append_half_done(record.run, change)
            raise
        except Conflict:
            await self._append_half_done(record.run, change)
            raise
        self._last_record = await asyncio.to_thread(load_run_record, self._log, record.run)
        self._events.publish("consolidation", run=current.run, status="undone")
        return UndoneAnswer(run=record.run, undone=done_count, left=left_count)

    async def _undo_changes(self, current: _CurrentRun, record: RunRecord, numbers: frozenset[int]) -> int:
        """Undo some changes, and log after each which remain."""
        await self._append_line(record.run, self._make_undoing_line(numbers))
        current.undoing_count, remaining = len(numbers), numbers
        async for number in self._applier.undo_changes(record.run, numbers):
            remaining -= {number}
            lines: list[RunLine] = [UndoneLine(at=format_iso(self._now()), change=number)]
            lines += [self._make_undoing_line(remaining)] if remaining else []
            await self._append_line(record.run, *lines)
            current.done_count += 1
            self._events.publish("consolidation", **to_json(current.to_answer()))
        return current.done_count

    def _make_undoing_line(self, numbers: frozenset[int] | None) -> UndoingLine:
        at, several = format_iso(self._now()), numbers or frozenset()
        return UndoingLine(at=at, change=max(several, default=None), changes=several)

    async def _append_line(self, run: str, *lines: RunLine) -> None:
        await asyncio.to_thread(self._log.append, run, [to_json(line) for line in lines])

    async def _append_half_done(self, run: str, change: int | None) -> None:
        await self._append_line(run, LeftHalfDoneLine(at=format_iso(self._now()), change=change))

    async def _append_end(self, run: str, status: RunStatus, counts: dict[str, int]) -> None:
        store = await self._executor.measure_store()
        await self._append_line(run, EndedLine(status=status, at=format_iso(self._now()), counts=counts, store=store))

    async def _find_unfinished(self) -> None:
        """Find the last run; wake `run_unfinished` if one is unfinished."""
        for run in await asyncio.to_thread(self._log.list_runs):
            if self._last_record is None:
                self._last_record = await asyncio.to_thread(load_run_record, self._log, run)
            if not await asyncio.to_thread(_has_ended, self._log, run):
                self._unfinished_event.set()
                return

    async def _resume(self) -> bool:
        """Continue unfinished runs, newest first; return False to retry."""
        for run in await asyncio.to_thread(self._log.list_runs):
            if await asyncio.to_thread(_has_ended, self._log, run):
                continue
            record = await asyncio.to_thread(load_run_record, self._log, run)
            if self._current is not None:
                return False
            step = UNDO if record.is_undoing else ""
            current = self._current = _CurrentRun(run, False, record.began, step=step)
            current.counts |= record.counts
            try:
                await asyncio.shield(self._start_task(self._resume_run(current, record)))
            except (HunchError, OSError):
                return False  # already logged
        return True

    async def _resume_run(self, current: _CurrentRun, record: RunRecord) -> UndoneAnswer | RunAnswer:
        if record.is_undoing:
            if record.tries < MAX_TRIES:
                return await self._undo(current, record, record.undoing_changes)
            logger.warning(
                "could not undo run %s after %d attempts; some of its changes are still in place",
                record.run,
                record.tries,
            )
            await self._append_half_done(record.run, max(record.undoing_changes or (), default=None))
            return record.to_answer()
        await self._append_line(current.run, ResumedLine(at=format_iso(self._now())))
        if record.tries < MAX_TRIES:
            owners_by_id = {owner.id: owner for owner in self._list_owners(None)}
            return await self._continue_run(
                current, [owners_by_id[one] for one in record.owner_ids if one in owners_by_id], record
            )
        logger.warning("run %s was interrupted %d times; rolling it back", record.run, record.tries)
        await self._applier.undo(record.run)
        await self._executor.return_evidence(record)
        await self._append_end(current.run, "rolled_back", {})
        self._last_record = await asyncio.to_thread(load_run_record, self._log, record.run)
        return self._last_record.to_answer()

    def _set_progress(self, current: _CurrentRun, owner: MemoryOwner, step: str) -> None:
        current.owner, current.step = owner.name, step
        self._events.publish("consolidation", **to_json(current.to_answer()))

    def _count_changes(self, current: _CurrentRun, entries: Sequence[ChangeEntry]) -> None:
        current.done_count += len(entries)
        for entry in entries:
            current.counts[entry.counter] += 1

    def _list_changes(self, record: RunRecord, after: int, limit: int) -> list[ChangeAnswer]:
        lines = self._log.read_changes(record.run, ChangeEntry, range(after, after + limit))
        return [
            _describe_change(entry, number, is_undone=record.is_change_undone(number, entry.project, entry.step.value))
            for number, entry in lines
        ]


async def _wait_for_result(task: asyncio.Task[ResultT]) -> ResultT:
    """Wait for a run without cancelling it; raises Conflict."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise Conflict("the run was stopped", hint="start a new run") from None
        raise


def _get_start_time(log: RunLog, run: str) -> datetime:
    """Return when a run began; 1970 if its log lacks it."""
    start_line = next(log.read_lines(run), {})
    return datetime.fromisoformat(start_line.get("at", "1970-01-01T00:00:00+00:00"))


def _has_ended(log: RunLog, run: str) -> bool:
    """Return True if a run ended; reads only its last line."""
    last = log.read_last_line(run)
    return last is not None and last["type"] in END_TYPES


def _erasure_to_entry(memory: Memory) -> ChangeEntry:
    """Return the planned erasure of a memory, for a dry run."""
    why = f"{memory.source.get(ARCHIVE_REASON, 'archived')}; this cannot be undone"
    return ChangeEntry(ConsolidationStep.ERASE, "erased", f"erase {memory.title!r}", why, memory.project, ())


def _describe_change(entry: ChangeEntry, number: int, *, is_undone: bool = False) -> ChangeAnswer:
    """Convert a change to the form that the API returns."""
    return ChangeAnswer(
        change=number,
        step=entry.step.value,
        counts=entry.counter,
        what=entry.description,
        why=entry.reason,
        project=entry.project,
        edits=[EditAnswer(id=edit.id, was=edit.fields_before, now=edit.fields_after) for edit in entry.edits],
        undone=is_undone,
    )
