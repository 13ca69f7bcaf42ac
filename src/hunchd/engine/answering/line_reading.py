"""Reader of line authorship (git blame) of open files, in a background thread.

A file is read once it has been open for a while, and again after it was committed.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from hunchd.domain.errors import RepositoryError
from hunchd.engine.state.feature import AppliedSignal, Feature
from hunchd.engine.state.parts import Tasks
from hunchd.engine.state.project import Project, Tree
from hunchd.prediction.pages import Reading, reading
from hunchd.repository.authorship import written
from hunchd.repository.git import Git

logger = logging.getLogger(__name__)

QUIET: Final = 1.0  # seconds; a file that is only glanced at is skipped


class LineReading(Feature):
    """Background reader of line authorship."""

    def __init__(self) -> None:
        self._wanted: tuple[Project, Tree] | None = None
        self._work = asyncio.Event()

    def start(self, tasks: Tasks) -> None:
        tasks.start("line reading", self.run)

    def on_signal(self, applied: AppliedSignal) -> None:
        if applied.effect.prefetch:
            self.note(applied.project, applied.tree)

    def on_model_loaded(self, project: Project) -> None:
        self.note(project, project.main)

    def note(self, project: Project, tree: Tree) -> None:
        """Request a reading of the open files; the newest request wins."""
        self._wanted = project, tree
        self._work.set()

    async def run(self) -> None:
        """Read open files that were not read yet, newest first, forever."""
        while True:
            await self._work.wait()
            await asyncio.sleep(QUIET)
            self._work.clear()
            wanted, self._wanted = self._wanted, None
            if wanted is not None:
                await self._read(*wanted)

    async def _read(self, project: Project, tree: Tree) -> None:
        for path in reversed(tuple(tree.opened)):
            predictor = project.predictor
            if project.missing or predictor is None or self._work.is_set():  # the developer has moved on
                return
            if predictor.has(path) and not predictor.has_read(path):
                predictor.read(path, await asyncio.to_thread(_read_in, tree, path))


def _read_in(tree: Tree, path: str) -> Reading:
    try:
        return reading(written(Git(tree.root), path))
    except (RepositoryError, OSError) as error:  # counts as read until its next unit: a retry would not help
        logger.info("git blame of %s/%s failed: %s", tree.root, path, error)
        return reading(())
