"""Facade of the application, which stores signals and memories and answers all requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, replace
from functools import partial

from msgspec import structs

from hunchd.assembly.token_counter import count_tokens
from hunchd.codesearch.query import parse_query
from hunchd.config.description import describe_settings
from hunchd.config.editing import write_setting
from hunchd.config.loading import load_settings
from hunchd.consolidation.module_history import list_quoted_ids, repeats
from hunchd.core.cost_ledger import create_ledger
from hunchd.core.erasure import ProjectErasure
from hunchd.core.memory.health import Health
from hunchd.core.memory.hidden_work import HiddenWork
from hunchd.core.memory.memory_reader import list_of_owners
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.pending_erasures import PendingErasures
from hunchd.core.memory.question_preferences import QuestionPreferences
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.projects.model_updates import ModelUpdater
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.core.projects.project_indexer import ProjectIndexer
from hunchd.core.recovery import Recovery
from hunchd.core.self_check import run_doctor
from hunchd.core.signal_intake import SignalIntake
from hunchd.core.state.activity import ActivityClock
from hunchd.core.state.dependencies import Dependencies
from hunchd.core.state.events import EventBus
from hunchd.core.state.feature import Features
from hunchd.core.state.project import Project, WorkingTree
from hunchd.core.status import StatusReporter
from hunchd.domain.context import Bundle
from hunchd.domain.errors import ConfigError, InvalidInput, NotFound
from hunchd.domain.facts import OWN_ROOTS, MemoryChange, is_shown_in_projects
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.features.consolidation.maintenance import Maintenance
from hunchd.features.context.blame_reader import BlameReader
from hunchd.features.context.context_service import ContextService
from hunchd.features.context.review import PATIENCE, list_changed_files, list_changed_names, review
from hunchd.features.contradictions.contradiction_judge import create_judge
from hunchd.features.contradictions.contradiction_search import ContradictionSearch
from hunchd.features.contradictions.contradiction_service import ContradictionService
from hunchd.features.errors.fix_learning import FixLearner
from hunchd.features.knowledge.knowledge_service import KnowledgeService
from hunchd.features.knowledge.transfer import MemoryTransfer
from hunchd.features.observation.log_watcher import LogWatcher
from hunchd.features.observation.project_watcher import ProjectWatcher
from hunchd.features.patterns.pattern_mining import PatternMiner
from hunchd.features.search.code_cards import CardEmbedder
from hunchd.features.search.code_search import CodeSearchService
from hunchd.features.search.expansion import expand, expand_memory
from hunchd.features.search.search_service import PROMPT_TIMEOUT_SECONDS, SearchService, build_own_request, join_answers
from hunchd.features.sessions.session_reader import create_session_reader
from hunchd.features.sessions.session_registry import SessionRegistry
from hunchd.features.sessions.session_service import SessionService
from hunchd.features.team.feature import TeamFeature
from hunchd.features.workflows.command_learning import CommandLearner
from hunchd.protocol.knowledge_answers import FeedbackAnswer, IdsAnswer, MemoryUsageAnswer
from hunchd.protocol.memories import MemoryDraft, MemoryRecord, memory_to_record
from hunchd.protocol.paths import to_relative_path, to_relative_prefix
from hunchd.protocol.predictions import PredictionAnswer
from hunchd.protocol.requests import (
    ContextRequest,
    ExpandRequest,
    FeedbackItem,
    PredictRequest,
    ReviewRequest,
    SearchRequest,
)
from hunchd.protocol.responses import (
    FileAnswer,
    FocusAnswer,
    ForgottenAnswer,
    PageAnswer,
    ProjectAnswer,
    RemovedAnswer,
    ReviewAnswer,
)
from hunchd.protocol.search_results import ExpandAnswer, SearchAnswer, SearchResult
from hunchd.protocol.settings_answers import CheckAnswer, ProjectChange, SettingAnswer, SettingChange, SettingsAnswer
from hunchd.protocol.status_answers import StatusAnswer
from hunchd.retrieval.merging import merge_results
from hunchd.retrieval.outdated_messages import put_current_first

DRAIN_TIMEOUT_SECONDS = 0.8  # seconds that a shutdown waits for the store


class Engine:
    """Facade that the HTTP routes call; it creates the features and connects them.

    Signals and memories are durable once the call that stores them returns.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._features = features = Features()
        self._activity = ActivityClock()
        self.events = EventBus()
        store = dependencies.settings.store
        self._writer = StoreWriter(
            dependencies.journal,
            dependencies.memory_cache,
            dependencies.store,
            gather_seconds=store.commit_ms / 1_000,
            limit=dependencies.settings.signals.queue,
        )
        self._health = Health(self._writer)
        self._memories = MemoryService(
            dependencies.journal,
            dependencies.memory_cache,
            dependencies.store,
            self._writer,
            now=dependencies.now,
            pending_erasures=PendingErasures(dependencies.paths.data / "forgetting"),
            on_changed=self._on_memory_changed,
        )
        self._hidden_work = HiddenWork(dependencies.paths.data)
        self._project_indexer = ProjectIndexer(
            dependencies.indexer,
            dependencies.store,
            self._memories,
            self.events,
            dependencies.settings.index,
            features,
            self._hidden_work,
        )
        self._projects = OpenProjects(dependencies, self._project_indexer, features)
        self.intake = SignalIntake(
            projects=self._projects,
            memory_cache=dependencies.memory_cache,
            writer=self._writer,
            features=features,
            events=self.events,
            activity=self._activity,
            now=dependencies.now,
        )
        self._create_features(dependencies, features)
        self._status = StatusReporter(dependencies, self._projects, self._writer, self._health, features)
        self._eraser = ProjectErasure(dependencies, self._projects, self._writer, self._memories, features)
        self._recovery = Recovery(
            journal=dependencies.journal,
            writer=self._writer,
            memories=self._memories,
            projects=self._projects,
            intake=self.intake,
            features=features,
        )

    def _create_features(self, parts: Dependencies, features: Features) -> None:
        """Create the features in the order of their notification.

        Patterns and fixes compare a change with what their project still knows, so they must be notified before the
        projects.
        """
        memories, projects = self._memories, self._projects
        ledger = create_ledger(parts)
        self._now = parts.now
        self._code = CodeSearchService(parts.models, now=parts.now)
        self._context_service = ContextService(
            parts.settings.context,
            parts.memory_cache,
            self.events,
            projects.own,
            secret=parts.secret,
            now=parts.now,
            list_problems=self._health.list_problems,
            features=features,
            scoreboard_file=parts.paths.state / "scoreboard.json",
            hidden_work=self._hidden_work,
            reorder=self._code.reorder,
        )
        self._search_service = SearchService(
            parts.memory_cache, parts.store, now=parts.now, masks_contacts=parts.settings.sessions.personal != "keep"
        )
        self._session_registry = SessionRegistry(
            parts.journal,
            parts.memory_cache,
            parts.store,
            self._writer,
            memories,
            now=parts.now,
            features=features,
            masks_log=parts.settings.sessions.personal == "mask",
        )
        preferences = QuestionPreferences(parts.paths.state / "reactions.json")
        reading = create_session_reader(parts, ledger, self._session_registry, memories)
        self.conversations = SessionService(
            self._session_registry,
            memories,
            partial(self._search_service.search, timeout=PROMPT_TIMEOUT_SECONDS),
            projects.list_standing_facts,
            secret=parts.secret,
            find_project_id=projects.resolve_id,
            rate=parts.models.rate_sentences if parts.settings.embedding.enabled else None,
            embed=parts.models.embed if parts.settings.embedding.enabled else None,
            reader=reading,
            masks_contacts=parts.settings.sessions.personal != "keep",
            preferences=preferences,
            now=parts.now,
        )
        contradicting = ContradictionSearch(
            memories,
            parts.memory_cache,
            parts.store,
            parts.models,
            now=parts.now,
            judge=create_judge(parts, ledger),
            uses_model=parts.settings.embedding.judges_pairs,
        )
        self.transfer = MemoryTransfer(projects, memories, parts.store, self._writer, now=parts.now)
        self.contradictions = ContradictionService(memories, projects, self._writer, contradicting, now=parts.now)
        self.knowledge = KnowledgeService(memories, projects, self.contradictions.unresolve, now=parts.now)
        self._maintenance = Maintenance(
            parts, projects, memories, self._writer, self.events, self._project_indexer, self._activity, preferences
        )
        self.runs = self._maintenance.runs
        self._project_watcher = ProjectWatcher(parts, self.intake)
        self.team = TeamFeature(parts, memories, projects, features)
        features.add(
            self._project_watcher,
            self.conversations,
            *([reading] if reading is not None else []),
            contradicting,
            PatternMiner(memories, projects.find_by_id, parts, self.events, self._hidden_work),
            FixLearner(memories, projects.find_by_id, parts),
            self._maintenance,
            self._context_service,
            projects,
            CommandLearner(projects.find_by_id, parts),
            ModelUpdater(self._project_indexer, projects.find_by_id, features),
            self._code,
            CardEmbedder(parts.models, projects.find_by_id),
            BlameReader(),
            LogWatcher(parts.settings.signals.error_logs, projects.list_roots, self.intake.accept),
            self.team,
        )

    @property
    def idle_seconds(self) -> float:
        """Number of seconds since the last request from a client."""
        return self._activity.idle_seconds

    # Lifecycle

    def open(self) -> None:
        """Start the features.

        Requests can be answered even while the journal is being replayed.
        """
        self._features.start(self._dependencies.tasks)
        self._dependencies.tasks.start("warm-up", self._warm_up)

    async def drain_writer(self) -> None:
        """Wait briefly until queued writes have reached the store.

        The next start then has nothing to replay. Returns after DRAIN_TIMEOUT_SECONDS in any case.
        """
        if self._writer.pending and self._dependencies.store_process.pid is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_TIMEOUT_SECONDS):
                    await self._writer.drain()

    async def close(self) -> None:
        """Stop the features.

        Accepted records that have not been stored yet are safe in the journal.
        """
        await self._features.stop()

    async def _warm_up(self) -> None:
        await self._eraser.finish_pending()  # first, or the replay would store the erased project's records again
        await self._recovery.replay()
        self._dependencies.tasks.start("writer", self._writer.run)
        await (
            self._recovery.load_memories()
        )  # before the sessions, so that the first prompt already has profile and facts
        await self._session_registry.load_heads((None, *self._projects.ids))
        await asyncio.to_thread(count_tokens, "the tokenizer's vocabulary is loaded before the first question needs it")
        await self._eraser.finish_pending_memories()

    async def run_nightly(self) -> None:
        """Run the nightly maintenance."""
        await self._maintenance.run_nightly()

    # Projects

    async def add_project(self, path: str) -> ProjectAnswer:
        """Register the project that contains `path` and return it."""
        project = self._projects.add(path)
        self.events.publish("project", project=project.id, path=str(project.root))
        return self._status.describe_project(project)

    async def list_projects(self) -> list[ProjectAnswer]:
        """Return a description of each registered project."""
        return [summary for _, summary in await self._status.list_projects()]

    def change_project(self, identifier: str, change: ProjectChange) -> ProjectAnswer:
        """Pause or resume a project.

        Raises NotFound if the project is unknown.
        """
        project = self._projects.set_paused(identifier, is_paused=change.paused)
        self.events.publish("project", project=project.id, path=str(project.root))
        return self._status.describe_project(project)

    async def remove_project(self, identifier: str) -> RemovedAnswer:
        """Erase everything stored about a project, in memory and on disk.

        An erasure that a crash interrupts is completed at the next start. Raises NotFound if the project is unknown.
        """
        try:
            project, _ = self._projects.find(identifier)
        except NotFound as error:
            raise NotFound(error.message, field="id", hint="GET /projects lists them") from error
        await self._eraser.erase(project)
        return RemovedAnswer(removed=project.id)

    def require_project(self, project: str) -> None:
        """Raise NotFound if the project is unknown."""
        self._projects.find(project)

    # Read path

    def get_focus(self, project: str) -> FocusAnswer:
        """Return the open files, and the recently opened files with their predictions.

        A prediction states the rank and the probability that the file had before it was opened.
        """
        return self._context_service.get_focus(*self._projects.find(project))

    async def find_file(self, project: str, path: str) -> FileAnswer:
        """Tell whether a file exists; if not, find similar names."""
        found, tree = self._projects.find(project)
        relative = to_relative_path(path, tree.root)
        predictor = found.predictor
        if await asyncio.to_thread((tree.root / relative).is_file) or (predictor and predictor.has_file(relative)):
            return FileAnswer(path=relative, exists=True, similar=[])
        similar = await asyncio.to_thread(predictor.list_similar_files, relative) if predictor else []
        return FileAnswer(path=relative, exists=False, similar=similar)

    async def get_context(self, request: ContextRequest) -> Bundle:
        """Return the bundle for a request.

        If the request names neither files nor a question, the bundle is for the uncommitted change.
        """
        self._activity.touch()
        project, tree = self._projects.find(request.project)
        if request.file is None and not (request.open_files or request.query):
            changed = await list_changed_files(tree, within=PATIENCE)
            is_reviewing = bool(changed) and request.activity == "reviewing"
            names = await list_changed_names(tree, changed, within=PATIENCE) if is_reviewing else ()
            request = replace(request, changed=changed, changed_names=names)
        return self._context_service.get_context(request, project, tree)

    async def predict(self, request: PredictRequest) -> PredictionAnswer:
        """Return the files, memories and commands that are likely to be needed next."""
        project, tree = self._projects.find(request.project)
        prediction = self._context_service.predict(request, project, tree)
        return structs.replace(prediction, degraded=list(self._health.list_problems([project])))

    async def review(self, request: ReviewRequest) -> ReviewAnswer:
        """Return the files that the uncommitted change seems to lack.

        If the request names a base, the commits made since that base are part of the change.
        """
        project, tree = self._projects.find(request.project)
        answer = await review(request, project, tree, self._dependencies.now())
        return structs.replace(answer, degraded=list(self._health.list_problems([project])))

    async def search(self, request: SearchRequest) -> SearchAnswer:
        """Search a project's code and memories, or the user's own memories.

        If a session is given instead of a project, the session's project is searched.
        """
        if request.project is None and request.session is not None:
            request = replace(request, project=self.conversations.find_project_id(request.session))
        query = parse_query(request.query)
        request = replace(request, query=query.gist)  # memories are searched for the gist of a long text
        if request.project is None:
            facts = self._projects.own.facts.values()
            answer = self._put_current_first(
                await self._search_service.search(request, None, facts=facts), request, facts
            )
            answer = await self.knowledge.add_fact_histories(request, answer, facts, ())
            return self._maintenance.record_search(request.query, None, answer)
        project, tree = self._projects.find(request.project)
        request = replace(request, path_prefix=to_relative_prefix(request.path_prefix, tree.root))
        began = time.perf_counter()
        code, answer = await asyncio.gather(
            self._code.search(request, query, project, tree), self._search_memories(request, project, tree)
        )
        answer = structs.replace(answer, took_ms=round((time.perf_counter() - began) * 1_000, 2))
        if code.results or code.degraded:
            results = merge_results(code.results, answer.results, query.intent, request.k)
            answer = answer.with_results(results, code.degraded)
        if not answer.results:  # without results, problems such as unfinished indexing must be reported
            answer = answer.with_results((), self._health.list_problems([project]))
        return self._maintenance.record_search(request.query, project.id, answer)

    async def _search_memories(self, request: SearchRequest, project: Project, tree: WorkingTree) -> SearchAnswer:
        if not request.memories:
            return SearchAnswer(results=[], status="empty", degraded=[], took_ms=0.0)
        answer = await self._search_with_own(request, project, tree)
        answer = self._put_current_first(answer, request, project.facts.values())
        conflicts = [*project.conflicts.values()]
        return await self.knowledge.add_fact_histories(request, answer, project.facts.values(), conflicts)

    def _put_current_first(self, answer: SearchAnswer, request: SearchRequest, facts: Iterable[Memory]) -> SearchAnswer:
        """Rank current facts above outdated statements, unless the request is about the past."""
        if request.as_of is not None or (request.kinds and Kind.FACT not in request.kinds):
            return answer
        return answer.with_results(put_current_first(answer.results, facts, self._now())[: request.k])

    async def _search_with_own(self, request: SearchRequest, project: Project, tree: WorkingTree) -> SearchAnswer:
        """Search a project's memories and those of the user that apply everywhere."""
        own_search = build_own_request(request)
        if own_search is None:
            return await self._search_service.search(request, project.id, tree.branch, facts=project.facts.values())
        answer, own = await asyncio.gather(
            self._search_service.search(request, project.id, tree.branch, facts=project.facts.values()),
            self._search_service.search(own_search, None, facts=self._projects.own.facts.values()),
        )
        facts = self._projects.own.facts

        def is_shown(result: SearchResult) -> bool:
            if result.kind == Kind.FACT:
                return (fact := facts.get(result.id)) is not None and is_shown_in_projects(fact)
            return str(result.source.get("path", "")).startswith(OWN_ROOTS)

        return join_answers(answer, structs.replace(own, results=list(filter(is_shown, own.results))), request.k)

    async def expand(self, request: ExpandRequest) -> ExpandAnswer:
        """Return the full text behind a memory, file or topic."""
        if request.id is not None and not request.id.startswith("file:"):
            owner = self._projects.find(request.project)[0].id if request.project else None
            memory = await self._memories.get(request.id, [owner] if owner else self._projects.ids)
            if owner is not None and memory.project not in (owner, None):
                raise NotFound(f"there is no memory '{request.id}' in this project", field="id")
            return expand_memory(memory, request.level)
        if request.project is not None:
            return await self._expand_in_project(request, self._projects.find(request.project)[0])
        return await self._expand_without_project(request)

    async def _expand_without_project(self, request: ExpandRequest) -> ExpandAnswer:
        """Expand a file or topic although no project is given.

        The projects are tried in turn, the most recently used first. Raises NotFound if none of them knows the file
        or topic.
        """
        unknown = NotFound("there are no projects to search", hint="add a project first: POST /projects (`hunch add`)")
        for number, project in enumerate(sorted(self._projects, key=lambda one: -one.last_request_at)):
            try:
                return await self._expand_in_project(request, project)
            except NotFound as error:
                unknown = error if number == 0 else unknown
        raise unknown

    async def _expand_in_project(self, request: ExpandRequest, project: Project) -> ExpandAnswer:
        answer = await self._search_service.search(
            SearchRequest(query=request.topic or request.id or "", project=project.id, k=5), project.id
        )
        return expand(request, project, answer.results)

    # Memories

    async def store_drafts(self, drafts: Sequence[MemoryDraft]) -> IdsAnswer:
        """Store new memories; return their ids and how each text was understood."""
        owners = [self._projects.find(draft.project)[0].id if draft.project else None for draft in drafts]
        return await self.knowledge.store_drafts(drafts, owners)

    async def list_memories(self, filters: Filters, limit: int, cursor: str | None) -> PageAnswer[MemoryRecord]:
        """Return a page of the memories that match `filters`.

        If the filters name no project, memories of all projects and the user's own are returned.
        """
        if filters.project is not None:
            project, tree = self._projects.find(filters.project)
            prefix = to_relative_prefix(filters.path_prefix, tree.root)
            filters = replace(filters, project=project.id, path_prefix=prefix)
        await self._writer.drain()
        owners = (None, *self._projects.ids) if filters.project is None else (filters.project,)
        page = await list_of_owners(self._dependencies.store, owners, filters, limit, cursor)
        items = [memory_to_record(self._maintenance.add_recent_usage(memory)) for memory in page.items]
        return PageAnswer(items=items, next=page.next, total=page.total)

    async def get_memory(self, identifier: str) -> Memory:
        """Return the memory with this id, including its recent usage.

        Raises NotFound if there is none.
        """
        return self._maintenance.add_recent_usage(await self._memories.get(identifier, self._projects.ids))

    async def get_memory_history(self, identifier: str) -> list[Memory]:
        """Return the versions of a memory, the memories that it replaced, and the versions that were undone."""
        versions = await self._memories.list_history(identifier, self._projects.ids)
        family = await self._memories.list_family(versions[0].id.partition(".")[0], versions[0].project)
        undone_versions = [one for one in family if any(link["type"] == "undone" for link in one.links)]
        return [*versions, *await self._memories.list_replaced(versions), *undone_versions]

    async def get_memory_usage(self, identifier: str) -> MemoryUsageAnswer:
        """Return the usage of a memory, and the changes made by consolidation."""
        return await self._maintenance.get_memory_usage(await self._memories.get(identifier, self._projects.ids))

    async def forget(self, identifiers: Sequence[str]) -> list[ForgottenAnswer]:
        """Erase memories and all memories that quote them, from the caches and from disk.

        Returns one answer for each given memory that existed. Raises NotFound if none of them existed.
        """
        memories = await self._memories.find_anywhere(identifiers, self._projects.ids)
        erased_memories = {one.id: one for one in memories}
        for memory in memories:
            others = await self._memories.find(list_quoted_ids(memory), memory.project)
            erased_memories |= {one.id: one for one in others.values() if repeats(one, memory)}
        await self.conversations.rewrite_summaries_without(memories)
        restated_ids = await self.team.hide_statements(memories)
        async with AsyncExitStack() as promises:
            for project in dict.fromkeys(one.project for one in erased_memories.values()):
                ids = [one.id for one in erased_memories.values() if one.project == project]
                await promises.enter_async_context(self._memories.pending_erasures.record(ids, project))
            await self._context_service.hide_forgotten_work(erased_memories.values())
            try:
                with suppress(NotFound):  # already erased
                    await self._memories.erase(list(erased_memories), self._projects.ids)
            finally:
                await self._features.forget_memories(list(erased_memories))
        return [
            ForgottenAnswer(
                forgotten=one.id,
                still_said_by=one.source["by"] if one.trust is Trust.TEAM else None,
                own_erased=one.id in restated_ids,
            )
            for one in memories
        ]

    async def record_feedback(self, items: Sequence[FeedbackItem]) -> FeedbackAnswer:
        """Record the clients' feedback on which memories and predicted files were useful.

        Feedback on a file (`file:path`) trains its project's predictor.
        """
        memories = await self._memories.record_feedback(
            [item for item in items if not item.id.startswith("file:")], self._projects.ids
        )
        self._maintenance.record_feedback((item, memories[item.id].project) for item in items if item.id in memories)
        unknown = [item.id for item in items if item.id not in memories and not self._train_predictor(item)]
        return FeedbackAnswer(accepted=len(items) - len(unknown), unknown=unknown)

    def _train_predictor(self, item: FeedbackItem) -> bool:
        """Train the predictor with the feedback on a file.

        Returns False if the item is not a file, or no project knows the file.
        """
        path = item.id.removeprefix("file:")
        if path == item.id:
            return False
        named_project = item.project and self._projects.find(item.project)[0]
        for project in (
            [named_project] if named_project else sorted(self._projects, key=lambda one: -one.last_request_at)
        ):
            if project.predictor is not None and project.predictor.has_file(path):
                project.predictor.record_outcome(path, was_used=item.outcome in ("cited", "missed"))
                return True
        return False

    def _on_memory_changed(self, change: MemoryChange) -> None:
        self._features.on_memory_changed(change, self._projects.find_by_id(change.project))
        if not change.silent:
            self.events.publish("memory", **({} if change.project is None else {"project": change.project}))

    # Settings and status

    def describe_settings(self) -> SettingsAnswer:
        """Return the settings in effect, those in the settings file, and that file's path."""
        file = self._dependencies.paths.config_file
        described = list(describe_settings(self._dependencies.settings))
        problem, written = "", described
        try:
            written = list(describe_settings(load_settings(file)))
        except ConfigError as error:
            problem = error.message
        return SettingsAnswer(
            file=str(file),
            problem=problem,
            items=[
                SettingAnswer(
                    **asdict(one), written=in_file.value, origin="default" if one.value == one.default else "file"
                )
                for one, in_file in zip(described, written, strict=True)
            ],
        )

    def change_setting(self, change: SettingChange) -> SettingsAnswer:
        """Write a setting to the settings file.

        The new value takes effect when the daemon restarts. Raises InvalidInput if the value is not allowed.
        """
        try:
            write_setting(self._dependencies.paths.config_file, change.section, change.name, change.value)
        except ConfigError as error:
            raise InvalidInput(error.message, field=f"{change.section}.{change.name}") from error
        return self.describe_settings()

    async def run_doctor(self, *, fix: bool) -> list[CheckAnswer]:
        """Run the checks of `hunch doctor`.

        If `fix` is True, the safe fixes are applied.
        """
        return await run_doctor(fix=fix)

    async def status(self) -> StatusAnswer:
        """Return the status of the daemon."""
        return await self._status.status()

    async def metrics(self) -> str:
        """Return the metrics in Prometheus text format."""
        return await self._status.render_metrics()
