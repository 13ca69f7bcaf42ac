"""Tests of plan execution: concurrent changes, rollback, erasure, crashes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from hunchd.config.app_paths import replace_private_file
from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.aging import ARCHIVE_REASON, ERASE_AFTER, restore
from hunchd.consolidation.plan import ConsolidationStep, PlannedChange, make_entry
from hunchd.consolidation.regression_gate import Probe
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.pending_erasures import PendingErasures
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.state.owners import MemoryOwner
from hunchd.domain.errors import Unavailable
from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Memory, Status
from hunchd.features.consolidation.change_applier import ChangeApplier
from hunchd.features.consolidation.plan_executor import OwnerRemoved, PlanExecutor
from hunchd.features.consolidation.run_records import RunRecord, VerdictLine, load_run_record
from hunchd.features.consolidation.usage import UsageTracker
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.responses import to_json
from hunchd.store.client import StoreClient
from hunchd.store.hits import Hit
from hunchd.store.journal.journal import Journal
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.port import MemoryPage, SearchHits, StoreQuery, StoreStats
from hunchd.store.run_log import RunLog
from tests.consolidation.made import NOW, memory

PROJECT = MemoryOwner("p", "shop")
RUN = "r20260601"


class Planner:
    """Fake planner that returns given entries and runs a callback before."""

    def __init__(self) -> None:
        self.planned: dict[ConsolidationStep, list[PlannedChange]] = {}
        self.erasable: list[str] = []
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        self.holds = False  # what it was given to read

    async def _let_happen(self) -> None:
        if self.meanwhile is not None:
            happening, self.meanwhile = self.meanwhile, None
            await happening()

    async def call(self, method: str, params: Mapping[str, Any], answer: Any, *, timeout: float = 0) -> Any:
        if method == "erasable":
            told = list(self.erasable)
            await self._let_happen()
            return told
        return {"probes": [], "compared": ""}.get(method)

    async def stream(self, method: str, params: Mapping[str, Any], item_type: Any) -> AsyncGenerator[Any, None]:
        if method == "hold":
            self.holds = True
            try:
                yield None
                await asyncio.Event().wait()
            finally:
                self.holds = False
        if changes := self.planned.get(params["step"]):
            await self._let_happen()
            yield [make_entry(one, one.after[0].project) for one in changes]


class Store:
    """Fake store that keeps memories in a dictionary."""

    def __init__(self, *memories: Memory) -> None:
        self.kept = {one.id: one for one in memories}

    async def put(self, memories: Sequence[Memory]) -> None:
        self.kept.update({one.id: one for one in memories})

    async def get(self, ids: Sequence[str], project: str | None) -> list[Memory]:
        return [self.kept[one] for one in ids if one in self.kept and self.kept[one].project == project]

    async def list(self, filters: Filters, limit: int, cursor: str | None = None) -> MemoryPage:
        return MemoryPage(tuple(one for one in self.kept.values() if matches(one, filters)), None, len(self.kept))

    async def delete(self, ids: Sequence[str], project: str | None) -> int:
        return sum(self.kept.pop(one, None) is not None for one in ids)

    async def search(self, request: StoreQuery) -> SearchHits:
        return SearchHits()

    async def stream_memories(self, project: str | None) -> AsyncIterator[dict[str, Any]]:
        for batch in ():
            yield batch

    async def fetch_stats(self) -> StoreStats:
        return StoreStats()

    async def count_tokens(self) -> int:
        return 0

    async def purge(self, project: str | None) -> None:
        """Do nothing: there is no disk."""

    async def optimise(self) -> None:
        """Do nothing."""


class RunFixture:
    """Run with real memories, journal and log."""

    def __init__(
        self,
        work: PlanExecutor,
        making: ChangeApplier,
        planner: Planner,
        store: Store,
        memories: MemoryService,
        log: RunLog,
        usage: UsageTracker,
    ) -> None:
        self.work, self.making, self.planner, self.store = work, making, planner, store
        self.memories, self.log, self.usage = memories, log, usage

    async def run(self, *steps: ConsolidationStep, owner: MemoryOwner = PROJECT) -> VerdictLine:
        record = RunRecord(RUN, NOW, "asked", steps, (owner.id,))
        return await self.work.execute(
            record, owner, set_step=lambda _: None, on_changed=lambda _: None, stop_event=asyncio.Event()
        )

    def logged(self) -> str:
        return json.dumps(list(self.log.read_lines(RUN))) if RUN in self.log.list_runs() else ""


@asynccontextmanager
async def open_run_fixture(folder: Path, *kept: Memory) -> AsyncIterator[RunFixture]:
    planner, store, hot, log = Planner(), Store(*kept), MemoryCache(), RunLog(folder / "runs")
    client = cast(StoreClient, cast(Any, store))
    usage = UsageTracker.load(folder / "usage.json")

    async def kept_usage() -> None:
        if told := usage.dump():
            replace_private_file(folder / "usage.json", told)

    async with Journal.open(folder / "journal") as journal:
        writer = StoreWriter(journal, hot, client, batch_size=8, gather_seconds=0.0, limit=100)
        memories = MemoryService(
            journal, hot, client, writer, now=lambda: NOW, pending_erasures=PendingErasures(folder / "forgetting")
        )
        making = ChangeApplier(hot, memories, writer, log)
        work = PlanExecutor(
            cast(HelperProcess, cast(Any, planner)),
            client,
            journal,
            memories,
            making,
            log,
            usage,
            ConsolidationSettings(),
            now=lambda: NOW,
            save_usage=kept_usage,
        )
        writing = asyncio.create_task(writer.run())
        try:
            yield RunFixture(work, making, planner, store, memories, log, usage)
        finally:
            writing.cancel()
            await asyncio.wait([writing])


def make_archived(name: str, *, days: float) -> Memory:
    """Create a memory that has been erasable for some days."""
    goes = (NOW - timedelta(days=days)).isoformat()
    return memory(name, age=200, status=Status.ARCHIVED, source={ARCHIVE_REASON: "not used", ERASE_AFTER: goes})


@pytest.mark.parametrize("kept", [(), (memory("only"),)])
async def test_run_without_memories_changes_nothing(tmp_path: Path, kept: tuple[Memory, ...]) -> None:
    async with open_run_fixture(tmp_path, *kept) as it:
        verdict = await it.run(*ConsolidationStep)
        assert not verdict.rolled_back
        assert tuple(it.store.kept.values()) == kept
        assert '"change"' not in it.logged()


async def test_gate_ignores_changes_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = [memory(f"m{number}", content=f"the zeppelin of berth {number}") for number in range(8)]
    async with open_run_fixture(tmp_path, *told) as it:

        async def search(request: StoreQuery) -> SearchHits:
            """Return the newest first, so that many similar memories precede the earlier ones."""
            hits = [
                Hit(memory=one, lexical=9.0) for one in it.store.kept.values() if set(request.query.split()) & said(one)
            ]
            return SearchHits(tuple(sorted(hits, key=lambda hit: hit.memory.created, reverse=True)))

        def said(one: Memory) -> set[str]:
            return set(one.content.split())

        monkeypatch.setattr(it.store, "search", search)
        record = RunRecord(RUN, NOW - timedelta(minutes=1), "asked", (), ("p",))
        probes = [Probe("zeppelin berth", "p", tuple(one.id for one in told))]
        it.log.append(RUN, [{"type": "probes", "owner": "p", "probes": to_json(probes)}])
        await it.store.put([memory(f"n{number}", age=0, content="a zeppelin at a berth") for number in range(12)])
        await it.store.put([replace(told[1], content="it was a balloon", updated=NOW)])
        await it.store.delete(["m0"], "p")

        verdict = await it.work._check_gate(record, PROJECT, probes)
        assert not verdict.rolled_back
        assert (verdict.gate.answers, verdict.gate.lost) == (6, 0)

        it.store.kept["m2"] = replace(told[2], content="a balloon")  # by nobody, and nobody noted it
        verdict = await it.work._check_gate(record, PROJECT, probes)
        assert verdict.rolled_back
        assert [loss.lost for loss in verdict.gate.losses or ()] == ["m2"]


def search_by_words(store: Store) -> Callable[..., Awaitable[SearchHits]]:
    """Return a search that finds active memories with a common word, histories first."""

    async def search(request: StoreQuery) -> SearchHits:
        words = set(request.query.split())
        found = [
            one for one in store.kept.values() if matches(one, request.filters) and words & set(one.content.split())
        ]
        found.sort(key=lambda one: (one.category != "history", one.id))
        return SearchHits(tuple(Hit(memory=one, lexical=9.0) for one in found))

    return search


async def test_gate_undoes_losing_step_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed, other = memory("needed", content="the zeppelin"), memory("other", content="the balloon")
    async with open_run_fixture(tmp_path, needed, other) as it:
        monkeypatch.setattr(it.store, "search", search_by_words(it.store))
        planned = [
            (ConsolidationStep.SUMMARISE, "summarised", other, replace(other, importance=0.9)),
            (ConsolidationStep.FORGET, "forgotten", needed, replace(needed, status=Status.ARCHIVED)),
        ]
        for step, counter, before, after in planned:
            it.planner.planned[step] = [PlannedChange(step, counter, "w", "w", (before,), (after,))]
        probes = [Probe("zeppelin", "p", ("needed",)), Probe("balloon", "p", ("other",))]
        record = RunRecord(RUN, NOW, "asked", tuple(step for step, *_ in planned), ("p",), probes={"p": probes})
        verdict = await it.work.execute(
            record, PROJECT, set_step=lambda _: None, on_changed=lambda _: None, stop_event=asyncio.Event()
        )

        assert (verdict.rolled_back, verdict.gate.undone_steps, verdict.gate.lost) == (False, ["forget"], 1)
        assert (it.store.kept["needed"].status, it.store.kept["other"].importance) == (Status.ACTIVE, 0.9)
        told = load_run_record(it.log, RUN)
        assert (told.counts["summarised"], told.counts["forgotten"]) == (1, 0)
        assert [told.is_change_undone(0, "p", step) for step in ("summarise", "forget")] == [False, True]


async def test_gate_counts_displaced_result_as_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step, asked = ConsolidationStep.HISTORY, memory("asked", content="the zeppelin")
    histories = tuple(memory(f"h{number}", content="a zeppelin", category="history") for number in range(15))
    async with open_run_fixture(tmp_path, asked) as it:
        monkeypatch.setattr(it.store, "search", search_by_words(it.store))
        it.planner.planned[step] = [PlannedChange(step, "histories", "w", "w", (), histories)]
        record = RunRecord(RUN, NOW, "asked", (step,), ("p",), probes={"p": [Probe("zeppelin", "p", ("asked",))]})
        verdict = await it.work.execute(
            record, PROJECT, set_step=lambda _: None, on_changed=lambda _: None, stop_event=asyncio.Event()
        )
        assert (verdict.rolled_back, verdict.gate.lost) == (False, 0)


async def test_rollback_returns_evidence_once(tmp_path: Path) -> None:
    step, only = ConsolidationStep.USE, memory("only")
    async with open_run_fixture(tmp_path, only) as it:
        it.usage.record_shown([("only", ())], NOW)
        it.planner.planned[step] = [PlannedChange(step, "counted", "w", "w", (only,), (replace(only, importance=0.9),))]
        await it.run(step)
        assert it.usage.get_tallies() == {}
        record = load_run_record(it.log, RUN)
        for _ in range(2):  # a crash repeats it
            await it.work._undo_steps(record, PROJECT, ())
        assert it.store.kept["only"].importance == 0.4
        assert it.usage.get_tallies()["only"].shown == 1
    assert UsageTracker.load(tmp_path / "usage.json").get_tallies()["only"].shown == 1


async def test_run_removed_project_writes_nothing_more(tmp_path: Path) -> None:
    """Also checks new memories, which could be written without the removed ones."""
    async with open_run_fixture(tmp_path, memory("one")) as it:
        new = memory("x1", content="quotes what is gone")
        it.planner.planned[ConsolidationStep.CONTRADICTIONS] = [
            PlannedChange(ConsolidationStep.CONTRADICTIONS, "linked", "w", "w", (), (new,))
        ]

        async def removed() -> None:
            await it.work.exclude_owner("p")
            it.store.kept.clear()

        it.planner.meanwhile = removed
        with pytest.raises(OwnerRemoved):
            await it.run(ConsolidationStep.CONTRADICTIONS)
        assert it.store.kept == {}
        assert "quotes what is gone" not in it.logged()

        it.work.begin_run()  # it was added again
        await it.run(ConsolidationStep.CONTRADICTIONS)
        assert set(it.store.kept) == {"x1"}


async def test_erase_skips_memory_restored_during_run(tmp_path: Path) -> None:
    async with open_run_fixture(
        tmp_path, make_archived("back", days=1), make_archived("gone", days=1), make_archived("later", days=-1)
    ) as it:
        it.planner.erasable = ["back", "gone"]
        back = restore(it.store.kept["back"])
        assert back is not None
        it.planner.meanwhile = lambda: it.memories.store([back])

        await it.run(ConsolidationStep.ERASE)

        assert it.store.kept["back"].status is Status.ACTIVE
        assert set(it.store.kept) == {"back", "later"}


async def test_run_keeps_edits_made_during_run(tmp_path: Path) -> None:
    async with open_run_fixture(tmp_path, memory("one"), memory("two")) as it:
        changes = [
            PlannedChange(ConsolidationStep.SUMMARISE, "summarised", "w", "w", (one,), (replace(one, importance=0.9),))
            for one in it.store.kept.values()
        ]
        it.planner.planned[ConsolidationStep.SUMMARISE] = changes
        mine = replace(it.store.kept["one"], title="as I say")
        it.planner.meanwhile = lambda: it.memories.store([mine])

        await it.run(ConsolidationStep.SUMMARISE)

        assert it.store.kept["one"] == mine
        assert it.store.kept["two"].importance == 0.9
        assert await it.making.undo(RUN) == (1, 0)
        assert it.store.kept["one"] == mine
        assert it.store.kept["two"].importance == 0.4


async def test_changes_start_after_planner_is_unloaded(tmp_path: Path) -> None:
    """Its memory is free again when the store has most to do."""
    async with open_run_fixture(tmp_path, memory("one")) as it:
        for step in (ConsolidationStep.SUMMARISE, ConsolidationStep.COMPRESS):
            [one] = it.store.kept.values()
            after = replace(one, importance=0.9)
            it.planner.planned[step] = [PlannedChange(step, "summarised", "w", "w", (one,), (after,))]
        put, held = it.store.put, list[bool]()

        async def noticed(memories: Sequence[Memory]) -> None:
            held.append(it.planner.holds)
            await put(memories)

        it.store.put = noticed  # type: ignore[method-assign]
        await it.run(ConsolidationStep.SUMMARISE, ConsolidationStep.COMPRESS)
        assert held == [False]


async def test_rollback_affects_only_failing_project(tmp_path: Path) -> None:
    async with open_run_fixture(tmp_path, memory("mine"), memory("theirs", project="q")) as it:
        for one in list(it.store.kept.values()):
            after = replace(one, importance=0.9)
            it.planner.planned[ConsolidationStep.SUMMARISE] = [
                PlannedChange(ConsolidationStep.SUMMARISE, "summarised", "w", "w", (one,), (after,))
            ]
            await it.run(ConsolidationStep.SUMMARISE, owner=MemoryOwner(one.project))

        assert await it.making.undo(RUN, owner="p", of_owner=True) == (1, 0)

        assert {name: one.importance for name, one in it.store.kept.items()} == {"mine": 0.4, "theirs": 0.9}


async def test_undo_after_erasure_restores_archived_rest(tmp_path: Path) -> None:
    async with open_run_fixture(tmp_path, memory("one"), memory("two")) as it:
        goes = {ARCHIVE_REASON: "not used", ERASE_AFTER: (NOW - timedelta(days=1)).isoformat()}
        it.planner.planned[ConsolidationStep.FORGET] = [
            PlannedChange(ConsolidationStep.FORGET, "forgotten", f"archive {one.title!r}", "w", (one,), (archive,))
            for one in it.store.kept.values()
            for archive in [replace(one, status=Status.ARCHIVED, source=goes)]
        ]
        it.planner.erasable = ["one"]
        await it.run(ConsolidationStep.FORGET, ConsolidationStep.ERASE)
        assert set(it.store.kept) == {"two"}

        _, left = await it.making.undo(RUN)

        assert left == 0
        assert {name: one.status for name, one in it.store.kept.items()} == {"two": Status.ACTIVE}
        assert "work on one" not in it.logged()


async def test_crash_during_erasure_leaves_no_text(tmp_path: Path) -> None:
    async with open_run_fixture(tmp_path, make_archived("old", days=1)) as it:
        old = it.store.kept["old"]
        told = make_entry(
            PlannedChange(ConsolidationStep.FORGET, "forgotten", "archive 'work on old'", "w", (), (old,)), "p"
        )
        it.log.append("r20260501", [{"type": "change", **to_json(told)}])
        it.planner.erasable = ["old"]

        async def killed(*_: Any, **__: Any) -> None:
            raise Unavailable("the process is gone")

        it.store.purge = killed  # type: ignore[method-assign]
        with pytest.raises(Unavailable):
            await it.run(ConsolidationStep.ERASE)

        assert "work on old" not in json.dumps(list(it.log.read_lines("r20260501")))
        assert it.store.kept == {}


@pytest.mark.parametrize("in_time", [True, False])
async def test_usage_is_counted_once_after_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_time: bool
) -> None:
    """With `in_time` the crash comes after the usage file was written, otherwise just before."""
    usage = UsageTracker()
    usage.record_shown([("only", ())], NOW)
    replace_private_file(tmp_path / "usage.json", usage.dump() or "")
    if not in_time:
        monkeypatch.setattr(PlanExecutor, "_mark_counted", _simulate_crash)
    async with open_run_fixture(tmp_path, memory("only")) as it:
        await it.run(ConsolidationStep.USE)
        assert [line["tallies"]["only"]["shown"] for line in it.log.read_lines(RUN) if line["type"] == "tallies"] == [1]

    monkeypatch.undo()
    async with open_run_fixture(tmp_path, memory("only")) as it:  # the next start
        record = load_run_record(it.log, RUN)
        record.steps = (ConsolidationStep.USE,)
        if not in_time:
            assert it.usage.get_tallies()["only"].shown == 1
            await it.work._get_tallies(record)
        assert it.usage.get_tallies() == {}
    assert UsageTracker.load(tmp_path / "usage.json").get_tallies() == {}


async def _simulate_crash(*_: object) -> None:
    """Simulate a crash before the file is written."""


async def test_usage_after_tallies_stays_uncounted(tmp_path: Path) -> None:
    async with open_run_fixture(tmp_path, memory("only")) as it:
        it.usage.record_shown([("only", ())], NOW)
        await it.run(ConsolidationStep.USE)
        it.usage.record_shown([("only", ())], NOW + timedelta(days=1))
        record = load_run_record(it.log, RUN)
        record.steps = (ConsolidationStep.USE,)
        await it.work._get_tallies(record)  # gone on with
        assert it.usage.get_tallies()["only"].shown == 1
