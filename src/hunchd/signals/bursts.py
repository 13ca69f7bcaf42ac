"""Conversion of bursts of file events to signals that report saved, deleted or replaced files."""

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
from hunchd.repository.ignore import IgnoreRules, WalkLimits
from hunchd.repository.layout import HeadState, RepositoryLayout, find_operation, read_head
from hunchd.signals.tree_snapshot import TreeSnapshot, compute_stamp
from hunchd.signals.watcher_thread import Timer, WatcherThread

logger = logging.getLogger(__name__)

# More paths than this are not listed: the receiver scans the tree.
MAX_LISTED_PATHS = 20_000
# Maximum delay of an uninterrupted burst; a storm (bulk change) may take longer.
MAX_BURST_SECONDS = 1.0  # seconds
MAX_STORM_SECONDS = 10.0  # seconds
# A storm ends after this time without events: git pauses between writing files and moving HEAD.
STORM_QUIET_SECONDS = 0.4  # seconds
# Classification yields after this time, so that the kernel's queue is drained meanwhile.
SLICE_SECONDS = 0.05  # seconds
# A missing file may be between the two steps of an atomic save.
DELETE_DELAY = 0.2  # seconds
# More opens than this within OPENS_WINDOW come from grep or a test run, not from a person.
MAX_OPENS = 10  # files
OPENS_WINDOW = 0.5  # seconds
# git holds `index.lock` while it writes the tree; an older one was left behind by a crash.
GIT_LOCK_AGE = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Options for the file watcher."""

    burst: float = 0.1  # seconds: changes of a file within this time are merged into one signal
    bulk_files: int = 200  # if this many files change in one burst, a tool has changed them, not a person
    max_watches: int = 40_000  # folders; any further ones are polled
    opens: bool = False  # report opened files too
    limits: WalkLimits = field(default_factory=WalkLimits)


class BurstCollector:
    """Collector of changed paths that emits signals when a burst of changes ends.

    Each path is classified by its state at the end of the burst, so that a temporary file, a backup or a rename during
    the burst is never reported.
    """

    def __init__(
        self,
        root: Path,
        snapshot: TreeSnapshot,
        emit: Callable[[Signal], None],
        *,
        thread: WatcherThread,
        options: WatchOptions,
        layout: RepositoryLayout | None,
    ) -> None:
        self._root = root
        self._base = os.fspath(root)
        self._snapshot = snapshot
        self._emit = emit
        self._thread = thread
        self._options = options
        self._layout = layout
        self._head = self._read_head()
        self._changed_at: dict[str, float] = {}  # path → monotonic time of its first change
        self._scanned_paths: list[str] = []  # changed files found by a scan, already classified
        self._burst_started_at = 0.0
        self._removed_paths: set[str] = set()  # files of removed folders, known until they are classified
        self._unclassified_paths: deque[tuple[str, float]] = deque()
        self._saved_paths: list[str] = []
        self._deleted_paths: list[str] = []
        self._deferred_paths: dict[str, float] = {}
        self._in_bulk = False
        self._opened_paths: dict[str, None] = {}
        self._last_event_at = 0.0
        self._timer: Timer | None = None
        self._open_timer: Timer | None = None
        self.rules: IgnoreRules | None = None  # nothing is reported before the rules are set
        self.is_held = False  # True while a scan is due or running, because its findings belong to the same burst

    @property
    def pending_count(self) -> int:
        """Number of changed paths that have not been reported yet."""
        return len(self._changed_at) + len(self._unclassified_paths) + len(self._scanned_paths)

    def record_change(self, path: str) -> None:
        """Record that the file may have changed."""
        self._last_event_at = time.monotonic()
        if not self._changed_at and not self._scanned_paths:
            self._burst_started_at = self._last_event_at
        self._changed_at.setdefault(path, self._last_event_at)
        if self._timer is None:
            self._schedule(self._options.burst)

    def record_scanned(self, path: str, stamp: int) -> None:
        """Record a change that a scan found, with the file's new stamp."""
        self._last_event_at = time.monotonic()
        if not self._changed_at and not self._scanned_paths:
            self._burst_started_at = self._last_event_at
        self._scanned_paths.append(path)
        self._snapshot.set_stamp(path, stamp)
        if self._timer is None:
            self._schedule(self._options.burst)

    def record_removed(self, paths: list[str]) -> None:
        """Record that files disappeared because their folder was removed or is now ignored."""
        self._removed_paths.update(paths)
        for path in paths:
            self.record_change(path)

    def record_opened(self, path: str) -> None:
        """Record that a file was opened."""
        self._opened_paths[path] = None
        if self._open_timer is None:
            self._open_timer = self._thread.call_later(OPENS_WINDOW, self._emit_opened)

    def reset(self, layout: RepositoryLayout | None) -> None:
        """Discard everything collected, because the tree no longer exists.

        `layout` replaces the layout of the git repository.
        """
        self._changed_at.clear()
        self._unclassified_paths.clear()
        self._scanned_paths = []
        self._saved_paths, self._deleted_paths, self._deferred_paths = [], [], {}
        self._removed_paths.clear()
        self._opened_paths.clear()
        self._layout = layout
        self._head = self._read_head()

    def _schedule(self, seconds: float) -> None:
        self._timer = self._thread.call_later(seconds, self._on_timer)

    def _on_timer(self) -> None:
        """Report the changes, or wait longer if the burst continues.

        The timer calls this method.
        """
        self._timer = None
        if not (self._changed_at or self._scanned_paths) or self.rules is None:
            return
        if self._unclassified_paths:
            self._schedule(self._options.burst)
            return
        now = time.monotonic()
        age, quiet_time = now - self._burst_started_at, now - self._last_event_at
        is_storm = len(self._changed_at) + len(self._scanned_paths) >= self._options.bulk_files
        if age < MAX_STORM_SECONDS and (self.is_held or self._is_git_active()):
            self._schedule(STORM_QUIET_SECONDS / 2)
        elif age < (MAX_STORM_SECONDS if is_storm else MAX_BURST_SECONDS) and quiet_time < (
            STORM_QUIET_SECONDS if is_storm else self._options.burst
        ):
            self._schedule(max(0.01, (STORM_QUIET_SECONDS if is_storm else self._options.burst) - quiet_time))
        else:
            self._classify_all()

    def _is_git_active(self) -> bool:
        """Return True if git is changing the working tree.

        Between two steps of a rebase, the result is also True.
        """
        git_dir = self._layout.git_dir if self._layout is not None else None
        if git_dir is None or self._layout is None:
            return False
        try:
            return time.time() - os.lstat(git_dir / "index.lock").st_mtime < GIT_LOCK_AGE
        except OSError:
            return find_operation(self._layout) == "rebase" and self._read_head() != self._head

    def _read_head(self) -> HeadState | None:
        return read_head(self._layout) if self._layout is not None else None

    def _classify_all(self) -> None:
        """Classify all changed paths, in slices of limited duration.

        Other events are handled between the slices.
        """
        self._unclassified_paths = deque(self._changed_at.items())
        self._changed_at = {}
        self._saved_paths, self._deleted_paths, self._deferred_paths = self._scanned_paths, [], {}
        self._scanned_paths = []
        self._classify_slice()

    def _classify_slice(self) -> None:
        now = time.monotonic()
        rules = self.rules
        while self._unclassified_paths and rules is not None:
            self._classify_path(*self._unclassified_paths.popleft(), rules, now)
            if time.monotonic() - now > SLICE_SECONDS:
                self._thread.call_later(0.0, self._classify_slice)
                return
        for path, changed_at in self._deferred_paths.items():
            self._changed_at.setdefault(path, changed_at)
        if self._changed_at and self._timer is None:
            self._burst_started_at = now
            self._schedule(DELETE_DELAY)
        before, self._head = self._head, self._read_head()
        deleted_paths = self._deleted_paths
        deleted_set = set(deleted_paths)
        saved_paths = [path for path in dict.fromkeys(self._saved_paths) if path not in deleted_set]
        self._saved_paths = []
        is_bulk = (
            self._in_bulk or before != self._head or len(saved_paths) + len(deleted_paths) >= self._options.bulk_files
        )
        self._in_bulk = is_bulk and bool(
            self._deferred_paths
        )  # files that may still return belong to the same bulk change
        self._emit_changes(saved_paths, deleted_paths, is_bulk=is_bulk)

    def _classify_path(self, path: str, changed_at: float, rules: IgnoreRules, now: float) -> None:
        stamp = self._read_stamp(path, rules)
        known_stamp = self._snapshot.get_stamp(path)
        if stamp is not None:
            self._removed_paths.discard(path)
            if stamp != known_stamp:
                self._saved_paths.append(path)
                self._snapshot.set_stamp(path, stamp)
        elif known_stamp is not None or path in self._removed_paths:
            if now - changed_at < DELETE_DELAY:
                self._deferred_paths[path] = changed_at
            else:
                self._deleted_paths.append(path)
                self._snapshot.remove_file(path)
                self._removed_paths.discard(path)

    def _read_stamp(self, path: str, rules: IgnoreRules) -> int | None:
        """Return the current stamp of a file.

        Returns None if the file is missing, not a regular file, too large, or ignored by `rules`.
        """
        try:
            status = os.lstat(f"{self._base}/{path}")
        except (OSError, ValueError):
            return None
        if (
            not stat.S_ISREG(status.st_mode)
            or status.st_size > self._options.limits.file_bytes
            or rules.get_reason(path)
        ):
            return None
        return compute_stamp(status)

    def _emit_changes(self, saved_paths: list[str], deleted_paths: list[str], *, is_bulk: bool) -> None:
        """Emit the signals for these changes.

        If the signal queue is full, the paths that were not reported are kept for the next attempt.
        """
        if not saved_paths and not deleted_paths:
            return
        sent_count = 0
        signals = (
            [self._build_bulk_signal(saved_paths, deleted_paths)]
            if is_bulk
            else self._build_file_signals(saved_paths, deleted_paths)
        )
        try:
            for signal in signals:
                self._emit(signal)
                sent_count += 1
        except Overloaded as overload:
            unsent = [*saved_paths, *deleted_paths] if is_bulk else [*saved_paths, *deleted_paths][sent_count:]
            self._put_back(unsent, frozenset(deleted_paths), overload.retry_after)

    def _build_bulk_signal(self, saved_paths: list[str], deleted_paths: list[str]) -> Signal:
        is_listed = len(saved_paths) + len(deleted_paths) <= MAX_LISTED_PATHS
        return FilesChanged(
            project=self._base,
            at=datetime.now(UTC),
            source="watcher",
            saved=tuple(saved_paths) if is_listed else (),
            deleted=tuple(deleted_paths) if is_listed else (),
            complete=is_listed,
        )

    def _build_file_signals(self, saved_paths: list[str], deleted_paths: list[str]) -> list[Signal]:
        project, at = self._base, datetime.now(UTC)
        return [
            *(FileSaved(project=project, at=at, source="watcher", path=path) for path in saved_paths),
            *(FileDeleted(project=project, at=at, source="watcher", path=path) for path in deleted_paths),
        ]

    def _put_back(self, paths: list[str], deleted_paths: frozenset[str], seconds: float) -> None:
        """Put paths back into the collector, so that they are reported after `seconds`.

        Changes that happen in the meantime are merged with them.
        """
        logger.debug("the signal queue is full; retrying %d changes in %.1f s", len(paths), seconds)
        now = self._burst_started_at = time.monotonic()
        for path in paths:
            if path in deleted_paths:
                self._removed_paths.add(path)
            else:
                self._snapshot.set_stamp(path, 0)  # known, but with an outdated stamp
            self._changed_at.setdefault(path, now)
        if self._timer is not None:
            self._timer.cancel()
        self._schedule(seconds)

    def _emit_opened(self) -> None:
        opened_paths, self._opened_paths, self._open_timer = tuple(self._opened_paths), {}, None
        if len(opened_paths) > MAX_OPENS or self.rules is None:
            return
        for path in opened_paths:
            if self._snapshot.get_stamp(path) is not None:
                self._emit(FileOpened(project=self._base, at=datetime.now(UTC), source="watcher", path=path))
