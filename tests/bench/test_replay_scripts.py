"""Scripts of benchmarks/ that replay what `hunch bench` does not: past work, errors, and a chart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hunchd.ingestion import history
from hunchd.repository.git import Git
from tests.bench.test_replay import UNITS, project

SCRIPTS = Path(__file__).parents[2] / "benchmarks"
__all__ = ["project"]  # a fixture
pytestmark = pytest.mark.process


def run(script: str, *arguments: str, given: str = "") -> str:
    command = [sys.executable, str(SCRIPTS / script), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, input=given).stdout


@pytest.fixture
def cases(project: Path, tmp_path: Path) -> Path:
    unit = list(history.iter_units(Git(project)))[-3]
    topic = unit.subject.split()[0]
    text = f"E   TypeError: {topic}_{UNITS - 7}() takes 0 positional arguments\n\ntests/test_{topic}.py:3: TypeError\n"
    case = {"repository": "made-up", "unit": unit.sha, "test": "t", "text": text, "gold": [f"src/{topic}.py"]}
    other = case | {"unit": "0" * 40, "test": "u", "text": text.replace("positional", "more")}
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(case) + "\n" + json.dumps(other) + "\n")
    return file


def test_past_work_reports_units(project: Path) -> None:
    (told,) = json.loads(run("replay_past_work.py", "--repo", str(project), "--test-units", "20", "--json"))

    assert told["tasks"]["memory"]["hunch"]["units"] > 5
    assert set(told["tasks"]) == {"memory", "memory-title"}


def test_error_case_is_scored_and_drawn(project: Path, cases: Path, tmp_path: Path) -> None:
    dump, drawing = tmp_path / "dump.jsonl", tmp_path / "chart.svg"
    told = run("replay_errors.py", "--repo", str(project), "--cases", str(cases), "--dump", str(dump), "--json")
    run("replay_chart.py", str(drawing), given=told)

    line: dict[str, Any] = json.loads(dump.read_text())
    assert line["ranked"][0] == line["gold"][0]
    texts = [text.text for text in ElementTree.parse(drawing).getroot().iter("{http://www.w3.org/2000/svg}text")]
    assert {"hunch", "trace, no tests", "error: MAP"} <= set(texts)


def test_recurrence_recognises_error_variants(cases: Path) -> None:
    figures = json.loads(run("recurrence.py", "--cases", str(cases), "--json"))

    assert figures["recall"]["all of these"] == 1.0
    assert figures["pairs of one type"] == 1
