"""File watcher of a project.

It uses watches on folders, scans after lost events, and polling as a fallback.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hunchd.domain.signal import Signal
from hunchd.repository.ignore import IGNORE_FILES, IgnoreRules
from hunchd.repository.layout import find
from hunchd.repository.names import MARKERS
from hunchd.signals.bursts import Bursts, WatchOptions
from hunchd.signals.folders import Unwatchable
from hunchd.signals.snapshot import Snapshot, stamp_of
from hunchd.signals.watching import Timer, WatchThread

__all__ = ["FileWatcher", "WatchOptions"]

# A scan yields after this time, so that the kernel's queue is drained meanwhile.
SLICE = 0.05  # seconds
# After an overflow the tree is scanned once it is quiet. A tree that is never quiet is scanned too, but each time after
# twice the pause: a scan in the middle of a storm has to be repeated.
REST = 0.7  # seconds
FIRST_UNREST, LONGEST_UNREST = 4.0, 60.0  # seconds
# More pending paths than this are not processed one by one: a scan is cheaper.
MAX_WAITING = 100_000
# Polling folders that cannot be watched may take this share of one core.
POLLING_SHARE = 0.004
SHORTEST_POLL, LONGEST_POLL = 5.0, 1_200.0  # seconds
# Interval of looking for a missing root, and of checking that the watched root is still in place.
MISSING_CHECK, ROOT_CHECK = 1.0, 60.0  # seconds


class FileWatcher:
    """Watcher of the wanted files below `root` that calls `emit` on `thread`.

    `emit` may raise Overloaded: the changes are kept, merged with later ones, and emitted later.
    """

    def __init__(
        self,
        root: Path,
        rules: IgnoreRules,
        emit: Callable[[Signal], None],
        *,
        options: WatchOptions | None = None,
        thread: WatchThread,
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self._base = os.fspath(self.root)
        self._rules = rules
        self._options = options or WatchOptions()
        self._thread = thread
        self._snapshot = Snapshot()
        self._bursts = Bursts(
            self.root, self._snapshot, emit, thread=self._thread, options=self._options, layout=find(self.root)
        )
        self._state = "starting"
        self._reason = ""
        self._truncated = ""
        self._identity: tuple[int, int] | None = None
        self._ready = threading.Event()
        self._stopped = False
        self._to_scan: deque[str] = deque()
        self._scanning = False
        self._full = False  # rescan known folders as well
        self._first = True  # the first scan emits nothing: it records the initial state
        self._lost_at: float | None = None
        self._last_event = 0.0
        self._unrest = FIRST_UNREST
        self._stale = False  # the ignore rules may have changed
        self._watched: set[str] = set()
        self._polled: set[str] = set()
        self._poll: Timer | None = None
        self._root_check: Timer | None = None
        self._cost = 0.0  # seconds of processor time of the scan that is running
        self.rescans = 0
        self.overflows = 0

    def start(self) -> None:
        """Start watching; `wait_ready` waits for the first scan."""
        self._thread.submit(self._begin)

    def stop(self) -> None:
        """Stop emitting signals, and release the watches soon."""
        self._stopped = True
        self._state = "stopped"
        self._thread.submit(self._unwatch_all)

    def wait_ready(self, seconds: float) -> bool:
        """Return True if the first scan finishes within `seconds`."""
        return self._ready.wait(seconds)

    def status(self) -> dict[str, Any]:
        """Return the state and mode of the watcher, with reasons. Thread-safe."""
        mode = "watching" if not self._polled else "mixed" if self._watched else "polling"
        return {
            "state": self._state,
            "mode": mode,
            "reason": self._reason,
            "folders": self._snapshot.folders,
            "watched": len(self._watched),
            "polled": len(self._polled),
            "files": self._snapshot.files,
            "truncated": self._truncated,
            "overflows": self.overflows,
            "rescans": self.rescans,
            "waiting": self._bursts.waiting,
            "thread": self._thread.name,
            "failures": self._thread.failures,
        }

    def known(self) -> frozenset[str]:
        """Return the files in the snapshot.

        On a quiet tree it equals a fresh walk.
        """
        return frozenset(self._snapshot.paths())

    # Events from the watcher thread

    def changed(self, folder: str, name: str, *, is_dir: bool, gone: bool, opened: bool) -> None:
        self._last_event = time.monotonic()
        if self._lost_at is not None or self._stopped:
            return  # a scan is due and will find the change
        path = f"{folder[len(self._base) + 1 :]}/{name}" if folder != self._base else name
        if is_dir:
            if name == ".git" and path != name:
                self._scan_when_quiet(rules=True)  # the folder became, or was, a repository of its own
            elif gone:
                self._drop(path)
            elif not opened and not self._rules.reason(path, is_dir=True):
                self._scan([path])
        elif opened:
            self._bursts.open(path)
        else:
            self._bursts.touch(path)
            if name in IGNORE_FILES or name in MARKERS:
                self._scan_when_quiet(rules=True)
            elif self._bursts.waiting > MAX_WAITING:
                self._scan_when_quiet()

    def vanished(self, folder: str) -> None:
        if folder == self._base:
            self._lose_root("the folder was removed, moved or unmounted")
        else:
            self._drop(folder[len(self._base) + 1 :])

    def lost(self) -> None:
        self.overflows += 1
        self._scan_when_quiet()

    # Scanning

    def _begin(self) -> None:
        try:
            found = os.lstat(self._base)
        except OSError as error:
            self._lose_root(str(error))
            return
        self._identity = (found.st_dev, found.st_ino)
        self._state = "scanning"
        self._bursts.rules = self._rules
        self._full = True
        self._scan([""])
        if self._root_check is not None:
            self._root_check.cancel()
        self._root_check = self._thread.later(ROOT_CHECK, self._check_root)

    def _scan_when_quiet(self, *, rules: bool = False) -> None:
        """Schedule one scan of everything.

        Further calls before it begins have no effect.
        """
        self._stale = self._stale or rules
        if self._lost_at is None and self._state != "missing":
            self._lost_at = time.monotonic()
            self._bursts.held = True
            self._thread.later(REST, self._rescan)

    def _rescan(self) -> None:
        now = time.monotonic()
        if self._lost_at is None or self._stopped:
            return
        quiet = now - self._last_event >= REST / 2
        if not quiet and now - self._lost_at < self._unrest:
            self._thread.later(REST / 2, self._rescan)
            return
        self._unrest = FIRST_UNREST if quiet else min(self._unrest * 2, LONGEST_UNREST)
        self._lost_at = None
        self.rescans += 1
        if self._stale:
            self._stale = False
            self._rules = self._bursts.rules = self._rules.reloaded()
        self._full = True
        self._scan([""])

    def _scan(self, folders: list[str]) -> None:
        self._to_scan.extend(folders)
        if not self._scanning:
            self._scanning = self._bursts.held = True
            self._cost = 0.0
            self._scan_slice()

    def _scan_slice(self) -> None:
        """Scan queued folders for up to SLICE seconds.

        Reschedules itself until none is left.
        """
        began, spent = time.monotonic(), time.thread_time()
        while self._to_scan and not self._stopped:
            self._look_at(self._to_scan.popleft())
            if time.monotonic() - began > SLICE:
                break
        self._cost += time.thread_time() - spent
        if self._to_scan and not self._stopped:
            self._thread.later(0.0, self._scan_slice)
            return
        self._scanning = self._full = False
        self._bursts.held = self._lost_at is not None
        if self._state == "scanning":
            self._state = "watching"
            self._first = False
            self._ready.set()
        if self._polled and self._poll is None:
            self._poll = self._thread.later(
                min(max(self._cost / POLLING_SHARE, SHORTEST_POLL), LONGEST_POLL), self._poll_again
            )

    def _look_at(self, folder: str) -> None:
        """Watch one folder and compare its content with the snapshot."""
        limits = self._options.limits
        if not self._snapshot.knows_folder(folder) and self._snapshot.folders >= limits.folders:
            self._truncated = f"more than {limits.folders:,} folders: the rest is not watched"
            return
        place = f"{self._base}/{folder}" if folder else self._base
        if not _is_folder(place) or self._rules.reason(folder, is_dir=True):
            self._drop(folder)
            return
        new = self._snapshot.add_folder(folder) or self._first
        self._watch(folder, place)  # before it is listed: a change in between is seen twice rather than never
        listing = self._rules.listing(folder, limits)
        if folder and listing.skipped["git"]:
            self._scan_when_quiet(rules=True)  # it became a repository of its own after it was listed
        if listing.truncated:
            self._truncated = f"{folder or '.'} has more than {limits.entries_per_folder:,} entries: not all are known"
        self._compare(folder, listing.files)
        known = set(self._snapshot.inner_folders(folder))
        for lost in known.difference(listing.folders):
            self._drop(lost)
        again = self._full or new
        self._to_scan.extend(inner for inner in listing.folders if again or inner not in known)

    def _compare(self, folder: str, files: tuple[tuple[str, os.stat_result], ...]) -> None:
        before = self._snapshot.names(folder)
        start = len(folder) + 1 if folder else 0
        for path, found in files:
            stamp = stamp_of(found)
            if before.pop(path[start:], None) == stamp:
                continue
            if self._first:
                self._snapshot.put(path, stamp)
            else:
                self._bursts.found(path, stamp)
        for name in before:
            self._bursts.touch(f"{folder}/{name}" if folder else name)

    def _drop(self, folder: str) -> None:
        """Remove a folder that is gone or unwanted, with its files."""
        if folder == "":
            return
        files, folders = self._snapshot.remove_folder(folder)
        for inner in folders:
            self._thread.unwatch(f"{self._base}/{inner}", self)
            self._watched.discard(inner)
            self._polled.discard(inner)
        self._bursts.drop(files)

    # Watching and polling

    def _watch(self, folder: str, place: str) -> None:
        if folder in self._watched and not self._full:
            return
        try:
            if folder not in self._watched and len(self._watched) >= self._options.max_watches:
                raise Unwatchable(f"more than {self._options.max_watches:,} folders", full=True)
            self._thread.watch(place, self, opens=self._options.opens)
        except Unwatchable as error:
            self._watched.discard(folder)
            if error.full:
                self._polled.add(folder)
                self._reason = str(error)
            return
        self._watched.add(folder)
        self._polled.discard(folder)

    def _poll_again(self) -> None:
        """Scan every polled folder.

        Those that can be watched by now are watched.
        """
        self._poll = None
        if not self._stopped and self._state == "watching":
            self._scan(sorted(self._polled))

    # The root

    def _lose_root(self, reason: str) -> None:
        if self._state == "missing" or self._stopped:
            return
        self._state = "missing"
        self._reason = reason
        self._lost_at = None
        self._bursts.held = self._scanning
        self._to_scan.clear()
        self._unwatch_all()
        self._bursts.forget(None)
        self._thread.later(MISSING_CHECK, self._look_for_root)

    def _look_for_root(self) -> None:
        if self._stopped:
            return
        if not _is_folder(self._base):
            self._thread.later(MISSING_CHECK, self._look_for_root)
            return
        self._rules = self._rules.reloaded()
        self._bursts.forget(find(self.root))
        self._reason = ""
        self.rescans += not self._first
        self._begin()

    def _check_root(self) -> None:
        """Compare the root with the watched one.

        Moving its parent causes no event.
        """
        if self._stopped or self._state == "missing":
            return
        try:
            found = os.lstat(self._base)
            same = (found.st_dev, found.st_ino) == self._identity
        except OSError:
            same = False
        if same:
            self._root_check = self._thread.later(ROOT_CHECK, self._check_root)
        else:
            self._lose_root("the folder is not the one that was watched")

    def _unwatch_all(self) -> None:
        for folder in self._watched:
            self._thread.unwatch(f"{self._base}/{folder}" if folder else self._base, self)
        self._watched.clear()
        self._polled.clear()


def _is_folder(place: str) -> bool:
    """Return True for a folder that is not a symlink."""
    try:
        return stat.S_ISDIR(os.lstat(place).st_mode)
    except OSError:
        return False
