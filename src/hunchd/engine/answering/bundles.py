"""Cache of prefetched bundles, with hit statistics."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from hunchd.domain.context import Bundle, Focus

KEPT = 256  # bundles of about 40 kB: 10 MB at most


@dataclass(frozen=True, slots=True)
class Key:
    """Cache key of a bundle: everything that its content depends on.

    `revision` and `moment` (ten minutes long, for ages in words) let it expire.
    """

    focus: Focus
    budget: int
    revision: int
    moment: int
    degraded: tuple[str, ...] = ()
    told: frozenset[tuple[str, str]] = frozenset()  # (id, title) of items that the reader has already


@dataclass(slots=True)
class _Kept:
    bundle: Bundle
    ahead: bool  # True if prefetched
    served: int = 0


@dataclass(slots=True)
class Tally:
    """Counters since the daemon started: hits, misses, prefetched and unused bundles."""

    hits: int = 0
    misses: int = 0
    built_ahead: int = 0
    wasted: int = 0


class Bundles:
    """LRU cache of bundles.

    `on_unused` is called with the size in bytes of each unused prefetched one.
    """

    def __init__(self, keep: int = KEPT, *, dropped: Callable[[int], None] = lambda size: None) -> None:
        self._keep = keep
        self._dropped = dropped
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self.tally = Tally()
        self.latencies: deque[float] = deque(maxlen=1_000)  # seconds for each answer, newest last

    def __len__(self) -> int:
        return len(self._kept)

    def has(self, key: Key) -> bool:
        return key in self._kept

    def peek(self, key: Key) -> Bundle | None:
        """Return the bundle for `key` if it is cached, without counting a use."""
        kept = self._kept.get(key)
        return None if kept is None else kept.bundle

    def take(self, key: Key) -> Bundle | None:
        """Return the bundle for `key` if it is cached, and count the use."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        self._kept.move_to_end(key)
        kept.served += 1
        return kept.bundle

    def answered(self, *, warm: bool, seconds: float) -> None:
        """Count a hit or miss, and the seconds it took."""
        if warm:
            self.tally.hits += 1
        else:
            self.tally.misses += 1
        self.latencies.append(seconds)

    def keep(self, key: Key, bundle: Bundle, *, ahead: bool) -> Bundle:
        """Store `bundle`; evict outdated ones and the least recently used."""
        bundle = replace(bundle, prefetched=ahead)
        self._kept[key] = _Kept(bundle, ahead)
        self.tally.built_ahead += ahead
        for old in [old for old in self._kept if _outlived(old, key)]:
            self._drop(self._kept.pop(old))
        while len(self._kept) > self._keep:
            self._drop(self._kept.popitem(last=False)[1])
        return bundle

    def drop(self) -> None:
        """Evict everything."""
        while self._kept:
            self._drop(self._kept.popitem()[1])

    def _drop(self, dropped: _Kept) -> None:
        if dropped.ahead and not dropped.served:
            self.tally.wasted += 1
            self._dropped(size_of(dropped.bundle))

    def forget(self, project: str) -> None:
        """Evict everything of one project."""
        for key in [key for key in self._kept if key.focus.project == project]:
            del self._kept[key]


def size_of(bundle: Bundle) -> int:
    """Estimate the size of a bundle in bytes: its text, whole and by items."""
    return 2 * len(bundle.context.encode("utf-8", "replace"))


def _outlived(old: Key, new: Key) -> bool:
    """Return True if `new` makes `old` unreachable: its revision or time is past."""
    if old.focus.project != new.focus.project:
        return False
    return old.revision < new.revision or old.moment < new.moment - 1
