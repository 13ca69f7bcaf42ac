"""Fixture with the watcher thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hunchd.signals.watcher_thread import WatcherThread


@pytest.fixture
def thread() -> Iterator[WatcherThread]:
    thread = WatcherThread("test")
    thread.start()
    yield thread
    thread.stop()
