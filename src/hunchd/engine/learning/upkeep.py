"""Queue of projects whose models are outdated, and their update."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from hunchd.domain.errors import HunchError
from hunchd.engine.learning.indexing import Indexing
from hunchd.engine.state.absorbing import Effect
from hunchd.engine.state.feature import AppliedSignal, Feature, Features
from hunchd.engine.state.parts import Tasks
from hunchd.engine.state.project import Project

logger = logging.getLogger(__name__)


class Upkeep(Feature):
    """Background task that updates outdated models."""

    def __init__(
        self,
        indexing: Indexing,
        find: Callable[[str | None], Project | None],
        features: Features,
    ) -> None:
        self._indexing = indexing
        self._find = find
        self._features = features
        self._stale: dict[str, set[str] | None] = {}  # project → files to parse again; None: look at all
        self._behind: set[str] = set()  # projects with commits to learn
        self._rewritten: dict[str, list[tuple[str, str, bool]]] = {}  # project → (old, new, reported by git)
        self._work = asyncio.Event()

    def start(self, tasks: Tasks) -> None:
        tasks.start("upkeep", self.run)

    def on_signal(self, applied: AppliedSignal) -> None:
        self.note(applied.project, applied.effect)

    def on_head_moved(self, project: Project) -> None:
        self.note(project, Effect(catch_up=True))

    def note(self, project: Project, effect: Effect) -> None:
        """Queue the work that `effect` requires."""
        if effect.refresh:
            self._stale[project.id] = None
        elif effect.parse:
            known = self._stale.setdefault(project.id, set())
            if known is not None:
                known.update(effect.parse)
        if effect.catch_up:
            self._behind.add(project.id)
        if effect.rewritten:
            self._rewritten.setdefault(project.id, []).extend(effect.rewritten)
        if effect.refresh or effect.parse or effect.catch_up:
            self._work.set()

    async def run(self) -> None:
        """Process queued work, forever."""
        while True:
            await self._work.wait()
            self._work.clear()
            stale, self._stale = self._stale, {}
            behind, self._behind = self._behind, set()
            for identifier in stale.keys() | behind:
                project = self._find(identifier)
                if project is not None and not project.missing:
                    await self._renew(project, identifier in behind, identifier in stale, stale.get(identifier))

    async def _renew(self, project: Project, behind: bool, stale: bool, paths: set[str] | None) -> None:
        try:
            if behind:
                told = self._rewritten.pop(project.id, [])
                if not await self._indexing.catch_up(project, told):  # the end of the git operation queues it again
                    self._rewritten[project.id] = told + self._rewritten.get(project.id, [])
            if stale:
                await self._indexing.refresh(project, None if paths is None else sorted(paths))
            if project.whole:  # errors of the initial indexing are not fixed by saving a file
                project.index_error = ""
        except HunchError as error:  # retried with the next change; until then answers are degraded
            project.index_error = f"not up to date: {error.message}"
            logger.warning("%s: %s", project.name, project.index_error)
        self._features.on_model_updated(project)
