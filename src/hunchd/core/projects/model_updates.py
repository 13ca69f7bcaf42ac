"""Queue of projects whose models are outdated, and the task that updates them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from hunchd.core.projects.project_indexer import ProjectIndexer
from hunchd.core.state.apply_signal import SignalEffect
from hunchd.core.state.dependencies import TaskSupervisor
from hunchd.core.state.feature import AppliedSignal, Feature, Features
from hunchd.core.state.project import Project
from hunchd.domain.errors import HunchError

logger = logging.getLogger(__name__)


class ModelUpdater(Feature):
    """Background task that updates the models that signals have made outdated."""

    def __init__(
        self,
        indexer: ProjectIndexer,
        find_project: Callable[[str | None], Project | None],
        features: Features,
    ) -> None:
        self._indexer = indexer
        self._find_project = find_project
        self._features = features
        self._paths_to_parse: dict[str, set[str] | None] = {}  # project → files to parse again; None: check all
        self._projects_behind: set[str] = set()  # projects with commits to learn
        self._rewritten_commits: dict[str, list[tuple[str, str, bool]]] = {}  # project → (old, new, reported by git)
        self._work = asyncio.Event()

    def start(self, tasks: TaskSupervisor) -> None:
        tasks.start("upkeep", self.run)

    def on_signal(self, applied_signal: AppliedSignal) -> None:
        self.enqueue(applied_signal.project, applied_signal.effect)

    def on_head_moved(self, project: Project) -> None:
        self.enqueue(project, SignalEffect(catch_up=True))

    def enqueue(self, project: Project, effect: SignalEffect) -> None:
        """Queue the work that `effect` requires."""
        if effect.refresh:
            self._paths_to_parse[project.id] = None
        elif effect.paths_to_parse:
            paths = self._paths_to_parse.setdefault(project.id, set())
            if paths is not None:
                paths.update(effect.paths_to_parse)
        if effect.catch_up:
            self._projects_behind.add(project.id)
        if effect.rewritten_commits:
            self._rewritten_commits.setdefault(project.id, []).extend(effect.rewritten_commits)
        if effect.refresh or effect.paths_to_parse or effect.catch_up:
            self._work.set()

    async def run(self) -> None:
        """Process queued work forever."""
        while True:
            await self._work.wait()
            self._work.clear()
            stale, self._paths_to_parse = self._paths_to_parse, {}
            behind, self._projects_behind = self._projects_behind, set()
            for identifier in stale.keys() | behind:
                project = self._find_project(identifier)
                if project is not None and not project.is_missing:
                    await self._update(project, identifier in behind, identifier in stale, stale.get(identifier))

    async def _update(self, project: Project, behind: bool, stale: bool, paths: set[str] | None) -> None:
        try:
            if behind:
                rewritten_commits = self._rewritten_commits.pop(project.id, [])
                if not await self._indexer.catch_up(
                    project, rewritten_commits
                ):  # queued again when the git operation ends
                    self._rewritten_commits[project.id] = rewritten_commits + self._rewritten_commits.get(
                        project.id, []
                    )
            if stale:
                await self._indexer.refresh(project, None if paths is None else sorted(paths))
            if project.is_indexed:  # saving a file does not fix errors of the initial indexing
                project.index_error = ""
        except HunchError as error:  # retried with the next change; until then answers are degraded
            project.index_error = f"not up to date: {error.message}"
            logger.warning("%s: %s", project.name, project.index_error)
        self._features.on_model_updated(project)
