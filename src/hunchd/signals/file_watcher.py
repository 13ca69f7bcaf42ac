"""File watcher for a project.

It watches folders, scans them after lost events, and polls those that cannot be watched.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from hunchd.domain.signal import Signal
from hunchd.protocol.status_answers import FileWatchAnswer, WatchMode
from hunchd.repository.ignore import IGNORE_FILES, IgnoreRules
from hunchd.repository.layout import find_repository
from hunchd.repository.path_kinds import MARKER_FILES
from hunchd.signals.bursts import BurstCollector, WatchOptions
from hunchd.signals.folder_watches import UnwatchableFolder
from hunchd.signals.tree_snapshot import TreeSnapshot, compute_stamp
from hunchd.signals.watcher_thread import Timer, WatcherThread

__all__ = ["FileWatcher", "WatchOptions"]

# A scan yields after this time, so that the kernel's queue is drained meanwhile.
SLICE_SECONDS = 0.05  # seconds
# After an overflow, the tree is scanned once no more events arrive. If they never stop, it is scanned too, but after
# twice the pause each time, because a scan in the middle of a storm has to be repeated.
QUIET_SECONDS = 0.7  # seconds
MIN_RESCAN_WAIT, MAX_RESCAN_WAIT = 4.0, 60.0  # seconds
# More pending paths than this are not processed one by one: a scan is cheaper.
MAX_PENDING = 100_000
# Polling folders that cannot be watched may take this share of one core.
POLLING_SHARE = 0.004
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 5.0, 1_200.0  # seconds
# Interval of looking for a missing root, and of checking that the watched root is still in place.
MISSING_ROOT_INTERVAL, ROOT_CHECK_INTERVAL = 1.0, 60.0  # seconds


class FileWatcher:
    """Watcher for the files below `root`, which passes signals to `emit`.

    `emit` is called on `thread`. It may raise Overloaded: the changes are then kept, merged with later ones, and
    emitted later. Ignored files are not watched.
    """

    def __init__(
        self,
        root: Path,
        rules: IgnoreRules,
        emit: Callable[[Signal], None],
        *,
        options: WatchOptions | None = None,
        thread: WatcherThread,
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self._base = os.fspath(self.root)
        self._rules = rules
        self._options = options or WatchOptions()
        self._thread = thread
        self._snapshot = TreeSnapshot()
        self._bursts = BurstCollector(
            self.root,
            self._snapshot,
            emit,
            thread=self._thread,
            options=self._options,
            layout=find_repository(self.root),
        )
        self._state = "starting"
        self._reason = ""
        self._truncation_reason = ""
        self._identity: tuple[int, int] | None = None
        self._ready_event = threading.Event()
        self._is_stopped = False
        self._scan_queue: deque[str] = deque()
        self._is_scanning = False
        self._is_full_scan = False  # rescan known folders as well
        self._is_first_scan = True  # the first scan emits nothing: it records the initial state
        self._lost_at: float | None = None
        self._last_event = 0.0
        self._rescan_wait = MIN_RESCAN_WAIT
        self._rules_outdated = False  # the ignore rules may have changed
        self._watched_folders: set[str] = set()
        self._polled_folders: set[str] = set()
        self._poll_timer: Timer | None = None
        self._root_check_timer: Timer | None = None
        self._scan_cpu_seconds = 0.0  # seconds of processor time of the scan that is running
        self.rescans = 0
        self.overflows = 0

    def start(self) -> None:
        """Start watching; `wait_ready` waits for the first scan."""
        self._thread.call_soon(self._start_watching)

    def stop(self) -> None:
        """Stop emitting signals; the watches are released soon after."""
        self._is_stopped = True
        self._state = "stopped"
        self._thread.call_soon(self._unwatch_all)

    def wait_ready(self, seconds: float) -> bool:
        """Wait at most `seconds` for the first scan.

        Returns True if the scan has finished.
        """
        return self._ready_event.wait(seconds)

    def status(self) -> FileWatchAnswer:
        """Return the state and mode of the watcher, with the reasons for them.

        This is thread-safe.
        """
        mode: WatchMode = "watching" if not self._polled_folders else "mixed" if self._watched_folders else "polling"
        return FileWatchAnswer(
            state=self._state,
            mode=mode,
            reason=self._reason,
            folders=self._snapshot.folder_count,
            watched=len(self._watched_folders),
            polled=len(self._polled_folders),
            files=self._snapshot.file_count,
            truncated=self._truncation_reason,
            overflows=self.overflows,
            rescans=self.rescans,
            waiting=self._bursts.pending_count,
            thread=self._thread.name,
            failures=self._thread.failure_count,
        )

    def list_known_files(self) -> frozenset[str]:
        """Return the files in the snapshot.

        While no file changes, they are the files that a new scan of the tree would find.
        """
        return frozenset(self._snapshot.iterate_paths())

    # Events from the watcher thread

    def handle_change(self, folder: str, name: str, *, is_dir: bool, is_removed: bool, is_open: bool) -> None:
        self._last_event = time.monotonic()
        if self._lost_at is not None or self._is_stopped:
            return  # a scan is due and will find the change
        path = f"{folder[len(self._base) + 1 :]}/{name}" if folder != self._base else name
        if is_dir:
            if name == ".git" and path != name:
                self._schedule_rescan(rules=True)  # the folder has become a repository of its own, or no longer is one
            elif is_removed:
                self._remove_folder(path)
            elif not is_open and not self._rules.get_reason(path, is_dir=True):
                self._queue_scan([path])
        elif is_open:
            self._bursts.record_opened(path)
        else:
            self._bursts.record_change(path)
            if name in IGNORE_FILES or name in MARKER_FILES:
                self._schedule_rescan(rules=True)
            elif self._bursts.pending_count > MAX_PENDING:
                self._schedule_rescan()

    def handle_folder_removed(self, folder: str) -> None:
        if folder == self._base:
            self._handle_missing_root("the folder was removed, moved or unmounted")
        else:
            self._remove_folder(folder[len(self._base) + 1 :])

    def handle_overflow(self) -> None:
        self.overflows += 1
        self._schedule_rescan()

    # Scanning

    def _start_watching(self) -> None:
        try:
            status = os.lstat(self._base)
        except OSError as error:
            self._handle_missing_root(str(error))
            return
        self._identity = (status.st_dev, status.st_ino)
        self._state = "scanning"
        self._bursts.rules = self._rules
        self._is_full_scan = True
        self._queue_scan([""])
        if self._root_check_timer is not None:
            self._root_check_timer.cancel()
        self._root_check_timer = self._thread.call_later(ROOT_CHECK_INTERVAL, self._check_root)

    def _schedule_rescan(self, *, rules: bool = False) -> None:
        """Schedule one scan of the whole tree.

        If this is called again before the scan begins, no second scan is scheduled. With `rules`, the ignore rules are
        read again.
        """
        self._rules_outdated = self._rules_outdated or rules
        if self._lost_at is None and self._state != "missing":
            self._lost_at = time.monotonic()
            self._bursts.is_held = True
            self._thread.call_later(QUIET_SECONDS, self._rescan)

    def _rescan(self) -> None:
        now = time.monotonic()
        if self._lost_at is None or self._is_stopped:
            return
        quiet = now - self._last_event >= QUIET_SECONDS / 2
        if not quiet and now - self._lost_at < self._rescan_wait:
            self._thread.call_later(QUIET_SECONDS / 2, self._rescan)
            return
        self._rescan_wait = MIN_RESCAN_WAIT if quiet else min(self._rescan_wait * 2, MAX_RESCAN_WAIT)
        self._lost_at = None
        self.rescans += 1
        if self._rules_outdated:
            self._rules_outdated = False
            self._rules = self._bursts.rules = self._rules.reload()
        self._is_full_scan = True
        self._queue_scan([""])

    def _queue_scan(self, folders: list[str]) -> None:
        self._scan_queue.extend(folders)
        if not self._is_scanning:
            self._is_scanning = self._bursts.is_held = True
            self._scan_cpu_seconds = 0.0
            self._scan_slice()

    def _scan_slice(self) -> None:
        """Scan queued folders for up to SLICE_SECONDS seconds.

        The scan reschedules itself until no folder is left.
        """
        began, cpu_start = time.monotonic(), time.thread_time()
        while self._scan_queue and not self._is_stopped:
            self._scan_folder(self._scan_queue.popleft())
            if time.monotonic() - began > SLICE_SECONDS:
                break
        self._scan_cpu_seconds += time.thread_time() - cpu_start
        if self._scan_queue and not self._is_stopped:
            self._thread.call_later(0.0, self._scan_slice)
            return
        self._is_scanning = self._is_full_scan = False
        self._bursts.is_held = self._lost_at is not None
        if self._state == "scanning":
            self._state = "watching"
            self._is_first_scan = False
            self._ready_event.set()
        if self._polled_folders and self._poll_timer is None:
            self._poll_timer = self._thread.call_later(
                min(max(self._scan_cpu_seconds / POLLING_SHARE, MIN_POLL_SECONDS), MAX_POLL_SECONDS), self._scan_polled
            )

    def _scan_folder(self, folder: str) -> None:
        """Watch one folder, and compare its entries with the snapshot."""
        limits = self._options.limits
        if not self._snapshot.has_folder(folder) and self._snapshot.folder_count >= limits.folders:
            self._truncation_reason = f"the project has more than {limits.folders:,} folders; the rest is not watched"
            return
        place = f"{self._base}/{folder}" if folder else self._base
        if not _is_folder(place) or self._rules.get_reason(folder, is_dir=True):
            self._remove_folder(folder)
            return
        is_new = self._snapshot.add_folder(folder) or self._is_first_scan
        self._watch_folder(folder, place)  # before it is listed: a change in between is seen twice rather than never
        listing = self._rules.list_folder(folder, limits)
        if folder and listing.skip_counts["git"]:
            self._schedule_rescan(rules=True)  # it became a repository of its own after it was listed
        if listing.is_truncated:
            self._truncation_reason = (
                f"{folder or '.'} has more than {limits.entries_per_folder:,} entries; the rest is not known"
            )
        self._compare_files(folder, listing.files)
        known_folders = set(self._snapshot.list_subfolders(folder))
        for removed_folder in known_folders.difference(listing.folders):
            self._remove_folder(removed_folder)
        scans_known = self._is_full_scan or is_new
        self._scan_queue.extend(inner for inner in listing.folders if scans_known or inner not in known_folders)

    def _compare_files(self, folder: str, files: tuple[tuple[str, os.stat_result], ...]) -> None:
        before = self._snapshot.list_files(folder)
        start = len(folder) + 1 if folder else 0
        for path, status in files:
            stamp = compute_stamp(status)
            if before.pop(path[start:], None) == stamp:
                continue
            if self._is_first_scan:
                self._snapshot.set_stamp(path, stamp)
            else:
                self._bursts.record_scanned(path, stamp)
        for name in before:
            self._bursts.record_change(f"{folder}/{name}" if folder else name)

    def _remove_folder(self, folder: str) -> None:
        """Remove a missing or ignored folder and its files from the snapshot."""
        if folder == "":
            return
        files, folders = self._snapshot.remove_folder(folder)
        for inner in folders:
            self._thread.unwatch_folder(f"{self._base}/{inner}", self)
            self._watched_folders.discard(inner)
            self._polled_folders.discard(inner)
        self._bursts.record_removed(files)

    # Watching and polling

    def _watch_folder(self, folder: str, place: str) -> None:
        if folder in self._watched_folders and not self._is_full_scan:
            return
        try:
            if folder not in self._watched_folders and len(self._watched_folders) >= self._options.max_watches:
                raise UnwatchableFolder(f"more than {self._options.max_watches:,} folders", is_exhausted=True)
            self._thread.watch_folder(place, self, opens=self._options.opens)
        except UnwatchableFolder as error:
            self._watched_folders.discard(folder)
            if error.is_exhausted:
                self._polled_folders.add(folder)
                self._reason = str(error)
            return
        self._watched_folders.add(folder)
        self._polled_folders.discard(folder)

    def _scan_polled(self) -> None:
        """Scan every polled folder.

        If a folder has become watchable, it is no longer polled after the scan.
        """
        self._poll_timer = None
        if not self._is_stopped and self._state == "watching":
            self._queue_scan(sorted(self._polled_folders))

    # The root

    def _handle_missing_root(self, reason: str) -> None:
        if self._state == "missing" or self._is_stopped:
            return
        self._state = "missing"
        self._reason = reason
        self._lost_at = None
        self._bursts.is_held = self._is_scanning
        self._scan_queue.clear()
        self._unwatch_all()
        self._bursts.reset(None)
        self._thread.call_later(MISSING_ROOT_INTERVAL, self._await_root)

    def _await_root(self) -> None:
        if self._is_stopped:
            return
        if not _is_folder(self._base):
            self._thread.call_later(MISSING_ROOT_INTERVAL, self._await_root)
            return
        self._rules = self._rules.reload()
        self._bursts.reset(find_repository(self.root))
        self._reason = ""
        self.rescans += not self._is_first_scan
        self._start_watching()

    def _check_root(self) -> None:
        """Check that the root's path still leads to the watched folder.

        This must be checked at intervals, because moving the root's parent folder causes no event.
        """
        if self._is_stopped or self._state == "missing":
            return
        try:
            status = os.lstat(self._base)
            is_same = (status.st_dev, status.st_ino) == self._identity
        except OSError:
            is_same = False
        if is_same:
            self._root_check_timer = self._thread.call_later(ROOT_CHECK_INTERVAL, self._check_root)
        else:
            self._handle_missing_root("the folder was replaced by a different one")

    def _unwatch_all(self) -> None:
        for folder in self._watched_folders:
            self._thread.unwatch_folder(f"{self._base}/{folder}" if folder else self._base, self)
        self._watched_folders.clear()
        self._polled_folders.clear()


def _is_folder(place: str) -> bool:
    """Return True if `place` is a folder and not a symlink."""
    try:
        return stat.S_ISDIR(os.lstat(place).st_mode)
    except OSError:
        return False
