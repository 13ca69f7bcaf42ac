"""Fixture with a real daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.running import RunningDaemon, running_daemon


@pytest.fixture
def daemon(hunchd_home: Path) -> Iterator[RunningDaemon]:
    """Run the real process on this test's home.

    For example `daemon.get("/status")`, `daemon.add(folder)`, `daemon.kill()`.
    """
    with running_daemon(hunchd_home) as started:
        yield started
