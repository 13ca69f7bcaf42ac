"""Watcher for a git repository, which reads the repository's files.

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

from hunchd.domain.errors import Overloaded
from hunchd.domain.signal import FilesChanged, Signal
from hunchd.protocol.status_answers import GitWatchAnswer
from hunchd.repository import layout as layouts
from hunchd.repository.layout import HeadState, RepositoryLayout, is_folder
from hunchd.repository.reflog import get_log_end, read_parents, read_steps_since
from hunchd.signals.folder_watches import UnwatchableFolder
from hunchd.signals.git_transitions import RepositoryState, Transition, compute_transition
from hunchd.signals.watcher_thread import Timer, WatcherThread

# git moves several files for one command; it has finished when none has moved for this time.
QUIET_SECONDS = 0.06  # seconds
MAX_BURST_SECONDS = 0.4  # seconds
# For changes without an event (a network file system, a lost watch).
CHECK_INTERVAL = 30.0  # seconds
# Interval if folders cannot be watched: a check takes some tenths of a millisecond.
POLL_INTERVAL = 2.0  # seconds
MAX_WORKTREES = 50
MAX_REF_FOLDERS = 500

# Files of a git folder that affect what is checked out; the index and its lock do not.
_STATE_FILES = frozenset(
    {"HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge"}
    | {"rebase-apply", "sequencer", "packed-refs", "worktrees", "logs", "refs", "tables.list", "shallow"}
)


class _WorkingTree:
    """State of one working tree, with the reflog entries of an operation in progress."""

    def __init__(self, layout: RepositoryLayout) -> None:
        self.layout = layout
        self.state = read_state(layout)
        self.pending = Transition(origin=_find_origin(layout, self.state))
        self.log_offset = get_log_end(layout)
        self.tables = _read_tables_stamp(layout)
        self.shallow_border = layouts.shallow_boundary(layout)

    def collect_signals(self, now: datetime) -> tuple[Signal, ...]:
        """Return the signals for all changes since the last call."""
        project = str(self.layout.root)
        if self.layout.reftable:
            old_tables, self.tables = self.tables, _read_tables_stamp(self.layout)
            if old_tables == self.tables:
                return ()
            return (FilesChanged(project=project, at=now, source="watcher", complete=False),)
        border, self.shallow_border = self.shallow_border, layouts.shallow_boundary(self.layout)
        is_deepened = border != self.shallow_border
        before, after = self.state, read_state(self.layout)
        steps, self.log_offset = read_steps_since(self.layout, self.log_offset)
        depth_signals = (
            (FilesChanged(project=project, at=now, source="watcher", complete=False),) if is_deepened else ()
        )
        if after == before and not steps:
            return depth_signals
        sha = after.head.sha
        commit_parents = read_parents(self.layout, sha) if sha is not None and not steps else None
        transition = compute_transition(
            before, after, self.pending, steps, project=project, at=now, parents=commit_parents
        )
        self.state, self.pending = after, transition
        return (*transition.signals, *depth_signals)


def _find_origin(layout: RepositoryLayout, look: RepositoryState) -> HeadState | None:
    """Return HEAD as it was before the operation in progress began.

    Returns None if no operation is in progress.
    """
    if look.operation != "rebase":
        return look.head if look.operation else None
    return HeadState(branch=look.branch, sha=layouts.find_rebase_origin(layout) or look.head.sha)


def read_state(layout: RepositoryLayout) -> RepositoryState:
    """Read HEAD, the operation in progress and the rebased branch."""
    return RepositoryState(
        layouts.read_head(layout), layouts.find_operation(layout), layouts.find_rebased_branch(layout)
    )


class GitWatcher:
    """Watcher for one repository, which passes signals to `emit`.

    `emit` is called on `thread`; it may raise Overloaded, in which case the signals are kept and emitted later. With
    `is_linked`, all worktrees of the repository are watched. The `project` of a signal is the working tree in which
    the change happened.
    """

    def __init__(
        self,
        layout: RepositoryLayout,
        emit: Callable[[Signal], None],
        *,
        thread: WatcherThread,
        is_linked: bool = False,
    ) -> None:
        self._layout = layout
        self._emit = emit
        self._is_linked = is_linked
        self._thread = thread
        self._tree_by_root: dict[Path, _WorkingTree] = {}
        self._watched_folders: set[str] = set()
        self._pending_signals: deque[Signal] = deque()
        self._reason = ""
        self._is_missing = False
        self._ready_event = threading.Event()
        self._is_stopped = False
        self._timer: Timer | None = None
        self._burst_started_at = 0.0
        self._check_timer: Timer | None = None

    def start(self) -> None:
        self._thread.call_soon(self._start_watching)

    def stop(self) -> None:
        self._is_stopped = True
        self._thread.call_soon(self._unwatch_all)

    def wait_ready(self, seconds: float) -> bool:
        return self._ready_event.wait(seconds)

    def status(self) -> GitWatchAnswer:
        """Return the state and mode of the watcher, and the working trees that it watches.

        This is thread-safe.
        """
        trees = tuple(self._tree_by_root.values())
        return GitWatchAnswer(
            state="stopped" if self._is_stopped else "missing" if self._is_missing else "watching",
            mode="polling" if self._reason else "watching",
            reason=self._reason or self._layout.problem,
            watched=len(self._watched_folders),
            trees=[str(tree.layout.root) for tree in trees],
            operation=next((tree.state.operation for tree in trees if tree.layout == self._layout), ""),
            waiting=len(self._pending_signals),
            thread=self._thread.name,
        )

    # Events from the watcher thread

    def handle_change(self, folder: str, name: str, *, is_dir: bool, is_removed: bool, is_open: bool) -> None:
        del is_open
        inside_refs = "/refs/" in f"{folder}/".replace(os.sep, "/")
        if name.endswith(".lock") or (
            not inside_refs and name not in _STATE_FILES and not folder.endswith("worktrees")
        ):
            return
        if is_dir and not is_removed:
            self._watch_folders()
        now = time.monotonic()
        if self._timer is None:
            self._burst_started_at = now
        elif now - self._burst_started_at < MAX_BURST_SECONDS - QUIET_SECONDS:
            self._timer.cancel()
        else:
            return  # the check is due soon
        self._timer = self._thread.call_later(QUIET_SECONDS, self._check_trees)

    def handle_folder_removed(self, folder: str) -> None:
        self._watched_folders.discard(folder)
        if self._timer is None:
            self._burst_started_at = time.monotonic()
            self._timer = self._thread.call_later(QUIET_SECONDS, self._check_trees)

    def handle_overflow(self) -> None:
        if self._timer is None:
            self._burst_started_at = time.monotonic()
            self._timer = self._thread.call_later(QUIET_SECONDS, self._check_trees)

    # Checking

    def _start_watching(self) -> None:
        self._update_trees()
        self._watch_folders()
        self._ready_event.set()
        self._schedule_check()

    def _schedule_check(self) -> None:
        self._check_timer = self._thread.call_later(POLL_INTERVAL if self._reason else CHECK_INTERVAL, self._run_check)

    def _run_check(self) -> None:
        if self._is_stopped:
            return
        self._reason = ""
        self._check_trees()
        self._schedule_check()

    def _check_trees(self) -> None:
        """Check every working tree and emit signals for its changes."""
        self._timer = None
        if self._is_stopped:
            return
        self._update_trees()
        self._watch_folders()
        now = datetime.now(UTC)
        for tree in self._tree_by_root.values():
            self._pending_signals.extend(tree.collect_signals(now))
        self._emit_pending()

    def _emit_pending(self) -> None:
        while self._pending_signals:
            try:
                self._emit(self._pending_signals[0])
            except Overloaded as overload:
                self._thread.call_later(overload.retry_after, self._emit_pending)
                return
            self._pending_signals.popleft()

    def _update_trees(self) -> None:
        """Update the list of working trees.

        The repository may have been removed, recreated or replaced, and worktrees may have been added or removed.
        """
        layout = self._layout
        has_head = layout.git_dir is not None and os.path.lexists(layout.git_dir / "HEAD")
        if not has_head or self._is_missing:
            layout_found = layouts.find_repository(layout.root)
            self._is_missing = layout_found is None or layout_found.git_dir is None or layout_found.root != layout.root
            if self._is_missing or layout_found is None:
                self._tree_by_root.clear()
                return
            self._layout = layout = layout_found
        layout_by_root = {layout.root: layout}
        if self._is_linked:
            for root in _list_roots(layout)[:MAX_WORKTREES]:
                other = layouts.find_repository(root)
                if other is not None and other.common_dir == layout.common_dir:
                    layout_by_root.setdefault(other.root, other)
        for root in self._tree_by_root.keys() - layout_by_root.keys():
            del self._tree_by_root[root]
        for root, one in layout_by_root.items():
            if root not in self._tree_by_root or self._tree_by_root[root].layout != one:
                self._tree_by_root[root] = _WorkingTree(one)

    def _watch_folders(self) -> None:
        for folder in self._list_folders():
            if folder in self._watched_folders:
                continue
            try:
                self._thread.watch_folder(folder, self)
                self._watched_folders.add(folder)
            except UnwatchableFolder as error:
                if error.is_exhausted:
                    self._reason = str(error)

    def _list_folders(self) -> list[str]:
        """Return the folders whose entries determine the checked-out commit."""
        folders: dict[str, None] = {}
        for tree in self._tree_by_root.values():
            git_dir, common = tree.layout.git_dir, tree.layout.common_dir
            if git_dir is None or common is None:
                continue
            for place in (git_dir, git_dir / "logs", common, common / "worktrees", common / "reftable"):
                if is_folder(place):
                    folders[os.fspath(place)] = None
            if not tree.layout.reftable:
                folders.update(dict.fromkeys(_list_ref_folders(common / "refs" / "heads")))
        return list(folders)

    def _unwatch_all(self) -> None:
        for timer in (self._timer, self._check_timer):
            if timer is not None:
                timer.cancel()
        for folder in self._watched_folders:
            self._thread.unwatch_folder(folder, self)
        self._watched_folders.clear()


def _list_roots(layout: RepositoryLayout) -> list[Path]:
    main = [layout.common_dir.parent] if layout.common_dir is not None and layout.common_dir.name == ".git" else []
    return [*main, *layouts.list_worktrees(layout)]


def _list_ref_folders(heads: Path) -> list[str]:
    """Return the paths of `refs/heads` and its subfolders.

    A branch with a slash in its name is stored in a subfolder.
    """
    ref_folders: list[str] = []
    for folder, inner, _ in os.walk(heads):
        ref_folders.append(folder)
        inner.sort()
        if len(ref_folders) >= MAX_REF_FOLDERS:
            break
    return ref_folders


def _read_tables_stamp(layout: RepositoryLayout) -> tuple[int, int] | None:
    """Return the modification time and inode of the reftable's list of tables.

    Returns None if the repository does not use the reftable format.
    """
    if layout.common_dir is None:
        return None
    try:
        status = (layout.common_dir / "reftable" / "tables.list").stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino
