"""When a run is due, what a night may do after a pause or under a wrong clock, and who is left out."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.plan import Step
from hunchd.domain.errors import Conflict
from hunchd.engine.carrying_out import CarryingOut, Gone
from hunchd.engine.consolidating import Consolidation
from hunchd.engine.events import Events
from hunchd.engine.owners import Owner
from hunchd.engine.run_records import Record, Verdict
from hunchd.protocol.consolidation import ConsolidateRequest
from hunchd.store.run_log import RunLog
from tests.consolidation.made import NOW

LONG_AGO = NOW - timedelta(days=400)


class Work:
    """Carries nothing out, and remembers what it should have."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None, tuple[Step, ...]]] = []
        self.removed: set[str | None] = set()
        self.taking_back = asyncio.Event()

    def begin(self) -> None:
        """A run begins."""

    async def ready(self) -> None:
        """At once."""

    async def take_back(self, run: str, *, only: int | None = None) -> tuple[int, int]:
        self.taking_back.set()
        await asyncio.Event().wait()
        raise AssertionError("it is cut short")

    async def carry_out(self, record: Record, owner: Owner, **_: Any) -> Verdict:
        if owner.id in self.removed:
            raise Gone
        self.asked.append((record.run, owner.id, record.steps))
        return Verdict(False, {})


def consolidation(log: RunLog, work: Work, *, now: datetime = NOW, owners: tuple[str, ...] = ("p",)) -> Consolidation:
    return Consolidation(
        cast(CarryingOut, cast(Any, work)),
        log,
        Events(),
        ConsolidationSettings(),
        owners=lambda _: [Owner(one) for one in owners],
        now=lambda: now,
    )


def began(log: RunLog, at: datetime, *, ended: bool = True) -> str:
    run = f"r{at:%Y%m%d%H%M%S}"
    told = {"type": "begun", "run": run, "at": at.isoformat(), "trigger": "nightly", "steps": ["use"], "owners": ["p"]}
    ending = [{"type": "ended", "status": "done", "at": at.isoformat(), "counts": {}}] if ended else []
    log.append(run, [told, *ending])
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
async def test_a_night_was_missed_when_no_run_began_within_a_day(
    tmp_path: Path, hours: tuple[int, ...], due: bool
) -> None:
    log = RunLog(tmp_path)
    for one in hours:
        began(log, NOW - timedelta(hours=one))
    assert await consolidation(log, Work()).is_due(LONG_AGO) is due


async def test_what_was_installed_today_has_missed_nothing(tmp_path: Path) -> None:
    assert not await consolidation(RunLog(tmp_path), Work()).is_due(NOW - timedelta(hours=5))
    assert await consolidation(RunLog(tmp_path), Work()).is_due(LONG_AGO)


@pytest.mark.parametrize("pause", [timedelta(days=30), timedelta(days=8), timedelta(days=-3)])
async def test_the_first_night_after_a_pause_or_a_leap_of_the_clock_erases_nothing(
    tmp_path: Path, pause: timedelta
) -> None:
    log, work = RunLog(tmp_path), Work()
    began(log, NOW - pause)
    await consolidation(log, work).nightly()
    await consolidation(log, work, now=NOW + timedelta(days=1)).nightly()

    first, second = (steps for _, _, steps in work.asked)
    assert first == tuple(step for step in Step if step is not Step.ERASE)
    assert second == tuple(Step)


async def test_who_asks_for_it_has_everything_done(tmp_path: Path) -> None:
    work = Work()
    await consolidation(RunLog(tmp_path), work).consolidate(ConsolidateRequest())
    assert [steps for _, _, steps in work.asked] == [tuple(Step)]


async def test_a_project_that_is_removed_during_a_run_ends_it_for_itself_alone(tmp_path: Path) -> None:
    work = Work()
    work.removed = {"p"}
    told = await consolidation(RunLog(tmp_path), work, owners=("o", "p", "q")).consolidate(ConsolidateRequest())
    assert told["status"] == "done"
    assert [owner for _, owner, _ in work.asked] == ["o", "q"]


async def test_only_what_has_not_ended_is_gone_on_with(tmp_path: Path) -> None:
    log, work = RunLog(tmp_path), Work()
    began(log, NOW - timedelta(hours=3))
    open_one = began(log, NOW - timedelta(hours=30), ended=False)
    runs = consolidation(log, work)
    assert [run["status"] for run in (await runs.runs())["items"]] == ["done", "interrupted"]

    await runs._look()
    assert await runs._resume()

    assert [run for run, _, _ in work.asked] == [open_one]
    assert [run["status"] for run in (await runs.runs())["items"]] == ["done", "done"]
    assert (runs.status() or {})["run"] == open_one


async def test_who_waits_for_an_undo_that_is_stopped_is_told_so_and_can_ask_again(tmp_path: Path) -> None:
    log, work = RunLog(tmp_path), Work()
    run = began(log, NOW - timedelta(hours=3))
    runs = consolidation(log, work)
    for _ in range(2):
        undoing = asyncio.create_task(runs.undo(run))
        await work.taking_back.wait()
        work.taking_back.clear()
        assert (await runs.stop(run))["status"] == "done"
        with pytest.raises(Conflict, match="stopped"):
            await undoing
