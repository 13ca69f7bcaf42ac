"""Test runners by language: how to run all tests, rerun failing ones, and find the true failure.

The true failure is read from a machine-readable report, never from the text that hunchd reads.
"""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

SECONDS = 120  # a run of all tests; a longer one hangs


@dataclass(frozen=True, slots=True)
class RunResult:
    code: int
    output: str


def run(command: str, tree: Path, environment: Mapping[str, str]) -> RunResult:
    """Return the terminal output and the exit code.

    The code is 124 if the run took too long; then its workers end with it.
    """
    with subprocess.Popen(
        shlex.split(command), cwd=tree, env=os.environ | environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return RunResult(124, "")
    return RunResult(process.returncode, output.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class LanguageTests:
    """Test commands of a language.

    `narrowed` is the next command that a developer runs; `truth` returns its exit code and the report; `comment` is a
    neutral line of code.
    """

    suffixes: tuple[str, ...]
    comment: str
    is_test: re.Pattern[str]
    narrowed: Callable[[str, str, random.Random], str]
    truth: Callable[[str, Path, Mapping[str, str]], tuple[int, list[str]]]


def _pytest_narrowed(whole: str, output: str, drawn: random.Random) -> str:
    """Return a command for all tests or the failing file, in one of pytest's styles."""
    failed = re.findall(r"^(?:FAILED|ERROR) ([^\s:]+\.py)", output, re.MULTILINE)
    start = whole.partition(" -x")[0]
    form = drawn.choice(("whole", "file", "file", "--tb=short", "--tb=native"))
    if form == "whole" or not failed:
        return whole
    return f"{start} {form} {failed[0]}" if form.startswith("--") else f"{start} {failed[0]}"


def _pytest_truth(command: str, tree: Path, environment: Mapping[str, str]) -> tuple[int, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        ran = run(f"{command} -o junit_family=xunit2 --junitxml={report}", tree, environment)
        if not report.exists():  # a conftest.py that cannot be loaded
            return ran.code, _find_last_names(ran.output)
        failures = []
        for case in ElementTree.parse(report).iter("testcase"):
            for kind in ("failure", "error"):
                for one in case.findall(kind):
                    failures += _find_last_names(one.text or "") if kind == "error" else []
                    failures.append((one.get("message") or "").splitlines()[0] if one.get("message") else "")
        return ran.code, [one for one in failures if one] or _find_last_names(ran.output)


def _find_last_names(output: str) -> list[str]:
    return re.findall(r"^(?:E +)?((?:\w+\.)*\w*(?:Error|Exception)\b:?.*)$", output, re.MULTILINE)[-3:]


def _go_narrowed(whole: str, output: str, drawn: random.Random) -> str:
    failed = re.findall(r"^--- FAIL: (\w+)", output, re.MULTILINE)
    form = drawn.choice(("whole", "verbose", "one", "all"))
    if form == "one" and failed:
        return f"go test -run {failed[0]} ."
    return {"verbose": "go test -v .", "all": "go test ./..."}.get(form, whole)


def _go_truth(command: str, tree: Path, environment: Mapping[str, str]) -> tuple[int, list[str]]:
    ran = run(command.replace("go test", "go test -json"), tree, environment)
    failures = []
    for line in ran.output.splitlines():
        if not line.startswith("{"):
            failures += re.findall(r"^(?:vet: )?\S+\.go:\d+:(?:\d+:)? (.+)$", line)
            continue
        event = json.loads(line)
        if event.get("Action") == "fail" and event.get("Test"):
            failures.append(event["Test"])
        elif str(event.get("Output", "")).startswith("panic: "):
            failures.append(event["Output"].strip().removeprefix("panic: ").partition(" [recovered]")[0])
    return ran.code, failures


def _vitest_narrowed(whole: str, output: str, drawn: random.Random) -> str:
    failed = re.findall(r"^ *FAIL +(?:\S+ +)?(\S+\.tsx?)", output, re.MULTILINE)
    if not failed or drawn.random() < 0.25:
        return whole
    return f"{whole.partition(' run ')[0]} run {failed[0]}"


def _vitest_truth(command: str, tree: Path, environment: Mapping[str, str]) -> tuple[int, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        ran = run(f"{command} --reporter=json --outputFile={report}", tree, environment)
        if not report.exists():
            return ran.code, []
        failures = []
        for file in json.loads(report.read_text())["testResults"]:
            failures += [(file.get("message") or "").partition("\n")[0]]
            for test in file["assertionResults"]:
                failures += [message.partition("\n")[0] for message in test.get("failureMessages") or ()]
        return ran.code, [one for one in failures if one]


TONGUES = {
    "python": LanguageTests(
        (".py",), "# moved", re.compile(r"(?:^|/)tests?/|test_[^/]*\.py$"), _pytest_narrowed, _pytest_truth
    ),
    "go": LanguageTests((".go",), "// moved", re.compile(r"_test\.go$"), _go_narrowed, _go_truth),
    "typescript": LanguageTests(
        (".ts",), "// moved", re.compile(r"(?:^|/)tests?/|\.test\.tsx?$"), _vitest_narrowed, _vitest_truth
    ),
}
