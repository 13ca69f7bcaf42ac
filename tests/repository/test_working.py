"""Two pictures of a working tree tell what was changed between them, committed or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.repository.working import MOST_FILES, FileChange, Picture, changes, commit_of, picture, touched_by
from tests.repositories import commit, git


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "Start", {"app.py": "a = 1\n", "other.py": "b = 1\n", ".gitignore": "out/\n"})
    return root


def same(text: str) -> str:
    return text


def look(tree: Path) -> Picture:
    seen = picture(tree, same)
    assert seen is not None
    return seen


def test_changes_are_those_since_the_first_picture_not_since_the_commit(tree: Path) -> None:
    (tree / "app.py").write_text("a = 2\n")
    before = look(tree)
    (tree / "app.py").write_text("a = 3\n")
    (tree / "new.py").write_text("n = 1\n")
    (tree / "other.py").unlink()
    (tree / "out").mkdir()
    (tree / "out" / "made.py").write_text("")

    assert changes(tree, before, look(tree), same) == [
        FileChange("app.py", "a = 2\n", "a = 3\n"),
        FileChange("new.py", None, "n = 1\n"),
        FileChange("other.py", "b = 1\n", None),
    ]


def test_what_was_committed_in_between_counts_as_changed(tree: Path) -> None:
    before = look(tree)
    sha = commit(tree, "Mend it", {"app.py": "a = 2\n"})
    after = look(tree)

    assert changes(tree, before, after, same) == [FileChange("app.py", "a = 1\n", "a = 2\n")]
    assert commit_of(tree, before.sha, after.sha, ("app.py",)) == (sha, "Mend it")
    assert commit_of(tree, before.sha, after.sha, ("other.py",)) is None
    assert touched_by(tree, sha) == (frozenset({"app.py"}), "Mend it")


def test_secrets_binaries_and_heaps_are_not_looked_into(tree: Path) -> None:
    (tree / ".env").write_text("TOKEN=1\n")
    (tree / "data.py").write_bytes(b"\0\1")
    assert look(tree).texts == {}
    for number in range(MOST_FILES + 1):
        (tree / f"f{number}.py").write_text("x = 1\n")
    assert picture(tree, same) is None


def test_texts_are_cleaned_on_both_sides(tree: Path) -> None:
    before = picture(tree, str.upper)
    commit(tree, "Change", {"app.py": "a = 5\n"})
    after = picture(tree, str.upper)

    assert before is not None
    assert after is not None
    assert changes(tree, before, after, str.upper) == [FileChange("app.py", "A = 1\n", "A = 5\n")]


def test_without_a_commit_there_is_nothing_to_compare(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert picture(tmp_path, same) is None
