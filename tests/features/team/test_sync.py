"""A synchroniser beside a store that hangs, refuses or belongs to others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.state.feature import Features
from hunchd.core.state.project import Project
from hunchd.domain.errors import StoreError
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Kind
from hunchd.features.team.membership import TeamMembership
from hunchd.features.team.mirror import Mirror, OwnRecord
from hunchd.features.team.sync import CARE_PAUSE, TeamSync, compute_delay
from hunchd.features.team.team_client import Care, RecordBatch, StoreAddress, TeamClient
from hunchd.protocol.memories import MemoryDraft
from hunchd.protocol.team_records import RecordKind, TeamRecord
from tests.core.test_memory_service import open_memories
from tests.features.team.records import FOUNDER, NOW, TEAM, decode_value, founded, joined, resolved, stated
from tests.features.test_plan_executor import Store as MemoryStore

PATIENCE = 30.0  # seconds until a test is given up


async def do_nothing() -> None:
    """Do nothing."""


class Store:
    """Dataset that holds the founder's records; it answers once it may."""

    def __init__(self, *, care: Care = "compacted", is_writable: bool = True) -> None:
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.version = 1
        self.claimed_epochs: list[int] = []
        self.records: list[TeamRecord] = []
        self.before_reading: Callable[[], Awaitable[object]] = do_nothing
        self._care: Care = care
        self._is_writable = is_writable

    async def create_key(self, key_file: Path) -> str:
        raise NotImplementedError

    async def open(self, address: StoreAddress, *, create: bool) -> list[TeamRecord]:
        raise NotImplementedError

    async def append(
        self, address: StoreAddress, team: str, key_file: Path, records: Sequence[TeamRecord], *, may_exist: bool
    ) -> None:
        if not self._is_writable:
            raise StoreError("s3://bucket/shop is not reachable: AccessDenied")
        self.version += 1

    async def read_version(self, address: StoreAddress) -> int:
        self.is_asked.set()
        await self.may_answer.wait()
        return self.version

    async def read_since(
        self, address: StoreAddress, team: str, version: int, until: int
    ) -> AsyncIterator[RecordBatch]:
        await self.before_reading()
        yield RecordBatch((founded(), joined(FOUNDER), *self.records), 0)

    async def maintain(self, address: StoreAddress, lease: str, holder: str, keep_seconds: float) -> Care:
        self.claimed_epochs.append(int(lease))
        return self._care


class WatchedMirror(Mirror):
    """Mirror that calls `before_projection` when records are about to be applied, in the thread that asks for them."""

    before_projection: Callable[[], object] = staticmethod(lambda: None)

    def load_shown(self, subjects: Sequence[str]) -> dict[str, dict[str, str]]:
        self.before_projection()
        return super().load_shown(subjects)


def create_sync(
    store: Store, mirror: Mirror | None = None, memories: MemoryService | None = None, project: Project | None = None
) -> TeamSync:
    membership = TeamMembership(project="p", uri="s3://bucket/shop", team=TEAM, name="Bob", author="bob", machine="m")
    return TeamSync(
        membership,
        mirror or Mirror(None),
        cast(TeamClient, store),
        StoreAddress(membership.uri, Path("unused")),
        Path("unused"),
        memories=memories or cast(MemoryService, SimpleNamespace(now=lambda: NOW, find=find_nothing)),
        find_project=lambda _: project,
        features=cast(Features, None),
        poll_seconds=1.0,
        care_seconds=3_600.0,
    )


async def find_nothing(ids: Sequence[str], project: str | None) -> dict[str, Any]:
    return {}


async def test_questions_pass_hanging_store() -> None:
    store = Store()
    sync = create_sync(store)
    async with asyncio.timeout(PATIENCE):
        await sync.sync()
        store.is_asked.clear()
        store.may_answer.clear()
        exchange = asyncio.create_task(sync.sync())
        await store.is_asked.wait()

        assert [member.author for member, _, _ in await sync.load_members()] == [FOUNDER]
        await sync.add_records([OwnRecord(RecordKind.VOTE, "s")])
        assert (await sync.count_waiting())[0] == 1
        assert not exchange.done()
        store.may_answer.set()
        await exchange
        await sync.close()


async def test_large_team_is_applied_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunchd.features.team.sync.MAX_UNSTORED", 0)  # the queue of these memories has 100 places
    project = cast(Project, SimpleNamespace(id="p", name="shop", root=tmp_path, conflicts={}))
    store, kept = Store(), MemoryStore()
    store.records = [stated(FOUNDER, "x", subject=f"s{number}", key=f"k{number}") for number in range(250)]
    async with asyncio.timeout(PATIENCE), open_memories(tmp_path, kept) as memories:
        sync = create_sync(store, None, memories, project)
        await sync.sync()

        assert (await sync.count_waiting())[1] == 0
        await memories.drain(allowed_pending=0)
        assert len(kept.kept) == 250
        await sync.close()


async def test_preview_shows_what_waits(tmp_path: Path) -> None:
    project = cast(Project, SimpleNamespace(id="p", name="shop", root=tmp_path, conflicts={}))
    async with asyncio.timeout(PATIENCE), open_memories(tmp_path, MemoryStore()) as memories:
        sync = create_sync(Store(is_writable=False), None, memories, project)
        await sync.add_records([OwnRecord(RecordKind.VOTE, "s")])
        await sync.sync()

        assert await sync.plan_everything() == [OwnRecord(RecordKind.VOTE, "s")]
        await sync.close()


async def test_reader_receives_and_keeps_own_records() -> None:
    sync = create_sync(Store(is_writable=False))
    await sync.add_records([OwnRecord(RecordKind.VOTE, "s")])

    await sync.sync()

    assert (sync.figures.received, sync.figures.sent) == (2, 0)
    assert "AccessDenied" in sync.figures.push_failure
    assert (await sync.count_waiting())[0] == 1
    await sync.close()


@pytest.mark.parametrize("moment", ["reading", "projection"])
async def test_statement_during_exchange_is_not_overwritten(moment: str, tmp_path: Path) -> None:
    store, mirror, loop = Store(), WatchedMirror(None), asyncio.get_running_loop()
    project = cast(Project, SimpleNamespace(id="p", name="shop", root=tmp_path, conflicts={}))
    sync: TeamSync | None = None

    def on_changed(change: MemoryChange) -> None:
        if sync is not None:
            sync.notice_change(change)

    async with asyncio.timeout(PATIENCE), open_memories(tmp_path, MemoryStore(), on_changed) as memories:
        sync = create_sync(store, mirror, memories, project)

        async def state(value: str) -> None:
            line = f"queue: {value}"
            fields = {"title": line, "content": line, "key": "queue", "value": value, "category": "decision"}
            draft = MemoryDraft(kind=Kind.FACT, **fields)
            await memories.remember([draft], ["p"])

        await state("Redis")
        await sync.sync()
        [subject] = mirror.list_statement_subjects("", 9)
        [ours] = mirror.load_subjects([subject])[subject]
        theirs = stated(FOUNDER, "Kafka", clock=1, subject=subject)
        store.records = [
            joined("bob"),
            theirs,
            resolved(FOUNDER, "Kafka", [ours, theirs], clock=ours.clock + 1, subject=subject),
        ]
        store.version += 1
        if moment == "reading":
            store.before_reading = lambda: state("NATS")
        else:
            mirror.before_projection = lambda: asyncio.run_coroutine_threadsafe(state("NATS"), loop).result()
        await sync.sync()
        store.before_reading, mirror.before_projection = do_nothing, lambda: None
        await sync.sync()

        own = [one for one in mirror.load_subjects([subject])[subject] if one.author == "bob"]
        assert [decode_value(one) for one in own] == ["NATS"]
        await sync.close()


@pytest.mark.parametrize(("care", "claims"), [("compacted", 3), ("leased", 3), ("not allowed", 1)])
async def test_member_who_cannot_delete_pauses_care(care: Care, claims: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store, mirror = Store(care=care), Mirror(None)
    for epoch in (1, 2, CARE_PAUSE):
        store.version += 1
        monkeypatch.setattr("hunchd.features.team.sync.time.time", lambda: epoch * 3_600.0)  # noqa: B023
        await create_sync(store, mirror).sync()  # as after a restart

    assert len(store.claimed_epochs) == claims
    store.version += 1
    monkeypatch.setattr("hunchd.features.team.sync.time.time", lambda: (1 + CARE_PAUSE) * 3_600.0)
    await create_sync(store, mirror).sync()
    assert store.claimed_epochs[-1] == 1 + CARE_PAUSE
    mirror.close()


@pytest.mark.parametrize(
    ("poll", "failures", "delay"), [(15, 0, 15), (15, 1, 30), (15, 50, 30), (0.5, 2, 2), (60, 9, 60)]
)
def test_delay_grows_to_half_minute(poll: float, failures: int, delay: float) -> None:
    assert compute_delay(poll, failures) == delay
