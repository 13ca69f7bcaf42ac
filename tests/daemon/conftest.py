"""Fixture with a real daemon."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon, daemon_of_many, running_daemon


@pytest.fixture
def daemon(request: pytest.FixtureRequest, hunchd_home: Path) -> Iterator[RunningDaemon]:
    """Run the real process on this test's home: `daemon.get("/status")`, `daemon.add(folder)`, `daemon.kill()`, …

    `@pytest.mark.daemon("shared")` is for tests whose data can be erased: they take turns with one process, on a
    home of
    its own, because a start costs more than most of them. `"own"` is the default.
    """
    asked = request.node.get_closest_marker("daemon")
    if asked is not None and asked.args == ("shared",):
        shared: RunningDaemon = request.getfixturevalue("_shared_daemon")
        yield shared
        _empty(shared)
        return
    with running_daemon(hunchd_home) as started:
        yield started


@pytest.fixture(scope="package")
def _shared_daemon(homes: Path) -> Iterator[RunningDaemon]:
    with daemon_of_many(homes) as started:
        yield started


def _empty(daemon: RunningDaemon) -> None:
    """Erase everything stored; replace a daemon that is then not like a new one."""
    try:
        for project in daemon.get("/projects", limit=1000)["items"]:
            daemon.request("DELETE", f"/projects/{project['id']}")
        for session in daemon.get("/sessions", limit=1000)["items"]:
            daemon.request("DELETE", f"/sessions/{session['id']}")
        for line in _kept(daemon):
            if "id" in line["data"]:
                daemon.request("DELETE", f"/memories/{line['data']['id']}")
        if not _kept(daemon):
            return
    except (OSError, AssertionError):
        pass  # it was left dead, or mute
    daemon.kill()
    daemon.home = Path(tempfile.mkdtemp(dir=daemon.home.parent)) / "h"
    daemon.start()


def _kept(daemon: RunningDaemon) -> list[dict[str, Any]]:
    """Return the lines of an export without its metadata."""
    status, text = daemon.request("GET", "/export")
    assert status == 200
    lines = [json.loads(line) for line in text.splitlines()]
    return [line for line in lines if line["type"] != "meta"]
