"""Reading of memories from the cache and the store as one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Container, Sequence

from hunchd.domain.errors import NotFound
from hunchd.domain.facts import chain
from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.engine.keeping.writing import Writer
from hunchd.engine.state.project import PROFILE
from hunchd.store.client import StoreClient
from hunchd.store.hot import HotTier

WARM = 2_000  # memories of a project and kind that are cached at the start
FAMILY_PAGE = 1_000  # memories fetched at once


class Kept:
    """Reading half of `MemoryService`."""

    def __init__(self, hot: HotTier, store: StoreClient, writer: Writer) -> None:
        self._hot = hot
        self._store = store
        self._writer = writer

    async def get(self, identifier: str, projects: Sequence[str]) -> Memory:
        """Return the memory with this id, cached or stored.

        Raises NotFound.
        """
        await self._writer.begun()
        if self._hot.is_tombstoned(identifier):
            raise NotFound(f"there is no memory '{identifier}'", field="id")
        if (memory := self._hot.get(identifier)) is not None:
            return memory
        for project in (None, *projects):
            if found := await self._store.get([identifier], project):
                return found[0]
        raise NotFound(f"there is no memory '{identifier}'", field="id")

    async def known(self, identifiers: Sequence[str], project: str | None) -> dict[str, Memory]:
        """Return the existing memories among `identifiers` in one project, by id."""
        await self._writer.begun()
        found = {name: memory for name in identifiers if (memory := self._hot.get(name)) is not None}
        missing = [name for name in identifiers if name not in found and not self._hot.is_tombstoned(name)]
        if missing:
            found |= {memory.id: memory for memory in await self._store.get(missing, project)}
        return found

    async def family(self, identifier: str, project: str | None) -> list[Memory]:
        """Return a memory and everything stored under it: versions, chunks, rejected claims."""
        return await self.all_of(Filters(project=project, statuses=(), family=identifier))

    def at_hand(self, filters: Filters) -> tuple[Memory, ...]:
        """Return the cached memories that match, newest first.

        The cache holds what is new and what answers need at once.
        """
        return self._hot.list(filters)

    async def all_of(self, filters: Filters) -> list[Memory]:
        """Return every memory that matches, stored or pending, in no order."""
        return [memory async for memory in self.each(filters)]

    async def each(self, filters: Filters) -> AsyncIterator[Memory]:
        """Yield every memory that matches, each once.

        Cached ones come first, so that those that move to the store meanwhile are not missed; a newer cached
        version wins.
        """
        seen = set()
        for memory in self._hot.list(filters):
            seen.add(memory.id)
            yield memory
        cursor: str | None = None
        while True:
            page = await self._store.list(filters, FAMILY_PAGE, cursor)
            for stored in page.items:
                newest = self._hot.get(stored.id) or stored
                if stored.id not in seen and not self._hot.is_tombstoned(stored.id) and matches(newest, filters):
                    yield newest
            cursor = page.next
            if cursor is None:
                return

    async def history(self, identifier: str, projects: Sequence[str]) -> list[Memory]:
        """Return a memory and its earlier versions, newest first."""
        memory = await self.get(identifier, projects)
        family = {one.id: one for one in await self.family(memory.id.partition(".")[0], memory.project)}
        return chain(memory, family)

    async def conflicts_about(self, gone: Container[str], project: str | None) -> list[Memory]:
        """Return the contradictions that quote a memory in `removed_ids`.

        They must be removed with it.
        """
        conflicts = await self.all_of(Filters(project=project, kinds=(Kind.CONTRADICTION,), statuses=()))
        return [one for one in conflicts if any(link.get("ref") in gone for link in one.links)]

    async def warm(self, project: str | None) -> list[Memory]:
        """Load the memories that answers need at once into the cache.

        Returns them. These are the newest MAX_WARM_MEMORIES errors, documents, patterns, workflows and
        contradictions, and without a limit what every prompt may need: facts and profile pages.
        """
        found: dict[str, Memory] = {}
        for standing in (
            Filters(project=project, kinds=(Kind.FACT,), statuses=(Status.ACTIVE, Status.SUSPECT)),
            Filters(project=project, kinds=(Kind.DOCUMENT,), path_prefix=PROFILE),
        ):
            found |= {memory.id: memory async for memory in self.each(standing)}
        for kind in (Kind.CONTRADICTION, Kind.DOCUMENT, Kind.ERROR, Kind.FACT, Kind.PATTERN, Kind.WORKFLOW):
            filters = Filters(project=project, kinds=(kind,), statuses=(Status.ACTIVE, Status.SUSPECT))
            page = await self._store.list(filters, WARM)
            for memory in reversed(page.items):
                if self._hot.get(memory.id) is None and not self._hot.is_tombstoned(memory.id):
                    self._hot.upsert(memory)
                    self._hot.committed([memory])
                found[memory.id] = memory
            found |= {memory.id: memory for memory in self._hot.list(filters)}
        newer = (self._hot.get(memory.id) or memory for memory in found.values())
        shown = [one for one in newer if one.status in filters.statuses and not self._hot.is_tombstoned(one.id)]
        return sorted(shown, key=lambda memory: (memory.at, memory.id), reverse=True)
