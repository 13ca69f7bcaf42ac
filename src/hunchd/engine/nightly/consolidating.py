"""Consolidation runs: one at a time, durable and reversible changes, a regression gate.

A run writes each planned change into its log, then commits it through the journal like any other change. After a crash
it continues with the step it was at; if the gate finds that answers were lost, all of an owner's changes are rolled
back. What somebody else changed meanwhile is left alone, in both directions.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from msgspec import structs

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.aging import ARCHIVED
from hunchd.consolidation.plan import COUNTS, Entry, Step
from hunchd.domain.errors import Conflict, HunchError, NotFound, StorageFull
from hunchd.domain.memory import Memory
from hunchd.engine.nightly.carrying_out import CarryingOut, Gone, Stopped
from hunchd.engine.nightly.making import Making
from hunchd.engine.nightly.run_records import Ended, Record, recorded, without
from hunchd.engine.state.events import Events
from hunchd.engine.state.owners import Owner
from hunchd.protocol.answers import iso, part_json
from hunchd.protocol.consolidation import ConsolidateRequest
from hunchd.protocol.requests import Part
from hunchd.store.run_log import RunLog

logger = logging.getLogger(__name__)

SHOWN_CHANGES: Final = 500  # changes in one answer; others are on further pages
SHOWN_OF_STEP: Final = 100  # … of a dry run, which has no further pages
MOST_RUNS: Final = 200  # in the list
MOST_ABOUT: Final = 20  # changes of one memory
# Seconds before an interrupted run is retried: at first, a helper process may merely have been slow to start.
AGAIN_AFTER: Final = (3.0, 30.0)
MOST_TRIES: Final = 4  # times that a run is continued before it is rolled back
# A nightly run counts as missed when the last run is older than a day and a bit.
DUE_AFTER: Final = timedelta(hours=26)
# Beyond it, the user was away, or the clock was wrong.
AWAY_AFTER: Final = timedelta(days=7)
STOP_WITHIN: Final = 0.6  # seconds before a stopped run is cancelled, out of one second in all


@dataclass(slots=True)
class _Current:
    """State of the current run."""

    run: str
    dry: bool
    began: datetime
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    owner: str = ""
    step: str = ""
    done: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))

    def json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "step": self.step,
            "project": self.owner or None,
            "changes": [],  # available when it has ended
            "total": self.done,
            "began": iso(self.began),
        }


class Consolidation:
    """Manager of consolidation runs."""

    def __init__(
        self,
        work: CarryingOut,
        making: Making,
        log: RunLog,
        events: Events,
        settings: ConsolidationSettings,
        *,
        owners: Callable[[str | None], Sequence[Owner]],
        now: Callable[[], datetime],
    ) -> None:
        self._work = work
        self._making = making
        self._log = log
        self._events = events
        self._settings = settings
        self._owners = owners
        self._now = now
        self._current: _Current | None = None
        self._under_way: set[asyncio.Task[dict[str, Any]]] = set()
        self._unfinished = asyncio.Event()
        self._last: Record | None = None
        self._closing = False

    # API

    async def consolidate(self, asked: ConsolidateRequest, *, trigger: str = "asked") -> dict[str, Any]:
        """Start a run or a dry run.

        Returns its result, or its progress if `wait` is false. Raises Conflict while another run is in progress.
        """
        self._refuse_another()
        owners, steps = self._owners(asked.project), tuple(map(Step, asked.steps))
        run = "r" + self._now().strftime("%Y%m%d%H%M%S") + secrets.token_hex(2)
        current = self._current = _Current(run, asked.dry_run, self._now())
        dry = self._dry(current, owners, steps) if asked.dry_run else None
        task = self._start(dry or self._run(current, owners, steps, trigger))
        if not asked.wait:
            return current.json() | {"status": "running", "dry_run": asked.dry_run}
        return await _answer_of(task)

    async def undo(self, run: str, change: int | None = None) -> dict[str, Any]:
        """Undo a run, or one change of it.

        Raises Conflict if that was changed since.
        """
        record = await asyncio.to_thread(recorded, self._log, run)
        self._refuse_another()
        if record.ended is None:
            raise Conflict(f"run '{run}' has not ended", hint=f"POST /consolidate/{run}/stop first")
        if record.undone or (change is not None and change in record.undone_changes):
            raise Conflict("that is undone already")
        if change is not None and not 0 <= change < record.changes:
            raise NotFound(f"run '{run}' has no change {change}: it has {record.changes}", field="change")
        current = self._current = _Current(run, False, self._now(), step="undo")
        return await _answer_of(self._start(self._undo(current, record, change)))

    async def stop(self, run: str) -> dict[str, Any]:
        """Stop the current run after its current change.

        It can be continued or undone.
        """
        current = self._current
        if current is None or current.run != run:
            raise NotFound(f"run '{run}' is not in progress", field="id")
        current.stopping.set()
        await self._stopped(current)
        return current.json() | {"status": "stopped", "dry_run": True} if current.dry else await self.run(run)

    async def run(self, run: str, *, after: int = 0, limit: int = SHOWN_CHANGES) -> dict[str, Any]:
        """Return one run with its changes from number `after` on."""
        if self._current is not None and self._current.run == run:
            return self._current.json() | {"status": "running"} | self._current.counts
        record = await asyncio.to_thread(recorded, self._log, run)
        changes = await asyncio.to_thread(self._changes, run, after, limit)
        return record.json() | {"changes": changes}

    async def runs(self, part: Part) -> dict[str, Any]:
        """Return a page of the recorded runs, newest first."""
        ids = (await asyncio.to_thread(self._log.runs))[:MOST_RUNS]
        told = {}
        for run in ids[part.offset : part.offset + part.limit]:
            if self._current is not None and self._current.run == run:
                told[run] = self._current.json() | {"status": "running"} | self._current.counts
            else:
                told[run] = (await asyncio.to_thread(recorded, self._log, run)).json()
        return part_json(ids, told.__getitem__, offset=part.offset, limit=part.limit)

    async def changes_of(self, identifier: str) -> list[dict[str, Any]]:
        """Return the changes that runs made to one memory.

        Newest first, each with its undo state.
        """
        return await asyncio.to_thread(self._changes_of, identifier)

    def _changes_of(self, identifier: str) -> list[dict[str, Any]]:
        found = self._log.about(identifier, MOST_ABOUT)
        records = {run: recorded(self._log, run, changes=False) for run in {run for run, _, _ in found}}
        return [
            {name: line[name] for name in ("step", "what", "why")}
            | {"run": run, "undone": records[run].took_back(number, line["project"])}
            for run, number, line in found
        ]

    def status(self) -> dict[str, Any] | None:
        """Return the current or last run for `GET /status`."""
        if self._current is not None:
            return self._current.json() | {"status": "running"}
        return self._last.json() if self._last is not None else None

    async def leave(self, project: str) -> None:
        """Keep the current run from writing to a project that is being removed."""
        await self._work.leave(project)

    async def forgotten(self, identifiers: Sequence[str], project: str | None = None) -> None:
        """Remove erased memories from the run logs.

        Without ids, everything of the project.
        """
        await asyncio.to_thread(self._log.rewrite, partial(without, gone=frozenset(identifiers), project=project))

    # Automatic

    async def nightly(self) -> None:
        """Start the nightly run.

        The first run after a long absence erases nothing: somebody who was away, or whose clock was wrong, still
        finds what was
        archived.
        """
        if self._settings.nightly and self._current is None:
            asked = ConsolidateRequest()
            if not await self._ran_within(AWAY_AFTER):
                asked = structs.replace(asked, steps=tuple(step for step in asked.steps if step != Step.ERASE))
            await self.consolidate(asked, trigger="nightly")

    async def is_due(self, installed: datetime) -> bool:
        """Return True if a nightly run was missed.

        That is, no run within DUE_AFTER, and not `installed` within it.
        """
        known = await asyncio.to_thread(self._log.runs)
        return not await self._ran_within(DUE_AFTER) and (bool(known) or self._now() - installed > DUE_AFTER)

    async def _ran_within(self, time: timedelta) -> bool:
        """Return True if a run began within `time`.

        Runs from the future are ignored (wrong clock).
        """
        runs = await asyncio.to_thread(self._log.runs)
        return any(
            [timedelta() <= self._now() - await asyncio.to_thread(_began, self._log, run) <= time for run in runs]
        )

    async def keep_going(self) -> None:
        """Continue runs interrupted by a crash or a full disk, forever.

        A task of the daemon.
        """
        await self._making.ready()
        await self._look()
        failed = 0
        while True:
            await self._unfinished.wait()
            self._unfinished.clear()
            while self._current is not None:  # a requested run goes first
                await self._current.finished.wait()
                await asyncio.sleep(0)
            if await self._resume():
                failed = 0
                continue
            self._unfinished.set()
            await asyncio.sleep(AGAIN_AFTER[min(failed, len(AGAIN_AFTER) - 1)])
            failed += 1

    async def close(self) -> None:
        """Stop the current run; the next start continues it."""
        self._closing = True
        if self._current is not None:
            self._current.stopping.set()
            await self._stopped(self._current)

    # Internal

    async def _stopped(self, current: _Current) -> None:
        """Wait for a stopping run to end; cancel it after STOP_TIMEOUT_SECONDS."""
        try:
            async with asyncio.timeout(STOP_WITHIN):
                await current.finished.wait()
        except TimeoutError:
            for task in self._under_way:
                task.cancel()
            await current.finished.wait()

    def _refuse_another(self) -> None:
        if self._current is not None:
            raise Conflict(f"run '{self._current.run}' is in progress", hint="one run at a time; see GET /consolidate")

    def _start(self, work: Any) -> asyncio.Task[dict[str, Any]]:
        task: asyncio.Task[dict[str, Any]] = asyncio.create_task(self._watched(work), name="consolidation-run")
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return task

    async def _watched(self, work: Any) -> dict[str, Any]:
        current = self._current
        try:
            answer: dict[str, Any] = await work
            return answer
        except HunchError as error:
            logger.warning("run %s was interrupted: %s", current.run if current else "", error.message)
            self._unfinished.set()
            if isinstance(error, StorageFull) and current is not None and await self._waits_for_room(current.run):
                raise StorageFull(
                    f"the disk is full: run '{current.run}' is paused",
                    hint="free some disk space; the run then continues by itself",
                ) from error
            raise
        except Exception:
            logger.exception("run %s was interrupted", current.run if current else "")
            self._unfinished.set()
            raise
        finally:
            self._current = None
            if current is not None:
                current.finished.set()

    async def _waits_for_room(self, run: str) -> bool:
        """Record that a run waits for disk space.

        Return False if it had not begun. Such an interruption does not count as a try: however long the disk is full,
        the run continues afterwards.
        """
        try:
            if await asyncio.to_thread(_is_over, self._log, run):
                return False
            await asyncio.to_thread(self._log.append, run, [{"type": "no room", "at": iso(self._now())}])
        except NotFound:
            return False
        except (StorageFull, OSError):
            logger.warning("could not record that run %s waits for disk space", run, exc_info=True)
        return True

    def _ended(self, task: asyncio.Task[dict[str, Any]]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # already logged; nobody may be waiting for it

    async def _dry(self, current: _Current, owners: Sequence[Owner], steps: Sequence[Step]) -> dict[str, Any]:
        """Return what a run would do: the first changes of each step, erasures last."""
        changes: list[dict[str, Any]] = []
        shown = Counter[str]()

        def show(entries: Sequence[Entry]) -> None:
            for number, entry in enumerate(entries, start=current.done):
                if shown[entry.step] < SHOWN_OF_STEP:
                    changes.append(_shown(entry, number))
                shown[entry.step] += 1
            self._count(current, entries)

        for owner in owners:
            self._at(current, owner, "")
            async with self._work.planning(owner, self._work.tallies()) as planning:
                for step in planning.steps(steps):
                    self._at(current, owner, str(step))
                    async for entries in planning.plan(step):
                        show(entries)
                        if current.stopping.is_set():
                            raise Conflict("the run was stopped")
                if Step.ERASE in steps:
                    show([_going(memory) for memory in await self._work.erasable(await planning.erasable(), owner)])
        told = {"run": current.run, "status": "dry_run", "dry_run": True, **current.counts}
        return told | {"changes": changes, "more": current.done - len(changes)}

    async def _run(
        self, current: _Current, owners: Sequence[Owner], steps: Sequence[Step], trigger: str
    ) -> dict[str, Any]:
        begun = {
            "type": "begun",
            "run": current.run,
            "at": iso(current.began),
            "trigger": trigger,
            "steps": [str(step) for step in steps],
            "owners": [owner.id for owner in owners],
        }
        await asyncio.to_thread(self._log.append, current.run, [begun])
        record = Record(current.run, current.began, trigger, tuple(steps), tuple(owner.id for owner in owners))
        return await self._go_on(current, owners, record)

    async def _go_on(self, current: _Current, owners: Sequence[Owner], record: Record) -> dict[str, Any]:
        """Continue a run from the point that its log records."""
        verdicts = dict(record.owners)
        self._work.begin()
        try:
            for owner in owners:
                if verdicts.get(owner.id) is None:
                    with suppress(Gone):
                        verdicts[owner.id] = await self._work.carry_out(
                            record,
                            owner,
                            said=partial(self._at, current, owner),
                            did=partial(self._count, current),
                            stopping=current.stopping,
                        )
            status = "rolled_back" if any(one.rolled_back for one in verdicts.values()) else "done"
        except (Stopped, asyncio.CancelledError):
            if not current.stopping.is_set():
                raise
            if self._closing:  # the next start continues
                return current.json() | {"status": "interrupted"}
            status = "stopped"
        ended = Ended(status, self._now(), {name: count for name, count in current.counts.items() if count})
        await asyncio.to_thread(self._log.append, current.run, [ended.json()])
        await asyncio.to_thread(self._log.prune, self._settings.keep_runs)
        self._last = await asyncio.to_thread(recorded, self._log, current.run)
        self._events.tell("consolidation", run=current.run, status=status, **current.counts)
        changes = await asyncio.to_thread(self._changes, current.run, 0, SHOWN_CHANGES)
        return self._last.json() | {"changes": changes, "more": max(0, self._last.changes - len(changes))}

    async def _undo(self, current: _Current, record: Record, change: int | None) -> dict[str, Any]:
        await self._told(record.run, "undoing", change)
        try:
            done, left = await self._making.take_back(record.run, only=change)
        except asyncio.CancelledError:
            if not self._closing:  # it was stopped; otherwise the next start continues
                await self._told(record.run, "left half done", change)
            raise
        if change is not None and left:
            await self._told(record.run, "left half done", change)
            raise Conflict("a later change affects the same memory; undo that one first")
        line = {"type": "undone", "at": iso(self._now()), "change": change, "left": left}
        await asyncio.to_thread(self._log.append, record.run, [line])
        self._last = await asyncio.to_thread(recorded, self._log, record.run)
        self._events.tell("consolidation", run=current.run, status="undone")
        return {"run": record.run, "undone": done, "left": left}

    async def _told(self, run: str, what: str, change: int | None) -> None:
        await asyncio.to_thread(self._log.append, run, [{"type": what, "at": iso(self._now()), "change": change}])

    async def _look(self) -> None:
        """Find the last run, and an unfinished one if there is any."""
        for run in await asyncio.to_thread(self._log.runs):
            if self._last is None:
                self._last = await asyncio.to_thread(recorded, self._log, run)
            if not await asyncio.to_thread(_is_over, self._log, run):
                self._unfinished.set()
                return

    async def _resume(self) -> bool:
        """Continue the newest unfinished run; return False if it must be retried."""
        for run in await asyncio.to_thread(self._log.runs):
            if await asyncio.to_thread(_is_over, self._log, run):
                continue
            record = await asyncio.to_thread(recorded, self._log, run)
            if self._current is not None:
                return False
            step = "undo" if record.taking_back else ""
            current = self._current = _Current(run, False, record.began, step=step)
            current.counts |= record.counts
            try:
                await asyncio.shield(self._start(self._resumed(current, record)))
            except (HunchError, OSError):
                return False  # already logged
        return True

    async def _resumed(self, current: _Current, record: Record) -> dict[str, Any]:
        if record.taking_back:
            if record.tries < MOST_TRIES:
                return await self._undo(current, record, record.change)
            logger.warning("run %s cannot be undone: tried %d times", record.run, record.tries)
            await self._told(record.run, "left half done", record.change)
            return record.json()
        await asyncio.to_thread(self._log.append, current.run, [{"type": "resumed", "at": iso(self._now())}])
        if record.tries < MOST_TRIES:
            known = {owner.id: owner for owner in self._owners(None)}
            return await self._go_on(current, [known[one] for one in record.owner_ids if one in known], record)
        logger.warning("run %s was interrupted %d times; rolling it back", record.run, record.tries)
        await self._making.take_back(record.run)
        ended = Ended("rolled_back", self._now(), {})
        await asyncio.to_thread(self._log.append, current.run, [ended.json()])
        self._last = await asyncio.to_thread(recorded, self._log, record.run)
        return self._last.json()

    def _at(self, current: _Current, owner: Owner, step: str) -> None:
        current.owner, current.step = owner.name, step
        self._events.tell("consolidation", **current.json(), status="running")

    def _count(self, current: _Current, entries: Sequence[Entry]) -> None:
        current.done += len(entries)
        for entry in entries:
            current.counts[entry.counts] += 1

    def _changes(self, run: str, after: int, limit: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        number = -1
        for line in self._log.lines(run):
            if line["type"] != "change":
                continue
            number += 1
            if number >= after:
                found.append(_shown(Entry.of_json(line), number))
            if len(found) >= limit:
                break
        return found


async def _answer_of(task: asyncio.Task[dict[str, Any]]) -> dict[str, Any]:
    """Wait for a run's result without cancelling it.

    Raises Conflict if the run was stopped.
    """
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise Conflict("the run was stopped", hint="start it again") from None
        raise


def _began(log: RunLog, run: str) -> datetime:
    """Return when a run began; 1970 if its log cannot be read."""
    begun = next(log.lines(run), {})
    return datetime.fromisoformat(begun.get("at", "1970-01-01T00:00:00+00:00"))


def _is_over(log: RunLog, run: str) -> bool:
    """Return True if a run ended.

    Reads only the last line of its log, which may have 100 MB.
    """
    last = log.last(run)
    return last is not None and last["type"] in ("ended", "undone", "left half done")


def _going(memory: Memory) -> Entry:
    """Return a planned erasure as a change.

    Erasures that were executed are not listed.
    """
    why = f"{memory.source.get(ARCHIVED, 'archived')}; this cannot be undone"
    return Entry(Step.ERASE, "erased", f"erase {memory.title!r}", why, memory.project, ())


def _shown(entry: Entry, number: int) -> dict[str, Any]:
    """Serialize a change with old and new values of each memory, field by field."""
    told = entry.json()
    told["edits"] = [{"id": edit["id"], "was": edit["was"], "now": edit["now"]} for edit in told["edits"]]
    return {"change": number, **told}
