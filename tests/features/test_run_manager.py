"""Tests of consolidation runs: due times, pauses, undo, resumption."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.plan import ConsolidationStep
from hunchd.core.state.events import EventBus
from hunchd.core.state.owners import MemoryOwner
from hunchd.domain.errors import Conflict, StorageFull, Unavailable
from hunchd.features.consolidation.change_applier import ChangeApplier
from hunchd.features.consolidation.plan_executor import OwnerRemoved, PlanExecutor
from hunchd.features.consolidation.run_manager import MAX_TRIES, RunManager
from hunchd.features.consolidation.run_records import RunRecord, VerdictLine
from hunchd.protocol.consolidation_answers import GateFigures, StoreFigures, UndoneAnswer
from hunchd.protocol.consolidation_requests import ConsolidateRequest
from hunchd.protocol.requests import ListSlice
from hunchd.store.run_log import RunLog
from tests.consolidation.made import NOW

LONG_AGO = NOW - timedelta(days=400)


class FakeExecutor:
    """Fake executor that records the requested steps."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None, tuple[ConsolidationStep, ...]]] = []
        self.removed: set[str | None] = set()
        self.taking_back = asyncio.Event()
        self.back: list[tuple[str, frozenset[int] | None]] = []  # what was to be taken back
        self.ends: tuple[int, int] | Exception | None = None  # how that ends; None: not by itself
        self.crashes_before: int | None = None  # number of the change that is not undone any more
        self.refuses: Exception | None = None  # why nothing can be carried out
        self.begun, self.going_on = asyncio.Event(), asyncio.Event()
        self.going_on.set()

    def begin_run(self) -> None:
        """Begin a run."""

    async def wait_until_ready(self) -> None:
        """Return at once."""

    async def measure_store(self) -> StoreFigures:
        return StoreFigures(memories=3, bytes=1_000)

    async def return_evidence(self, record: RunRecord) -> None:
        """Keep nothing: nothing was counted."""

    async def undo(self, run: str, numbers: frozenset[int] | None = None) -> tuple[int, int]:
        self.back.append((run, numbers))
        self.taking_back.set()
        if isinstance(self.ends, Exception):
            raise self.ends
        if self.ends is None:
            await asyncio.Event().wait()
            raise AssertionError("it is cut short")
        return self.ends

    async def undo_changes(self, run: str, numbers: frozenset[int]) -> AsyncIterator[int]:
        _, left = await self.undo(run, numbers)
        if left:
            raise Conflict("a later change affects the same memory")
        for number in sorted(numbers, reverse=True):
            if number == self.crashes_before:
                await asyncio.Event().wait()
            yield number

    async def execute(self, record: RunRecord, owner: MemoryOwner, **_: Any) -> VerdictLine:
        self.begun.set()
        await self.going_on.wait()
        if owner.id in self.removed:
            raise OwnerRemoved
        if self.refuses is not None:
            raise self.refuses
        self.asked.append((record.run, owner.id, record.steps))
        return VerdictLine(owner=owner.id, rolled_back=False, gate=GateFigures())


def consolidation(
    log: RunLog, work: FakeExecutor, *, now: datetime = NOW, owners: tuple[str, ...] = ("p",)
) -> RunManager:
    return RunManager(
        cast(PlanExecutor, cast(Any, work)),
        cast(ChangeApplier, cast(Any, work)),
        log,
        EventBus(),
        ConsolidationSettings(),
        list_owners=lambda _: [MemoryOwner(one) for one in owners],
        now=lambda: now,
    )


def log_started_run(log: RunLog, at: datetime, *, ended: bool = True, changes: int = 0) -> str:
    run = f"r{at:%Y%m%d%H%M%S}"
    told = {"type": "begun", "run": run, "at": at.isoformat(), "trigger": "nightly", "steps": ["use"], "owners": ["p"]}
    ending = [{"type": "ended", "status": "done", "at": at.isoformat(), "counts": {}}] if ended else []
    change = {"type": "change", "step": "use", "counts": "counted", "what": "", "why": "", "project": "p", "edits": []}
    log.append(run, [told, *[change] * changes, *ending])
    return run


@pytest.mark.parametrize(
    ("hours", "due"),
    [
        pytest.param((2,), False, id="a run of this night"),
        pytest.param((30, 60), True, id="none of the last night"),
        pytest.param((-500,), True, id="one that a wrong clock put into the future"),
        pytest.param((-500, 3), False, id="such a one, and one of this night"),
    ],
)
async def test_is_due_without_run_within_day(tmp_path: Path, hours: tuple[int, ...], due: bool) -> None:
    log = RunLog(tmp_path)
    for one in hours:
        log_started_run(log, NOW - timedelta(hours=one))
    assert await consolidation(log, FakeExecutor()).is_due(LONG_AGO) is due


async def test_is_due_new_installation_is_false(tmp_path: Path) -> None:
    assert not await consolidation(RunLog(tmp_path), FakeExecutor()).is_due(NOW - timedelta(hours=5))
    assert await consolidation(RunLog(tmp_path), FakeExecutor()).is_due(LONG_AGO)


