"""Changes between two snapshots of a working tree, committed or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.repository.tree_snapshots import (
    MAX_FILES,
    FileChange,
    TreeSnapshot,
    compare_snapshots,
    find_commit,
    get_commit_paths,
    take_snapshot,
)
from tests.repositories import commit, git


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "Start", {"app.py": "a = 1\n", "other.py": "b = 1\n", ".gitignore": "out/\n"})
    return root


def keep_text(text: str) -> str:
    return text


def snapshot_of(tree: Path) -> TreeSnapshot:
    seen = take_snapshot(tree, keep_text)
    assert seen is not None
    return seen


def test_changes_are_relative_to_first_snapshot(tree: Path) -> None:
    (tree / "app.py").write_text("a = 2\n")
    before = snapshot_of(tree)
    (tree / "app.py").write_text("a = 3\n")
    (tree / "new.py").write_text("n = 1\n")
    (tree / "other.py").unlink()
    (tree / "out").mkdir()
    (tree / "out" / "made.py").write_text("")

    assert compare_snapshots(tree, before, snapshot_of(tree), keep_text) == [
        FileChange("app.py", "a = 2\n", "a = 3\n"),
        FileChange("new.py", None, "n = 1\n"),
        FileChange("other.py", "b = 1\n", None),
    ]


def test_commit_between_snapshots_counts_as_change(tree: Path) -> None:
    before = snapshot_of(tree)
    sha = commit(tree, "Mend it", {"app.py": "a = 2\n"})
    after = snapshot_of(tree)

    assert compare_snapshots(tree, before, after, keep_text) == [FileChange("app.py", "a = 1\n", "a = 2\n")]
    assert find_commit(tree, before.sha, after.sha, ("app.py",)) == (sha, "Mend it")
    assert find_commit(tree, before.sha, after.sha, ("other.py",)) is None
    assert get_commit_paths(tree, sha) == (frozenset({"app.py"}), "Mend it")


def test_secret_binary_and_many_files_are_skipped(tree: Path) -> None:
    (tree / ".env").write_text("TOKEN=1\n")
    (tree / "data.py").write_bytes(b"\0\1")
    assert snapshot_of(tree).texts == {}
    for number in range(MAX_FILES + 1):
        (tree / f"f{number}.py").write_text("x = 1\n")
    assert take_snapshot(tree, keep_text) is None


def test_texts_of_both_snapshots_are_cleaned(tree: Path) -> None:
    before = take_snapshot(tree, str.upper)
    commit(tree, "Change", {"app.py": "a = 5\n"})
    after = take_snapshot(tree, str.upper)

    assert before is not None
    assert after is not None
    assert compare_snapshots(tree, before, after, str.upper) == [FileChange("app.py", "A = 1\n", "A = 5\n")]


def test_repository_without_commit_has_no_snapshot(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert take_snapshot(tmp_path, keep_text) is None
