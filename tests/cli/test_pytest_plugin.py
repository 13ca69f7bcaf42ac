"""The pytest plugin reports failing tests and those that pass again, and never affects a test run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.fake_daemon import FakeDaemon

pytest_plugins = "pytester"

PLUGIN = ("-p", "hunchd.cli.running.pytest_plugin", "-p", "no:cacheprovider", "-q")
TESTS = """
import pytest

def test_well():
    assert True

def test_badly():
    basket = {"apples": 3}
    assert basket["pears"] == 3

@pytest.fixture
def broken():
    raise OSError("no shelf")

def test_without_a_shelf(broken):
    pass
"""


def letters(home: Path) -> list[dict[str, Any]]:
    folder = home / "state" / "spool" / "new"
    files = sorted(folder.iterdir(), key=lambda file: file.name) if folder.is_dir() else []
    return [json.loads(file.read_bytes()) for file in files]


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("HUNCH_RUN", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # what else is installed here takes seconds to load
    pytester.makepyfile(test_shop=TESTS)
    return pytester


def test_failure_is_reported_with_trace_and_id(suite: pytest.Pytester, fake: FakeDaemon, hunchd_home: Path) -> None:
    fake.routes["GET /context"] = (200, {"items": []})

    suite.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=1, failed=1, errors=1)

    told = letters(hunchd_home)
    assert [letter["command"] for letter in told] == [
        "pytest test_shop.py::test_badly",
        "pytest test_shop.py::test_without_a_shelf",
    ]
    assert "KeyError: 'pears'" in told[0]["text"]
    assert "OSError: no shelf" in told[1]["text"]
    assert {(letter["kind"], letter["project"], letter["source"]) for letter in told} == {
        ("error", str(suite.path), "pytest")
    }


def test_passing_after_failure_clears_error(suite: pytest.Pytester, fake: FakeDaemon, hunchd_home: Path) -> None:
    errors = [
        {"kind": "error", "source": {"command": f"pytest test_shop.py::{test}"}} for test in ("test_well", "test_badly")
    ]
    fake.routes["GET /context"] = (200, {"items": [*errors, {"kind": "file", "source": {}}]})

    suite.runpytest_inprocess(*PLUGIN, "test_shop.py::test_well").assert_outcomes(passed=1)

    assert [(letter["kind"], letter["command"]) for letter in letters(hunchd_home)] == [
        ("error_cleared", "pytest test_shop.py::test_well")
    ]


def test_collection_error_is_reported(suite: pytest.Pytester, fake: FakeDaemon, hunchd_home: Path) -> None:
    suite.makepyfile(test_shop="import no_such_shop")
    suite.runpytest_inprocess(*PLUGIN).assert_outcomes(errors=1)
    [told] = letters(hunchd_home)
    assert told["command"] == "pytest test_shop.py"
    assert "No module named 'no_such_shop'" in told["text"]


@pytest.mark.slow
@pytest.mark.process
def test_xdist_workers_report_failure_once(suite: pytest.Pytester, fake: FakeDaemon, hunchd_home: Path) -> None:
    pytest.importorskip("xdist")
    fake.routes["GET /context"] = (200, {"items": []})
    suite.runpytest_subprocess(*PLUGIN, "-p", "xdist", "-n", "2").assert_outcomes(passed=1, failed=1, errors=1)
    assert len(letters(hunchd_home)) == 2


def test_many_failures_report_only_some(suite: pytest.Pytester, fake: FakeDaemon, hunchd_home: Path) -> None:
    suite.makepyfile(test_shop="import pytest\n@pytest.mark.parametrize('n', range(30))\ndef test_n(n): assert n < 0")
    suite.runpytest_inprocess(*PLUGIN).assert_outcomes(failed=30)
    assert len(letters(hunchd_home)) == 8


@pytest.mark.parametrize("trouble", ["no daemon", "a dead daemon", "hunch run", "a daemon that refuses", "no spool"])
def test_plugin_errors_never_affect_tests(
    trouble: str, suite: pytest.Pytester, hunchd_home: Path, request: pytest.FixtureRequest
) -> None:
    monkeypatch = request.getfixturevalue("monkeypatch")
    if trouble != "no daemon":
        fake: FakeDaemon = request.getfixturevalue("fake")
        fake.routes["GET /context"] = (503, {"error": {"code": "no", "message": "no"}})
        if trouble == "a dead daemon":
            fake.publish(pid=2**22 + 1)
        if trouble == "hunch run":
            monkeypatch.setenv("HUNCH_RUN", "1")
        if trouble == "no spool":
            (hunchd_home / "state").write_text("in the way")

    result = suite.runpytest_inprocess(*PLUGIN)

    result.assert_outcomes(passed=1, failed=1, errors=1)
    assert result.ret == 1
    assert os.fspath(hunchd_home) not in result.stdout.str() + result.stderr.str()
    if trouble != "no spool":
        assert len(letters(hunchd_home)) == (2 if trouble == "a daemon that refuses" else 0)
