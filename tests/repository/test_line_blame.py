"""Line authorship by git blame."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.domain.errors import RepositoryError
from hunchd.repository.git import MAX_BLOB_BYTES, Git
from hunchd.repository.line_blame import blame_lines
from tests.repositories import commit, git


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def test_blame_returns_commit_per_line(shop: Path) -> None:
    first = commit(shop, "Start", {"price.py": "a = 1\n\tb = 2\nc = 3\n"})
    second = commit(shop, "Go on", {"price.py": "a = 1\n\tb = 4\nc = 3\n"})

    assert blame_lines(Git(shop), "price.py") == [(first, "a = 1"), (second, "\tb = 4"), (first, "c = 3")]
    assert blame_lines(Git(shop), "price.py", first) == [(first, "a = 1"), (first, "\tb = 2"), (first, "c = 3")]


def test_blame_attributes_merged_lines_to_merge(shop: Path) -> None:
    commit(shop, "Start", {"price.py": "a = 1\n"})
    git(shop, "checkout", "-q", "-b", "prices")
    commit(shop, "On the branch", {"price.py": "a = 1\nb = 2\n"})
    git(shop, "checkout", "-q", "main")
    git(shop, "merge", "-q", "--no-ff", "-m", "Merge", "prices")

    assert blame_lines(Git(shop), "price.py")[1] == (git(shop, "rev-parse", "HEAD"), "b = 2")


def test_blame_of_uncommitted_lines_is_zero_id(shop: Path) -> None:
    commit(shop, "Start", {"price.py": "a = 1\n"})
    (shop / "price.py").write_text("a = 1\nb = 2\n")

    assert blame_lines(Git(shop), "price.py")[1] == ("0" * 40, "b = 2")


def test_blame_of_unknown_or_huge_file(shop: Path) -> None:
    commit(shop, "Start", {"price.py": "a = 1\n", "data.txt": "x" * (MAX_BLOB_BYTES + 1)})
    (shop / "new.py").write_text("a = 1\n")

    with pytest.raises(RepositoryError):
        blame_lines(Git(shop), "new.py")
    assert blame_lines(Git(shop), "data.txt") == []
