"""Facade of the application: write path (accept, absorb), read path (context, predict, search)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hunchd.assembly.tokens import count
from hunchd.consolidation.chronicling import quoting, says_it
from hunchd.domain.context import Bundle
from hunchd.domain.errors import NotFound
from hunchd.domain.facts import Change
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Memory
from hunchd.domain.signal import Signal
from hunchd.engine.accepting import Accepting
from hunchd.engine.answering.answers import Answers
from hunchd.engine.answering.expanding import expanded, memory_at
from hunchd.engine.answering.searching import Searching
from hunchd.engine.conversing.conversations import Conversations
from hunchd.engine.conversing.reading import ledger_of, reading_of
from hunchd.engine.conversing.sessions import Sessions
from hunchd.engine.erasing import Erasing
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.unfinished import Unfinished
from hunchd.engine.keeping.writing import Writer
from hunchd.engine.knowledge.contradictions import Contradictions
from hunchd.engine.knowledge.knowledge import Knowledge
from hunchd.engine.knowledge.transfer import Transfer
from hunchd.engine.learning.indexing import Indexing
from hunchd.engine.learning.judging import judging_of
from hunchd.engine.learning.learning import Learning
from hunchd.engine.learning.projects import Projects
from hunchd.engine.logs import Logs
from hunchd.engine.nightly.housekeeping import Housekeeping
from hunchd.engine.resuming import Resuming
from hunchd.engine.state.events import Events
from hunchd.engine.state.parts import Parts
from hunchd.engine.state.project import Own, Project
from hunchd.engine.vitals import Vitals
from hunchd.engine.watching import Watching
from hunchd.protocol.answers import page_json
from hunchd.protocol.memories import MemoryDraft, memory_json
from hunchd.protocol.paths import relative_prefix
from hunchd.protocol.requests import ContextRequest, ExpandRequest, FeedbackItem, PredictRequest, SearchRequest

SETTLE = 0.8  # seconds that a stop waits for the store


class Engine:
    """Facade that the routes call.

    Signals and memories are durable once their call returns.
    """

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
            parts.journal,
            parts.hot,
            parts.store,
            self._writer,
            now=parts.now,
            unfinished=Unfinished(parts.places.data / "forgetting"),
            noticed=self._noticed,
        )
        ledger = ledger_of(parts)
        self._answers = Answers(
            parts.settings.context,
            parts.hot,
            self.events,
            self._own,
            secret=parts.secret,
            now=parts.now,
            degraded=self._degraded,
            answered=lambda bundle, project: self._housekeeping.showed(bundle, project),
        )
        self._indexing = Indexing(
            parts.indexer,
            parts.store,
            self._memories,
            self.events,
            parts.settings.index,
            lambda project: self._learning.indexed(project),
        )
        self._watching = Watching(parts, self._seen, self.accept_signals)
        self._projects = Projects(parts, self._indexing, self._watching.watch, self._watching.unwatch)
        self._learning = Learning(
            parts,
            self._memories,
            self._projects,
            self._indexing,
            self.events,
            judging_of(parts, ledger),
            renewed=self._renewed,
        )
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
        contradictions = Contradictions(
            self._memories, self._projects, self._writer, self._learning.contradicting, now=parts.now
        )
        self.knowledge = Knowledge(self._memories, self._projects, contradictions, now=parts.now)
        self._housekeeping = Housekeeping(
            parts,
            self._projects,
            self._memories,
            self._writer,
            self.events,
            self._indexing,
            idle=lambda: self.idle_seconds,
        )
        self.runs = self._housekeeping.runs
        self._sessions.gone = self._housekeeping.forgotten
        self._accepting = Accepting(
            projects=self._projects,
            hot=parts.hot,
            writer=self._writer,
            answers=self._answers,
            conversations=self.conversations,
            housekeeping=self._housekeeping,
            learning=self._learning,
            events=self.events,
            now=parts.now,
        )
        self._vitals = Vitals(parts, self._projects, self._writer, self._answers, self._watching, self._reading)
        self._erasing = Erasing(
            parts,
            self._projects,
            self._watching,
            self._writer,
            self._memories,
            self._housekeeping,
            forgetting=(
                self._answers.forget,
                self._sessions.forget_project,
                parts.hot.forget_project,
                self._learning.forget_project,
            ),
        )
        self._resuming = Resuming(
            journal=parts.journal,
            writer=self._writer,
            memories=self._memories,
            projects=self._projects,
            own=self._own,
            accepting=self._accepting,
            learning=self._learning,
        )
        self._asked = time.monotonic()

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last request or signal."""
        return time.monotonic() - self._asked

    # Life

    def open(self) -> None:
        """Open the projects and start the background tasks.

        Requests may be answered from here on.
        """
        self._watching.open()
        self._projects.open_all()
        self._answers.take_up_board(self._parts.places.state / "scoreboard.json")
        tasks = self._parts.tasks
        tasks.start("eyes", self._watching.keep_watching)
        tasks.start("watching", self._watching.take_in)
        tasks.start("letterbox", self._watching.empty_letterbox)
        tasks.start("prefetch", self._answers.build_ahead)
        if patterns := self._parts.settings.signals.error_logs:
            logs = Logs(patterns, self._projects.roots, self.accept_signals)
            tasks.start("logs", logs.run)
        self._learning.open(tasks)
        tasks.start("condensing", self.conversations.keep_condensing)
        if self._reading is not None:
            tasks.start("reading", self._reading.run)
        tasks.start("warm-up", self._warm_up)
        self._housekeeping.open(tasks)

    async def settle(self) -> None:
        """Give pending records a moment to reach the store, so that the next start replays nothing."""
        if self._writer.pending and self._parts.store_process.pid is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(SETTLE):
                    await self._writer.drained()

    async def close(self) -> None:
        """Save the state for the next start.

        Accepted records are in the journal in any case.
        """
        self._watching.close()
        await self._housekeeping.close()
        await self._answers.close()
        for project in self._projects:
            if project.predictor is not None and not project.indexing:
                await asyncio.to_thread(self._indexing.remember, project)
            if project.code is not None:
                project.code.close()

    async def _warm_up(self) -> None:
        await self._erasing.finish()  # first, or what the journal holds of it would be stored again
        await self._resuming.replay()
        self._parts.tasks.start("writer", self._writer.run)
        await self._sessions.warm((None, *self._projects.ids))
        await asyncio.to_thread(count, "the tokenizer's vocabulary is loaded before the first question needs it")
        await self._resuming.recall()
        await self._erasing.finish_forgetting()

    async def nightly(self) -> None:
        """Run the nightly maintenance."""
        await self._housekeeping.nightly()

    # Projects

    async def add_project(self, path: str) -> dict[str, Any]:
        """Register the project that contains `path` and return it."""
        project = self._projects.add(path)
        self.events.tell("project", project=project.id, path=str(project.root))
        return self._vitals.shown(project)

    async def projects(self) -> list[dict[str, Any]]:
        """Return all projects."""
        return [told for _, told in await self._vitals.projects()]

    async def remove_project(self, identifier: str) -> dict[str, Any]:
        """Erase a project, from disk too.

        An erasure interrupted by a crash is completed later.
        """
        try:
            project, _ = self._projects.find(identifier)
        except NotFound as error:
            raise NotFound(error.message, field="id", hint="GET /projects lists them") from error
        await self._erasing.erase(project)
        return {"removed": project.id}

    def refuse_unknown(self, project: str) -> None:
        """Raise NotFound if `project` names no project."""
        self._projects.find(project)

    # The write path

    async def accept_signals(self, raw: Sequence[Any]) -> dict[str, Any]:
        """Accept valid signals and report invalid ones; return when they are durable."""
        self._asked = time.monotonic()
        return await self._accepting.signals(raw)

    async def _seen(self, seen: Sequence[Signal]) -> None:
        await self._accepting.seen(seen)

    def _renewed(self, project: Project) -> None:
        self._answers.wish(project, project.main, next(reversed(project.main.opened), ""))

    # The read path

    async def context(self, request: ContextRequest) -> Bundle:
        """Return the bundle for a request."""
        self._asked = time.monotonic()
        project, tree = self._projects.find(request.project)
        return self._answers.context(request, project, tree)

    async def predict(self, request: PredictRequest) -> dict[str, Any]:
        """Return the likely files and memories."""
        project, tree = self._projects.find(request.project)
        return self._answers.predict(request, project, tree) | {"degraded": list(self._degraded(project))}

    async def search(self, request: SearchRequest) -> dict[str, Any]:
        """Search the memories of a project, of a session's project, or of the user."""
        if request.project is None and request.session is not None:
            request = replace(request, project=self.conversations.project_of(request.session))
        if request.project is None:
            facts = self._own.facts.values()
            found = await self.knowledge.with_moments(request, await self._searching.search(request, None), facts)
            return self._housekeeping.found(request.query, None, found)
        project, tree = self._projects.find(request.project)
        request = replace(request, path_prefix=relative_prefix(request.path_prefix, tree.root))
        found = await self._searching.search(request, project.id, tree.branch)
        found = await self.knowledge.with_moments(request, found, project.facts.values())
        if not found["results"] and (missing := self._degraded(project)):  # nothing yet is not nothing at all
            found |= {"status": "degraded", "degraded": [*found["degraded"], *missing]}
        return self._housekeeping.found(request.query, project.id, found)

    async def expand(self, request: ExpandRequest) -> dict[str, Any]:
        """Return the detailed text of a memory, file or topic."""
        if request.id is not None and not request.id.startswith("file:"):
            owner = self._projects.find(request.project)[0].id if request.project else None
            memory = await self._memories.get(request.id, [owner] if owner else self._projects.ids)
            if owner is not None and memory.project not in (owner, None):
                raise NotFound(f"there is no memory '{request.id}' in this project", field="id")
            return memory_at(memory, request.level)
        if request.project is not None:
            return await self._expanded(request, self._projects.find(request.project)[0])
        return await self._expanded_where_known(request)

    async def _expanded_where_known(self, request: ExpandRequest) -> dict[str, Any]:
        """Expand a pointer without a project, trying the projects most recently used first."""
        unknown = NotFound("no project is known that could tell it", hint="POST /projects (`hunch add`) first")
        for number, project in enumerate(sorted(self._projects, key=lambda one: -one.asked)):
            try:
                return await self._expanded(request, project)
            except NotFound as error:
                unknown = error if number == 0 else unknown
        raise unknown

    async def _expanded(self, request: ExpandRequest, project: Project) -> dict[str, Any]:
        found = await self._searching.search(
            SearchRequest(query=request.topic or request.id or "", project=project.id, k=5), project.id
        )
        return expanded(request, project, found["results"])

    # Memories

    async def file(self, drafts: Sequence[MemoryDraft]) -> dict[str, Any]:
        """Store `drafts`; return their ids and how each was understood."""
        owners = [self._projects.find(draft.project)[0].id if draft.project else None for draft in drafts]
        return await self.knowledge.file(drafts, owners)

    async def memories(self, filters: Filters, limit: int, cursor: str | None) -> dict[str, Any]:
        """Return a page of the memories that match."""
        if filters.project is not None:
            project, tree = self._projects.find(filters.project)
            prefix = relative_prefix(filters.path_prefix, tree.root)
            filters = replace(filters, project=project.id, path_prefix=prefix)
        await self._writer.drained()
        page = await self._parts.store.list(filters, limit, cursor)
        return page_json([memory_json(memory) for memory in page.items], next_cursor=page.next, total=page.total)

    async def memory(self, identifier: str) -> Memory:
        """Return the memory with this id. Raises NotFound."""
        return await self._memories.get(identifier, self._projects.ids)

    async def edit(self, identifier: str, patch: dict[str, Any]) -> Memory:
        """Change some fields of a memory."""
        return await self.knowledge.edit(identifier, patch)

    async def memory_history(self, identifier: str) -> list[dict[str, Any]]:
        """Return a memory and its earlier versions, newest first."""
        return [memory_json(memory) for memory in await self._memories.history(identifier, self._projects.ids)]

    async def memory_usage(self, identifier: str) -> dict[str, Any]:
        """Return usage and consolidation history of a memory."""
        return await self._housekeeping.told_of(await self.memory(identifier))

    async def forget(self, identifier: str) -> None:
        """Erase a memory and what quotes it, from disk too."""
        memory = await self.memory(identifier)
        others = await self._memories.known(quoting(memory), memory.project)
        meant = [identifier, *(one.id for one in others.values() if says_it(one, memory))]
        await self.conversations.retell(memory)
        async with self._memories.unfinished.promised(meant, memory.project):
            done = await asyncio.gather(*map(self.knowledge.forget, meant), return_exceptions=True)
            await self._housekeeping.forgotten(meant)
            for failure in done:
                if isinstance(failure, BaseException) and not isinstance(failure, NotFound):  # gone already
                    raise failure

    async def feedback(self, items: Sequence[FeedbackItem]) -> dict[str, Any]:
        """Count feedback; a predicted file (`file:path`) trains its project's predictor."""
        known = await self._memories.used(
            [item for item in items if not item.id.startswith("file:")], self._projects.ids
        )
        self._housekeeping.judged((item, known[item.id].project) for item in items if item.id in known)
        unknown = [item.id for item in items if item.id not in known and not self._taught(item)]
        return {"accepted": len(items) - len(unknown), "unknown": unknown}

    def _taught(self, item: FeedbackItem) -> bool:
        """Train the predictor with feedback on a file.

        Return False if no project knows it.
        """
        path = item.id.removeprefix("file:")
        if path == item.id:
            return False
        named = item.project and self._projects.find(item.project)[0]
        for project in [named] if named else sorted(self._projects, key=lambda one: -one.asked):
            if project.predictor is not None and project.predictor.has(path):
                project.predictor.outcome(path, used=item.outcome in ("cited", "missed"))
                return True
        return False

    def _noticed(self, change: Change) -> None:
        """Propagate a change of memories, so that the next bundle shows it.

        A change of the user's own memories concerns all projects.
        """
        self._sessions.changed(change)
        self.conversations.forgotten(change.deletions)
        self._learning.noticed(change, self._projects.known(change.project))
        if change.project is None:
            self._own.notice(change)
            for project in self._projects:
                project.touch()

    # Everything else

    def export(self, project: str | None) -> AsyncIterator[dict[str, Any]]:
        """Yield all memories, or those of a project, as export lines."""
        return self._transfer.export(project)

    async def import_lines(self, lines: AsyncIterator[dict[str, Any]]) -> dict[str, Any]:
        """Import exported lines."""
        return await self._transfer.take(lines)

    async def import_of(self, colleague: str, lines: AsyncIterator[dict[str, Any]], project: str) -> dict[str, Any]:
        """Import a colleague's export of a project, beside one's own memories."""
        return await self._transfer.merge(lines, name=colleague, project=project)

    async def status(self) -> dict[str, Any]:
        """Return the status of the daemon."""
        return await self._vitals.status(degraded=self._degraded(None), consolidation=self.runs.status())

    async def metrics(self) -> str:
        """Return the metrics as Prometheus text."""
        return await self._vitals.metrics()

    def subscribe(self) -> AsyncIterator[dict[str, Any]]:
        """Yield events from now on."""
        return self.events.subscribe()

    def _degraded(self, project: Project | None) -> tuple[str, ...]:
        """Describe what is broken or still loading, in one project or in all."""
        found = [self._writer.trouble] if self._writer.trouble else []
        if project is None:
            found += self._vitals.trouble()
        for known in self._projects if project is None else (project,):
            if known.trouble:
                found.append(known.trouble)
        return tuple(found)
