"""Fixture with the watcher thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hunchd.signals.watching import WatchThread


@pytest.fixture
def thread() -> Iterator[WatchThread]:
    thread = WatchThread("test")
    thread.start()
    yield thread
    thread.stop()