@pytest.mark.parametrize("pause", [timedelta(days=30), timedelta(days=8), timedelta(days=-3)])
async def test_nightly_after_long_pause_skips_erasure(tmp_path: Path, pause: timedelta) -> None:
    log, work = RunLog(tmp_path), FakeExecutor()
    log_started_run(log, NOW - pause)
    await consolidation(log, work).run_nightly()
    await consolidation(log, work, now=NOW + timedelta(days=1)).run_nightly()

    first, second = (steps for _, _, steps in work.asked)
    assert first == tuple(step for step in ConsolidationStep if step is not ConsolidationStep.ERASE)
    assert second == tuple(ConsolidationStep)


async def test_consolidate_on_request_runs_all_steps(tmp_path: Path) -> None:
    work = FakeExecutor()
    await consolidation(RunLog(tmp_path), work).consolidate(ConsolidateRequest())
    assert [steps for _, _, steps in work.asked] == [tuple(ConsolidationStep)]


async def test_project_removed_during_run_ends_alone(tmp_path: Path) -> None:
    work = FakeExecutor()
    work.removed = {"p"}
    told = await consolidation(RunLog(tmp_path), work, owners=("o", "p", "q")).consolidate(ConsolidateRequest())
    assert told.status == "done"
    assert [owner for _, owner, _ in work.asked] == ["o", "q"]


async def test_resume_continues_only_unfinished_runs(tmp_path: Path) -> None:
    log, work = RunLog(tmp_path), FakeExecutor()
    log_started_run(log, NOW - timedelta(hours=3))
    open_one = log_started_run(log, NOW - timedelta(hours=30), ended=False)
    runs = consolidation(log, work)
    assert [run.status for run in (await runs.list_runs(ListSlice())).items] == ["done", "interrupted"]

    await runs._find_unfinished()
    assert await runs._resume()

    assert [run for run, _, _ in work.asked] == [open_one]
    assert [run.status for run in (await runs.list_runs(ListSlice())).items] == ["done", "done"]
    assert runs.status().run == open_one


async def test_resume_waits_for_requested_run(tmp_path: Path) -> None:
    log, work = RunLog(tmp_path), FakeExecutor()
    open_one = log_started_run(log, NOW - timedelta(hours=30), ended=False)
    runs = consolidation(log, work)
    work.going_on.clear()
    asked = asyncio.create_task(runs.consolidate(ConsolidateRequest()))
    await work.begun.wait()
    going = asyncio.create_task(runs.run_unfinished())
    while not has_found_unfinished(runs):
        await asyncio.sleep(0.001)
    work.going_on.set()
    first = (await asked).run
    while len(work.asked) < 2:
        await asyncio.sleep(0.001)
    going.cancel()
    assert [run for run, _, _ in work.asked] == [first, open_one]


def has_found_unfinished(runs: RunManager) -> bool:
    """Return True if the resuming task found an unfinished run while another one runs."""
    return runs._last_record is not None and not runs._unfinished_event.is_set()


async def test_undo_stopped_raises_conflict_and_retries(tmp_path: Path) -> None:
    log, work = RunLog(tmp_path), FakeExecutor()
    run = log_started_run(log, NOW - timedelta(hours=3))
    runs = consolidation(log, work)
    for _ in range(2):
        undoing = asyncio.create_task(runs.undo(run))
        await work.taking_back.wait()
        work.taking_back.clear()
        assert (await runs.stop(run)).status == "done"
        with pytest.raises(Conflict, match="stopped"):
            await undoing


@pytest.mark.parametrize("change", [None, frozenset({1}), frozenset({0, 1})])
async def test_undo_interrupted_by_crash_resumes(tmp_path: Path, change: frozenset[int] | None) -> None:
    log, work = RunLog(tmp_path), FakeExecutor()
    run = log_started_run(log, NOW - timedelta(hours=3), changes=2)
    crashed = asyncio.create_task(consolidation(log, work).undo(run, change))
    await work.taking_back.wait()  # and no more of it

    work.ends = (2, 0)
    runs = consolidation(log, work)
    await runs._find_unfinished()
    assert (await runs.list_runs(ListSlice())).items[
        0
    ].status == "interrupted"  # whoever waits for the end waits for this
    assert await runs._resume()
    assert work.back == [(run, change)] * 2
    assert (await runs.list_runs(ListSlice())).items[0].status == ("undone" if change is None else "done")
    with pytest.raises(Conflict, match="already"):
        await runs.undo(run, change)
    assert await consolidation(log, work)._resume()
    assert len(work.back) == 2
    crashed.cancel()


