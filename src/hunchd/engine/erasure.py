"""Erasure of projects from memory and disk, completed after a crash.

Also completes interrupted erasures of single memories.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from hunchd.config.places import make_private
from hunchd.domain.errors import HunchError
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.writing import Writer
from hunchd.engine.learning.projects import Projects
from hunchd.engine.state.feature import Features
from hunchd.engine.state.parts import Parts
from hunchd.engine.state.project import Project

logger = logging.getLogger(__name__)


class ProjectEraser:
    """Service that erases projects, from memory and from disk."""

    def __init__(
        self,
        parts: Parts,
        projects: Projects,
        writer: Writer,
        memories: Memories,
        features: Features,
    ) -> None:
        self._begun = parts.places.data / "erasing"  # one file for each erasure in progress
        self._store = parts.store
        self._journal = parts.journal
        self._projects = projects
        self._writer = writer
        self._memories = memories
        self._hot = parts.hot
        self._features = features

    async def erase(self, project: Project) -> None:
        """Erase a project; return when nothing of it is left."""
        make_private(self._begun)
        (self._begun / project.id).touch(mode=0o600)
        self._features.on_project_closed(project)
        await self._features.leave_project(project.id)
        await self._writer.drained()  # or it is refused here, with nothing lost yet
        await self._projects.remove(project.id)
        await self._writer.leave(project.id)
        await self._clear(project.id)

    async def finish(self) -> None:
        """Complete erasures of projects that an earlier process began."""
        for begun in self._begun.iterdir() if self._begun.is_dir() else ():
            await self._clear(begun.name)

    async def finish_forgetting(self) -> None:
        """Complete erasures of memories that a crash or a broken store interrupted.

        All of a project together, as its store is rewritten for it.
        """
        left: dict[str | None, list[tuple[Path, list[str]]]] = {}
        for note, project, ids in await asyncio.to_thread(self._memories.unfinished.left):
            left.setdefault(project, []).append((note, ids))
        for project, notes in left.items():
            ids = list(dict.fromkeys(one for _, of_note in notes for one in of_note))
            try:
                if project is None or self._projects.known(project) is not None:  # else it went with its project
                    await self._features.forget_memories(await self._memories.finish_erasing(ids, project))
            except HunchError as error:  # nothing shows it; the next start tries again
                logger.warning("what was forgotten before the last stop is not off the disk yet: %s", error.message)
                continue
            for note, _ in notes:
                note.unlink(missing_ok=True)

    async def _clear(self, identifier: str) -> None:
        if self._projects.known(identifier) is not None:
            await self._projects.remove(identifier)  # begun by an earlier run
        self._hot.forget_project(identifier)
        await self._features.forget_project(identifier)
        await self._store.erase(identifier)
        await self._journal.erase_project(identifier)
        await asyncio.to_thread(self._projects.clear_cache, identifier)  # removes what was written there meanwhile
        (self._begun / identifier).unlink(missing_ok=True)
