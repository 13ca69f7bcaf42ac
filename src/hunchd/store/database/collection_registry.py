"""Registry of collections: one for each project and one for the user.

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
from hunchd.store.database.folders import is_erasure_pending, locate_collection
from hunchd.store.files import FileOperations, create_private_folder

Result = TypeVar("Result")

DELETED_FOLDER: Final = "leaving"  # folder for projects that are being deleted


class CollectionRegistry:
    """Registry of the collections that this process has opened or can open.

    `on_open` is called with each collection after it has been opened.
    """

    def __init__(self, data: Path, session: Any, on_open: Callable[[Collection], Awaitable[None]]) -> None:
        self._data = data
        self._leftover_folders = tuple((data / DELETED_FOLDER).glob("*"))
        self._session = session
        self._on_open = on_open
        self._collections: dict[str | None, Collection] = {}
        self._open_locks: defaultdict[str | None, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._erased_projects: set[str] = set()  # project ids, never reused: late writes for them are refused

    @property
    def open_collections(self) -> dict[str | None, Collection]:
        """All collections that are open, keyed by project id (None for the user)."""
        return dict(self._collections)

    @property
    def projects(self) -> list[str | None]:
        """Ids of the projects that have a collection on disk.

        If the user has a collection, the list starts with None.
        """
        project_ids = sorted(path.name for path in (self._data / "projects").glob("*") if path.is_dir())
        return [*([None] if (self._data / "user").is_dir() else []), *project_ids]

    def has_collection(self, project: str | None) -> bool:
        """Return True if the project has a collection. This never creates a collection."""
        return project in self._collections or locate_collection(self._data, project).is_dir()

    async def get_collection(self, project: str | None) -> Collection:
        """Return the collection of a project, opening it on first use.

        The collection is opened completely even if the caller is cancelled, so that its repairs and erasures never
        overlap with another attempt to open it.
        """
        collection = self._collections.get(project)
        return (
            collection
            if collection is not None
            else await asyncio.shield(asyncio.ensure_future(self._open_collection(project)))
        )

    async def _open_collection(self, project: str | None) -> Collection:
        async with self._open_locks[project]:
            if project in self._erased_projects:
                raise StoreClosed(f"{project} was erased")
            if project not in self._collections:
                collection = await Collection.open(locate_collection(self._data, project), self._session)
                self._collections[project] = collection
                await self._on_open(collection)
            return self._collections[project]

    async def map_collections(
        self, work: Callable[[Collection], Awaitable[Result]], projects: Sequence[str | None] | None = None
    ) -> dict[str | None, Result]:
        """Call `work` with each collection; return the results, keyed by project.

        If `projects` is given, only the collections of these projects are used. Projects that are erased in the
        meantime are left out.
        """
        results: dict[str | None, Result] = {}
        for project in self.projects if projects is None else projects:
            with suppress(StoreClosed):
                if self.has_collection(project):
                    results[project] = await work(await self.get_collection(project))
        return results

    async def erase(self, project: str) -> None:
        """Delete a project's collection permanently; later writes are refused."""
        self._erased_projects.add(project)
        async with self._open_locks[project]:
            if (collection := self._collections.pop(project, None)) is not None:
                await collection.close()
            await asyncio.to_thread(_delete_folder, locate_collection(self._data, project), self._data / DELETED_FOLDER)

    async def finish_erasures(self) -> None:
        """Complete the erasures of projects and memories that an earlier process started."""
        for folder in self._leftover_folders:  # not the ones being deleted now: their removal must not race with this
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        for project in self.projects:
            if is_erasure_pending(locate_collection(self._data, project)):
                await self.get_collection(project)

    async def close(self) -> None:
        for collection in self.open_collections.values():
            await collection.close()


def _delete_folder(folder: Path, trash: Path) -> None:
    """Move the folder to `trash`, then delete it.

    If a crash interrupts the deletion, what is left of the folder is not mistaken for a project.
    """
    if not folder.exists():
        return
    target = create_private_folder(trash) / f"{folder.name}-{time.time_ns()}"
    folder.replace(target)
    FileOperations().sync_folder(folder.parent)
    shutil.rmtree(target)
    FileOperations().sync_folder(trash)
