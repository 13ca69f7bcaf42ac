"""Watcher of a git repository through its files.

It starts no git process and writes nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hunchd.domain.errors import Overloaded
from hunchd.domain.signal import FilesChanged, Signal
from hunchd.repository import layout as layouts
from hunchd.repository.layout import Head, Layout, is_folder
from hunchd.repository.reflog import end_of_log, parents, steps_since
from hunchd.signals.folders import Unwatchable
from hunchd.signals.movements import Look, Story, movements
from hunchd.signals.watching import Timer, WatchThread

# git moves several files for one command; it is done this long after the last one.
REST = 0.06  # seconds
LONGEST_BURST = 0.4  # seconds
# For changes without an event (a network file system, a lost watch).
SLOW_CHECK = 30.0  # seconds
# Interval if folders cannot be watched: a check takes some tenths of a millisecond.
POLL = 2.0  # seconds
MOST_WORKTREES = 50
MOST_REF_FOLDERS = 500

# Files of a git folder that affect what is checked out; the index and its lock do not.
_STATE = frozenset(
    {"HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge"}
    | {"rebase-apply", "sequencer", "packed-refs", "worktrees", "logs", "refs", "tables.list", "shallow"}
)


class _Tree:
    """State of one working tree, and pending steps of a running operation."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.look = look_at(layout)
        self.kept = Story(started=_origin(layout, self.look))
        self.offset = end_of_log(layout)
        self.tables = _tables(layout)
        self.border = layouts.border(layout)

    def news(self, now: datetime) -> tuple[Signal, ...]:
        """Return the signals since the last call."""
        project = str(self.layout.root)
        if self.layout.reftable:
            written, self.tables = self.tables, _tables(self.layout)
            if written == self.tables:
                return ()
            return (FilesChanged(project=project, at=now, source="watcher", complete=False),)
        border, self.border = self.border, layouts.border(self.layout)
        deepened = border != self.border
        before, after = self.look, look_at(self.layout)
        steps, self.offset = steps_since(self.layout, self.offset)
        deeper = (FilesChanged(project=project, at=now, source="watcher", complete=False),) if deepened else ()
        if after == before and not steps:
            return deeper
        sha = after.head.sha
        above = parents(self.layout, sha) if sha is not None and not steps else None
        story = movements(before, after, self.kept, steps, project=project, at=now, parents=above)
        self.look, self.kept = after, story
        return (*story.signals, *deeper)


def _origin(layout: Layout, look: Look) -> Head | None:
    """Return HEAD as it was before the operation that is already running."""
    if look.operation != "rebase":
        return look.head if look.operation else None
    return Head(branch=look.branch, sha=layouts.rebase_origin(layout) or look.head.sha)


def look_at(layout: Layout) -> Look:
    """Read HEAD, the running operation and the rebased branch."""
    return Look(layouts.head(layout), layouts.operation(layout), layouts.rebased_branch(layout))


