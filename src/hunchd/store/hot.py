"""In-memory cache of memories: searchable on acceptance, and the newest stored ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Kind, Memory
from hunchd.store.indexes.word_index import WordIndex

# Memory taken by a word of the index and by a memory without its texts, measured with tracemalloc.
_WORD_BYTES = 90
_MEMORY_BYTES = 2_000
# Deleted ids stay barred at least until the store has deleted them too.
_MAX_TOMBSTONES = 100_000
# A word in a title, a key or a tag is more significant than one in the text.
_HEAD_WEIGHT = 3
_TAG_WEIGHT = 2


class HotHit(NamedTuple):
    """Search hit of the cache."""

    memory_id: str
    score: float  # BM25, comparable within one search only
    why: tuple[str, ...]
    share: float  # part of the query that it contains, 0..1


@dataclass(slots=True)
class _Shelf:
    """Memories and index of one project.

    They are separate so that no query crosses projects.
    """

    memories: dict[str, Memory] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    index: WordIndex = field(default_factory=WordIndex)


class HotTier:
    """Bounded cache: above `max_count` or `max_bytes` it evicts committed memories, oldest first.

    Memories that the store does not have yet are never evicted. Not thread-safe.
    """

    def __init__(self, *, max_count: int = 5_000, max_bytes: int = 32 * 1024 * 1024) -> None:
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._shelves: dict[str | None, _Shelf] = {}
        self._owners: dict[str, str | None] = {}  # memory id → project
        self._sizes: dict[str, int] = {}
        self._committed: dict[str, None] = {}  # oldest first
        self._waiting: set[str] = set()  # not committed: the store does not have them yet
        self._tombstones: dict[str, None] = {}  # oldest first
        self.bytes = 0  # estimated

    def __len__(self) -> int:
        return len(self._owners)

    @property
    def uncommitted(self) -> int:
        """Number of memories that the store does not have yet."""
        return len(self._waiting)

    def is_waiting(self, identifier: str) -> bool:
        """Return True if the store lacks this version of the memory."""
        return identifier in self._waiting

    def waiting_on(self, project: str | None, branch: str) -> list[str]:
        """Return the uncommitted facts of a branch, as ids."""
        shelf = self._shelves.get(project)
        if shelf is None:
            return []
        memories = (shelf.memories.get(identifier) for identifier in self._waiting)
        return [one.id for one in memories if one is not None and one.kind is Kind.FACT and one.branch == branch]

    def upsert(self, memory: Memory) -> None:
        """Add or replace a memory; it stays until it is committed."""
        self._take_out(memory.id)
        self._tombstones.pop(memory.id, None)
        shelf = self._shelves.setdefault(memory.project, _Shelf())
        shelf.memories[memory.id] = memory
        if memory.ref is not None:
            shelf.refs[memory.ref] = memory.id
        words = shelf.index.add(memory.id, _texts(memory))
        self._owners[memory.id] = memory.project
        self._waiting.add(memory.id)
        self._sizes[memory.id] = size = _size(memory) + words * _WORD_BYTES
        self.bytes += size
        self._shrink()

    def tombstone(self, identifier: str) -> None:
        """Remove a memory and bar its id until it is upserted again.

        Results of the store with a barred id are not served.
        """
        self._take_out(identifier)
        self._tombstones.pop(identifier, None)
        self._tombstones[identifier] = None
        if len(self._tombstones) > _MAX_TOMBSTONES:
            del self._tombstones[next(iter(self._tombstones))]

    def is_tombstoned(self, identifier: str) -> bool:
        return identifier in self._tombstones

    def committed(self, stored: Iterable[str | Memory]) -> None:
        """Mark memories as stored, unless they changed since they were handed over."""
        for one in stored:
            identifier = one if isinstance(one, str) else one.id
            if identifier not in self._owners or (isinstance(one, Memory) and self.get(identifier) != one):
                continue
            self._committed.pop(identifier, None)
            self._committed[identifier] = None
            self._waiting.discard(identifier)
        self._shrink()

    def release(self, identifiers: Iterable[str]) -> None:
        """Drop memories that the store has."""
        for identifier in identifiers:
            if identifier in self._committed:
                self._take_out(identifier)

    def forget_project(self, project: str) -> None:
        for identifier in list(self._shelves.get(project, _Shelf()).memories):
            self._take_out(identifier)

    def get(self, identifier: str) -> Memory | None:
        if identifier not in self._owners:
            return None
        return self._shelves[self._owners[identifier]].memories[identifier]

    def by_ref(self, project: str | None, ref: str) -> Memory | None:
        """Return the memory with this caller's key."""
        shelf = self._shelves.get(project)
        identifier = shelf.refs.get(ref) if shelf is not None else None
        return None if identifier is None else self.get(identifier)

    def search(self, query: str, filters: Filters, k: int, *, waiting: bool = False) -> tuple[HotHit, ...]:
        """Return the `k` best memories for `query` that pass `filters`.

        Each shares a word with it. `waiting` restricts the search to memories that the store does not have yet.
        """
        shelf = self._shelves.get(filters.project)
        if shelf is None or (waiting and not self.uncommitted):
            return ()
        every = shelf.index.search(query, self._waiting if waiting else None)
        passing = (found for found in every if matches(shelf.memories[found.id], filters))
        return tuple(
            HotHit(found.id, found.score, (f"words: {', '.join(found.words)}",), found.share)
            for found in islice(passing, k)
        )

    def list(self, filters: Filters) -> tuple[Memory, ...]:
        """Return every cached memory that passes, newest first."""
        shelf = self._shelves.get(filters.project, _Shelf())
        passing = [memory for memory in shelf.memories.values() if matches(memory, filters)]
        return tuple(sorted(passing, key=lambda memory: (memory.at, memory.id), reverse=True))

    def _take_out(self, identifier: str) -> None:
        if identifier not in self._owners:
            return
        project = self._owners.pop(identifier)
        shelf = self._shelves[project]
        memory = shelf.memories.pop(identifier)
        if memory.ref is not None and shelf.refs.get(memory.ref) == identifier:
            del shelf.refs[memory.ref]
        shelf.index.remove(identifier)
        if not shelf.memories:
            del self._shelves[project]
        self._committed.pop(identifier, None)
        self._waiting.discard(identifier)
        self.bytes -= self._sizes.pop(identifier)

    def _shrink(self) -> None:
        while self._committed and (len(self._owners) > self._max_count or self.bytes > self._max_bytes):
            self._take_out(next(iter(self._committed)))


def _texts(memory: Memory) -> tuple[tuple[str, int], ...]:
    head = " ".join(text for text in (memory.title, memory.key, memory.value) if text)
    return ((head, _HEAD_WEIGHT), (" ".join(memory.tags), _TAG_WEIGHT), (memory.content, 1))


def _size(memory: Memory) -> int:
    levels = memory.levels
    texts = (memory.title, memory.content, levels.summary, levels.compressed, levels.index, memory.value or "")
    return _MEMORY_BYTES + sum(len(text) for text in texts)
