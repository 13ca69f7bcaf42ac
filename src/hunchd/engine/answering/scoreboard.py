"""Prefetch metrics of this user: hits, precision, lead time, waste.

Hourly for a week. Only counts are kept, no paths. There is no timer: expired suggestions are counted at the
next event.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from hunchd.config.places import make_private
from hunchd.prediction.calibration import SILENCE  # suggestions below this confidence do not count

HOUR = 3_600  # seconds
DAY, WEEK = 24, 7 * 24  # hours
WINDOW = 1_800.0  # seconds after which an unused suggestion counts as wrong
RANKS = 10  # ranks counted separately
UNSAVED = 600.0  # seconds of data that a crash may lose

# Prefetch depth. A bundle costs about 10 ms of a core and 20 kB: worth it if one open in 16 goes there.
WORTH = 0.06
DEEPEST = 6
# Prior: how often the next opened file is at each rank in replayed histories.
EXPECTED = (0.22, 0.11, 0.07, 0.05, 0.04, 0.03)
BELIEF = 40.0  # weight of the prior, in opens
FORGETTING = 0.995  # decay for each further open: about the last 200 count
MOST_WASTED = 20_000_000  # bytes of unused bundles in an hour; above it only one file is prefetched


@dataclass(slots=True)
class Counts:
    """Counters of one hour, or of several."""

    opened: int = 0  # newly opened files while there were suggestions
    foreseen: int = 0  # of those, among the first ten suggested just before
    suggested: int = 0  # confident suggestions whose window has passed
    taken: int = 0  # of those, opened within the window
    lead: float = 0.0  # seconds from suggestion to opening, summed over `foreseen`
    asked: int = 0  # bundles requested
    warm: int = 0  # of those, cached
    ahead_bytes: int = 0  # bytes of prefetched bundles
    wasted_bytes: int = 0  # of those, evicted unused

    def add(self, other: Counts) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def figures(self) -> dict[str, Any]:
        """Return the metrics for a status.

        Rates are None where nothing was counted.
        """
        return {
            "opened": self.opened,
            "hit_rate": _share(self.foreseen, self.opened),
            "precision": _share(self.taken, self.suggested),
            "lead_seconds": round(self.lead / self.foreseen, 1) if self.foreseen else None,
            "warm_rate": _share(self.warm, self.asked),
            "ahead_bytes": self.ahead_bytes,
            "wasted_bytes": self.wasted_bytes,
        }


@dataclass(slots=True)
class _Suggested:
    first: float  # time of the first suggestion, or of the last open
    last: float
    sure: bool
    taken: bool = False


class Scoreboard:
    """Recorder of suggestions, opens, requests and evictions.

    Times are seconds since the epoch.
    """

    def __init__(self, hours: dict[int, Counts] | None = None, ranks: Sequence[float] = (), seen: float = 0.0) -> None:
        self._hours = hours or {}
        self._ranks = list(ranks) or [0.0] * RANKS
        self._seen = seen  # number of opens, decayed like the ranks
        self._lists: dict[str, tuple[float, list[str]]] = {}  # by project: time and files of the newest suggestion
        self._pending: dict[tuple[str, str], _Suggested] = {}
        self._saved = 0.0
        self._changed = False

    def suggest(self, project: str, files: Sequence[tuple[str, float]], now: float) -> None:
        """Record the files expected next, with their confidences, likeliest first."""
        self._expire(now)
        self._lists[project] = now, [path for path, _ in files[:RANKS]]
        for path, confidence in files[:RANKS]:
            known = self._pending.get((project, path))
            if known is None:
                self._pending[project, path] = _Suggested(now, now, confidence >= SILENCE)
            else:
                known.last, known.sure = now, known.sure or confidence >= SILENCE

    def opened(self, project: str, path: str, now: float) -> None:
        """Record that a file was opened that was not open."""
        self._expire(now)
        made, suggested = self._lists.get(project, (now, []))
        if not suggested or now - made > WINDOW:
            return
        counts = self._at(now, now)
        counts.opened += 1
        self._seen = self._seen * FORGETTING + 1.0
        self._ranks = [value * FORGETTING for value in self._ranks]
        pending = self._pending.get((project, path))
        if path in suggested:
            self._ranks[suggested.index(path)] += 1.0
            counts.foreseen += 1
            counts.lead += now - pending.first if pending is not None else 0.0
        if pending is not None:
            pending.taken, pending.first = True, now  # it counts as suggested again from now on

    def asked(self, now: float, *, warm: bool) -> None:
        counts = self._at(now, now)
        counts.asked += 1
        counts.warm += warm

    def built(self, size: int, now: float) -> None:
        self._at(now, now).ahead_bytes += size

    def wasted(self, size: int, now: float) -> None:
        self._at(now, now).wasted_bytes += size

    def depth(self, now: float) -> int:
        """Return the number of likely files whose bundles are worth prefetching."""
        if self._at(now, now).wasted_bytes > MOST_WASTED:
            return 1
        deep = 0
        while deep < DEEPEST:
            chance = (self._ranks[deep] + BELIEF * EXPECTED[deep]) / (self._seen + BELIEF)
            if chance < WORTH:
                break
            deep += 1
        return max(deep, 1)

    def forget(self, project: str) -> None:
        """Drop the pending suggestions of a project."""
        self._lists.pop(project, None)
        for key in [key for key in self._pending if key[0] == project]:
            del self._pending[key]

    def over(self, hours: int, now: float) -> Counts:
        """Sum the counters of the last `hours`, including the current one."""
        self._expire(now)
        total = Counts()
        for hour, counts in self._hours.items():
            if int(now) // HOUR - hours < hour <= int(now) // HOUR:
                total.add(counts)
        return total

    def _at(self, moment: float, now: float) -> Counts:
        """Return the counters of the hour of `moment`, which is `now` or earlier."""
        self._changed = True
        hour, newest = int(moment) // HOUR, int(now) // HOUR
        if hour not in self._hours:
            self._hours = {old: counts for old, counts in self._hours.items() if newest - WEEK < old <= newest}
        return self._hours.setdefault(hour, Counts())

    def _expire(self, now: float) -> None:
        """Count expired suggestions, taken or not.

        Counting the taken ones at once would bias the rate.
        """
        for key, pending in list(self._pending.items()):
            if now - pending.last > WINDOW:
                del self._pending[key]
                if pending.sure:
                    counts = self._at(pending.last + WINDOW, now)
                    counts.suggested += 1
                    counts.taken += pending.taken

    # Storing

    def due(self, now: float) -> bool:
        """Return True if enough has changed since the last save."""
        return self._changed and now - self._saved > UNSAVED

    def told(self, now: float) -> str | None:
        """Serialize the metrics, or return None if nothing has changed."""
        self._expire(now)
        if not self._changed:
            return None
        self._changed, self._saved = False, now
        hours = {str(hour): asdict(counts) for hour, counts in self._hours.items()}
        return json.dumps({"version": 1, "hours": hours, "ranks": self._ranks, "seen": self._seen})

    @classmethod
    def load(cls, path: Path) -> Scoreboard:
        """Load saved metrics; start empty if the file is missing or invalid."""
        try:
            told = json.loads(path.read_text())
            hours = {int(hour): Counts(**counts) for hour, counts in told["hours"].items()}
            ranks = [float(value) for value in told["ranks"]]
            return cls(hours, ranks if len(ranks) == RANKS else (), float(told["seen"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def keep(path: Path, told: str) -> None:
    """Write serialized metrics to `path`. Raises OSError when the disk is full."""
    make_private(path.parent)
    draft = path.with_name(f".{path.name}")
    draft.touch(mode=0o600)
    draft.write_text(told)
    draft.replace(path)
