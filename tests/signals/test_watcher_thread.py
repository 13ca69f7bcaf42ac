"""Watcher thread: timers, calls, descriptors and the fallback without inotify."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from watchdog.observers.polling import PollingObserver

from hunchd.domain.signal import FileDeleted, FileSaved
from hunchd.repository.ignore import IgnoreRules
from hunchd.signals.file_watcher import FileWatcher
from hunchd.signals.folder_watches import ObserverBackend
from hunchd.signals.watcher_thread import WatcherThread
from tests.signals.inbox import Inbox, eventually


def test_timers_run_in_order_unless_cancelled() -> None:
    thread = WatcherThread("test")
    ran: list[str] = []
    done = threading.Event()

    def plan() -> None:
        thread.call_later(0.06, lambda: ran.append("late"))
        thread.call_later(0.08, done.set)
        thread.call_later(0.02, lambda: ran.append("early"))
        thread.call_later(0.04, lambda: ran.append("never")).cancel()

    thread.start()
    thread.call_soon(plan)
    assert done.wait(5)
    thread.stop()

    assert ran == ["early", "late"]
    assert not thread.is_alive


def test_failing_call_is_counted() -> None:
    thread = WatcherThread("test")
    done = threading.Event()
    thread.start()

    thread.call_soon(lambda: 1 // 0)
    thread.call_soon(done.set)

    assert done.wait(5)
    assert thread.failure_count == 1
    thread.stop()


def test_stop_before_start_releases_descriptors() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    thread = WatcherThread("test")
    thread.stop()
    thread.stop()
    thread.call_soon(lambda: None)

    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_repeated_start_stop_leaks_no_descriptor() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(50):
        thread = WatcherThread("test")
        thread.start()
        thread.stop()

    eventually(lambda: len(list(Path("/proc/self/fd").iterdir())) == before)


def test_two_listeners_of_folder_both_notified(tmp_path: Path) -> None:
    thread = WatcherThread("test")
    thread.start()
    inboxes = [Inbox(), Inbox()]
    watchers = [FileWatcher(tmp_path, IgnoreRules.load(tmp_path), inbox, thread=thread) for inbox in inboxes]
    for watcher in watchers:
        watcher.start()
        assert watcher.wait_ready(5)

    (tmp_path / "a.py").write_text("1")
    for inbox in inboxes:
        inbox.wait(lambda inbox=inbox: inbox.of(FileSaved))
    watchers[0].stop()
    eventually(lambda: watchers[0].status().watched == 0)
    for inbox in inboxes:
        inbox.clear()
    (tmp_path / "b.py").write_text("1")
    inboxes[1].wait(lambda: inboxes[1].of(FileSaved))

    assert inboxes[0].signals == []
    thread.stop()


def test_observer_backend_reports_same_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "hunchd.signals.watcher_thread.create_backend",
        lambda host: ObserverBackend(host, PollingObserver(timeout=0.05)),
    )
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("1")
    inbox = Inbox()
    thread = WatcherThread("test")
    thread.start()
    watcher = FileWatcher(tmp_path, IgnoreRules.load(tmp_path), inbox, thread=thread)
    watcher.start()
    assert watcher.wait_ready(5)

    (tmp_path / "src/a.py").write_text("22")
    inbox.wait(lambda: [one.path for one in inbox.of(FileSaved)] == ["src/a.py"])
    (tmp_path / "src/new").mkdir()
    (tmp_path / "src/new/b.py").write_text("1")
    inbox.wait(lambda: "src/new/b.py" in [one.path for one in inbox.of(FileSaved)])
    (tmp_path / "src/a.py").unlink()
    inbox.wait(lambda: [one.path for one in inbox.of(FileDeleted)] == ["src/a.py"])

    watcher.stop()
    thread.stop()
