"""Synchronisation of one project's team: memories → records → dataset, and back.

Nothing waits for the synchronisation: memories are durable before they are read, and records are durable before
they are sent. Work that a crash interrupts is found again, because the machine's own records are computed from the
existing memories.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from hunchd.consolidation.contradiction_records import parse_sides
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.state.feature import Features
from hunchd.core.state.project import Project
from hunchd.domain.errors import AccessDenied, HunchError, Unavailable
from hunchd.domain.facts import MemoryChange, slot_of
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.features.team.clock import to_milliseconds
from hunchd.features.team.membership import TeamMembership
from hunchd.features.team.merge import Member, SubjectView, build_roster, build_view
from hunchd.features.team.mirror import Mirror, OwnRecord
from hunchd.features.team.outbox import (
    plan_dismissals,
    plan_missing,
    plan_resolution,
    plan_statement,
    plan_vote,
    plan_withdrawals,
)
from hunchd.features.team.projector import Projector
from hunchd.features.team.selection import DOCUMENT_ROOTS, TEAM_KINDS, SharingScope, compute_subject, is_from_team
from hunchd.features.team.team_client import StoreAddress, TeamClient
from hunchd.ingestion.fixes import FIXES_LINK
from hunchd.ingestion.redaction import redact
from hunchd.protocol.team_records import RecordKind, TeamRecord

logger = logging.getLogger(__name__)

PUSH_BATCH: Final = 500  # records in one commit
COLLECT_BATCH: Final = 200  # memories compared with the mirror between two requests
MAX_UNSTORED: Final = 1_000  # memories; joining a large team must not fill the queue that everybody's changes share
GATHER_SECONDS: Final = 1.0  # time that a change waits for others
MAX_DELAY_SECONDS: Final = 30.0  # between two attempts while the store is unreachable
# An erased text disappears from the dataset's old versions after at most two of these periods, if any member's
# daemon is online.
CARE_SECONDS: Final = 3_600.0
CARE_PAUSE: Final = 168  # epochs, a week, until a member who may not delete files tries again

T = TypeVar("T")


@dataclass(slots=True)
class SyncFigures:
    """Results of the recent attempts to synchronise."""

    last_success: datetime | None = None
    failure: str = ""
    push_failure: str = ""  # the store can be read but not written
    sent: int = 0
    received: int = 0
    forged: int = 0  # records without a valid signature for this team
    failures_in_row: int = 0
    next_attempt: datetime | None = None


@dataclass(slots=True)
class _Work:
    """Memories that have changed since records were last created."""

    changed_ids: set[str] = field(default_factory=set)
    deleted_ids: set[str] = field(default_factory=set)
    disputed_ids: set[str] = field(default_factory=set)  # memories about which a contradiction has changed
    scan: bool = True  # compare everything, as after a start

    def add(self, other: _Work) -> None:
        self.changed_ids |= other.changed_ids
        self.deleted_ids |= other.deleted_ids
        self.disputed_ids |= other.disputed_ids
        self.scan |= other.scan

    def concerns(self, identifier: str) -> bool:
        return identifier in self.changed_ids or identifier in self.deleted_ids or identifier in self.disputed_ids


class TeamSync:
    """Synchroniser for the team of a project, which may be closed."""

    def __init__(
        self,
        membership: TeamMembership,
        mirror: Mirror,
        store: TeamClient,
        address: StoreAddress,
        key_file: Path,
        *,
        memories: MemoryService,
        find_project: Callable[[str | None], Project | None],
        features: Features,
        poll_seconds: float,
        care_seconds: float = CARE_SECONDS,
    ) -> None:
        self.membership = membership
        self.figures = SyncFigures()
        self._mirror = mirror
        self._store = store
        self._address = address
        self._key_file = key_file
        self._memories = memories
        self._find_project = find_project
        self._poll_seconds = poll_seconds
        self._care_seconds = care_seconds
        self._work = _Work()
        self._wake = asyncio.Event()
        self._exchange_lock = asyncio.Lock()  # one exchange at a time, however long the store takes
        self._lock = asyncio.Lock()  # the mirror is used by one caller at a time; never held while the store is asked
        self._cared_version = -1
        self._care_epoch = -1
        self._projector = Projector(memories, features, find_project)
        self._roster: dict[str, Member] | None = None

    # What the feature reports

    def notice_change(self, change: MemoryChange) -> None:
        """Record ids of changed memories; called for every change."""
        relevant = [one.id for one in change.memories if one.kind in TEAM_KINDS or one.kind is Kind.CONTRADICTION]
        if not relevant and not change.deletions:
            return
        self._work.changed_ids.update(identifier for identifier in relevant if "." not in identifier)
        self._work.deleted_ids.update(identifier for identifier in change.deletions if "." not in identifier)
        conflicts = [one for one in change.memories if one.kind is Kind.CONTRADICTION]
        self._work.disputed_ids.update(slot_of(parse_sides(conflict)[1]) or "" for conflict in conflicts)
        self._wake.set()

    async def run(self) -> None:
        """Synchronise repeatedly, until cancelled."""
        await asyncio.sleep(random.uniform(0, min(1.0, self._poll_seconds)))
        while True:
            await self.sync()
            await self._wait()

    async def _wait(self) -> None:
        """Wait for a change or for the next attempt."""
        delay = compute_delay(self._poll_seconds, self.figures.failures_in_row) * random.uniform(0.75, 1)
        self.figures.next_attempt = datetime.now(UTC) + timedelta(seconds=delay)
        try:
            async with asyncio.timeout(delay):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()
        await asyncio.sleep(min(GATHER_SECONDS, self._poll_seconds))

    async def sync(self) -> None:
        """Send and receive once; record the store's failures in `figures`."""
        async with self._exchange_lock:
            try:
                if not await self._use(lambda mirror: mirror.cursor):  # a member who comes back repeats nothing
                    await self._pull()
                await self._project()
                await self._push()
                await self._pull()
            except HunchError as error:
                self._note_failure(error)
            else:
                self.figures.last_success = datetime.now(UTC)
                self.figures.failure = self.figures.push_failure
                self.figures.failures_in_row = 0
            await self._project()
            if not self.figures.failure:
                await self._maintain()

    def _note_failure(self, error: HunchError) -> None:
        self.figures.failures_in_row += 1
        message = redact(error.message).text
        if message != self.figures.failure:
            logger.warning("team of %s: %s", self.membership.project, message)
        self.figures.failure = message

    # Memories → records

    @property
    def _scope(self) -> SharingScope | None:
        project = self._find_project(self.membership.project)
        if project is None:
            return None
        return SharingScope(project.id, project.name, project.root)

    async def _collect(self) -> None:
        """Create the records for memories that have changed."""
        scope = self._scope
        if scope is None:
            return
        work, self._work = self._work, _Work(scan=False)
        try:
            await self._collect_work(work, scope)
        except BaseException:
            self._work.add(work)
            raise

    async def _collect_work(self, work: _Work, scope: SharingScope) -> None:
        ids, unchanged_ids = set(work.changed_ids), set[str]()
        if work.scan:
            ids |= {memory.id for memory in await self._list_candidates()}
            ids |= set((await asyncio.to_thread(self._mirror.list_own)).values())
            unchanged_ids = ids - work.changed_ids
        ordered_ids = sorted(ids | work.deleted_ids)
        for begin in range(0, len(ordered_ids), COLLECT_BATCH):
            batch = ordered_ids[begin : begin + COLLECT_BATCH]
            await self._record(await self.plan_records(batch, scope, work.deleted_ids, unchanged_ids))

    async def _list_candidates(self) -> list[Memory]:
        """Return all stored memories that may have to be sent."""
        project = self.membership.project
        kinds = (*TEAM_KINDS, Kind.CONTRADICTION)
        statuses = (Status.ACTIVE, Status.SUPERSEDED)
        memories = await self._memories.list_all(Filters(project=project, kinds=kinds, statuses=statuses))
        for root in DOCUMENT_ROOTS:
            memories += await self._memories.list_all(Filters(kinds=(Kind.DOCUMENT,), path_prefix=root))
        return [memory for memory in memories if "." not in memory.id]

    async def plan_records(
        self,
        ids: Sequence[str],
        scope: SharingScope,
        deleted_ids: Collection[str] = (),
        unchanged_ids: Collection[str] = (),
    ) -> list[OwnRecord]:
        """Return the records to create about the memories with these ids.

        For a memory in `deleted_ids`, the earlier statements are erased, even if the memory has been stated again
        since. Nothing is known about recent changes to the memories in `unchanged_ids`.
        """
        memories = await self._memories.find(ids, self.membership.project)
        memories |= await self._memories.find([one for one in ids if one not in memories], None)
        team, author = self.membership.team, self.membership.author
        erased_ids = [one for one in ids if one not in memories or one in deleted_ids]
        own = await asyncio.to_thread(self._mirror.find_own, erased_ids)
        subjects = {one.id: _find_subject(one, team) for one in memories.values()}
        records = await asyncio.to_thread(self._mirror.load_subjects, sorted(set(subjects.values())))
        roster = await self._load_roster()
        for subject in own.keys() & records.keys():
            records[subject] = [
                one for one in records[subject] if one.author != author or one.kind is not RecordKind.STATE
            ]
        views = {subject: build_view(subject, records[subject], roster) for subject in records}
        missing = await asyncio.to_thread(self._mirror.load_subjects, sorted(own))
        pending = await asyncio.to_thread(self._mirror.find_pending, sorted(records)) if unchanged_ids else ()
        planned: list[OwnRecord | None] = [
            record for subject in own for record in plan_missing(subject, missing[subject], author)
        ]
        for memory in memories.values():
            subject = subjects[memory.id]
            view, known = views[subject], records[subject]
            if memory.kind is Kind.CONTRADICTION:
                planned += await self._plan_ruling(memory, subject, view, known, scope)
            elif is_from_team(memory):
                planned.append(plan_vote(memory, subject, _find_vote(known, author)))
            elif memory.kind in TEAM_KINDS:
                error = await self._find_error(memory)
                now = self._memories.now()
                is_unapplied = memory.id in unchanged_ids and subject in pending
                planned.append(
                    plan_statement(memory, subject, view, scope, author, now, error, is_unapplied=is_unapplied)
                )
        return [record for record in planned if record is not None]

    async def _plan_ruling(
        self, conflict: Memory, subject: str, view: SubjectView, records: Sequence[TeamRecord], scope: SharingScope
    ) -> list[OwnRecord | None]:
        roots = list(dict.fromkeys(str(link["ref"]).partition(".")[0] for link in conflict.links))
        sides = await self._memories.find(roots, conflict.project)
        if conflict.key is None or len(roots) > 1:
            subjects = [_find_subject(side, self.membership.team) for side in sides.values()]
            known = await asyncio.to_thread(self._mirror.load_subjects, subjects)
            own = [one for found in known.values() for one in found if one.author == self.membership.author]
            return list(plan_dismissals(conflict, sides.values(), own))
        head = sides.get(roots[0])
        return [plan_resolution(conflict, head, subject, view, records, scope, self.membership.author)]

    async def _find_error(self, memory: Memory) -> str | None:
        """Return the fingerprint, equal on all machines, of a fix's error."""
        ref = next((link["ref"] for link in memory.links if link.get("type") == FIXES_LINK), None)
        if memory.kind is not Kind.ERROR or ref is None:
            return None
        error = (await self._memories.find([ref], memory.project)).get(ref)
        return error.key if error is not None else None

    async def _record(self, news: Sequence[OwnRecord]) -> None:
        mine = self.membership
        now_ms = to_milliseconds(self._memories.now())
        await asyncio.to_thread(
            lambda: self._mirror.create_records(
                news, team=mine.team, author=mine.author, machine=mine.machine, now_ms=now_ms
            )
        )

    async def add_records(self, news: Sequence[OwnRecord]) -> None:
        """Create records that are not derived from memories, to be sent soon."""
        async with self._lock:
            await self._record(news)
            self._roster = None
        self._wake.set()

    # Records ↔ dataset

    async def _push(self) -> None:
        self.figures.push_failure = ""
        while (outbox := await self._use(lambda mirror: mirror.load_outbox(PUSH_BATCH))).records:
            try:
                await self._store.append(
                    self._address, self.membership.team, self._key_file, outbox.records, may_exist=outbox.was_attempted
                )
            except HunchError as error:  # a member without write access still receives
                denied = "these credentials can read the team's store, but not write to it"
                self.figures.push_failure = denied if isinstance(error, AccessDenied) else redact(error.message).text
                return
            await self._use(partial(Mirror.remove_from_outbox, records=outbox.records))
            self.figures.sent += len(outbox.records)

    async def _pull(self) -> None:
        newest, cursor = await self._store.read_version(self._address), await self._use(lambda mirror: mirror.cursor)
        if newest == cursor:
            return
        if newest < cursor:  # the dataset was restored or created again
            logger.warning(
                "team of %s: the dataset has an older version than before; reading all of it again",
                self.membership.project,
            )
            cursor = 0
        async for batch in self._store.read_since(self._address, self.membership.team, cursor, newest):
            self.figures.forged += batch.forged
            self.figures.received += len(batch.records)
            now_ms = to_milliseconds(self._memories.now())
            changed = await self._use(partial(Mirror.receive, records=batch.records, now_ms=now_ms))
            self._roster = None
            if withdrawn := plan_withdrawals(changed, self.membership.author):
                await self.add_records(withdrawn)
        await self._use(lambda mirror: mirror.set_cursor(newest))

    async def _use(self, call: Callable[[Mirror], T]) -> T:
        """Call `call` with the mirror in a thread, and return the result."""
        async with self._lock:
            return await asyncio.to_thread(call, self._mirror)

    async def _maintain(self) -> None:
        """Compact the dataset once per epoch, unless another member does.

        If this member is not allowed to delete files, the work is left to the others for a while, because this
        machine would hold the lease for nothing.
        """
        epoch = int(time.time() // self._care_seconds)
        version, first_epoch = await self._use(lambda mirror: (mirror.cursor, mirror.first_care_epoch))
        if epoch == self._care_epoch or epoch < first_epoch or version == self._cared_version:
            return
        self._care_epoch = epoch
        try:
            lease = f"{epoch:012d}"
            care = await self._store.maintain(self._address, lease, self.membership.machine, self._care_seconds)
        except HunchError as error:  # another member will try
            logger.info("team of %s: compacting the dataset failed: %s", self.membership.project, error.message)
            return
        if care == "compacted":
            self._cared_version = version
        elif care == "not allowed":
            await self._use(lambda mirror: mirror.set_first_care_epoch(epoch + CARE_PAUSE))

    # Records → memories

    async def _load_roster(self) -> dict[str, Member]:
        if self._roster is None:
            records = await asyncio.to_thread(self._mirror.load_roster_records)
            self._roster = build_roster(self.membership.team, records)
        return self._roster

    async def _project(self) -> None:
        """Create the records of changed memories, and apply received records to the memories.

        Memories that the user changes in the meantime are not overwritten, because their records are created first.
        If the memory store is stuck, received records stay pending.
        """
        while self._find_project(self.membership.project) is not None:
            try:
                await self._memories.drain(allowed_pending=MAX_UNSTORED)
            except Unavailable:
                return
            async with self._lock:
                if not await asyncio.to_thread(lambda: self._mirror.cursor):
                    return
                await self._collect()
                roster = await self._load_roster()
                if not await self._projector.project(
                    self._mirror, self.membership, roster, lambda identifier: self._work.concerns(identifier)
                ):
                    return

    async def withdraw_all(self) -> None:
        """Withdraw the other members' statements on this machine, and delete all records.

        This is done when the user leaves the team.
        """
        async with self._lock:
            await asyncio.to_thread(self._mirror.mark_all_shown_pending)
            own = self.membership.author
            only_own = {own: Member(own, self.membership.name, "member")}
            while await self._projector.project(self._mirror, self.membership, only_own, lambda _: False):
                await self._memories.drain(allowed_pending=MAX_UNSTORED)
            await asyncio.to_thread(self._mirror.forget_records)

    async def hide(self, subject: str) -> bool:
        """Hide the other members' present statements about a subject.

        Returns True if the user has stated something about it as well.
        """
        await self._use(partial(Mirror.hide, subject=subject, own_author=self.membership.author))
        return bool(await self._use(lambda mirror: mirror.load_own([subject])))

    async def close(self) -> None:
        async with self._exchange_lock:
            await self._use(Mirror.close)

    # Questions

    async def load_members(self) -> list[tuple[Member, int, int]]:
        """Return the members, their statements' numbers and last clocks."""
        async with self._lock:
            roster = await self._load_roster()
            counts = await asyncio.to_thread(self._mirror.count_statements)
            clocks = await asyncio.to_thread(self._mirror.load_last_clocks)
        return [(member, counts.get(author, 0), clocks.get(author, 0)) for author, member in roster.items()]

    async def load_views(self, after: str, limit: int) -> list[tuple[SubjectView, list[TeamRecord]]]:
        """Return a page of views by subject, with all records."""
        async with self._lock:
            roster = await self._load_roster()
            subjects = await asyncio.to_thread(self._mirror.list_statement_subjects, after, limit)
            records = await asyncio.to_thread(self._mirror.load_subjects, subjects)
        return [(build_view(subject, records[subject], roster), records[subject]) for subject in subjects]

    async def count_waiting(self) -> tuple[int, int]:
        """Count the records to send and the subjects to apply."""
        deleted_ids = sorted(self._work.deleted_ids)
        unsent, unapplied, deletions = await self._use(
            lambda mirror: (mirror.count_outbox(), mirror.count_pending(), mirror.find_own(deleted_ids))
        )
        changed = await self._memories.find(sorted(self._work.changed_ids), self.membership.project)
        own = [one for one in changed.values() if one.kind in TEAM_KINDS and not is_from_team(one)]
        return unsent + len(own) + len(deletions), unapplied

    async def get_roster(self) -> dict[str, Member]:
        async with self._lock:
            return await self._load_roster()

    async def plan_everything(self) -> list[OwnRecord]:
        """Return the records waiting to be sent or created."""
        scope = self._scope
        if scope is None:
            return []
        async with self._lock:
            ids = sorted({memory.id for memory in await self._list_candidates()})
            waiting = await asyncio.to_thread(self._mirror.list_outbox)
            return waiting + await self.plan_records(ids, scope)


def compute_delay(poll_seconds: float, failures: int) -> float:
    """Return the longest time to wait before the next attempt, in seconds."""
    return min(poll_seconds * (1 << min(failures, 10)), max(MAX_DELAY_SECONDS, poll_seconds))


def _find_subject(memory: Memory, team: str) -> str:
    """Return the subject of a member's statement or of a memory."""
    if is_from_team(memory):
        return str(memory.source.get("subject", ""))
    if memory.kind is Kind.CONTRADICTION:
        return compute_subject(parse_sides(memory)[1], team)
    return compute_subject(memory, team)


def _find_vote(records: Iterable[TeamRecord], author: str) -> TeamRecord | None:
    return next((one for one in records if one.author == author and one.kind is RecordKind.VOTE), None)
