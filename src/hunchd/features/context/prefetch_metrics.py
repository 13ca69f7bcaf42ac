"""Metrics that state how good prefetching is for this user: hits, precision, lead time, waste.

Counts are kept per hour, for a week. Only counts are stored, no paths; the recently opened files are kept in memory
until the daemon ends. There is no timer: suggestions that have expired are counted at the next event.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import NamedTuple

from hunchd.prediction.calibration import DISPLAY_THRESHOLD  # suggestions below this confidence do not count
from hunchd.protocol.status_answers import BaselineAnswer, CalibrationAnswer, ForesightAnswer

HOUR = 3_600  # seconds
DAY, WEEK = 24, 7 * 24  # hours
WINDOW_SECONDS = 1_800.0  # seconds after which an unused suggestion counts as wrong
MAX_RANKS = 10  # ranks counted separately
BINS = 10  # ranges of confidence that are compared with what was opened
MAX_HISTORY = 500  # most recently opened files of a project, from which the baselines choose; in memory only
MAX_OPENS = 50  # most recently opened files that are remembered, over all projects
SAVE_INTERVAL_SECONDS = 600.0  # seconds of data that a crash may lose

# Prefetch depth. A bundle costs about 10 ms of a core and 20 kB: this pays off if the file is opened one time in 16.
MIN_OPEN_PROBABILITY = 0.06
MAX_DEPTH = 6
# Prior: how often the next opened file is at each rank in replayed histories.
PRIOR_RATES = (0.22, 0.11, 0.07, 0.05, 0.04, 0.03)
PRIOR_WEIGHT = 40.0  # weight of the prior, in opened files
DECAY = 0.995  # decay per opened file: about the last 200 count
MAX_WASTED_BYTES = 20_000_000  # bytes of unused bundles in an hour; above it only one file is prefetched


@dataclass(slots=True)
class PrefetchCounts:
    """Counts for one hour, or their sums over several hours."""

    opened: int = 0  # files opened while there were suggestions
    foreseen: int = 0  # of those, among the first ten suggested just before
    suggested: int = 0  # confident suggestions whose window has passed
    taken: int = 0  # of those, opened within the window
    lead: float = 0.0  # seconds from suggestion to opening, summed over `foreseen`
    asked: int = 0  # bundles requested
    warm: int = 0  # of those, cached
    ahead_bytes: int = 0  # bytes of prefetched bundles
    wasted_bytes: int = 0  # of those, evicted unused
    shown: list[int] = field(default_factory=lambda: [0] * BINS)  # suggestions whose window has passed, by confidence
    followed: list[int] = field(default_factory=lambda: [0] * BINS)  # of those, opened within the window
    compared: int = 0  # opened files for which the baselines had ten files to name
    compared_foreseen: int = 0  # of those, among the first ten suggested
    recent: int = 0  # of those, among the ten most recently opened
    frequent: int = 0  # of those, among the ten most frequently opened

    def add(self, other: PrefetchCounts) -> None:
        for each in fields(self):
            own, others = getattr(self, each.name), getattr(other, each.name)
            total = (
                [one + another for one, another in zip(own, others, strict=True)]
                if each.name in LISTS
                else own + others
            )
            setattr(self, each.name, total)

    def to_answer(self) -> ForesightAnswer:
        """Return the metrics in the form used by the status.

        Rates without data are None.
        """
        return ForesightAnswer(
            opened=self.opened,
            hit_rate=_ratio(self.foreseen, self.opened),
            precision=_ratio(self.taken, self.suggested),
            lead_seconds=round(self.lead / self.foreseen, 1) if self.foreseen else None,
            warm_rate=_ratio(self.warm, self.asked),
            ahead_bytes=self.ahead_bytes,
            wasted_bytes=self.wasted_bytes,
            calibration=[
                CalibrationAnswer(above=number / BINS, shown=shown, opened=followed)
                for number, (shown, followed) in enumerate(zip(self.shown, self.followed, strict=True))
            ],
            baselines=BaselineAnswer(
                opened=self.compared, foreseen=self.compared_foreseen, recent=self.recent, frequent=self.frequent
            ),
        )


LISTS = frozenset({"shown", "followed"})


class PredictedOpen(NamedTuple):
    """Opened file, with the rank and the probability that were predicted for it.

    The rank and the probability are None if the file was not predicted.
    """

    project: str
    path: str
    at: float  # seconds since the epoch
    rank: int | None  # from 1
    probability: float | None


@dataclass(slots=True)
class _Suggestion:
    first: float  # time of the first suggestion, or of the last open
    last: float
    confidence: float  # the highest of all times that it was suggested
    is_taken: bool = False


class PrefetchMetrics:
    """Recorder that counts suggestions, opened files, bundle requests and evictions.

    Times are in seconds since the epoch.
    """

    def __init__(
        self, hours: dict[int, PrefetchCounts] | None = None, ranks: Sequence[float] = (), open_weight: float = 0.0
    ) -> None:
        self._hours = hours or {}
        self._ranks = list(ranks) or [0.0] * MAX_RANKS
        self._open_weight = open_weight  # number of opens, decayed like the ranks
        self._newest_suggestions: dict[
            str, tuple[float, dict[str, float]]
        ] = {}  # project → time, files and confidences of its newest suggestions
        self._pending: dict[tuple[str, str], _Suggestion] = {}
        self._opened_paths: dict[str, deque[str]] = {}  # by project
        self.last_opens: deque[PredictedOpen] = deque(maxlen=MAX_OPENS)
        self._saved_at = 0.0
        self._is_changed = False

    def record_suggestions(self, project: str, files: Sequence[tuple[str, float]], now: float) -> None:
        """Record the files that are expected next, likeliest first, with their confidence."""
        self._expire(now)
        self._newest_suggestions[project] = now, dict(files[:MAX_RANKS])
        for path, confidence in files[:MAX_RANKS]:
            suggestion = self._pending.get((project, path))
            if suggestion is None:
                self._pending[project, path] = _Suggestion(now, now, confidence)
            else:
                suggestion.last, suggestion.confidence = now, max(suggestion.confidence, confidence)

    def record_open(self, project: str, path: str, now: float, open_files: Collection[str] = ()) -> None:
        """Record that a file was opened.

        The file must not be open already.
        """
        self._expire(now)
        baselines = self._list_baselines(project, path, open_files)
        made_at, suggested_paths = self._newest_suggestions.get(project, (now, {}))
        if not suggested_paths or now - made_at > WINDOW_SECONDS:
            return
        counts = self._get_counts(now, now)
        counts.opened += 1
        self._open_weight = self._open_weight * DECAY + 1.0
        self._ranks = [value * DECAY for value in self._ranks]
        pending = self._pending.get((project, path))
        rank = list(suggested_paths).index(path) if path in suggested_paths else None
        place = None if rank is None else rank + 1
        self.last_opens.append(PredictedOpen(project, path, now, place, suggested_paths.get(path)))
        if baselines is not None:
            counts.compared += 1
            counts.compared_foreseen += rank is not None
            counts.recent += path in baselines[0]
            counts.frequent += path in baselines[1]
        if rank is not None:
            self._ranks[rank] += 1.0
            counts.foreseen += 1
            counts.lead += now - pending.first if pending is not None else 0.0
        if pending is not None:
            pending.is_taken, pending.first = True, now  # it counts as suggested again from now on

    def _list_baselines(
        self, project: str, path: str, open_files: Collection[str]
    ) -> tuple[list[str], list[str]] | None:
        """Return the suggestions of two simple baselines, then add `path` to the history.

        One baseline suggests the ten most recently opened files, the other the ten most frequently opened files.
        Both leave out open files, as the real suggestions do. Returns None while fewer than ten files are known.
        """
        history = self._opened_paths.setdefault(project, deque(maxlen=MAX_HISTORY))
        known = [each for each in reversed(history) if each not in open_files]
        recent = list(dict.fromkeys(known))[:MAX_RANKS]
        frequent = [each for each, _ in Counter(known).most_common(MAX_RANKS)]
        history.append(path)
        return (recent, frequent) if len(recent) == MAX_RANKS else None

    def record_request(self, now: float, *, is_hit: bool) -> None:
        counts = self._get_counts(now, now)
        counts.asked += 1
        counts.warm += is_hit

    def record_prefetch(self, size: int, now: float) -> None:
        self._get_counts(now, now).ahead_bytes += size

    def record_unused(self, size: int, now: float) -> None:
        self._get_counts(now, now).wasted_bytes += size

    def get_prefetch_depth(self, now: float) -> int:
        """Return for how many of the likeliest files prefetching bundles is worthwhile."""
        if self._get_counts(now, now).wasted_bytes > MAX_WASTED_BYTES:
            return 1
        deep = 0
        while deep < MAX_DEPTH:
            chance = (self._ranks[deep] + PRIOR_WEIGHT * PRIOR_RATES[deep]) / (self._open_weight + PRIOR_WEIGHT)
            if chance < MIN_OPEN_PROBABILITY:
                break
            deep += 1
        return max(deep, 1)

    def forget_project(self, project: str) -> None:
        """Drop a project's pending suggestions and its opened files."""
        kept = [each for each in self.last_opens if each.project != project]
        self.last_opens = deque(kept, maxlen=MAX_OPENS)
        self._newest_suggestions.pop(project, None)
        self._opened_paths.pop(project, None)
        for key in [key for key in self._pending if key[0] == project]:
            del self._pending[key]

    def sum_hours(self, hours: int, now: float) -> PrefetchCounts:
        """Sum the counts for the last `hours` hours, including the current one."""
        self._expire(now)
        total = PrefetchCounts()
        for hour, counts in self._hours.items():
            if int(now) // HOUR - hours < hour <= int(now) // HOUR:
                total.add(counts)
        return total

    def _get_counts(self, moment: float, now: float) -> PrefetchCounts:
        """Return the counts for the hour that contains `moment`.

        `moment` must not be later than `now`.
        """
        self._is_changed = True
        hour, newest = int(moment) // HOUR, int(now) // HOUR
        if hour not in self._hours:
            self._hours = {old: counts for old, counts in self._hours.items() if newest - WEEK < old <= newest}
        return self._hours.setdefault(hour, PrefetchCounts())

    def _expire(self, now: float) -> None:
        """Count the suggestions that have expired, whether or not they were followed.

        Counting a followed suggestion at once would bias the rate, because the others are counted only when they
        expire.
        """
        for key, pending in list(self._pending.items()):
            if now - pending.last > WINDOW_SECONDS:
                del self._pending[key]
                counts = self._get_counts(pending.last + WINDOW_SECONDS, now)
                bin_number = min(int(pending.confidence * BINS), BINS - 1)
                counts.shown[bin_number] += 1
                counts.followed[bin_number] += pending.is_taken
                if pending.confidence >= DISPLAY_THRESHOLD:
                    counts.suggested += 1
                    counts.taken += pending.is_taken

    # Storing

    def is_save_due(self, now: float) -> bool:
        """Return True if the metrics have changed and should be saved.

        They are saved at most every SAVE_INTERVAL_SECONDS.
        """
        return self._is_changed and now - self._saved_at > SAVE_INTERVAL_SECONDS

    def dump(self, now: float) -> str | None:
        """Serialize the metrics.

        Returns None if nothing has changed since the last call.
        """
        self._expire(now)
        if not self._is_changed:
            return None
        self._is_changed, self._saved_at = False, now
        hours = {str(hour): asdict(counts) for hour, counts in self._hours.items()}
        return json.dumps({"version": 1, "hours": hours, "ranks": self._ranks, "seen": self._open_weight})

    @classmethod
    def load(cls, path: Path) -> PrefetchMetrics:
        """Load the saved metrics.

        Returns empty metrics if the file is missing or invalid.
        """
        try:
            saved_metrics = json.loads(path.read_text())
            hours = {int(hour): PrefetchCounts(**counts) for hour, counts in saved_metrics["hours"].items()}
            ranks = [float(value) for value in saved_metrics["ranks"]]
            return cls(hours, ranks if len(ranks) == MAX_RANKS else (), float(saved_metrics["seen"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None