async def test_undo_resumes_after_shutdown_not_after_stop(
    tmp_path: Path,
) -> None:
    for ending, again in (("closed", 1), ("stopped", 0)):
        log, work = RunLog(tmp_path / ending), FakeExecutor()
        run = log_started_run(log, NOW - timedelta(hours=3))
        runs = consolidation(log, work)
        undoing = asyncio.create_task(runs.undo(run))
        await work.taking_back.wait()
        await (runs.close() if ending == "closed" else runs.stop(run))
        with pytest.raises(Conflict, match="stopped"):
            await undoing

        work.ends = (0, 0)
        assert await consolidation(log, work)._resume()
        assert len(work.back) == 1 + again


async def test_undo_impossible_change_is_not_retried(tmp_path: Path) -> None:
    log, work = RunLog(tmp_path), FakeExecutor()
    run = log_started_run(log, NOW - timedelta(hours=3), changes=1)
    work.ends = (0, 1)
    with pytest.raises(Conflict, match="affects the same memory"):
        await consolidation(log, work).undo(run, frozenset({0}))
    assert await consolidation(log, work)._resume()
    assert work.back == [(run, frozenset({0}))]


async def test_undo_of_changes_resumes_with_rest(tmp_path: Path) -> None:
    log, work = RunLog(tmp_path), FakeExecutor()
    run = log_started_run(log, NOW - timedelta(hours=3), changes=5)
    work.ends, work.crashes_before = (0, 0), 2
    runs = consolidation(log, work)
    crashed = asyncio.create_task(runs.undo(run, frozenset({1, 2, 4})))
    while (await runs.get_run(run)).undoing != (1, 3):
        await asyncio.sleep(0.001)

    work.crashes_before = None
    runs = consolidation(log, work)
    await runs._find_unfinished()
    assert await runs._resume()
    assert work.back[1:] == [(run, frozenset({1, 2}))]
    assert [one.undone for one in (await runs.get_run(run)).changes or ()] == [False, True, True, False, True]
    crashed.cancel()


async def test_second_undo_waits_for_first(tmp_path: Path) -> None:
    log, work = RunLog(tmp_path), FakeExecutor()
    run = log_started_run(log, NOW - timedelta(hours=3), changes=4)
    work.ends = (0, 0)
    runs = consolidation(log, work)
    answers = await asyncio.gather(*(runs.undo(run, frozenset(one)) for one in ((3, 2), (2, 1), (0,))))
    # Any of them may be the first: each change is undone by exactly one request.
    assert sum(one.undone for one in answers if isinstance(one, UndoneAnswer)) == 4
    assert sorted(number for _, numbers in work.back for number in numbers or ()) == [0, 1, 2, 3]


async def test_undo_failing_repeatedly_is_given_up(tmp_path: Path) -> None:
    log, work = RunLog(tmp_path), FakeExecutor()
    run = log_started_run(log, NOW - timedelta(hours=3))
    work.ends = Unavailable("the store does not answer")
    with pytest.raises(Unavailable):
        await consolidation(log, work).undo(run)
    tried = 0
    while not await consolidation(log, work)._resume():
        tried += 1
        assert tried < 10
    assert tried == MAX_TRIES
    work.ends = (3, 0)
    assert (await consolidation(log, work).undo(run)).undone == 3  # whoever asks again is not refused


@pytest.mark.parametrize("undoes", [False, True])
async def test_run_waiting_for_disk_resumes_always(tmp_path: Path, undoes: bool) -> None:
    log, work = RunLog(tmp_path), FakeExecutor()
    run = log_started_run(log, NOW - timedelta(hours=3)) if undoes else ""
    work.ends = work.refuses = StorageFull("the disk is full: nothing was accepted")
    asked = consolidation(log, work)
    with pytest.raises(StorageFull, match="is paused"):
        await (asked.undo(run) if undoes else asked.consolidate(ConsolidateRequest()))

    for _ in range(3 * MAX_TRIES):
        assert not await consolidation(log, work)._resume()
    work.refuses, work.ends = None, (3, 0)
    assert await consolidation(log, work)._resume()

    [told] = (await consolidation(log, work).list_runs(ListSlice())).items
    assert told.status == ("undone" if undoes else "done")


async def test_listed_run_follows_its_log(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    run = log_started_run(log, NOW - timedelta(hours=3), changes=2)
    runs = consolidation(log, FakeExecutor())
    part = ListSlice(limit=5)
    assert [(one.total, one.status, one.counted) for one in (await runs.list_runs(part)).items] == [(2, "done", 2)]
    log.append(run, [{"type": "undone", "at": NOW.isoformat(), "change": None}])
    assert [one.status for one in (await runs.list_runs(part)).items] == ["undone"]
    assert [one.undone for one in (await runs.get_run(run, after=1)).changes or ()] == [True]


async def test_unchanged_log_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = RunLog(tmp_path)
    log_started_run(log, NOW - timedelta(hours=3), changes=2)
    runs = consolidation(log, FakeExecutor())
    first = await runs.list_runs(ListSlice(limit=5))
    monkeypatch.setattr(RunLog, "read_lines", lambda *_, **__: pytest.fail("read again"))
    assert await runs.list_runs(ListSlice(limit=5)) == first
