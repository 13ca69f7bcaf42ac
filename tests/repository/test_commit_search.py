"""Search for commits that touched a file and mention a word, with their changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.repository.commit_search import search_commits
from tests.repositories import commit, git


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "Fix nothing, start", {"price.py": "def total():\n    return 1\n", "other.py": "a = 1\n"})
    return root


def test_search_requires_file_and_word(shop: Path) -> None:
    commit(shop, "Fix the other", {"other.py": "a = 2\n"})
    commit(shop, "Work on prices", {"price.py": "def total():\n    return 2\n"})
    sha = commit(shop, "Prices\n\nFIX the sum", {"price.py": "def total():\n    return 3\n", "other.py": "a = 3\n"})

    [found] = search_commits(shop, ["price.py"], "fix")

    assert (found.sha, found.parent) == (sha, git(shop, "rev-parse", "HEAD~1"))
    assert (found.subject, found.paths) == ("Prices", ("price.py",))
    assert "-    return 2" in found.lines
    assert "+    return 3" in found.lines
    assert not any("a = 3" in line for line in found.lines)


def test_search_is_newest_first_up_to_revision(shop: Path) -> None:
    for number in (2, 3, 4):
        commit(shop, f"Fix {number}", {"price.py": f"a = {number}\n"})

    assert [one.subject for one in search_commits(shop, ["price.py"], "fix")] == ["Fix 4", "Fix 3", "Fix 2"]
    assert [one.subject for one in search_commits(shop, ["price.py"], "fix", until="HEAD~1")] == ["Fix 3", "Fix 2"]


def test_search_of_missing_file_is_empty(shop: Path, tmp_path: Path) -> None:
    assert search_commits(shop, [], "fix") == []
    assert search_commits(shop, ["missing.py"], "fix") == []
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    assert search_commits(tmp_path / "empty", ["price.py"], "fix") == []
