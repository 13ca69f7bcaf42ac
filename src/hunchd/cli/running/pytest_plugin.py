"""A pytest plugin: tells the daemon which tests failed and how, and which of those that had failed now pass.

pytest loads it by itself where hunchd is installed. Without a running daemon it does nothing; it speaks once, when the
tests are done, and whatever goes wrong with that is no business of the tests.
"""

from __future__ import annotations

import logging
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    import pytest

    from hunchd.protocol.rendezvous import Rendezvous

logger = logging.getLogger(__name__)

# The daemon shows as many errors at a time; where more tests fail, one thing is broken.
MOST: Final = 8
PATIENCE: Final = 1.0  # seconds for the daemon to say which errors are open


def pytest_configure(config: pytest.Config) -> None:
    """Listen, if there is a daemon to tell and nobody else does: neither `hunch run` nor the controller of workers."""
    if "HUNCH_RUN" in os.environ or hasattr(config, "workerinput") or config.option.collectonly:
        return
    try:
        from hunchd.config.places import places
        from hunchd.protocol.rendezvous import is_alive, read

        daemon = read(places().rendezvous_file)
        if daemon is not None and is_alive(daemon.pid):
            config.pluginmanager.register(Listener(daemon, str(config.rootpath)), "hunchd-listener")
    except Exception:  # the tests run, whatever is wrong with us
        logger.debug("the daemon is not told of these tests", exc_info=True)


class Listener:
    """Hears how each test ended."""

    def __init__(self, daemon: Rendezvous, root: str) -> None:
        self._daemon = daemon
        self._root = root
        self._failed: dict[str, Any] = {}  # reports by test id
        self._passed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._passed.discard(report.nodeid)
            if len(self._failed) < MOST:
                self._failed.setdefault(report.nodeid, report)
        elif report.when == "call" and report.passed:
            self._passed.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and len(self._failed) < MOST:
            self._failed.setdefault(report.nodeid, report)

    def pytest_sessionfinish(self) -> None:
        try:
            self._tell()
        except Exception:  # likewise
            logger.debug("the daemon could not be told of these tests", exc_info=True)

    def _tell(self) -> None:
        from hunchd.cli.running.letter import fitting, post, readable

        now = time.time()
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06}Z"
        common = {"project": self._root, "at": at, "source": "pytest"}
        failures: list[Mapping[str, str | int]] = []
        for test, report in self._failed.items():
            if text := fitting(readable(str(report.longreprtext).encode("utf-8", "replace"))):
                failures.append({"kind": "error", "text": text, "command": command_of(test), "exit_code": 1, **common})
        if failures:
            post(failures, "pytest")
        if mended := self._mended():
            told = ({"kind": "error_cleared", "command": command_of(test), **common} for test in mended)
            post(list(told), "pytest")

    def _mended(self) -> list[str]:
        """The tests that passed and whose errors are still open."""
        if not self._passed:
            return []
        from hunchd.cli.client import Client

        bundle = Client(self._daemon, timeout=PATIENCE).get("/context", project=self._root)
        commands = {item["source"].get("command") for item in bundle["items"] if item["kind"] == "error"}
        return sorted(test for test in self._passed if command_of(test) in commands)


def command_of(test: str) -> str:
    """What runs one test again: by this name its errors are opened and cleared."""
    return f"pytest {test}"
