"""Rewritten commits are mapped to their new ids; abandoned branches are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.ingestion.rewrites import RewrittenCommit, list_unreachable_commits, map_rewritten_commits
from hunchd.repository.git import Git
from tests.repositories import commit, git


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, "first", {"a.txt": "1\n"})
    return tmp_path


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD")


def commit_at(root: Path, second: int, message: str, files: dict[str, str]) -> str:
    """Create a commit with this author time in seconds."""
    commit(root, message, files)
    git(root, "commit", "-q", "--amend", "--no-edit", f"--date=2024-01-01T00:00:{second:02}Z")
    return head(root)


def test_amended_commit_with_new_title_is_mapped(root: Path) -> None:
    old = commit_at(root, 1, "second", {"b.txt": "1\n"})
    git(root, "commit", "-q", "--amend", "-m", "a better title")

    assert map_rewritten_commits(Git(root), (), old) == [(old, head(root))]


def make_rebased_branch(root: Path) -> tuple[list[str], list[str]]:
    """Return four commits of a branch before and after a rebase, oldest first."""
    git(root, "checkout", "-q", "-b", "topic")
    old = [commit_at(root, number, f"step {number}", {f"{number}.txt": "x\n"}) for number in range(4)]
    git(root, "checkout", "-q", "main")
    base = commit_at(root, 30, "meanwhile", {"a.txt": "2\n"})
    git(root, "checkout", "-q", "topic")
    git(root, "rebase", "-q", "main")
    new = git(root, "rev-list", "--reverse", f"{base}..HEAD").split()
    return old, new


def test_rebased_commits_are_mapped(root: Path) -> None:
    old, new = make_rebased_branch(root)

    assert sorted(map_rewritten_commits(Git(root), (), old[-1])) == sorted(zip(old, new, strict=True))


def test_reported_rewrite_of_kept_branch_is_mapped(root: Path) -> None:
    old = commit_at(root, 1, "second", {"b.txt": "1\n"})
    git(root, "branch", "published")
    git(root, "commit", "-q", "--amend", "-m", "second, better")

    assert map_rewritten_commits(Git(root), (), old) == []
    assert map_rewritten_commits(Git(root), [RewrittenCommit(old, head(root), exact=False)], old) == [(old, head(root))]


def test_branch_switch_maps_nothing(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    old = commit_at(root, 1, "on the topic", {"b.txt": "1\n"})
    git(root, "checkout", "-q", "main")
    git(root, "cherry-pick", old)

    assert map_rewritten_commits(Git(root), (), old) == []


def test_reset_maps_nothing(root: Path) -> None:
    first = head(root)
    old = commit_at(root, 1, "second", {"b.txt": "1\n"})
    git(root, "reset", "-q", "--hard", first)

    assert map_rewritten_commits(Git(root), [RewrittenCommit(old, first, exact=False)], old) == []


def test_squashed_commits_map_to_one(root: Path) -> None:
    first = head(root)
    olds = [commit_at(root, number, f"step {number}", {f"{number}.txt": "x\n"}) for number in range(3)]
    git(root, "reset", "-q", "--soft", first)
    new = commit_at(root, 40, "all at once", {})

    told = [RewrittenCommit(old, new, exact=True) for old in olds]

    assert sorted(map_rewritten_commits(Git(root), told, olds[-1])) == sorted((old, new) for old in olds)


def test_reset_author_is_matched_by_title(root: Path) -> None:
    old = commit_at(root, 1, "second", {"b.txt": "1\n"})
    git(root, "commit", "-q", "--amend", "--no-edit", "--author=Eve <eve@example.org>", "--date=2025-01-01T00:00:00Z")

    assert map_rewritten_commits(Git(root), [RewrittenCommit(old, head(root), exact=False)], old) == [(old, head(root))]


def test_invalid_and_unknown_ids_are_skipped(root: Path) -> None:
    told = [RewrittenCommit("--output=x", "HEAD", exact=True), RewrittenCommit("1" * 40, "2" * 40, exact=True)]

    assert map_rewritten_commits(Git(root), told, head(root)) == []


def test_unreachable_commits_exclude_those_on_branches(root: Path) -> None:
    first = head(root)
    olds = [commit_at(root, number, f"step {number}", {f"{number}.txt": "x\n"}) for number in range(3)]
    git(root, "branch", "kept", olds[0])
    git(root, "reset", "-q", "--hard", first)
    told = [RewrittenCommit(olds[-1], first, exact=False)]

    assert sorted(list_unreachable_commits(Git(root), told, first)) == sorted(olds[1:])
    assert sorted(list_unreachable_commits(Git(root), (), olds[-1])) == sorted(olds[1:])
    assert (
        list_unreachable_commits(Git(root), (), None)
        == list_unreachable_commits(Git(root), [RewrittenCommit("1" * 40, first, exact=True)], first)
        == []
    )


def test_work_is_mapped_when_newest_is_rewritten(root: Path) -> None:
    old, new = make_rebased_branch(root)

    assert sorted(map_rewritten_commits(Git(root), [RewrittenCommit(old[-1], new[-1], exact=False)], new[1])) == sorted(
        zip(old, new, strict=True)
    )
