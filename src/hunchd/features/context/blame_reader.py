"""Background reading of who last changed each line (git blame) of the open files.

A file is read after it has been open for a while, and again after it has been committed.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from hunchd.core.state.dependencies import TaskSupervisor
from hunchd.core.state.feature import AppliedSignal, Feature
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.errors import RepositoryError
from hunchd.prediction.line_blame import BlameResult, build_blame_result
from hunchd.repository.git import Git
from hunchd.repository.line_blame import blame_lines

logger = logging.getLogger(__name__)

DEBOUNCE_SECONDS: Final = 1.0  # seconds; a file that is only glanced at is skipped


class BlameReader(Feature):
    """Background feature that reads who last changed each line of the open files."""

    def __init__(self) -> None:
        self._request: tuple[Project, WorkingTree] | None = None
        self._work = asyncio.Event()

    def start(self, tasks: TaskSupervisor) -> None:
        tasks.start("line reading", self.run)

    def on_signal(self, applied_signal: AppliedSignal) -> None:
        if applied_signal.effect.prefetch:
            self.request(applied_signal.project, applied_signal.tree)

    def on_model_loaded(self, project: Project) -> None:
        self.request(project, project.main)

    def request(self, project: Project, tree: WorkingTree) -> None:
        """Request that the open files be read.

        A later request replaces an earlier one.
        """
        self._request = project, tree
        self._work.set()

    async def run(self) -> None:
        """Read requested files that have not been read yet, until cancelled.

        The most recently opened file comes first.
        """
        while True:
            await self._work.wait()
            await asyncio.sleep(DEBOUNCE_SECONDS)
            self._work.clear()
            current_request, self._request = self._request, None
            if current_request is not None:
                await self._read_open_files(*current_request)

    async def _read_open_files(self, project: Project, tree: WorkingTree) -> None:
        for path in reversed(tuple(tree.open_files)):
            predictor = project.predictor
            if project.is_missing or predictor is None or self._work.is_set():  # the developer has moved on
                return
            if predictor.has_file(path) and not predictor.has_authorship(path):
                predictor.set_authorship(path, await asyncio.to_thread(_read_blame, tree, path))


def _read_blame(tree: WorkingTree, path: str) -> BlameResult:
    try:
        return build_blame_result(blame_lines(Git(tree.root), path))
    except (RepositoryError, OSError) as error:  # counts as read until its next commit, because a retry would not help
        logger.info("git blame of %s/%s failed: %s", tree.root, path, error)
        return build_blame_result(())
