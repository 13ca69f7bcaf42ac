"""Facade of the application: write path (accept, absorb), read path (context, predict, search)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hunchd.assembly.tokens import count
from hunchd.codesearch.query import parse_query
from hunchd.consolidation.chronicling import quoting, says_it
from hunchd.domain.context import Bundle
from hunchd.domain.errors import NotFound
from hunchd.domain.facts import OWN_ROOTS, Change, is_shown_in_projects
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory
from hunchd.engine.answering.answers import Answers
from hunchd.engine.answering.code_searching import CodeSearching, with_code
from hunchd.engine.answering.expanding import expanded, memory_at
from hunchd.engine.answering.line_reading import LineReading
from hunchd.engine.answering.reviewing import PATIENCE, changed_files, review
from hunchd.engine.answering.searching import Searching, joined, own_request
from hunchd.engine.conversing.conversations import Conversations
from hunchd.engine.conversing.reading import reading_of
from hunchd.engine.conversing.sessions import Sessions
from hunchd.engine.conversing.spending import create_ledger
from hunchd.engine.erasure import ProjectEraser
from hunchd.engine.keeping.health import Health
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.unfinished import Unfinished
from hunchd.engine.keeping.writing import Writer
from hunchd.engine.knowledge.contradictions import Contradictions
from hunchd.engine.knowledge.knowledge import Knowledge
from hunchd.engine.knowledge.transfer import Transfer
from hunchd.engine.learning.code_cards import CodeCards
from hunchd.engine.learning.contradicting import Contradicting
from hunchd.engine.learning.fixing import Fixing
from hunchd.engine.learning.habits import Habits
from hunchd.engine.learning.indexing import Indexing
from hunchd.engine.learning.judging import judging_of
from hunchd.engine.learning.mining import Mining
from hunchd.engine.learning.projects import Projects
from hunchd.engine.learning.upkeep import Upkeep
from hunchd.engine.logs import Logs
from hunchd.engine.nightly.housekeeping import Housekeeping
from hunchd.engine.recovery import Recovery
from hunchd.engine.signal_intake import SignalIntake
from hunchd.engine.state.activity import ActivityClock
from hunchd.engine.state.events import Events
from hunchd.engine.state.feature import Features
from hunchd.engine.state.parts import Parts
from hunchd.engine.state.project import Project, Tree
from hunchd.engine.status import StatusReporter
from hunchd.engine.watching import Watching
from hunchd.protocol.answers import page_json
from hunchd.protocol.memories import MemoryDraft, memory_json
from hunchd.protocol.paths import relative_prefix
from hunchd.protocol.requests import (
    ContextRequest,
    ExpandRequest,
    FeedbackItem,
    PredictRequest,
    ReviewRequest,
    SearchRequest,
)

SETTLE = 0.8  # seconds that a shutdown waits for the store


class Engine:
    """Facade that the routes call.

    Signals and memories are durable once their call returns.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._features = features = Features()
        self._activity = ActivityClock()
        self.events = Events()
        store = parts.settings.store
        self._writer = Writer(
            parts.journal,
            parts.hot,
            parts.store,
            batch=store.batch,
            gather=store.commit_ms / 1_000,
            most=parts.settings.signals.queue,
        )
        self._health = Health(self._writer)
        self._memories = Memories(
            parts.journal,
            parts.hot,
            parts.store,
            self._writer,
            now=parts.now,
            unfinished=Unfinished(parts.places.data / "forgetting"),
            on_changed=self._on_memory_changed,
        )
        self._indexing = Indexing(
            parts.indexer, parts.store, self._memories, self.events, parts.settings.index, features
        )
        self._projects = Projects(parts, self._indexing, features)
        self._intake = SignalIntake(
            projects=self._projects,
            hot=parts.hot,
            writer=self._writer,
            features=features,
            events=self.events,
            activity=self._activity,
            now=parts.now,
        )
        self._create_features(parts, features)
        self._status = StatusReporter(parts, self._projects, self._writer, self._health, features)
        self._eraser = ProjectEraser(parts, self._projects, self._writer, self._memories, features)
        self._recovery = Recovery(
            journal=parts.journal,
            writer=self._writer,
            memories=self._memories,
            projects=self._projects,
            intake=self._intake,
            features=features,
        )

    def _create_features(self, parts: Parts, features: Features) -> None:
        """Create the features; the order is the one in which each of them hears of a change.

        Patterns and fixes compare a change with what their project still knows, hence they come before the projects.
        """
        memories, projects = self._memories, self._projects
        ledger = create_ledger(parts)
        self._code = CodeSearching(parts.store, now=parts.now)
        self._answers = Answers(
            parts.settings.context,
            parts.hot,
            self.events,
            projects.own,
            secret=parts.secret,
            now=parts.now,
            list_problems=self._health.list_problems,
            features=features,
            scoreboard_file=parts.places.state / "scoreboard.json",
            reorder=self._code.reorder,
        )
        self._searching = Searching(parts.hot, parts.store, now=parts.now)
        self._sessions = Sessions(
            parts.journal, parts.hot, parts.store, self._writer, memories, now=parts.now, features=features
        )
        reading = reading_of(parts, ledger, self._sessions, memories)
        self.conversations = Conversations(
            self._sessions,
            memories,
            self._searching.search,
            projects.standing,
            secret=parts.secret,
            project_id=projects.id_of,
            reading=reading,
            now=parts.now,
        )
        contradicting = Contradicting(
            memories,
            parts.hot,
            parts.store,
            now=parts.now,
            judging=judging_of(parts, ledger),
            reads=parts.settings.embedding.reads_pairs,
        )
        self._transfer = Transfer(projects, memories, parts.store, self._writer, now=parts.now)
        self.contradictions = Contradictions(memories, projects, self._writer, contradicting, now=parts.now)
        self.knowledge = Knowledge(memories, projects, self.contradictions.unresolve, now=parts.now)
        self._housekeeping = Housekeeping(
            parts, projects, memories, self._writer, self.events, self._indexing, self._activity
        )
        self.runs = self._housekeeping.runs
        features.add(
            Watching(parts, self._intake),
            self.conversations,
            *([reading] if reading is not None else []),
            contradicting,
            Mining(memories, projects.known, parts, self.events),
            Fixing(memories, projects.known, parts),
            self._housekeeping,
            self._answers,
            projects,
            Habits(memories, projects.known, parts),
            Upkeep(self._indexing, projects.known, features),
            self._code,
            CodeCards(parts.store, projects.known),
            LineReading(),
            Logs(parts.settings.signals.error_logs, projects.roots, self._intake.accept),
        )

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last request of a client."""
        return self._activity.idle_seconds

    # Lifecycle

    def open(self) -> None:
        """Start the features; the daemon may answer from here on, while the journal is still being replayed."""
        self._features.start(self._parts.tasks)
        self._parts.tasks.start("warm-up", self._warm_up)

    async def settle(self) -> None:
        """Give queued writes a moment to reach the store, so that the next start has nothing to replay."""
        if self._writer.pending and self._parts.store_process.pid is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(SETTLE):
                    await self._writer.drained()

    async def close(self) -> None:
        """Stop the features; accepted records are in the journal in any case."""
        await self._features.stop()

    async def _warm_up(self) -> None:
        await self._eraser.finish()  # first, or what the journal holds of it would be stored again
        await self._recovery.replay()
        self._parts.tasks.start("writer", self._writer.run)
        await self._recovery.recall()  # before sessions: the first prompt already has profile and facts
        await self._sessions.warm((None, *self._projects.ids))
        await asyncio.to_thread(count, "the tokenizer's vocabulary is loaded before the first question needs it")
        await self._eraser.finish_forgetting()

    async def nightly(self) -> None:
        """Run the nightly maintenance."""
        await self._housekeeping.nightly()

    # Projects

    async def add_project(self, path: str) -> dict[str, Any]:
        """Register the project that contains `path` and return it."""
        project = self._projects.add(path)
        self.events.tell("project", project=project.id, path=str(project.root))
        return self._status.shown(project)

    async def projects(self) -> list[dict[str, Any]]:
        """Return all projects."""
        return [shown for _, shown in await self._status.projects()]

    async def remove_project(self, identifier: str) -> dict[str, Any]:
        """Erase a project, from disk too.

        An erasure interrupted by a crash is completed later.
        """
        try:
            project, _ = self._projects.find(identifier)
        except NotFound as error:
            raise NotFound(error.message, field="id", hint="GET /projects lists them") from error
        await self._eraser.erase(project)
        return {"removed": project.id}

    def refuse_unknown(self, project: str) -> None:
        """Raise NotFound if `project` names no project."""
        self._projects.find(project)

    # Write path

    async def accept_signals(self, raw: Sequence[Any]) -> dict[str, Any]:
        """Accept valid signals and report invalid ones; return when they are durable."""
        return await self._intake.accept(raw)

    # Read path

    async def context(self, request: ContextRequest) -> Bundle:
        """Return the bundle for a request."""
        self._activity.touch()
        project, tree = self._projects.find(request.project)
        if request.file is None and not (request.open_files or request.query):
            request = replace(request, changed=await changed_files(tree, within=PATIENCE))
        return self._answers.context(request, project, tree)

    async def predict(self, request: PredictRequest) -> dict[str, Any]:
        """Return the likely files and memories."""
        project, tree = self._projects.find(request.project)
        return self._answers.predict(request, project, tree) | {"degraded": list(self._health.list_problems([project]))}

    async def review(self, request: ReviewRequest) -> dict[str, Any]:
        """Return what the uncommitted change still lacks."""
        project, tree = self._projects.find(request.project)
        told = await review(request, project, tree, self._parts.now())
        return told | {"degraded": list(self._health.list_problems([project]))}

    async def search(self, request: SearchRequest) -> dict[str, Any]:
        """Search code and memories of a project, of a session's project, or memories of the user."""
        if request.project is None and request.session is not None:
            request = replace(request, project=self.conversations.project_of(request.session))
        query = parse_query(request.query)
        request = replace(request, query=query.gist)  # memories are found by what a long text is about
        if request.project is None:
            facts = self._projects.own.facts.values()
            found = await self.knowledge.with_moments(request, await self._searching.search(request, None), facts)
            return self._housekeeping.found(request.query, None, found)
        project, tree = self._projects.find(request.project)
        request = replace(request, path_prefix=relative_prefix(request.path_prefix, tree.root))
        began = time.perf_counter()
        code, found = await asyncio.gather(
            self._code.search(request, query, project, tree), self._search_memories(request, project, tree)
        )
        found["took_ms"] = round((time.perf_counter() - began) * 1_000, 2)
        if code.results or code.degraded:
            found = with_code(found, code, query.intent, request.k)
        missing = self._health.list_problems([project])
        if missing and not found["results"]:  # nothing yet is not nothing at all
            found |= {"status": "degraded", "degraded": [*found["degraded"], *missing]}
        return self._housekeeping.found(request.query, project.id, found)

    async def _search_memories(self, request: SearchRequest, project: Project, tree: Tree) -> dict[str, Any]:
        if not request.memories:
            return {"results": [], "status": "empty", "degraded": [], "took_ms": 0.0}
        found = await self._search_with_own(request, project, tree)
        return await self.knowledge.with_moments(request, found, project.facts.values())

    async def _search_with_own(self, request: SearchRequest, project: Project, tree: Tree) -> dict[str, Any]:
        """Search a project, and among the user's own memories what is of use in every project."""
        asked = own_request(request)
        if asked is None:
            return await self._searching.search(request, project.id, tree.branch)
        found, own = await asyncio.gather(
            self._searching.search(request, project.id, tree.branch), self._searching.search(asked, None)
        )
        facts = self._projects.own.facts

        def is_shown(result: dict[str, Any]) -> bool:
            if result["kind"] == Kind.FACT:
                return (fact := facts.get(result["id"])) is not None and is_shown_in_projects(fact)
            return str(result["source"].get("path", "")).startswith(OWN_ROOTS)

        return joined(found, {**own, "results": list(filter(is_shown, own["results"]))}, request.k)

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
        unknown = NotFound("there is no project to look this up in", hint="POST /projects (`hunch add`) first")
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
        """Return a page of the memories that match; those of all projects if none is named."""
        if filters.project is not None:
            project, tree = self._projects.find(filters.project)
            prefix = relative_prefix(filters.path_prefix, tree.root)
            filters = replace(filters, project=project.id, path_prefix=prefix)
        await self._writer.drained()
        if filters.project is None:
            page = await self._parts.store.list_all((None, *self._projects.ids), filters, limit, cursor)
        else:
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
            await self._features.forget_memories(meant)
            for failure in done:
                if isinstance(failure, BaseException) and not isinstance(failure, NotFound):  # already erased
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

    def _on_memory_changed(self, change: Change) -> None:
        self._features.on_memory_changed(change, self._projects.known(change.project))

    # Transfer and status

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
        return await self._status.status()

    async def metrics(self) -> str:
        """Return the metrics as Prometheus text."""
        return await self._status.metrics()

    def subscribe(self) -> AsyncIterator[dict[str, Any]]:
        """Yield events from now on."""
        return self.events.subscribe()
