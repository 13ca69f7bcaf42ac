"""The bundle benchmark asks the real answer path just before a change, and counts what a reader can see."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from hunchd.bench import bundle_report
from tests.bench.command import main

UNITS = 60
NEW_RULE = 54  # the unit that adds a command for the tests


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history in which each module changes with its test."""
    folder = tmp_path_factory.mktemp("project") / "made-up"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
    commands = []
    for number in range(UNITS):
        topic = ("parser", "render", "cache", "server")[number % 4]
        subject = f"{topic} handles case {number}"
        commands.append(
            f"commit refs/heads/main\ncommitter Ada <a@example.org> {1_700_000_000 + number * 3600} +0000\n"
        )
        commands.append(f"data {len(subject)}\n{subject}\n")
        code = f"def {topic}():\n    return {number}\n"
        contents = {f"src/{topic}.py": code, f"tests/test_{topic}.py": code}
        if number == NEW_RULE:
            contents["Makefile"] = "test:\n\ttox\n"
        for path, content in contents.items():
            commands.append(f"M 100644 inline {path}\ndata {len(content)}\n{content}\n")
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input="".join(commands).encode(), check=True)
    return folder


def test_bundle_of_coupled_files_names_the_other(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graded = tmp_path / "graded.txt"
    arguments = ["bundle", "--repo", str(project), "--units", "12", "--answers", str(graded), "--json"]

    assert main([*arguments, "--cache", str(tmp_path / "cache")]) == 0

    figures = json.loads(capsys.readouterr().out)["all"]
    assert figures["changes"] == 12
    assert figures["named at 2000"] == figures["predicted@10"] == 1.0
    assert "named M tests/test_server.py" in graded.read_text() or "named M src/server.py" in graded.read_text()


def test_bundle_says_what_files_said_then(project: Path, tmp_path: Path) -> None:
    graded = tmp_path / "graded.txt"

    assert main(["bundle", "--repo", str(project), "--units", "12", "--answers", str(graded), "--json"]) == 0

    answers = graded.read_text().split("\n=== ")[1:]
    assert ["`make test`" in answer for answer in answers] == [number > NEW_RULE for number in range(UNITS - 12, UNITS)]


def test_bundle_cache_gives_the_same_figures(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bundle", "--repo", str(project), "--units", "4", "--json", "--cache", str(tmp_path)]
    told = []
    for _ in range(2):
        assert main(arguments) == 0
        told.append(json.loads(capsys.readouterr().out)["all"])

    for figures in told:
        figures.pop("milliseconds p95")
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("- src/app.py: tests this file", True),
        ("also expected: src/app.py, Cargo.lock", True),
        ("- src/app.pyi", False),
        ("- lib/src/app.py", False),
        ("ends with src/app.py.", True),
    ],
)
def test_is_named_whole_path_only(text: str, named: bool) -> None:
    assert bundle_report.is_named("src/app.py", text) is named


def test_calibration_error_of_right_probabilities_is_zero() -> None:
    assert bundle_report.compute_calibration_error([(0.5, True), (0.5, False)]) == 0.0
    assert bundle_report.compute_calibration_error([(0.95, False)]) == pytest.approx(0.95)
