"""Tests of candidates from workflows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hunchd.core.state.command_history import explain_step
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.context import Focus
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.domain.signal import CommandFinished
from hunchd.features.context.workflow_candidates import build_workflow_candidates, predict_commands
from hunchd.ingestion.workflows.scripts import parse_workflows
from hunchd.ingestion.workflows.workflow_memories import workflow_to_memory
from hunchd.prediction.next_step import PredictedStep
from hunchd.repository.layout import RepositoryLayout

NOW = datetime(2026, 5, 4, tzinfo=UTC)
MAKEFILE = "test:\n\tpytest -q\ntest-all:\n\ttox\nlint:\n\truff check .\n"


def test_script_named_by_convention_is_omitted(tmp_path: Path) -> None:
    project = Project("p", "shop", WorkingTree(tmp_path, RepositoryLayout(tmp_path, None, None)), tmp_path)
    project.workflows = {
        memory.id: memory
        for memory in (workflow_to_memory(one, "p", NOW) for one in parse_workflows("Makefile", MAKEFILE))
    }

    def offered() -> list[str]:
        return sorted(
            piece.forms[0][1] for piece in build_workflow_candidates(project, Focus(project="p", file="a.py"), NOW)
        )

    assert offered() == ["make lint: ruff check .", "make test: pytest -q"]
    commands = convention("commands", "`make test`, `make fmt`")
    project.facts[commands.id] = commands
    assert offered() == ["make lint: ruff check ."]
    tests = replace(convention("lint", "ruff (`make run lint`)"), id="lint")
    project.facts[tests.id] = tests
    assert offered() == []


def test_step_done_once_is_not_suggested(tmp_path: Path) -> None:
    project = Project("p", "shop", WorkingTree(tmp_path, RepositoryLayout(tmp_path, None, None)), tmp_path)
    told = []
    for minute in range(4):
        told.append(suggest_after(project, "python3 tools/build.py", minute, saved="tools/build.py"))

    assert told[:2] == [[], []]
    assert told[2:] == 2 * [["next command: `python3 tools/build.py`"]]


def test_often_needs_repeated_command(tmp_path: Path) -> None:
    project = Project("p", "shop", WorkingTree(tmp_path, RepositoryLayout(tmp_path, None, None)), tmp_path)
    told = []
    for minute in range(5):
        suggest_after(project, "make", minute)
        (expected,) = predict_commands(project, project.main, 1, NOW + timedelta(days=9))
        told.append(expected.reasons)

    assert told[0] == ["done here before"]
    assert told[-1] == ["often done here"]


@pytest.mark.parametrize(
    ("because", "once", "often"),
    [
        ("hour", "done once before at this time", "usual at this time: 3 of 4 times"),
        ("branch", "done once before on such a branch", "usual on such a branch: 3 of 4 times"),
        ("files", "done once before after such changes", "usual after such changes: 3 of 4 times"),
    ],
)
def test_step_done_once_is_not_usual(because: str, once: str, often: str) -> None:
    assert explain_step(PredictedStep("make", 0.7, because, 1.0, 1.0), None) == once
    assert explain_step(PredictedStep("make", 0.7, because, 4.0, 3.0), None) == often


def test_repeated_command_needs_changed_file(tmp_path: Path) -> None:
    project = Project("p", "shop", WorkingTree(tmp_path, RepositoryLayout(tmp_path, None, None)), tmp_path)
    for minute in range(4):
        suggest_after(project, "make", minute)

    assert suggest_after(project, "make", 5) == []
    assert suggest_after(project, "make", 6, saved="kilo.c") == ["next command: `make`"]


def suggest_after(project: Project, command: str, minute: int, *, saved: str = "") -> list[str]:
    """Return the step suggested shortly after `command`, with `saved` changed in between."""
    at = NOW + timedelta(minutes=minute)
    ended = CommandFinished(project="p", at=at, source="shell", command=command, exit_code=0, duration_ms=9)
    project.command_history.record_command(ended, "main")
    if saved:
        project.command_history.record_save(saved)
    return [piece.forms[-1][1] for piece in build_workflow_candidates(project, Focus(project="p", file="a.py"), at)]


def convention(key: str, value: str) -> Memory:
    line = f"{key}: {value}"
    return Memory(
        id=key,
        kind=Kind.FACT,
        title=line,
        content=line,
        at=NOW,
        created=NOW,
        updated=NOW,
        category="convention",
        key=key,
        value=value,
        trust=Trust.PROJECT,
    )
