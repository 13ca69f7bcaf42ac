"""Safe git access: no program of the repository runs, no child process is left."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import psutil
import pytest

from hunchd.domain.errors import RepositoryError
from hunchd.repository.git import Git


def git(folder: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "a.py").write_text("a = 1\n")
    git(folder, "add", "a.py")
    git(folder, "commit", "-qm", "first")
    return folder


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def test_bare_and_linked_repositories_answer_alike(project: Path, tmp_path: Path) -> None:
    git(project, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    git(tmp_path, "clone", "-q", "--bare", str(project), "bare.git")

    for folder in (project, tmp_path / "linked", tmp_path / "bare.git"):
        assert list(Git(folder).list_tree()) == ["a.py"]


def test_unborn_repository_has_no_head(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")

    assert not Git(tmp_path).exists()


def test_missing_repository_raises_error(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="not a git repository"):
        Git(tmp_path).run("rev-parse", "--git-dir")
    with pytest.raises(RepositoryError, match="not a directory"):
        Git(tmp_path / "nowhere")


def test_only_read_commands_are_allowed(project: Path) -> None:
    for command in ("push", "fetch", "commit", "gc", "an-alias"):
        with pytest.raises(RepositoryError, match="not an allowed command"):
            Git(project).run(command)


def test_configured_programs_are_never_started(project: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    sprung = tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\n")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "diff.external", "core.pager", "gpg.program", "alias.log", "diff.x.textconv"):
        git(project, "config", name, f"!{trap}" if name.startswith("alias") else str(trap))
    git(project, "config", "log.showSignature", "true")
    git(project, "config", "diff.x.command", str(trap))
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / ".git" / "info" / "attributes").write_text("*.py diff=x\n")
    (project / "a.py").write_text("a = 2\n")

    asked = Git(project)
    asked.run("status", "--porcelain")
    asked.run("log", "-p", "--show-signature")
    asked.run("diff")
    asked.run("show", "HEAD")

    assert not sprung.exists()


def test_hook_variables_are_ignored(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "nonsense")

    assert list(Git(project).list_tree()) == ["a.py"]
    assert "GIT_DIR" not in os.environ


def test_abandoned_stream_ends_child_process(project: Path) -> None:
    for number in range(300):
        (project / f"f{number}.py").write_text("x\n" * number)
    git(project, "add", ".")
    git(project, "commit", "-qm", "many")
    asked = Git(project)

    records = asked.stream("log", "-p", "-z")
    next(records)
    records.close()
    blobs = asked.read_blobs(asked.list_tree().values())
    next(blobs)
    blobs.close()
    with pytest.raises(RepositoryError):
        asked.run("show", "no-such-thing")

    assert children() == []


def test_blobs_skip_large_and_missing(project: Path) -> None:
    (project / "large.bin").write_bytes(b"\0\n" * 600_000)
    (project / "empty").write_bytes(b"")
    git(project, "add", ".")
    git(project, "commit", "-qm", "large")
    tree = Git(project).list_tree()

    found = dict(
        Git(project).read_blobs([tree["large.bin"], "0" * 39 + "1", tree["a.py"], "not an id\n", tree["empty"]])
    )

    assert found == {tree["a.py"]: b"a = 1\n", tree["empty"]: b""}


def test_pathspecs_are_literal(project: Path) -> None:
    (project / "[a].py").write_text("b = 1\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "brackets")

    assert Git(project).run("log", "--format=%s", "--", "[a].py").decode() == "brackets\n"
