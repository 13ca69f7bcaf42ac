"""The product on one page: the write path (accept, absorb) and the read path (context, predict, search)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hunchd.assembly.tokens import count
from hunchd.config.places import make_private
from hunchd.consolidation.chronicling import quoting
from hunchd.domain.context import Bundle
from hunchd.domain.errors import InvalidInput, NotFound
from hunchd.domain.facts import Change
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory
from hunchd.domain.signal import Signal
from hunchd.engine.absorbing import recall_errors
from hunchd.engine.accepting import Accepting
from hunchd.engine.answers import Answers
from hunchd.engine.contradicting import Contradicting
from hunchd.engine.conversations import Conversations
from hunchd.engine.events import Events
from hunchd.engine.expanding import expanded, memory_at
from hunchd.engine.fixing import Fixing
from hunchd.engine.habits import Habits
from hunchd.engine.housekeeping import Housekeeping
from hunchd.engine.indexing import Indexing
from hunchd.engine.judging import judging_of
from hunchd.engine.knowledge import Knowledge
from hunchd.engine.logs import Logs
from hunchd.engine.memories import Memories
from hunchd.engine.mining import Mining
from hunchd.engine.parts import Parts
from hunchd.engine.project import Own, Project
from hunchd.engine.projects import Projects
from hunchd.engine.reading import ledger_of, reading_of
from hunchd.engine.searching import Searching
from hunchd.engine.sessions import Sessions
from hunchd.engine.transfer import Transfer
from hunchd.engine.upkeep import Upkeep
from hunchd.engine.vitals import Vitals
from hunchd.engine.watching import Watching
from hunchd.engine.writing import Write, Writer
from hunchd.prediction.session import SessionEvent
from hunchd.protocol.answers import page_json
from hunchd.protocol.memories import MemoryDraft, memory_from_json, memory_json
from hunchd.protocol.messages import signal_from_json
from hunchd.protocol.requests import ContextRequest, ExpandRequest, FeedbackItem, PredictRequest, SearchRequest
from hunchd.repository.layout import is_folder
from hunchd.store.journal import Record

logger = logging.getLogger(__name__)

REPLAY_SLICE = 100  # records absorbed before questions get a turn: about 5 ms
SETTLE = 0.8  # seconds that a stop waits for the store


class Engine:
    """All that the doors may ask. Signals and memories are durable once their call returns."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._now = parts.now
        store = parts.settings.store
        self.events = Events()
        self._writer = Writer(
            parts.journal,
            parts.hot,
            parts.store,
            batch=store.batch,
            gather=store.commit_ms / 1_000,
            most=parts.settings.signals.queue,
        )
        self._own = Own()
        self._memories = Memories(
            parts.journal, parts.hot, parts.store, self._writer, now=parts.now, noticed=self._noticed
        )
        ledger = ledger_of(parts)
        judging = judging_of(parts, ledger)
        self._contradicting = Contradicting(
            self._memories,
            parts.hot,
            parts.store,
            now=parts.now,
            judging=judging,
            reads=parts.settings.embedding.reads_pairs,
        )
        self._answers = Answers(
            parts.settings.context,
            parts.hot,
            self.events,
            self._own,
            secret=parts.secret,
            now=parts.now,
            degraded=self._degraded,
            answered=lambda bundle: self._housekeeping.showed(bundle),
        )
        self._indexing = Indexing(
            parts.indexer, parts.store, self._memories, self.events, parts.settings.index, self._loaded
        )
        self._watching = Watching(parts, self._seen, self.accept_signals)
        self._projects = Projects(parts, self._indexing, self._watching.watch)
        self._fixing = Fixing(self._memories, self._projects.known, parts)
        self._mining = Mining(self._memories, self._projects.known, parts, self.events)
        self._habits = Habits(self._memories, self._projects.known, parts)
        self._upkeep = Upkeep(self._indexing, self._projects.known, self._renewed, self._mining.note)
        self._searching = Searching(parts.hot, parts.store, now=parts.now)
        self._sessions = Sessions(parts.journal, parts.hot, parts.store, self._writer, self._memories, now=parts.now)
        self._reading = reading_of(parts, ledger, self._sessions, self._memories)
        self.conversations = Conversations(
            self._sessions,
            self._memories,
            self._searching,
            parts.hot,
            secret=parts.secret,
            project_id=lambda named: self._projects.find(named)[0].id,
            reading=self._reading,
            now=parts.now,
        )
        self._transfer = Transfer(self._projects, self._memories, parts.store, self._writer, now=parts.now)
        self.knowledge = Knowledge(self._memories, self._projects, self._writer, now=parts.now)
        known = (self._projects, self._memories, self._writer, self.events)
        self._housekeeping = Housekeeping(parts, *known, self._indexing, idle=lambda: self.idle_seconds)
        self.runs = self._housekeeping.runs
        self._sessions.gone = self._housekeeping.forgotten
        self._accepting = Accepting(
            projects=self._projects,
            hot=parts.hot,
            writer=self._writer,
            answers=self._answers,
            conversations=self.conversations,
            housekeeping=self._housekeeping,
            upkeep=self._upkeep,
            fixing=self._fixing,
            habits=self._habits,
            events=self.events,
            now=parts.now,
        )
        self._vitals = Vitals(parts, self._projects, self._writer, self._answers, self._watching, self._reading)
        self._erasing = parts.places.data / "erasing"  # a file for each project whose erasure has begun
        self._asked = time.monotonic()

    @property
    def idle_seconds(self) -> float:
        """Since somebody asked or told something."""
        return time.monotonic() - self._asked

    # Life

    def open(self) -> None:
        """Take up the projects and what the journal still holds; the daemon may answer from here on."""
        self._watching.open()
        self._projects.open_all()
        self._answers.take_up_board(self._parts.places.state / "scoreboard.json")
        tasks = self._parts.tasks
        tasks.start("eyes", self._watching.keep_watching)
        tasks.start("watching", self._watching.take_in)
        tasks.start("letterbox", self._watching.empty_letterbox)
        tasks.start("prefetch", self._answers.build_ahead)
        tasks.start("upkeep", self._upkeep.run)
        tasks.start("line reading", self._accepting.line_reading.run)
        tasks.start("fixes", self._fixing.run)
        tasks.start("past fixes", self._fixing.past.run)
        if patterns := self._parts.settings.signals.error_logs:
            logs = Logs(patterns, self._projects.roots, self.accept_signals)
            tasks.start("logs", logs.run)
        tasks.start("patterns", self._mining.run)
        tasks.start("contradictions", self._contradicting.run)
        tasks.start("habits", self._habits.run)
        tasks.start("condensing", self.conversations.keep_condensing)
        if self._reading is not None:
            tasks.start("reading", self._reading.run)
        tasks.start("warm-up", self._warm_up)
        self._housekeeping.open(tasks)

    async def settle(self) -> None:
        """Before the end: give what waits a moment to reach the store, so that nothing is left to take up again."""
        if self._writer.pending and self._parts.store_process.pid is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(SETTLE):
                    await self._writer.drained()

    async def close(self) -> None:
        """Leave everything for the next start; what is accepted is in the journal in any case."""
        self._watching.close()
        await self._housekeeping.close()
        await self._answers.keep_board()
        for project in self._projects:
            if project.predictor is not None and not project.indexing:
                await asyncio.to_thread(self._indexing.remember, project)
            if project.code is not None:
                project.code.close()

    async def _take_up(self) -> None:
        """Absorb what was accepted before the last stop, a slice at a time so that questions are answered meanwhile.

        The writer starts behind it: were a newer record stored first, the checkpoint would pass the older ones.
        """
        last = self._parts.journal.last
        for number, (sequence, record) in enumerate(self._parts.journal.replay()):
            if sequence > last:
                break
            try:
                self._replay(sequence, record)
            except Exception:  # one record that nobody understands must not keep all others from the store
                logger.exception("a record of type %r in the journal is passed over", record.type)
                self._writer.add(Write(sequence))
            if number % REPLAY_SLICE == REPLAY_SLICE - 1:
                await asyncio.sleep(0)

    async def _warm_up(self) -> None:
        for begun in self._erasing.iterdir() if self._erasing.is_dir() else ():
            await self._erase(begun.name)  # first, or what the journal holds of it would be stored again
        await self._take_up()
        self._parts.tasks.start("writer", self._writer.run)
        await self._sessions.warm((None, *self._projects.ids))
        await asyncio.to_thread(count, "the tokenizer's vocabulary is loaded before the first question needs it")
        for identifier in (None, *self._projects.ids):
            memories = await self._memories.warm(identifier)
            project = self._projects.known(identifier)
            if project is None:
                self._own.notice(Change(tuple(memories)))
            else:
                project.facts = {memory.id: memory for memory in memories if memory.kind is Kind.FACT}
                project.notice(Change(tuple(memories), project=project.id))
                recall_errors(project, memories)
                self._habits.look_at(project)
                project.touch()

    async def nightly(self) -> None:
        """What a quiet night is for."""
        await self._housekeeping.nightly()

    # Projects

    async def add_project(self, path: str) -> dict[str, Any]:
        project = self._projects.add(path)
        self.events.tell("project", project=project.id, path=str(project.root))
        return project.json()

    async def projects(self) -> list[dict[str, Any]]:
        return [project.json() for project in self._projects]

    async def remove_project(self, identifier: str) -> dict[str, Any]:
        """Erase all that is kept of a project, from disk too; once begun it is finished, if need be after a crash."""
        project, _ = self._projects.find(identifier)
        make_private(self._erasing)
        (self._erasing / project.id).touch(mode=0o600)
        self._watching.unwatch(project)
        await self._housekeeping.leave(project.id)
        await self._writer.drained()  # or it is refused here, with nothing lost yet
        await self._projects.remove(project.id)
        await self._writer.leave(project.id)
        await self._erase(project.id)
        return {"removed": project.id}

    async def _erase(self, identifier: str) -> None:
        if self._projects.known(identifier) is not None:
            await self._projects.remove(identifier)  # begun by an earlier run
        self._answers.forget(identifier)
        self._sessions.forget_project(identifier)
        self._parts.hot.forget_project(identifier)
        self._mining.forget_project(identifier)
        self._fixing.past.forget_project(identifier)
        await self._housekeeping.forgotten_project(identifier)
        await self._parts.store.erase(identifier)
        await self._parts.journal.erase_project(identifier)
        await asyncio.to_thread(self._projects.clear_cache, identifier)  # of what was still being written there
        (self._erasing / identifier).unlink(missing_ok=True)

    # The write path

    async def accept_signals(self, raw: Sequence[Any]) -> dict[str, Any]:
        """Keep what can be kept, name what cannot; returns when the kept ones are durable."""
        self._asked = time.monotonic()
        return await self._accepting.signals(raw)

    async def _seen(self, seen: Sequence[Signal]) -> None:
        await self._accepting.seen(seen)

    def _replay(self, sequence: int, record: Record) -> None:
        """What was accepted before the last stop and is not in the store yet."""
        match record.type:
            case "memory":
                change = Change((memory_from_json(record.data),), project=record.project, silent=True)
                self._memories.apply(sequence, change, replayed=True)
            case "change":
                memories = tuple(memory_from_json(told) for told in record.data["memories"])
                change = Change(memories, tuple(record.data["deletions"]), record.project)
                self._memories.apply(sequence, change, replayed=True)
            case "forget":
                change = Change(deletions=(record.data["id"],), project=record.project, silent=True)
                self._memories.apply(sequence, change, replayed=True)
            case "signal" if (project := self._projects.known(record.project)) is not None:
                signal = signal_from_json(record.data)
                self._accepting.absorb(sequence, record, signal, project, project.tree_of(signal.project))
            case _:  # of a project that is gone, or of a later version of ours: passed over, or it would wait for ever
                logger.warning("a record of type %r in the journal concerns nothing that is known", record.type)
                self._writer.add(Write(sequence))

    def _renewed(self, project: Project) -> None:
        self._answers.wish(project, project.main, next(reversed(project.main.opened), ""))

    def _loaded(self, project: Project) -> None:
        """A new model does not know the session yet."""
        self._mining.note(project)
        self._accepting.line_reading.note(project, project.main)
        if project.predictor is not None:
            for tree in project.trees.values():
                for path, at in tree.opened.items():
                    project.predictor.note(SessionEvent("opened", int(at.timestamp()), path))

    # The read path

    async def context(self, request: ContextRequest) -> Bundle:
        self._asked = time.monotonic()
        project, tree = self._projects.find(request.project)
        return self._answers.context(request, project, tree)

    async def predict(self, request: PredictRequest) -> dict[str, Any]:
        project, tree = self._projects.find(request.project)
        return self._answers.predict(request, project, tree) | {"degraded": list(self._degraded(project))}

    async def search(self, request: SearchRequest) -> dict[str, Any]:
        if request.project is None:
            facts = self._own.facts.values()
            found = await self.knowledge.with_moments(request, await self._searching.search(request, None), facts)
            return self._housekeeping.found(request.query, None, found)
        project, tree = self._projects.find(request.project)
        found = await self._searching.search(request, project.id, tree.branch)
        found = await self.knowledge.with_moments(request, found, project.facts.values())
        if not found["results"] and (missing := self._degraded(project)):  # nothing yet is not nothing at all
            found |= {"status": "degraded", "degraded": [*found["degraded"], *missing]}
        return self._housekeeping.found(request.query, project.id, found)

    async def expand(self, request: ExpandRequest) -> dict[str, Any]:
        if request.id is not None and not request.id.startswith("file:"):
            owner = self._projects.find(request.project)[0].id if request.project else None
            memory = await self._memories.get(request.id, [owner] if owner else self._projects.ids)
            if owner is not None and memory.project not in (owner, None):
                raise NotFound(f"there is no memory '{request.id}' in this project")
            return memory_at(memory, request.level)
        if request.project is None:
            raise InvalidInput("'project' is needed to expand a topic or a file", field="project")
        project, _ = self._projects.find(request.project)
        found = await self._searching.search(
            SearchRequest(query=request.topic or request.id or "", project=request.project, k=5), project.id
        )
        return expanded(request, project, found["results"])

    # Memories

    async def remember(self, drafts: Sequence[MemoryDraft]) -> list[str]:
        return [one["id"] for one in (await self.file(drafts))["understood"]]

    async def file(self, drafts: Sequence[MemoryDraft]) -> dict[str, Any]:
        """Keep `drafts`; their ids, and how each was understood."""
        owners = [self._projects.find(draft.project)[0].id if draft.project else None for draft in drafts]
        return await self.knowledge.file(drafts, owners)

    async def memories(self, filters: Filters, limit: int, cursor: str | None) -> dict[str, Any]:
        if filters.project is not None:
            filters = replace(filters, project=self._projects.find(filters.project)[0].id)
        await self._writer.drained()
        page = await self._parts.store.list(filters, limit, cursor)
        return page_json([memory_json(memory) for memory in page.items], next_cursor=page.next, total=page.total)

    async def memory(self, identifier: str) -> Memory:
        return await self._memories.get(identifier, self._projects.ids)

    async def edit(self, identifier: str, patch: dict[str, Any]) -> Memory:
        return await self.knowledge.edit(identifier, patch)

    async def memory_history(self, identifier: str) -> list[dict[str, Any]]:
        return [memory_json(memory) for memory in await self._memories.history(identifier, self._projects.ids)]

    async def memory_usage(self, identifier: str) -> dict[str, Any]:
        return await self._housekeeping.told_of(await self.memory(identifier))

    async def forget(self, identifier: str) -> None:
        meant = list(dict.fromkeys((identifier, *quoting(await self.memory(identifier)))))
        done = await asyncio.gather(*map(self.knowledge.forget, meant), return_exceptions=True)
        await self._housekeeping.forgotten(meant)
        for failure in done:
            if isinstance(failure, BaseException) and not isinstance(failure, NotFound):  # gone already
                raise failure

    async def feedback(self, items: Sequence[FeedbackItem]) -> dict[str, Any]:
        """Count what helped and what did not; a predicted file (`file:path`) teaches its project's predictor."""
        kept = []
        for item in items:
            if not item.id.startswith("file:"):
                kept.append(item)
            elif item.project is not None:
                predictor = self._projects.find(item.project)[0].predictor
                if predictor is not None:
                    predictor.outcome(item.id.removeprefix("file:"), used=item.outcome in ("cited", "missed"))
        unknown = await self._memories.used(kept, self._projects.ids)
        self._housekeeping.judged(item for item in kept if item.id not in unknown)
        return {"accepted": len(items) - len(unknown), "unknown": unknown}

    def _noticed(self, change: Change) -> None:
        """What is kept shows in the next bundle: of its project, or of all when it is the user's own."""
        self._sessions.changed(change)
        self.conversations.forgotten(change.deletions)
        self._contradicting.note(change)
        if change.project is None:
            self._own.notice(change)
            for project in self._projects:
                project.touch()
        elif (owner := self._projects.known(change.project)) is not None:
            self._mining.noticed(owner, change)
            self._fixing.past.noticed(owner, change)
            owner.notice(change)
            self._habits.noticed(owner)

    # Everything else

    def export(self, project: str | None) -> AsyncIterator[dict[str, Any]]:
        return self._transfer.export(project)

    async def import_lines(self, lines: AsyncIterator[dict[str, Any]]) -> dict[str, Any]:
        return await self._transfer.take(lines)

    async def import_of(self, colleague: str, lines: AsyncIterator[dict[str, Any]], project: str) -> dict[str, Any]:
        """What a colleague exported of a project: beside what is known of it here, never in its place."""
        return await self._transfer.merge(lines, name=colleague, project=project)

    async def status(self) -> dict[str, Any]:
        return await self._vitals.status(degraded=self._degraded(None), consolidation=self.runs.status())

    async def metrics(self) -> str:
        return await self._vitals.metrics()

    def subscribe(self) -> AsyncIterator[dict[str, Any]]:
        return self.events.subscribe()

    def _degraded(self, project: Project | None) -> tuple[str, ...]:
        """What is broken or still loading, in words; of one project, or of all."""
        found = [self._writer.trouble] if self._writer.trouble else []
        if project is None:
            found += self._vitals.trouble()
        for known in self._projects if project is None else (project,):
            if known.missing:
                found.append(f"{known.root} {'cannot be read' if is_folder(known.root) else 'is not there'}")
            elif known.index_error:
                found.append(f"{known.name}: {known.index_error}")
            elif known.predictor is None:
                found.append(f"{known.name}: history is still being read")
            elif known.indexing:
                found.append(f"{known.name}: older history and files are still being read")
        return tuple(found)
