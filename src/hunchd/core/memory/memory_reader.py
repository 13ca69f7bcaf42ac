"""Reading of memories from the cache and the store together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Container, Sequence
from dataclasses import replace

from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.state.project import PROFILE_PREFIX
from hunchd.domain.errors import NotFound
from hunchd.domain.facts import list_versions
from hunchd.domain.filters import Filters, matches
from hunchd.domain.kinds import select_kinds
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.memory_codec import to_microseconds
from hunchd.store.port import MemoryPage, MemoryStore, format_cursor

MAX_WARM_MEMORIES = 2_000  # memories of a project and kind that are cached at the start
PAGE_SIZE = 1_000  # memories fetched at once


class MemoryReader:
    """Read operations of `MemoryService`, on the cache and the store together."""

    def __init__(self, memory_cache: MemoryCache, store: MemoryStore, writer: StoreWriter) -> None:
        self._memory_cache = memory_cache
        self._store = store
        self._writer = writer

    async def drain(self, *, allowed_pending: int) -> None:
        """Wait until at most `allowed_pending` accepted records are still to be stored.

        Callers use this before they add many more records. Raises Unavailable if the wait takes too long.
        """
        await self._writer.drain(allowed_pending=allowed_pending)

    async def get(self, identifier: str, projects: Sequence[str]) -> Memory:
        """Return the memory with this id from the cache or the store.

        Raises NotFound if it does not exist.
        """
        await self._writer.wait_until_started()
        if self._memory_cache.is_tombstoned(identifier):
            raise NotFound(f"there is no memory '{identifier}'", field="id")
        if (memory := self._memory_cache.get(identifier)) is not None:
            return memory
        for project in (None, *projects):
            if memories := await self._store.get([identifier], project):
                return memories[0]
        raise NotFound(f"there is no memory '{identifier}'", field="id")

    async def find_anywhere(self, identifiers: Sequence[str], projects: Sequence[str]) -> list[Memory]:
        """Return the memories in `identifiers` that exist, from the user or any project.

        Raises NotFound if none of them exists.
        """
        memories: dict[str, Memory] = {}
        for project in (None, *projects):
            if missing := [one for one in identifiers if one not in memories]:
                memories |= await self.find(missing, project)
        if not memories:
            raise NotFound(f"there is no memory '{', '.join(identifiers[:3])}'", field="id")
        return [memories[one] for one in dict.fromkeys(identifiers) if one in memories]

    async def find(self, identifiers: Sequence[str], project: str | None) -> dict[str, Memory]:
        """Return the memories in `identifiers` that exist, keyed by id."""
        await self._writer.wait_until_started()
        memories = {name: memory for name in identifiers if (memory := self._memory_cache.get(name)) is not None}
        missing = [name for name in identifiers if name not in memories and not self._memory_cache.is_tombstoned(name)]
        if missing:
            memories |= {memory.id: memory for memory in await self._store.get(missing, project)}
        return memories

    async def list_family(self, identifier: str, project: str | None) -> list[Memory]:
        """Return a memory and everything stored under its id.

        This includes versions, chunks and rejected claims.
        """
        return await self.list_all(Filters(project=project, statuses=(), family=identifier))

    def list_cached(self, filters: Filters) -> tuple[Memory, ...]:
        """Return the cached memories that match `filters`, newest first.

        The cache contains new memories and those that answers need without delay.
        """
        return self._memory_cache.list_memories(filters)

    async def list_all(self, filters: Filters) -> list[Memory]:
        """Return every memory that matches `filters`, in no particular order.

        Both stored and pending memories are returned.
        """
        return [memory async for memory in self.iter_all(filters)]

    async def iter_all(self, filters: Filters) -> AsyncIterator[Memory]:
        """Yield each memory that matches `filters` once.

        Cached memories come first, so that memories that move to the store in the meantime are not missed. If a
        memory is both cached and stored, the cached version is yielded, because it is newer.
        """
        seen_ids = set()
        for memory in self._memory_cache.list_memories(filters):
            seen_ids.add(memory.id)
            yield memory
        cursor: str | None = None
        while True:
            page = await self._store.list(filters, PAGE_SIZE, cursor)
            for stored_memory in page.items:
                newest = self._memory_cache.get(stored_memory.id) or stored_memory
                if (
                    stored_memory.id not in seen_ids
                    and not self._memory_cache.is_tombstoned(stored_memory.id)
                    and matches(newest, filters)
                ):
                    yield newest
            cursor = page.next
            if cursor is None:
                return

    async def list_history(self, identifier: str, projects: Sequence[str]) -> list[Memory]:
        """Return a memory and its earlier versions, newest first."""
        memory = await self.get(identifier, projects)
        family = {one.id: one for one in await self.list_family(memory.id.partition(".")[0], memory.project)}
        return list_versions(memory, family)

    async def list_replaced(self, versions: Sequence[Memory]) -> list[Memory]:
        """Return all facts that the versions of a fact replaced."""
        project, ids = versions[0].project, [one.id for one in versions]
        replaced: list[Memory] = []
        for one in ids:  # grows while it is read
            filters = Filters(project=project, kinds=(Kind.FACT,), statuses=(Status.SUPERSEDED,), replaced_by=one)
            new = [each for each in await self.list_all(filters) if each.id not in ids and "." not in each.id]
            replaced += new
            ids += [each.id for each in new]
        return replaced

    async def list_conflicts_about(self, removed_ids: Container[str], project: str | None) -> list[Memory]:
        """Return the contradictions that quote a memory in `removed_ids`.

        They must be removed together with that memory.
        """
        conflicts = await self.list_all(Filters(project=project, kinds=(Kind.CONTRADICTION,), statuses=()))
        return [one for one in conflicts if any(link.get("ref") in removed_ids for link in one.links)]

    async def load_into_cache(self, project: str | None) -> list[Memory]:
        """Cache and return the memories that answers need without delay.

        These are all facts and profile pages, which any prompt may need, and the newest MAX_WARM_MEMORIES of each
        other preloaded kind.
        """
        memories: dict[str, Memory] = {}
        for standing in (
            Filters(project=project, kinds=(Kind.FACT,), statuses=(Status.ACTIVE, Status.SUSPECT)),
            Filters(project=project, kinds=(Kind.DOCUMENT,), path_prefix=PROFILE_PREFIX),
        ):
            memories |= {memory.id: memory async for memory in self.iter_all(standing)}
        for kind in sorted(select_kinds(lambda one: one.is_preloaded)):
            filters = Filters(project=project, kinds=(kind,), statuses=(Status.ACTIVE, Status.SUSPECT))
            page = await self._store.list(filters, MAX_WARM_MEMORIES)
            for memory in reversed(page.items):
                if self._memory_cache.get(memory.id) is None and not self._memory_cache.is_tombstoned(memory.id):
                    self._memory_cache.upsert(memory)
                    self._memory_cache.mark_committed([memory])
                memories[memory.id] = memory
            memories |= {memory.id: memory for memory in self._memory_cache.list_memories(filters)}
        newer = (self._memory_cache.get(memory.id) or memory for memory in memories.values())
        valid_memories = [
            one for one in newer if one.status in filters.statuses and not self._memory_cache.is_tombstoned(one.id)
        ]
        return sorted(valid_memories, key=lambda memory: (memory.at, memory.id), reverse=True)


async def list_of_owners(
    store: MemoryStore, owners: Sequence[str | None], filters: Filters, limit: int, cursor: str | None
) -> MemoryPage:
    """Return one page of the memories that pass `filters`, newest first.

    The memories of all `owners` are merged; an owner is a project id, or None for the user. Raises InvalidInput for
    a cursor that was not created by this function.
    """
    pages = [await store.list(replace(filters, project=owner), limit, cursor) for owner in owners]
    memories = sorted((one for page in pages for one in page.items), key=lambda one: (-to_microseconds(one.at), one.id))
    shown = memories[:limit]
    is_last = len(memories) <= limit and not any(page.next for page in pages)
    following = None if is_last or not shown else format_cursor(to_microseconds(shown[-1].at), shown[-1].id)
    return MemoryPage(tuple(shown), following, sum(page.total for page in pages))
