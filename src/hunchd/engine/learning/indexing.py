"""Project models: built by the indexer process, loaded here, updated incrementally."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from hunchd.config.settings import IndexSettings
from hunchd.domain.code import FileOutline, Symbol
from hunchd.domain.errors import HunchError, Unavailable
from hunchd.domain.history import Unit, unit_from
from hunchd.domain.sharing import SHARED
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.learning.claims import BY_FILES, Claims
from hunchd.engine.learning.rewriting import drop_episodes, move_episodes, move_fixes, rename
from hunchd.engine.learning.shared import Shared
from hunchd.engine.learning.workflow_updates import update_file_workflows
from hunchd.engine.state import collaborators
from hunchd.engine.state.events import Events
from hunchd.engine.state.feature import Features
from hunchd.engine.state.project import Project
from hunchd.ingestion.conventions import speaks
from hunchd.ingestion.workflows.places import is_script
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.session import SessionEvent
from hunchd.protocol.allocating import give_memory_back
from hunchd.protocol.child import Child
from hunchd.protocol.memories import memory_from_json, memory_json
from hunchd.repository.layout import border
from hunchd.store.client import StoreClient
from hunchd.store.code import CodeCache

logger = logging.getLogger(__name__)

SLICE = 8  # units learned before yielding to the event loop: about 2 ms
EMBEDDING_LOOK = 2.0  # seconds between two polls of the embedding progress
EMBEDDING_STUCK = 60.0  # seconds without progress after which polling stops
MODEL, CODE, STATE = "model.hunch", "code.sqlite", "state.json"  # files in a project's cache folder


class Indexing:
    """Service that builds and updates a project's models."""

    def __init__(
        self,
        indexer: Child,
        store: StoreClient,
        memories: Memories,
        events: Events,
        settings: IndexSettings,
        features: Features,
    ) -> None:
        self._indexer = indexer
        self._store = store
        self._memories = memories
        self._claims = Claims(memories, indexer)
        self._shared = Shared(memories)
        self._events = events
        self._settings = settings
        self._features = features
        self._packing = asyncio.Lock()
        self._removed: set[str] = set()  # episodes of commits that were rewritten, which are barred until they are back

    def recall(self, project: Project) -> None:
        """Load model, code cache and conventions of the last run.

        Rebuild what is unreadable.
        """
        model = project.cache / MODEL
        try:
            told = json.loads((project.cache / STATE).read_bytes())
            project.facts = {fact["id"]: memory_from_json(fact) for fact in told["facts"]}
            project.learnt = told["learnt"]
            project.shared = told.get("shared")
            project.border = told.get("border")
            project.predictor = Predictor.load(model)
            project.commits.done = project.commits.total = len(project.predictor)
            project.files.done = project.files.total = told.get("files", 0)
            self._announce_model(project)
            project.whole = True
        except FileNotFoundError:
            project.learnt = None
        except (OSError, ValueError, KeyError, TypeError, HunchError) as error:
            ours = isinstance(error, HunchError)  # no traceback needed: may be a file of an earlier version
            logger.warning("models of %s are not usable; rebuilding them: %s", project.name, error, exc_info=not ours)
            project.learnt, project.predictor = None, None
        if project.code is not None:
            project.code.close()
        project.code = CodeCache(project.cache / CODE)

    async def index(self, project: Project) -> None:
        """Update everything: from scratch the first time, incrementally afterwards."""
        project.indexing, project.index_error = True, ""
        project.reached("asked for")
        again = False
        try:
            if project.whole:
                await self.catch_up(project)
                await self.refresh(project)
            else:  # also after an incomplete attempt: otherwise the rest would be missing for good
                await self._from_scratch(project)
                await self._conventions(project)
        except HunchError as error:
            project.index_error = error.message
            again = isinstance(error, Unavailable)  # a helper process ended and will be restarted
            raise
        finally:
            project.indexing = again
            project.touch()
        self.remember(project)
        self._events.tell("indexed", project=project.id)
        await self._follow_embedding(project)

    async def _follow_embedding(self, project: Project) -> None:
        """Report the progress of the store's embedding, as long as there is any."""
        still = 0.0
        while still < EMBEDDING_STUCK:
            stats = await self._store.stats()
            state = stats.get("projects", {}).get(project.id, {"rows": 0, "embedded": 0})
            if state["embedded"] > project.embeddings.done:
                still = 0.0
            project.embeddings.done, project.embeddings.total = state["embedded"], state["rows"]
            if state["embedded"] >= state["rows"] or not stats.get("pending_embeddings"):
                return
            await asyncio.sleep(EMBEDDING_LOOK)
            still += EMBEDDING_LOOK

    async def catch_up(self, project: Project, rewritten: Sequence[tuple[str, str, bool]] = ()) -> bool:
        """Learn new commits.

        Commits that only have a new id are known already. Returns False if it must wait because a git operation is in
        progress.
        """
        params = {**self._where(project), "since_sha": project.learnt, "moved": [list(pair) for pair in rewritten]}
        answer = await self._indexer.call("units", params, timeout=300)
        project.reached("commits")
        if answer.get("waits"):
            return False
        moved = [(old, new) for old, new in answer.get("moved", ())]
        deepened = project.border is not None and project.border != border(
            project.main.layout
        )  # the clone was deepened
        if deepened or answer.get("rewritten") or not (project.whole or project.indexing):  # maybe a new repository
            before = project.predictor.shas() if project.predictor is not None else []
            await self._from_scratch(project)
            await self._rewrite(project, moved, await self._lost(project, before))
            await self._conventions(project)
            return True
        if project.predictor is not None:
            rename(project.predictor, moved)
        units = [unit_from(unit) for unit in answer["units"]]
        await self._learn(project, units)
        if project.learnt in answer.get("gone", ()):  # a reset: removed commits are new if they come back
            project.learnt = answer["head"]
        self._features.on_commits_learned(units)
        await self._store_episodes(answer["episodes"])
        await self._rewrite(project, moved, answer.get("gone", ()))
        await self._claims.said_by_commits(project, [memory_from_json(fact) for fact in answer["facts"]])
        await self._claims.merge(project)
        return True

    async def _lost(self, project: Project, before: Sequence[str]) -> list[str]:
        """Return the formerly known units that are in no history any more."""
        known = project.predictor
        missing = [sha for sha in before if known is None or not known.knows(sha)]
        if not missing:
            return []
        answer = await self._indexer.call("lost", {**self._where(project), "shas": missing}, timeout=300)
        return list(answer["lost"])

    async def _rewrite(self, project: Project, moved: Sequence[tuple[str, str]], gone: Sequence[str]) -> None:
        """Move memories of rewritten commits to the new ids.

        Delete those of lost commits.
        """
        removed = await move_episodes(self._memories, project.id, moved)
        removed += await drop_episodes(self._memories, project.id, gone)
        self._removed.update(removed)
        await move_fixes(self._memories, project, moved)

    async def refresh(self, project: Project, paths: Sequence[str] | None = None) -> None:
        """Parse `paths` again, or everything that changed since it was parsed."""
        params = {**self._where(project), "paths": list(paths) if paths is not None else None}
        async with aclosing(self._indexer.stream("parse", params)) as steps:
            async for step in steps:
                project.reached("files")
                if paths is None:
                    project.files.done, project.files.total = step["done"], step["total"]
                if project.predictor is not None:
                    for outline in step["outlines"]:
                        project.predictor.place(outline_from(outline))
                    for path in step["removed"]:
                        project.predictor.remove(path)
                project.touch()
        if paths is not None and project.code is not None and not project.indexing:
            project.files.done = project.files.total = project.code.count()
        await self._pack(project)
        if paths is None or any(speaks(path) or is_script(path) or path in project.guides for path in paths):
            await self._conventions(project)

    async def _from_scratch(self, project: Project) -> None:
        params = {
            **self._where(project),
            "model_path": str(project.cache / MODEL),
            "newest": self._settings.newest_units,
            "most": self._settings.max_units,
        }
        project.whole, project.unread, project.border = False, "", border(project.main.layout)
        async with aclosing(self._indexer.stream("index", params)) as steps:
            async for step in steps:
                await self._take(project, step)
        project.whole = True

    async def _take(self, project: Project, step: dict[str, Any]) -> None:
        project.reached(step["stage"])
        match step["stage"]:
            case "history":
                project.commits.done, project.commits.total = step["done"], step["total"]
            case "files":
                project.files.done, project.files.total = step["done"], step["total"]
            case "model":
                project.predictor = await asyncio.to_thread(Predictor.load, Path(step["model"]))
                project.learnt = step["learnt"]
                project.touch()
                self._announce_model(project)
            case "episodes":
                await self._store_episodes(step["episodes"])
                project.embeddings.total = step["total"]
            case "facts":
                await self._claims.said_by_commits(project, [memory_from_json(fact) for fact in step["facts"]])
            case "unread":
                project.unread = step["why"]
                logger.warning("%s: %s", project.name, project.unread)
        self._events.tell("progress", project=project.id, stage=step["stage"], **project.json()["progress"])

    def _announce_model(self, project: Project) -> None:
        """Teach a new model the running session, which it does not know, and tell the features about it."""
        if project.predictor is not None:
            for tree in project.trees.values():
                for path, at in tree.opened.items():
                    project.predictor.note(SessionEvent("opened", int(at.timestamp()), path))
        self._features.on_model_loaded(project)

    async def _conventions(self, project: Project) -> None:
        project.reached("asked what its files say")
        answer = await self._indexer.call("conventions", self._where(project), timeout=120)
        project.reached("what its files say")
        project.topics = tuple(answer["topics"])
        project.guides = frozenset(answer["guides"])
        await self._shared.read(project, [memory_from_json(memory) for memory in answer["shared"]])
        await self._claims.said_by_files(project, [memory_from_json(fact) for fact in answer["facts"]])
        said = [memory_from_json(memory) for memory in answer["workflows"]]
        await update_file_workflows(self._memories, project, said)

    async def _learn(self, project: Project, units: Sequence[Unit]) -> None:
        for index, unit in enumerate(units):
            if project.predictor is not None:
                collaborators.noticed(project, unit)
                known = len(project.predictor)
                project.predictor.learn(unit)
                project.commits.done += len(project.predictor) - known  # units known from another branch count once
            project.learnt = unit.sha
            if index % SLICE == SLICE - 1:
                await asyncio.sleep(0)
        project.commits.total = max(project.commits.total, project.commits.done)
        project.touch()

    async def _store_episodes(self, episodes: Sequence[dict[str, Any]]) -> None:
        memories = [memory_from_json(episode) for episode in episodes]
        if back := [memory for memory in memories if memory.id in self._removed]:  # an undone reset
            self._removed.difference_update(memory.id for memory in back)
            await self._memories.keep(back)
        if new := [memory for memory in memories if memory not in back]:
            await self._store.put(new)

    async def _pack(self, project: Project) -> None:
        """Compact the model's deltas of saved files and free the memory."""
        if self._packing.locked():
            return
        async with self._packing:
            if project.predictor is not None and (work := project.predictor.packing()) is not None:
                (await asyncio.to_thread(work))()
                await asyncio.to_thread(give_memory_back)

    def remember(self, project: Project) -> None:
        """Save the model and its state for the next start.

        They are rebuilt if missing. They are not saved where git could not read everything: somebody may have
        repaired that by
        the next start.
        """
        if project.predictor is None or not project.whole or project.unread:
            return
        by_files = (fact for fact in project.facts.values() if fact.source.get("type") in (BY_FILES, SHARED))
        facts = [memory_json(fact) for fact in by_files]
        told = {"learnt": project.learnt, "facts": facts, "shared": project.shared, "files": project.files.done}
        told["border"] = project.border
        draft = project.cache / f".{STATE}"
        try:
            project.predictor.save(project.cache / MODEL)
            draft.write_text(json.dumps(told))
            draft.replace(project.cache / STATE)
        except OSError as error:
            logger.warning("models of %s could not be saved: %s", project.name, error)

    def _where(self, project: Project) -> dict[str, Any]:
        return {
            "root": str(project.root),
            "project": project.id,
            "code_cache": str(project.cache / CODE),
            "extra_ignore": list(self._settings.ignore),
            "largest": self._settings.max_file_bytes,
        }


def outline_from(told: dict[str, Any]) -> FileOutline:
    """Parse an outline that the indexer sent."""
    lists = {name: tuple(told[name]) for name in ("imports", "references")}
    return FileOutline(**told | lists | {"symbols": tuple(Symbol(**symbol) for symbol in told["symbols"])})
