"""The real daemon: one for each test that changes it for good, one a file for those that only ask much of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.running import RunningDaemon, running_daemon


@pytest.fixture
def daemon(hunchd_home: Path) -> Iterator[RunningDaemon]:
    with running_daemon(hunchd_home) as started:
        yield started


@pytest.fixture(scope="module")
def shared_daemon(homes: Path) -> Iterator[RunningDaemon]:
    """Started before any test's own surroundings exist, so it is told its own."""
    home = Path(tempfile.mkdtemp(dir=homes, prefix="s"))
    surroundings = {
        "HOME": str(home / "user"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "HF_HUB_OFFLINE": "1",
    }
    with running_daemon(home / "h", environment=surroundings) as started:
        yield started