class GitWatcher:
    """Watcher of one repository that calls `emit` on `thread`.

    `linked` adds all its worktrees. A signal's `project` is the working tree it happened in. `emit` may raise
    Overloaded: the signals are kept.
    """

    def __init__(
        self,
        layout: Layout,
        emit: Callable[[Signal], None],
        *,
        thread: WatchThread,
        linked: bool = False,
    ) -> None:
        self._layout = layout
        self._emit = emit
        self._linked = linked
        self._thread = thread
        self._trees: dict[Path, _Tree] = {}
        self._watched: set[str] = set()
        self._waiting: deque[Signal] = deque()
        self._reason = ""
        self._missing = False
        self._ready = threading.Event()
        self._stopped = False
        self._timer: Timer | None = None
        self._first_event = 0.0
        self._slow: Timer | None = None

    def start(self) -> None:
        self._thread.submit(self._begin)

    def stop(self) -> None:
        self._stopped = True
        self._thread.submit(self._unwatch_all)

    def wait_ready(self, seconds: float) -> bool:
        return self._ready.wait(seconds)

    def status(self) -> dict[str, Any]:
        """Return what is watched and how. Thread-safe."""
        trees = tuple(self._trees.values())
        return {
            "state": "stopped" if self._stopped else "missing" if self._missing else "watching",
            "mode": "polling" if self._reason else "watching",
            "reason": self._reason or self._layout.trouble,
            "watched": len(self._watched),
            "trees": [str(tree.layout.root) for tree in trees],
            "operation": next((tree.look.operation for tree in trees if tree.layout == self._layout), ""),
            "waiting": len(self._waiting),
            "thread": self._thread.name,
        }

    # Events from the watcher thread

    def changed(self, folder: str, name: str, *, is_dir: bool, gone: bool, opened: bool) -> None:
        del opened
        inside_refs = "/refs/" in f"{folder}/".replace(os.sep, "/")
        if name.endswith(".lock") or (not inside_refs and name not in _STATE and not folder.endswith("worktrees")):
            return
        if is_dir and not gone:
            self._watch_all()
        now = time.monotonic()
        if self._timer is None:
            self._first_event = now
        elif now - self._first_event < LONGEST_BURST - REST:
            self._timer.cancel()
        else:
            return  # it is due soon
        self._timer = self._thread.later(REST, self._look)

    def vanished(self, folder: str) -> None:
        self._watched.discard(folder)
        if self._timer is None:
            self._first_event = time.monotonic()
            self._timer = self._thread.later(REST, self._look)

    def lost(self) -> None:
        if self._timer is None:
            self._first_event = time.monotonic()
            self._timer = self._thread.later(REST, self._look)

    # Checking

    def _begin(self) -> None:
        self._find_trees()
        self._watch_all()
        self._ready.set()
        self._plan_slow()

    def _plan_slow(self) -> None:
        self._slow = self._thread.later(POLL if self._reason else SLOW_CHECK, self._slow_check)

    def _slow_check(self) -> None:
        if self._stopped:
            return
        self._reason = ""
        self._look()
        self._plan_slow()

    def _look(self) -> None:
        """Check every tree and emit what changed."""
        self._timer = None
        if self._stopped:
            return
        self._find_trees()
        self._watch_all()
        now = datetime.now(UTC)
        for tree in self._trees.values():
            self._waiting.extend(tree.news(now))
        self._send()

    def _send(self) -> None:
        while self._waiting:
            try:
                self._emit(self._waiting[0])
            except Overloaded as overload:
                self._thread.later(overload.retry_after, self._send)
                return
            self._waiting.popleft()

    def _find_trees(self) -> None:
        """Update the trees: repository removed, recreated or replaced; worktrees added or removed."""
        layout = self._layout
        there = layout.git_dir is not None and os.path.lexists(layout.git_dir / "HEAD")
        if not there or self._missing:
            found = layouts.find(layout.root)
            self._missing = found is None or found.git_dir is None or found.root != layout.root
            if self._missing or found is None:
                self._trees.clear()
                return
            self._layout = layout = found
        wanted = {layout.root: layout}
        if self._linked:
            for root in _all_roots(layout)[:MOST_WORKTREES]:
                other = layouts.find(root)
                if other is not None and other.common_dir == layout.common_dir:
                    wanted.setdefault(other.root, other)
        for root in self._trees.keys() - wanted.keys():
            del self._trees[root]
        for root, one in wanted.items():
            if root not in self._trees or self._trees[root].layout != one:
                self._trees[root] = _Tree(one)

    def _watch_all(self) -> None:
        for folder in self._folders():
            if folder in self._watched:
                continue
            try:
                self._thread.watch(folder, self)
                self._watched.add(folder)
            except Unwatchable as error:
                if error.full:
                    self._reason = str(error)

    def _folders(self) -> list[str]:
        """Return the folders whose entries determine what is checked out."""
        found: dict[str, None] = {}
        for tree in self._trees.values():
            git_dir, common = tree.layout.git_dir, tree.layout.common_dir
            if git_dir is None or common is None:
                continue
            for place in (git_dir, git_dir / "logs", common, common / "worktrees", common / "reftable"):
                if is_folder(place):
                    found[os.fspath(place)] = None
            if not tree.layout.reftable:
                found.update(dict.fromkeys(_ref_folders(common / "refs" / "heads")))
        return list(found)

    def _unwatch_all(self) -> None:
        for timer in (self._timer, self._slow):
            if timer is not None:
                timer.cancel()
        for folder in self._watched:
            self._thread.unwatch(folder, self)
        self._watched.clear()


def _all_roots(layout: Layout) -> list[Path]:
    main = [layout.common_dir.parent] if layout.common_dir is not None and layout.common_dir.name == ".git" else []
    return [*main, *layouts.worktrees(layout)]


def _ref_folders(heads: Path) -> list[str]:
    """Return `refs/heads` and its subfolders, for branches with a slash."""
    found: list[str] = []
    for folder, inner, _ in os.walk(heads):
        found.append(folder)
        inner.sort()
        if len(found) >= MOST_REF_FOLDERS:
            break
    return found


def _tables(layout: Layout) -> tuple[int, int] | None:
    """Return modification time and inode of the reftable, or None."""
    if layout.common_dir is None:
        return None
    try:
        found = (layout.common_dir / "reftable" / "tables.list").stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
