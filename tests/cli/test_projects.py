"""`hunch add`: registration, and the wait until everything is stored and embedded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli import projects
from hunchd.cli.main import main
from tests.cli.fake_daemon import FakeDaemon, project_at

Output = pytest.CaptureFixture[str]
IDLE = {"journal": 0, "writer": 0, "embedding": 0}


def report(root: Path, embedded: int, *, state: str = "ready", **fields: Any) -> dict[str, Any]:
    project = project_at(root, state=state)
    project["progress"] = {"embeddings": {"done": embedded, "total": 9}}
    return {"projects": [project], "queues": IDLE, "degraded": [], **fields}


def answer_in_order(fake: FakeDaemon, root: Path, reports: list[dict[str, Any]]) -> None:
    left: Iterator[dict[str, Any]] = iter(reports)
    fake.routes["POST /projects"] = (200, project_at(root, state="indexing"))
    fake.routes["GET /status"] = lambda _: (200, next(left))


def test_add_wait_returns_when_embedded(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    reports = [
        report(repository, 0, state="indexing"),
        report(repository, 0),
        report(repository, 9, queues=IDLE | {"writer": 2}),
        report(repository, 9),
    ]
    answer_in_order(fake, repository, reports)

    assert main(["add", str(repository), "--wait"]) == 0

    assert len(fake.bodies("GET /status")) == len(reports)
    assert capsys.readouterr().err == ""


def test_add_wait_prints_index_error_once(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    failing = report(repository, 0, state="indexing")
    failing["projects"][0]["index_error"] = "the store process cannot be started"
    answer_in_order(fake, repository, [failing, failing, report(repository, 9)])

    assert main(["add", str(repository), "--wait"]) == 0

    assert capsys.readouterr().err.count("hunch: shop: the store process cannot be started") == 1


def test_add_wait_without_model_says_why(
    fake: FakeDaemon, repository: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "_STALL_SECONDS", 0.0)
    answer_in_order(fake, repository, [report(repository, 2, degraded=["only text search is available: no model"])] * 3)

    assert main(["add", str(repository), "--wait"]) == 0

    assert (
        "7 memories can be found only by their words so far: only text search is available: no model"
        in capsys.readouterr().err
    )
