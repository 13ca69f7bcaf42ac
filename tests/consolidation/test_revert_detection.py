"""Tests of revert detection in commit messages and commands."""

from __future__ import annotations

import pytest

from hunchd.consolidation.revert_detection import find_discarded_paths, find_reverted_commits

SHA = "4f2a9c1d7e6b5a4938271605f4e3d2c1b0a99887"


def test_revert_message_names_commits() -> None:
    assert find_reverted_commits(f'Revert "Use a pool"\n\nThis reverts commit {SHA}.') == [SHA]
    assert find_reverted_commits("Reverts 4f2a9c1, which broke Windows") == ["4f2a9c1"]
    assert find_reverted_commits("Revert to the old colours") == []
    assert find_reverted_commits("Explain how a user reverts changes") == []


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("git checkout -- src/a.py ./src/b.py", ("src/a.py", "src/b.py")),
        ("git checkout .", (".",)),
        ("git -C /somewhere restore src/a.py", ("src/a.py",)),
        ("git restore --staged --worktree src/a.py", ("src/a.py",)),
        ("git reset --hard HEAD~1", (".",)),
        ("git stash drop", (".",)),
    ],
)
def test_discarding_command_returns_paths(command: str, paths: tuple[str, ...]) -> None:
    assert find_discarded_paths(command) == paths


@pytest.mark.parametrize(
    "command",
    [
        "git checkout main",
        "git checkout -b topic",
        "git restore --staged src/a.py",
        "git reset HEAD src/a.py",
        "git stash",
        "git status",
        "svn revert src/a.py",
        "git commit -m 'reset --hard",
        "",
    ],
)
def test_harmless_command_returns_no_paths(command: str) -> None:
    assert find_discarded_paths(command) == ()
