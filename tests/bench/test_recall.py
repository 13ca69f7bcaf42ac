"""Recall benchmark: questions derived from commits, results and dump."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.command import main
from tests.repositories import commit, git

SUBJECTS = (
    "Keep the session cookie secure over plain connections (#11)",
    "Render templates with an explicit loader (#12)",
    "Stream large uploads to disk (#13)",
    "Escape header names in the test client (#14)",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "made-up"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    later = "Send the session cookie again when the connection was upgraded, as a regression of #11"
    for day, subject in enumerate((*SUBJECTS, later), start=1):
        (root / f"module{day}.py").write_text(f"x = {day}\n")
        git(root, "add", "-A")
        at = f"2024-05-{day:02}T12:00:00Z"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GIT_COMMITTER_DATE", at)
            git(root, "commit", "-q", "--date", at, "-m", subject)
    return root


@pytest.mark.process
def test_questions_are_commits_with_references(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "lines.jsonl"
    assert main(["recall", "--repo", str(project), "--dump", str(dump), "--json"]) == 0
    [told] = json.loads(capsys.readouterr().out)
    assert (told["repo"], told["episodes"], told["questions"]) == ("made-up", 5, 1)
    assert told["rankings"]["hunchd, shallow"]["recall@5"]["mean"] == 1.0

    lines = [json.loads(line) for line in dump.read_text().splitlines()]
    assert {line["way"] for line in lines} == set(told["rankings"])
    for line in lines:
        assert line["query_id"] not in line["ranked"]  # it did not exist yet
        assert line["recall@5"] == len(set(line["gold"]) & set(line["ranked"][:5])) / len(line["gold"])


def test_history_without_references_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "young"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "Begin", {"a.py": ""})
    assert main(["recall", "--repo", str(root)]) == 0
    assert "No commit refers to an earlier one" in capsys.readouterr().out


def test_invalid_repository_exits_with_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recall", "--repo", str(tmp_path)]) == 1
    assert str(tmp_path) in capsys.readouterr().err
    assert main(["recall", "--repo", str(tmp_path), "--questions", "0"]) == 2
    assert "--questions" in capsys.readouterr().err
