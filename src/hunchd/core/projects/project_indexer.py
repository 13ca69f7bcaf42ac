"""Project models, which the indexer process builds and this module loads and updates."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from msgspec import structs
from msgspec.structs import asdict

from hunchd.config.app_paths import replace_private_file
from hunchd.config.settings import IndexSettings
from hunchd.core.memory.hidden_work import HiddenWork
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.projects.commit_rewrites import drop_episodes, move_episodes, move_fixes, rename_commits
from hunchd.core.projects.project_claims import FILE_SOURCE, ProjectClaims
from hunchd.core.projects.shared_memories import SharedMemories
from hunchd.core.projects.workflow_updates import update_file_workflows
from hunchd.core.state import collaborators
from hunchd.core.state.events import EventBus
from hunchd.core.state.feature import Features
from hunchd.core.state.project import Project
from hunchd.domain.errors import HunchError, Unavailable
from hunchd.domain.history import Unit
from hunchd.domain.memory import Memory
from hunchd.domain.sharing import SHARED_SOURCE
from hunchd.ingestion.conventions import may_state_conventions
from hunchd.ingestion.workflows.script_files import is_script
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.session import SessionEvent
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.indexing_messages import (
    MAX_FILE_BYTES,
    IndexRequest,
    IndexStep,
    NewUnits,
    ParsedFiles,
    StatedKnowledge,
)
from hunchd.protocol.malloc_tuning import release_free_memory
from hunchd.protocol.memories import memory_from_json, memory_to_json
from hunchd.repository.layout import shallow_boundary
from hunchd.store.code_cache import CodeCache
from hunchd.store.port import MemoryStore

logger = logging.getLogger(__name__)

LEARN_SLICE = 8  # units learned before yielding to the event loop: about 2 ms
EMBEDDING_POLL_SECONDS = 2.0  # seconds between two polls of the embedding progress
EMBEDDING_STALL_SECONDS = 60.0  # seconds without progress after which polling stops
MODEL_FILE, CODE_FILE, STATE_FILE = "model.hunch", "code.sqlite", "state.json"  # files in a project's cache folder


class ProjectIndexer:
    """Service that builds and updates a project's models."""

    def __init__(
        self,
        indexer: HelperProcess,
        store: MemoryStore,
        memories: MemoryService,
        events: EventBus,
        settings: IndexSettings,
        features: Features,
        hidden_work: HiddenWork,
    ) -> None:
        self._indexer = indexer
        self._store = store
        self._memories = memories
        self._claims = ProjectClaims(memories, indexer)
        self._shared_memories = SharedMemories(memories)
        self._events = events
        self._settings = settings
        self._features = features
        self._hidden_work = hidden_work
        self._pack_lock = asyncio.Lock()
        self._removed_episodes: set[str] = (
            set()
        )  # episodes of rewritten or lost commits, deleted until the commits come back

    def load(self, project: Project) -> None:
        """Load the model, code cache and facts saved by the last run.

        The models are rebuilt if a file is missing or cannot be read.
        """
        model = project.cache / MODEL_FILE
        try:
            state = json.loads((project.cache / STATE_FILE).read_bytes())
            project.facts = {fact["id"]: memory_from_json(fact) for fact in state["facts"]}
            project.learned_sha = state["learnt"]
            project.shared_ids = state.get("shared")
            project.shallow_boundary = state.get("border")
            project.predictor = Predictor.load(model)
            project.commits.done = project.commits.total = len(project.predictor)
            project.files.done = project.files.total = state.get("files", 0)
            self._announce_model(project)
            project.is_indexed = True
        except FileNotFoundError:
            project.learned_sha = None
        except (OSError, ValueError, KeyError, TypeError, HunchError) as error:
            ours = isinstance(error, HunchError)  # no traceback is needed: the file may be from an earlier version
            logger.warning(
                "could not load the models of %s: %s; rebuilding them", project.name, error, exc_info=not ours
            )
            project.learned_sha, project.predictor = None, None
        if project.code is not None:
            project.code.close()
        project.code = CodeCache(project.cache / CODE_FILE)

    async def index(self, project: Project) -> None:
        """Update all models; they are built from scratch the first time, then incrementally."""
        project.indexing, project.index_error = True, ""
        project.record_indexing_step("asked for")
        again = False
        try:
            if project.is_indexed:
                await self.catch_up(project)
                await self.refresh(project)
            else:  # also after an incomplete attempt: the rest would otherwise be missing permanently
                await self._index_from_scratch(project)
                await self._update_from_files(project)
        except HunchError as error:
            project.index_error = error.message
            again = isinstance(error, Unavailable)  # a helper process ended and will be restarted
            raise
        finally:
            project.indexing = again
            project.bump_revision()
        self.save(project)
        self._events.publish("indexed", project=project.id)
        await self._follow_embedding(project)

    async def _follow_embedding(self, project: Project) -> None:
        """Report the progress of embedding until it is complete or stalls."""
        still = 0.0
        while still < EMBEDDING_STALL_SECONDS:
            stats = await self._store.fetch_stats()
            state = stats.projects.get(project.id, {"to_embed": 0, "embedded": 0})
            if state["embedded"] > project.embeddings.done:
                still = 0.0
            project.embeddings.done, project.embeddings.total = state["embedded"], state["to_embed"]
            if state["embedded"] >= state["to_embed"] or not stats.pending_embeddings:
                return
            await asyncio.sleep(EMBEDDING_POLL_SECONDS)
            still += EMBEDDING_POLL_SECONDS

    async def catch_up(self, project: Project, rewritten: Sequence[tuple[str, str, bool]] = ()) -> bool:
        """Learn new commits.

        Commits that merely got a new id are not learned again. Returns False if learning must wait because a git
        operation is in progress.
        """
        params = {"scope": self._build_request(project), "since": project.learned_sha or "", "moved": rewritten}
        answer = await self._indexer.call("units", params, NewUnits, timeout=300)
        project.record_indexing_step("commits")
        if answer.waits:
            return False
        is_deepened = project.shallow_boundary is not None and project.shallow_boundary != shallow_boundary(
            project.main.layout
        )  # the clone was deepened
        if is_deepened or answer.rewritten or not (project.is_indexed or project.indexing):  # the repository may be new
            before = project.predictor.list_unit_ids() if project.predictor is not None else []
            await self._index_from_scratch(project)
            await self._migrate_rewritten(project, answer.moved, await self._find_lost_units(project, before))
            await self._update_from_files(project)
            return True
        if project.predictor is not None:
            rename_commits(project.predictor, answer.moved)
        await self._learn_units(project, answer.units)
        if project.learned_sha in answer.gone:  # after a reset, removed commits count as new if they come back
            project.learned_sha = answer.head
        await self._store_episodes(project, answer.episodes)
        await self._migrate_rewritten(project, answer.moved, answer.gone)
        await self._claims.store_from_commits(project, answer.facts)
        await self._claims.merge_branch_facts(project)
        return True

    async def _find_lost_units(self, project: Project, before: Sequence[str]) -> list[str]:
        """Return the units of work that no longer belong to any history.

        `before` contains the units known so far.
        """
        predictor = project.predictor
        missing = [sha for sha in before if predictor is None or not predictor.has_unit(sha)]
        if not missing:
            return []
        params = {"scope": self._build_request(project), "shas": missing}
        return await self._indexer.call("lost", params, list[str], timeout=300)

    async def _migrate_rewritten(
        self, project: Project, moved_commits: Sequence[tuple[str, str]], lost_shas: Sequence[str]
    ) -> None:
        """Move the memories of rewritten commits to the new ids.

        The memories of lost commits are deleted.
        """
        removed_ids = await move_episodes(self._memories, project.id, moved_commits)
        removed_ids += await drop_episodes(self._memories, project.id, lost_shas)
        self._removed_episodes.update(removed_ids)
        await move_fixes(self._memories, project, moved_commits)

    async def refresh(self, project: Project, paths: Sequence[str] | None = None) -> None:
        """Parse changed files again.

        If `paths` is None, these are all files that have changed since they were last parsed.
        """
        params = {"scope": self._build_request(project), "paths": paths}
        async with aclosing(self._indexer.stream("parse", params, ParsedFiles)) as steps:
            async for step in steps:
                project.record_indexing_step("files")
                if paths is None:
                    project.files.done, project.files.total = step.done, step.total
                if project.predictor is not None:
                    for outline in step.outlines:
                        project.predictor.update_content(outline)
                    for path in step.removed:
                        project.predictor.remove_file(path)
                project.bump_revision()
        if paths is not None and project.code is not None and not project.indexing:
            project.files.done = project.files.total = project.code.count_files()
        await self._compact_model(project)
        if paths is None or any(
            may_state_conventions(path) or is_script(path) or path in project.guides for path in paths
        ):
            await self._update_from_files(project)

    async def _index_from_scratch(self, project: Project) -> None:
        request = structs.replace(self._build_request(project), model_file=str(project.cache / MODEL_FILE))
        project.is_indexed, project.incomplete_reason, project.shallow_boundary = (
            False,
            "",
            shallow_boundary(project.main.layout),
        )
        async with aclosing(self._indexer.stream("index", {"scope": request}, IndexStep)) as steps:
            async for step in steps:
                await self._apply_step(project, step)
        project.is_indexed = True

    async def _apply_step(self, project: Project, step: IndexStep) -> None:
        project.record_indexing_step(step.stage)
        match step.stage:
            case "history":
                project.commits.done, project.commits.total = step.done, step.total
            case "files":
                project.files.done, project.files.total = step.done, step.total
            case "model":
                project.predictor = await asyncio.to_thread(Predictor.load, Path(step.model))
                project.learned_sha = step.learnt
                project.bump_revision()
                self._announce_model(project)
            case "episodes":
                await self._store_episodes(project, step.episodes)
                project.embeddings.total = step.total
            case "facts":
                await self._claims.store_from_commits(project, step.facts)
            case "unread":
                project.incomplete_reason = step.why
                logger.warning("%s: %s", project.name, project.incomplete_reason)
        self._events.publish("progress", project=project.id, stage=step.stage, **asdict(project.to_answer().progress))

    def _announce_model(self, project: Project) -> None:
        """Prepare a newly loaded model and notify the features.

        A new model does not know the running session yet, so the open files are recorded in it.
        """
        if project.predictor is not None:
            for tree in project.trees.values():
                for path, at in tree.open_files.items():
                    project.predictor.record_event(SessionEvent("opened", int(at.timestamp()), path))
        self._features.on_model_loaded(project)

    async def _update_from_files(self, project: Project) -> None:
        project.record_indexing_step("asked for its conventions")
        params = {"scope": self._build_request(project)}
        answer = await self._indexer.call("conventions", params, StatedKnowledge, timeout=120)
        project.record_indexing_step("conventions")
        project.topics = tuple(answer.topics)
        project.guides = frozenset(answer.guides)
        await self._shared_memories.update(project, answer.shared)
        await self._claims.update_from_files(project, answer.facts)
        forgotten_ids = self._hidden_work.list_forgotten(project.id)
        workflows = [workflow for workflow in answer.workflows if workflow.id not in forgotten_ids]
        await update_file_workflows(self._memories, project, workflows)

    async def _learn_units(self, project: Project, units: Sequence[Unit]) -> None:
        for index, unit in enumerate(units):
            if project.predictor is not None:
                collaborators.detect_collaborators(project, unit)
                count_before = len(project.predictor)
                project.predictor.learn_unit(unit)
                project.commits.done += (
                    len(project.predictor) - count_before
                )  # units already known from another branch are not counted again
            project.learned_sha = unit.sha
            if index % LEARN_SLICE == LEARN_SLICE - 1:
                await asyncio.sleep(0)
        project.commits.total = max(project.commits.total, project.commits.done)
        project.bump_revision()

    async def _store_episodes(self, project: Project, memories: Sequence[Memory]) -> None:
        forgotten_ids = self._hidden_work.list_forgotten(project.id)
        memories = [memory for memory in memories if memory.id not in forgotten_ids]
        if back := [memory for memory in memories if memory.id in self._removed_episodes]:  # a reset was undone
            self._removed_episodes.difference_update(memory.id for memory in back)
            await self._memories.store(back)
        if new := [memory for memory in memories if memory not in back]:
            await self._store.put(new)

    async def _compact_model(self, project: Project) -> None:
        """Compact the model's changes from saved files, and free the memory they used."""
        if self._pack_lock.locked():
            return
        async with self._pack_lock:
            if project.predictor is not None and (work := project.predictor.prepare_packing()) is not None:
                (await asyncio.to_thread(work))()
                await asyncio.to_thread(release_free_memory)

    def save(self, project: Project) -> None:
        """Save the model and its state for the next start.

        Missing files are rebuilt at the next start. Nothing is saved if git could not read the whole repository,
        because the repository may have been repaired by the next start.
        """
        if project.predictor is None or not project.is_indexed or project.incomplete_reason:
            return
        by_files = (fact for fact in project.facts.values() if fact.source.get("type") in (FILE_SOURCE, SHARED_SOURCE))
        facts = [memory_to_json(fact) for fact in by_files]
        state = {
            "learnt": project.learned_sha,
            "facts": facts,
            "shared": project.shared_ids,
            "files": project.files.done,
        }
        state["border"] = project.shallow_boundary
        try:
            project.predictor.save(project.cache / MODEL_FILE)
            replace_private_file(project.cache / STATE_FILE, json.dumps(state))
        except OSError as error:
            logger.warning("could not save the models of %s: %s", project.name, error)

    def _build_request(self, project: Project) -> IndexRequest:
        return IndexRequest(
            folder=str(project.root),
            project=project.id,
            cache_file=str(project.cache / CODE_FILE),
            extra_ignore=self._settings.ignore,
            max_file_bytes=MAX_FILE_BYTES,
        )
