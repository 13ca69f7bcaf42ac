"""Aggregation of file events into signals: file saved, file deleted, tree replaced."""

from __future__ import annotations

import logging
import os
import stat
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from hunchd.domain.errors import Overloaded
from hunchd.domain.signal import FileDeleted, FileOpened, FileSaved, FilesChanged, Signal
from hunchd.repository.ignore import IgnoreRules, Limits
from hunchd.repository.layout import Head, Layout, head, operation
from hunchd.signals.snapshot import Snapshot, stamp_of
from hunchd.signals.watching import Timer, WatchThread

logger = logging.getLogger(__name__)

# More paths than this are not listed: the receiver scans the tree.
MAX_NAMED = 20_000
# Maximum delay of an uninterrupted burst; a storm (bulk change) may take longer.
LONGEST_BURST = 1.0  # seconds
LONGEST_STORM = 10.0  # seconds
# A storm ends after this time without events: git pauses between writing files and moving HEAD.
STORM_REST = 0.4  # seconds
# Classification yields after this time, so that the kernel's queue is drained meanwhile.
SLICE = 0.05  # seconds
# A missing file may be between the two steps of an atomic save.
GONE_FOR_GOOD = 0.2  # seconds
# More opens than this within SWEEP_WINDOW are grep or a test run, not a person.
SWEEP = 10  # files
SWEEP_WINDOW = 0.5  # seconds
# git holds `index.lock` while it writes the tree; an older one was left behind by a crash.
GIT_LOCK_AGE = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Options of the file watcher."""

    burst: float = 0.1  # seconds: changes of a file within this time are merged into one signal
    bulk_files: int = 200  # this many files within a burst are changed by a tool, not a person
    max_watches: int = 40_000  # folders; those beyond are polled
    opens: bool = False  # report opens, too
    limits: Limits = field(default_factory=Limits)


class Bursts:
    """Collector of changed paths that emits signals when the burst ends.

    A path is classified by its state at that time, so that a temporary file, a backup or a rename in between is
    never reported.
    """

    def __init__(
        self,
        root: Path,
        snapshot: Snapshot,
        emit: Callable[[Signal], None],
        *,
        thread: WatchThread,
        options: WatchOptions,
        layout: Layout | None,
    ) -> None:
        self._root = root
        self._base = os.fspath(root)
        self._snapshot = snapshot
        self._emit = emit
        self._thread = thread
        self._options = options
        self._layout = layout
        self._head = self._look_at_head()
        self._touched: dict[str, float] = {}  # path → monotonic time of its first change
        self._found: list[str] = []  # changed files found by a scan, already classified
        self._began = 0.0
        self._dropped: set[str] = set()  # files of removed folders, known until they are classified
        self._judging: deque[tuple[str, float]] = deque()
        self._saved: list[str] = []
        self._deleted: list[str] = []
        self._later: dict[str, float] = {}
        self._in_bulk = False
        self._opened: dict[str, None] = {}
        self._last = 0.0
        self._timer: Timer | None = None
        self._open_timer: Timer | None = None
        self.rules: IgnoreRules | None = None  # nothing is reported before the rules are set
        self.held = False  # True while a scan is due or runs: its findings belong to the same burst

    @property
    def waiting(self) -> int:
        """Number of paths that are not reported yet."""
        return len(self._touched) + len(self._judging) + len(self._found)

    def touch(self, path: str) -> None:
        """Record that the file may have changed."""
        self._last = time.monotonic()
        if not self._touched and not self._found:
            self._began = self._last
        self._touched.setdefault(path, self._last)
        if self._timer is None:
            self._plan(self._options.burst)

    def found(self, path: str, stamp: int) -> None:
        """Record that a scan saw a change, and the file's new stamp."""
        self._last = time.monotonic()
        if not self._touched and not self._found:
            self._began = self._last
        self._found.append(path)
        self._snapshot.put(path, stamp)
        if self._timer is None:
            self._plan(self._options.burst)

    def drop(self, paths: list[str]) -> None:
        """Record the files of a removed or ignored folder."""
        self._dropped.update(paths)
        for path in paths:
            self.touch(path)

    def open(self, path: str) -> None:
        """Record that a file was opened."""
        self._opened[path] = None
        if self._open_timer is None:
            self._open_timer = self._thread.later(SWEEP_WINDOW, self._tell_opened)

    def forget(self, layout: Layout | None) -> None:
        """Discard everything collected: the tree is gone.

        `layout` replaces the git layout.
        """
        self._touched.clear()
        self._judging.clear()
        self._found = []
        self._saved, self._deleted, self._later = [], [], {}
        self._dropped.clear()
        self._opened.clear()
        self._layout = layout
        self._head = self._look_at_head()

    def _plan(self, seconds: float) -> None:
        self._timer = self._thread.later(seconds, self._due)

    def _due(self) -> None:
        """Report, or wait while the burst continues. Called by the timer."""
        self._timer = None
        if not (self._touched or self._found) or self.rules is None:
            return
        if self._judging:
            self._plan(self._options.burst)
            return
        now = time.monotonic()
        age, rest = now - self._began, now - self._last
        storm = len(self._touched) + len(self._found) >= self._options.bulk_files
        if age < LONGEST_STORM and (self.held or self._git_is_at_work()):
            self._plan(STORM_REST / 2)
        elif age < (LONGEST_STORM if storm else LONGEST_BURST) and rest < (
            STORM_REST if storm else self._options.burst
        ):
            self._plan(max(0.01, (STORM_REST if storm else self._options.burst) - rest))
        else:
            self._tell()

    def _git_is_at_work(self) -> bool:
        """Return True if git is writing the tree.

        Also between two steps of a rebase.
        """
        git_dir = self._layout.git_dir if self._layout is not None else None
        if git_dir is None or self._layout is None:
            return False
        try:
            return time.time() - os.lstat(git_dir / "index.lock").st_mtime < GIT_LOCK_AGE
        except OSError:
            return operation(self._layout) == "rebase" and self._look_at_head() != self._head

    def _look_at_head(self) -> Head | None:
        return head(self._layout) if self._layout is not None else None

    def _tell(self) -> None:
        """Classify every touched path in slices.

        Other events are handled meanwhile.
        """
        self._judging = deque(self._touched.items())
        self._touched = {}
        self._saved, self._deleted, self._later = self._found, [], {}
        self._found = []
        self._judge()

    def _judge(self) -> None:
        now = time.monotonic()
        rules = self.rules
        while self._judging and rules is not None:
            self._judge_one(*self._judging.popleft(), rules, now)
            if time.monotonic() - now > SLICE:
                self._thread.later(0.0, self._judge)
                return
        for path, seen in self._later.items():
            self._touched.setdefault(path, seen)
        if self._touched and self._timer is None:
            self._began = now
            self._plan(GONE_FOR_GOOD)
        before, self._head = self._head, self._look_at_head()
        deleted = self._deleted
        gone = set(deleted)
        saved = [path for path in dict.fromkeys(self._saved) if path not in gone]
        self._saved = []
        bulk = self._in_bulk or before != self._head or len(saved) + len(deleted) >= self._options.bulk_files
        self._in_bulk = bulk and bool(self._later)  # files that may still return belong to the same bulk change
        self._send(saved, deleted, bulk=bulk)

    def _judge_one(self, path: str, seen: float, rules: IgnoreRules, now: float) -> None:
        stamp = self._stamp(path, rules)
        known = self._snapshot.stamp(path)
        if stamp is not None:
            self._dropped.discard(path)
            if stamp != known:
                self._saved.append(path)
                self._snapshot.put(path, stamp)
        elif known is not None or path in self._dropped:
            if now - seen < GONE_FOR_GOOD:
                self._later[path] = seen
            else:
                self._deleted.append(path)
                self._snapshot.forget(path)
                self._dropped.discard(path)

    def _stamp(self, path: str, rules: IgnoreRules) -> int | None:
        """Return the current stamp of a wanted file, or None."""
        try:
            found = os.lstat(f"{self._base}/{path}")
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(found.st_mode) or found.st_size > self._options.limits.file_bytes or rules.reason(path):
            return None
        return stamp_of(found)

    def _send(self, saved: list[str], deleted: list[str], *, bulk: bool) -> None:
        """Emit signals.

        If the queue is full, the paths are kept for the next attempt.
        """
        if not saved and not deleted:
            return
        sent = 0
        signals = [self._bulk(saved, deleted)] if bulk else self._single(saved, deleted)
        try:
            for signal in signals:
                self._emit(signal)
                sent += 1
        except Overloaded as overload:
            left = [*saved, *deleted] if bulk else [*saved, *deleted][sent:]
            self._take_back(left, frozenset(deleted), overload.retry_after)

    def _bulk(self, saved: list[str], deleted: list[str]) -> Signal:
        named = len(saved) + len(deleted) <= MAX_NAMED
        return FilesChanged(
            project=self._base,
            at=datetime.now(UTC),
            source="watcher",
            saved=tuple(saved) if named else (),
            deleted=tuple(deleted) if named else (),
            complete=named,
        )

    def _single(self, saved: list[str], deleted: list[str]) -> list[Signal]:
        project, at = self._base, datetime.now(UTC)
        return [
            *(FileSaved(project=project, at=at, source="watcher", path=path) for path in saved),
            *(FileDeleted(project=project, at=at, source="watcher", path=path) for path in deleted),
        ]

    def _take_back(self, paths: list[str], deleted: frozenset[str], seconds: float) -> None:
        """Put paths back for the next attempt.

        They are merged with what happens until then.
        """
        logger.debug("the signal queue is full; retrying %d changes in %.1f s", len(paths), seconds)
        now = self._began = time.monotonic()
        for path in paths:
            if path in deleted:
                self._dropped.add(path)
            else:
                self._snapshot.put(path, 0)  # known, but with an outdated stamp
            self._touched.setdefault(path, now)
        if self._timer is not None:
            self._timer.cancel()
        self._plan(seconds)

    def _tell_opened(self) -> None:
        opened, self._opened, self._open_timer = tuple(self._opened), {}, None
        if len(opened) > SWEEP or self.rules is None:
            return
        for path in opened:
            if self._snapshot.stamp(path) is not None:
                self._emit(FileOpened(project=self._base, at=datetime.now(UTC), source="watcher", path=path))
