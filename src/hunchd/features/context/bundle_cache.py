"""Cache of bundles, most of them prefetched, with hit statistics."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from hunchd.domain.context import Bundle, Focus

MAX_BUNDLES = 256  # bundles of about 40 kB: 10 MB at most


@dataclass(frozen=True, slots=True)
class BundleKey:
    """Cache key of a bundle: everything that its content depends on.

    `revision` is the revision of the project's data. `moment` is the number of the ten-minute period, because
    bundles state ages in words. A bundle is outdated when either has changed.
    """

    focus: Focus
    budget: int
    revision: int
    moment: int
    degraded: tuple[str, ...] = ()
    shown_items: frozenset[tuple[str, str]] = frozenset()  # (id, title) of items that the reader has already


@dataclass(slots=True)
class _CachedBundle:
    bundle: Bundle
    is_prefetched: bool
    use_count: int = 0


@dataclass(slots=True)
class CacheCounters:
    """Counts since the daemon started: hits, misses, prefetched bundles, and unused ones."""

    hits: int = 0
    misses: int = 0
    built_ahead: int = 0
    wasted: int = 0


class BundleCache:
    """Cache of bundles that evicts the least recently used ones.

    `on_unused` is called with the size in bytes of each prefetched bundle that is evicted without having been used.
    """

    def __init__(self, capacity: int = MAX_BUNDLES, *, on_unused: Callable[[int], None] = lambda size: None) -> None:
        self._capacity = capacity
        self._on_unused = on_unused
        self._entries: OrderedDict[BundleKey, _CachedBundle] = OrderedDict()
        self.tally = CacheCounters()
        self.latencies: deque[float] = deque(maxlen=1_000)  # seconds for each answer, newest last

    def __len__(self) -> int:
        return len(self._entries)

    def has(self, key: BundleKey) -> bool:
        return key in self._entries

    def peek(self, key: BundleKey) -> Bundle | None:
        """Return the cached bundle for `key`, or None, without counting a use."""
        entry = self._entries.get(key)
        return None if entry is None else entry.bundle

    def get(self, key: BundleKey) -> Bundle | None:
        """Return the cached bundle for `key` and count the use, or return None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        entry.use_count += 1
        return entry.bundle

    def list_prefetched(self, project: str) -> list[str]:
        """Return a project's files that have a prefetched bundle, newest bundle first."""
        keys = [key for key, entry in reversed(self._entries.items()) if entry.is_prefetched]
        return list(dict.fromkeys(key.focus.file for key in keys if key.focus.project == project and key.focus.file))

    def record_answer(self, *, is_hit: bool, seconds: float) -> None:
        """Count a hit or a miss, and record how long the answer took, in seconds."""
        if is_hit:
            self.tally.hits += 1
        else:
            self.tally.misses += 1
        self.latencies.append(seconds)

    def put(self, key: BundleKey, bundle: Bundle, *, is_prefetched: bool) -> Bundle:
        """Store `bundle` and return it, marked as prefetched or not.

        Outdated and least recently used bundles are evicted.
        """
        bundle = replace(bundle, prefetched=is_prefetched)
        self._entries[key] = _CachedBundle(bundle, is_prefetched)
        self.tally.built_ahead += is_prefetched
        for old in [old for old in self._entries if _is_outdated(old, key)]:
            self._evict(self._entries.pop(old))
        while len(self._entries) > self._capacity:
            self._evict(self._entries.popitem(last=False)[1])
        return bundle

    def clear(self) -> None:
        """Evict all bundles."""
        while self._entries:
            self._evict(self._entries.popitem()[1])

    def _evict(self, entry: _CachedBundle) -> None:
        if entry.is_prefetched and not entry.use_count:
            self.tally.wasted += 1
            self._on_unused(estimate_size(entry.bundle))

    def forget_project(self, project: str) -> None:
        """Remove all bundles of one project, without counting any as unused."""
        for key in [key for key in self._entries if key.focus.project == project]:
            del self._entries[key]


def estimate_size(bundle: Bundle) -> int:
    """Estimate the size of a bundle in bytes.

    Its text counts twice, because the bundle contains it both as a whole and split into items.
    """
    return 2 * len(bundle.context.encode("utf-8", "replace"))


def _is_outdated(old: BundleKey, new: BundleKey) -> bool:
    """Return True if no request can ask for the bundle `old` any more.

    This is so if `new` is for the same project, but has a later revision or is at least two moments later.
    """
    if old.focus.project != new.focus.project:
        return False
    return old.revision < new.revision or old.moment < new.moment - 1
