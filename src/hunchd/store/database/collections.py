"""Registry of collections, one for each project and one of the user.

A collection is opened when it is first used.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from hunchd.domain.errors import StoreClosed
from hunchd.store.database.collection import Collection
from hunchd.store.database.folders import erasure_is_due, of_project
from hunchd.store.files import Files, private_folder

Given = TypeVar("Given")

DOOMED: Final = "leaving"  # folder for projects that are being deleted


class Collections:
    """Registry of the collections of the process.

    `noticed` is called with each collection after it was opened.
    """

    def __init__(self, data: Path, session: Any, noticed: Callable[[Collection], Awaitable[None]]) -> None:
        self._data = data
        self._left = tuple((data / DOOMED).glob("*"))
        self._session = session
        self._noticed = noticed
        self._collections: dict[str | None, Collection] = {}
        self._opening: defaultdict[str | None, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._erased: set[str] = set()  # project ids, never reused: late writes for them are refused

    @property
    def opened(self) -> dict[str | None, Collection]:
        """Open collections by project."""
        return dict(self._collections)

    @property
    def projects(self) -> list[str | None]:
        """Owners of the collections on disk; None stands for the user."""
        named = sorted(path.name for path in (self._data / "projects").glob("*") if path.is_dir())
        return [*([None] if (self._data / "user").is_dir() else []), *named]

    def has(self, project: str | None) -> bool:
        """Return True if the project has a collection, without creating one."""
        return project in self._collections or of_project(self._data, project).is_dir()

    async def of(self, project: str | None) -> Collection:
        """Return the collection of a project, opened on first use.

        Opening runs to its end even if the caller is cancelled, so its repairs and erasures never overlap with
        another opening.
        """
        known = self._collections.get(project)
        return known if known is not None else await asyncio.shield(asyncio.ensure_future(self._opened(project)))

    async def _opened(self, project: str | None) -> Collection:
        async with self._opening[project]:
            if project in self._erased:
                raise StoreClosed(f"{project} was erased")
            if project not in self._collections:
                opened = await Collection.open(of_project(self._data, project), self._session)
                self._collections[project] = opened
                await self._noticed(opened)
            return self._collections[project]

    async def each(
        self, work: Callable[[Collection], Awaitable[Given]], projects: Sequence[str | None] | None = None
    ) -> dict[str | None, Given]:
        """Call `work` for each project and return the results.

        Calls it for `projects` only, if given. Projects that are erased meanwhile are left out.
        """
        given: dict[str | None, Given] = {}
        for project in self.projects if projects is None else projects:
            with suppress(StoreClosed):
                if self.has(project):
                    given[project] = await work(await self.of(project))
        return given

    async def erase(self, project: str) -> None:
        """Erase a project for good."""
        self._erased.add(project)
        async with self._opening[project]:
            if (collection := self._collections.pop(project, None)) is not None:
                await collection.close()
            await asyncio.to_thread(_remove, of_project(self._data, project), self._data / DOOMED)

    async def resume(self) -> None:
        """Finish erasures that an earlier process began.

        They concern whole projects and single memories.
        """
        for folder in self._left:  # not the ones being deleted now: their removal must not race with this
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        for project in self.projects:
            if erasure_is_due(of_project(self._data, project)):
                await self.of(project)

    async def close(self) -> None:
        for collection in self.opened.values():
            await collection.close()


def _remove(folder: Path, doomed: Path) -> None:
    """Rename the folder out of the way, then delete it.

    A crash in between leaves a folder that is not taken for a project.
    """
    if not folder.exists():
        return
    target = private_folder(doomed) / f"{folder.name}-{time.time_ns()}"
    folder.replace(target)
    Files().sync_folder(folder.parent)
    shutil.rmtree(target)
    Files().sync_folder(doomed)
