"""A project goes, with all that is kept of it, from disk too; once begun it is finished, if need be after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from hunchd.config.places import make_private
from hunchd.engine.housekeeping import Housekeeping
from hunchd.engine.parts import Parts
from hunchd.engine.project import Project
from hunchd.engine.projects import Projects
from hunchd.engine.watching import Watching
from hunchd.engine.writing import Writer


class Erasing:
    """`forgetting` are told the id of each project that goes, by whoever holds something of it in memory."""

    def __init__(
        self,
        parts: Parts,
        projects: Projects,
        watching: Watching,
        writer: Writer,
        housekeeping: Housekeeping,
        *,
        forgetting: Sequence[Callable[[str], None]],
    ) -> None:
        self._begun = parts.places.data / "erasing"  # a file for each project whose erasure has begun
        self._store = parts.store
        self._journal = parts.journal
        self._projects = projects
        self._watching = watching
        self._writer = writer
        self._housekeeping = housekeeping
        self._forgetting = forgetting

    async def erase(self, project: Project) -> None:
        """Returns when nothing is left of it."""
        make_private(self._begun)
        (self._begun / project.id).touch(mode=0o600)
        self._watching.unwatch(project)
        await self._housekeeping.leave(project.id)
        await self._writer.drained()  # or it is refused here, with nothing lost yet
        await self._projects.remove(project.id)
        await self._writer.leave(project.id)
        await self._clear(project.id)

    async def finish(self) -> None:
        """What an earlier run began."""
        for begun in self._begun.iterdir() if self._begun.is_dir() else ():
            await self._clear(begun.name)

    async def _clear(self, identifier: str) -> None:
        if self._projects.known(identifier) is not None:
            await self._projects.remove(identifier)  # begun by an earlier run
        for forget in self._forgetting:
            forget(identifier)
        await self._housekeeping.forgotten_project(identifier)
        await self._store.erase(identifier)
        await self._journal.erase_project(identifier)
        await asyncio.to_thread(self._projects.clear_cache, identifier)  # of what was still being written there
        (self._begun / identifier).unlink(missing_ok=True)
