"""In-memory cache of new memories and of the newest stored ones.

New memories can be searched as soon as they are accepted, before the store has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Kind, Memory
from hunchd.store.indexes.word_index import WordIndex

# Memory taken by a word of the index and by a memory without its texts, measured with tracemalloc.
_BYTES_PER_WORD = 90
_BYTES_PER_MEMORY = 2_000
# Deleted ids stay blocked at least until the store has deleted them too.
_MAX_TOMBSTONES = 100_000
# A word in a title, a key or a tag is more significant than one in the text.
_HEAD_WEIGHT = 3
_TAG_WEIGHT = 2


class CacheHit(NamedTuple):
    """Memory found by a search of the cache."""

    memory_id: str
    score: float  # BM25, comparable within one search only
    why: tuple[str, ...]
    share: float  # share of the query that it contains, 0..1


@dataclass(slots=True)
class _ProjectCache:
    """Memories and index of one project.

    Projects are kept separate so that no query finds memories of another project.
    """

    memories: dict[str, Memory] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    index: WordIndex = field(default_factory=WordIndex)


class MemoryCache:
    """Bounded cache of memories, with a word index; not thread-safe.

    Above `max_count` memories or `max_bytes` bytes, stored memories are evicted, oldest first. Memories that the store
    does not have yet are never evicted.
    """

    def __init__(self, *, max_count: int = 5_000, max_bytes: int = 32 * 1024 * 1024) -> None:
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._projects: dict[str | None, _ProjectCache] = {}
        self._owners: dict[str, str | None] = {}  # memory id → project
        self._sizes: dict[str, int] = {}
        self._committed_ids: dict[str, None] = {}  # oldest first
        self._uncommitted_ids: set[str] = set()  # not committed: the store does not have them yet
        self._tombstones: dict[str, None] = {}  # oldest first
        self.bytes = 0  # estimated

    def __len__(self) -> int:
        return len(self._owners)

    @property
    def uncommitted_count(self) -> int:
        """Number of memories that the store does not have yet."""
        return len(self._uncommitted_ids)

    def is_uncommitted(self, identifier: str) -> bool:
        """Return True if the store does not have this version of the memory yet."""
        return identifier in self._uncommitted_ids

    def list_uncommitted_facts(self, project: str | None, branch: str) -> list[str]:
        """Return the ids of those facts on a branch that the store does not have yet."""
        project_cache = self._projects.get(project)
        if project_cache is None:
            return []
        memories = (project_cache.memories.get(identifier) for identifier in self._uncommitted_ids)
        return [one.id for one in memories if one is not None and one.kind is Kind.FACT and one.branch == branch]

    def upsert(self, memory: Memory) -> None:
        """Add or replace a memory, which is kept until the store has it."""
        self._remove(memory.id)
        self._tombstones.pop(memory.id, None)
        project_cache = self._projects.setdefault(memory.project, _ProjectCache())
        project_cache.memories[memory.id] = memory
        if memory.ref is not None:
            project_cache.refs[memory.ref] = memory.id
        words = project_cache.index.add(memory.id, _weighted_texts(memory))
        self._owners[memory.id] = memory.project
        self._uncommitted_ids.add(memory.id)
        self._sizes[memory.id] = size = _estimate_size(memory) + words * _BYTES_PER_WORD
        self.bytes += size
        self._evict()

    def tombstone(self, identifier: str) -> None:
        """Remove a memory and block its id until it is added again.

        Results from the store that have a blocked id must not be returned.
        """
        self._remove(identifier)
        self._tombstones.pop(identifier, None)
        self._tombstones[identifier] = None
        if len(self._tombstones) > _MAX_TOMBSTONES:
            del self._tombstones[next(iter(self._tombstones))]

    def is_tombstoned(self, identifier: str) -> bool:
        return identifier in self._tombstones

    def mark_committed(self, committed_entries: Iterable[str | Memory]) -> None:
        """Mark memories as stored; each memory is given by its id or as a whole.

        A memory that has changed since it was sent to the store is not marked, if it is given as a whole.
        """
        for item in committed_entries:
            identifier = item if isinstance(item, str) else item.id
            if identifier not in self._owners or (isinstance(item, Memory) and self.get(identifier) != item):
                continue
            self._committed_ids.pop(identifier, None)
            self._committed_ids[identifier] = None
            self._uncommitted_ids.discard(identifier)
        self._evict()

    def drop_committed(self, identifiers: Iterable[str]) -> None:
        """Drop the given memories from the cache if the store has them."""
        for identifier in identifiers:
            if identifier in self._committed_ids:
                self._remove(identifier)

    def forget_project(self, project: str) -> None:
        for identifier in list(self._projects.get(project, _ProjectCache()).memories):
            self._remove(identifier)

    def get(self, identifier: str) -> Memory | None:
        if identifier not in self._owners:
            return None
        return self._projects[self._owners[identifier]].memories[identifier]

    def get_by_ref(self, project: str | None, ref: str) -> Memory | None:
        """Return the memory with this `ref` (the client's own key), or None."""
        project_cache = self._projects.get(project)
        identifier = project_cache.refs.get(ref) if project_cache is not None else None
        return None if identifier is None else self.get(identifier)

    def search(self, query: str, filters: Filters, k: int, *, uncommitted_only: bool = False) -> tuple[CacheHit, ...]:
        """Return the `k` best memories for `query` that pass `filters`.

        Each of them shares a word with the query. `uncommitted_only` restricts the search to memories that the
        store does not have yet.
        """
        project_cache = self._projects.get(filters.project)
        if project_cache is None or (uncommitted_only and not self.uncommitted_count):
            return ()
        matches_by_score = project_cache.index.search(query, self._uncommitted_ids if uncommitted_only else None)
        passing = (match for match in matches_by_score if matches(project_cache.memories[match.id], filters))
        return tuple(
            CacheHit(match.id, match.score, (f"words: {', '.join(match.words)}",), match.share)
            for match in islice(passing, k)
        )

    def list_memories(self, filters: Filters) -> tuple[Memory, ...]:
        """Return every cached memory that passes `filters`, newest first."""
        project_cache = self._projects.get(filters.project, _ProjectCache())
        passing = [memory for memory in project_cache.memories.values() if matches(memory, filters)]
        return tuple(sorted(passing, key=lambda memory: (memory.at, memory.id), reverse=True))

    def _remove(self, identifier: str) -> None:
        if identifier not in self._owners:
            return
        project = self._owners.pop(identifier)
        project_cache = self._projects[project]
        memory = project_cache.memories.pop(identifier)
        if memory.ref is not None and project_cache.refs.get(memory.ref) == identifier:
            del project_cache.refs[memory.ref]
        project_cache.index.remove(identifier)
        if not project_cache.memories:
            del self._projects[project]
        self._committed_ids.pop(identifier, None)
        self._uncommitted_ids.discard(identifier)
        self.bytes -= self._sizes.pop(identifier)

    def _evict(self) -> None:
        while self._committed_ids and (len(self._owners) > self._max_count or self.bytes > self._max_bytes):
            self._remove(next(iter(self._committed_ids)))


def _weighted_texts(memory: Memory) -> tuple[tuple[str, int], ...]:
    head = " ".join(text for text in (memory.title, memory.key, memory.value) if text)
    return ((head, _HEAD_WEIGHT), (" ".join(memory.tags), _TAG_WEIGHT), (memory.content, 1))


def _estimate_size(memory: Memory) -> int:
    levels = memory.levels
    texts = (memory.title, memory.content, levels.summary, levels.compressed, levels.index, memory.value or "")
    return _BYTES_PER_MEMORY + sum(len(text) for text in texts)
