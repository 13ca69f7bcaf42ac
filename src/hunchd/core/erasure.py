"""Erasure of projects from memory and disk.

If a crash interrupts the erasure of a project or of single memories, it is completed at the next start.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from hunchd.config.app_paths import ensure_private_folder
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.core.state.dependencies import Dependencies
from hunchd.core.state.feature import Features
from hunchd.core.state.project import Project
from hunchd.domain.errors import HunchError

logger = logging.getLogger(__name__)


class ProjectErasure:
    """Service that erases projects from memory and from disk."""

    def __init__(
        self,
        dependencies: Dependencies,
        projects: OpenProjects,
        writer: StoreWriter,
        memories: MemoryService,
        features: Features,
    ) -> None:
        self._pending_folder = dependencies.paths.data / "erasing"  # one file for each erasure in progress
        self._store = dependencies.store
        self._journal = dependencies.journal
        self._projects = projects
        self._writer = writer
        self._memories = memories
        self._hot = dependencies.memory_cache
        self._features = features

    async def erase(self, project: Project) -> None:
        """Erase a project; return when nothing of it is left."""
        ensure_private_folder(self._pending_folder)
        (self._pending_folder / project.id).touch(mode=0o600)
        self._features.on_project_closed(project)
        await self._features.leave_project(project.id)
        await self._writer.drain()  # if this fails, nothing is lost yet
        await self._projects.remove(project.id)
        await self._writer.remove_project(project.id)
        await self._erase_data(project.id)

    async def finish_pending(self) -> None:
        """Complete the project erasures that an earlier process started."""
        for pending_file in self._pending_folder.iterdir() if self._pending_folder.is_dir() else ():
            await self._erase_data(pending_file.name)

    async def finish_pending_memories(self) -> None:
        """Complete the memory erasures that a crash or a broken store interrupted.

        The memories of a project are erased together, because each erasure rewrites the project's store.
        """
        pending_notes: dict[str | None, list[tuple[Path, list[str]]]] = {}
        for note, project, ids in await asyncio.to_thread(self._memories.pending_erasures.list_pending):
            pending_notes.setdefault(project, []).append((note, ids))
        for project, notes in pending_notes.items():
            ids = list(dict.fromkeys(one for _, of_note in notes for one in of_note))
            try:
                if project is None or self._projects.find_by_id(project) is not None:  # else already erased
                    await self._features.forget_memories(await self._memories.finish_erasing(ids, project))
            except HunchError as error:  # no answer shows them; the next start tries again
                logger.warning(
                    "could not finish erasing forgotten memories; will retry at the next start: %s", error.message
                )
                continue
            for note, _ in notes:
                note.unlink(missing_ok=True)

    async def _erase_data(self, identifier: str) -> None:
        if self._projects.find_by_id(identifier) is not None:
            await self._projects.remove(identifier)  # the erasure was begun by an earlier run
        self._hot.forget_project(identifier)
        await self._features.forget_project(identifier)
        await self._store.erase(identifier)
        await self._journal.erase_project(identifier)
        await asyncio.to_thread(self._projects.clear_cache, identifier)  # removes files written there in the meantime
        (self._pending_folder / identifier).unlink(missing_ok=True)
