"""`hunch mcp` and the real daemon, including calls that outlive it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.cli.daemon_control import find_lock_holder, stop_process
from tests.cli.test_mcp_server import INITIALIZE, agent
from tests.daemon.running import RunningDaemon
from tests.repositories import make_shop

# On a busy machine a start takes longer than a command waits for it: the agent asks again.
ATTEMPTS = 6


@pytest.mark.slow
def test_session_survives_killed_daemon(daemon: RunningDaemon, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    daemon.add(shop)
    file = next(path.relative_to(shop).as_posix() for path in sorted(shop.rglob("*.py")))

    with agent("--project", str(shop)) as it:
        it.send(INITIALIZE)
        it.read()
        assert file in it.call("context", file=file)[0]
        kept, failed = it.call("remember", text="the shop takes euros only", category="decision")
        assert not failed
        daemon.kill()
        daemon.start()
        text, failed = it.call("search", query="euros")

    assert not failed
    assert "the shop takes euros only" in text
    assert kept.removeprefix("Stored as ").rstrip(".") in text


@pytest.mark.slow
def test_first_call_starts_daemon(tmp_path: Path, hunchd_home: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    try:
        with agent("--project", str(shop)) as it:
            answers = (it.call("context", query="prices") for _ in range(ATTEMPTS))
            text = next((text for text, failed in answers if not failed), "")
        assert text
        assert find_lock_holder() is not None
    finally:
        if (pid := find_lock_holder()) is not None:
            stop_process(pid)
