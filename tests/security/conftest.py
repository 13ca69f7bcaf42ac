"""The real daemon: one per test that changes it permanently, one per file for those that only send requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.running import RunningDaemon, daemon_of_many, running_daemon


@pytest.fixture
def daemon(hunchd_home: Path) -> Iterator[RunningDaemon]:
    with running_daemon(hunchd_home) as started:
        yield started


@pytest.fixture(scope="module")
def shared_daemon(homes: Path) -> Iterator[RunningDaemon]:
    with daemon_of_many(homes) as started:
        yield started
