"""pytest plugin that reports test outcomes to the daemon.

It reports which tests failed and how, and which tests pass now although they failed earlier. pytest loads it
automatically if hunchd is installed. The plugin does nothing if no daemon is running. It reports once, after the last
test, and its own errors never affect the tests.
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

# The daemon shows this many errors at a time; more failures usually have one cause.
MAX_FAILURES: Final = 8
REQUEST_TIMEOUT_SECONDS: Final = 1.0  # seconds for the daemon to list the open errors


def pytest_configure(config: pytest.Config) -> None:
    """Register the listener if a daemon is running.

    Does nothing if `hunch run` reports the test run, if tests are only collected, or in a worker process for parallel
    tests, because the controller process reports for it.
    """
    if "HUNCH_RUN" in os.environ or hasattr(config, "workerinput") or config.option.collectonly:
        return
    try:
        from hunchd.config.app_paths import resolve_app_paths
        from hunchd.protocol.rendezvous import is_process_alive, read_rendezvous

        daemon = read_rendezvous(resolve_app_paths().rendezvous_file)
        if daemon is not None and is_process_alive(daemon.pid):
            config.pluginmanager.register(ReportListener(daemon, str(config.rootpath)), "hunchd-listener")
    except Exception:  # the tests must run, whatever fails here
        logger.debug("these tests are not reported to the daemon", exc_info=True)


class ReportListener:
    """pytest plugin object that collects test outcomes and reports them at the end."""

    def __init__(self, daemon: Rendezvous, root: str) -> None:
        self._daemon = daemon
        self._root = root
        self._failed_reports: dict[str, Any] = {}  # reports by test id
        self._passed_tests: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._passed_tests.discard(report.nodeid)
            if len(self._failed_reports) < MAX_FAILURES:
                self._failed_reports.setdefault(report.nodeid, report)
        elif report.when == "call" and report.passed:
            self._passed_tests.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and len(self._failed_reports) < MAX_FAILURES:
            self._failed_reports.setdefault(report.nodeid, report)

    def pytest_sessionfinish(self) -> None:
        try:
            self._send_reports()
        except Exception:  # a failed report must not affect the tests
            logger.debug("reporting these tests to the daemon failed", exc_info=True)

    def _send_reports(self) -> None:
        from hunchd.cli.running.spool_message import to_screen_text, truncate_to_message, write_messages

        now = time.time()
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06}Z"
        common = {"project": self._root, "at": at, "source": "pytest"}
        failures: list[Mapping[str, str | int]] = []
        for test, report in self._failed_reports.items():
            if text := truncate_to_message(to_screen_text(str(report.longreprtext).encode("utf-8", "replace"))):
                failures.append(
                    {"kind": "error", "text": text, "command": rerun_command(test), "exit_code": 1, **common}
                )
        if failures:
            write_messages(failures, "pytest")
        if fixed_tests := self._list_fixed_tests():
            messages = ({"kind": "error_cleared", "command": rerun_command(test), **common} for test in fixed_tests)
            write_messages(list(messages), "pytest")

    def _list_fixed_tests(self) -> list[str]:
        """Return the passed tests whose errors the daemon still lists as open."""
        if not self._passed_tests:
            return []
        from hunchd.cli.client import Client

        bundle = Client(self._daemon, timeout=REQUEST_TIMEOUT_SECONDS).get("/context", project=self._root)
        commands = {item["source"].get("command") for item in bundle["items"] if item["kind"] == "error"}
        return sorted(test for test in self._passed_tests if rerun_command(test) in commands)


def rerun_command(test: str) -> str:
    """Return the command that reruns one test.

    The daemon records and clears the test's errors under this command.
    """
    return f"pytest {test}"
