"""The same work under a new id is recognised, by what a rewrite leaves as it is; a branch that was left is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.ingestion.rewrites import Rewritten, gone, moved
from hunchd.repository.git import Git
from tests.repositories import commit, git


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, "first", {"a.txt": "1\n"})
    return tmp_path


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD")


def at(root: Path, second: int, message: str, files: dict[str, str]) -> str:
    """A commit whose author wrote it at that second."""
    commit(root, message, files)
    git(root, "commit", "-q", "--amend", "--no-edit", f"--date=2024-01-01T00:00:{second:02}Z")
    return head(root)


def test_an_amended_commit_is_recognised_by_itself_even_with_another_title(root: Path) -> None:
    old = at(root, 1, "second", {"b.txt": "1\n"})
    git(root, "commit", "-q", "--amend", "-m", "a better title")

    assert moved(Git(root), (), old) == [(old, head(root))]


def rebased(root: Path) -> tuple[list[str], list[str]]:
    """Four commits of a branch, and what they are after it was rebased; the oldest first."""
    git(root, "checkout", "-q", "-b", "topic")
    old = [at(root, number, f"step {number}", {f"{number}.txt": "x\n"}) for number in range(4)]
    git(root, "checkout", "-q", "main")
    base = at(root, 30, "meanwhile", {"a.txt": "2\n"})
    git(root, "checkout", "-q", "topic")
    git(root, "rebase", "-q", "main")
    new = git(root, "rev-list", "--reverse", f"{base}..HEAD").split()
    return old, new


def test_a_rebased_branch_is_recognised_commit_by_commit(root: Path) -> None:
    old, new = rebased(root)

    assert sorted(moved(Git(root), (), old[-1])) == sorted(zip(old, new, strict=True))


def test_what_is_still_on_another_branch_is_recognised_when_it_was_told_of(root: Path) -> None:
    old = at(root, 1, "second", {"b.txt": "1\n"})
    git(root, "branch", "published")
    git(root, "commit", "-q", "--amend", "-m", "second, better")

    assert moved(Git(root), (), old) == []
    assert moved(Git(root), [Rewritten(old, head(root), exact=False)], old) == [(old, head(root))]


def test_to_leave_a_branch_moves_nothing_not_even_what_was_picked_from_it(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    old = at(root, 1, "on the topic", {"b.txt": "1\n"})
    git(root, "checkout", "-q", "main")
    git(root, "cherry-pick", old)

    assert moved(Git(root), (), old) == []


def test_to_throw_commits_away_moves_nothing(root: Path) -> None:
    first = head(root)
    old = at(root, 1, "second", {"b.txt": "1\n"})
    git(root, "reset", "-q", "--hard", first)

    assert moved(Git(root), [Rewritten(old, first, exact=False)], old) == []


def test_squashed_commits_all_move_to_the_one_where_git_says_so(root: Path) -> None:
    first = head(root)
    olds = [at(root, number, f"step {number}", {f"{number}.txt": "x\n"}) for number in range(3)]
    git(root, "reset", "-q", "--soft", first)
    new = at(root, 40, "all at once", {})

    told = [Rewritten(old, new, exact=True) for old in olds]

    assert sorted(moved(Git(root), told, olds[-1])) == sorted((old, new) for old in olds)


def test_an_author_that_was_reset_too_is_believed_by_the_title(root: Path) -> None:
    old = at(root, 1, "second", {"b.txt": "1\n"})
    git(root, "commit", "-q", "--amend", "--no-edit", "--author=Eve <eve@example.org>", "--date=2025-01-01T00:00:00Z")

    assert moved(Git(root), [Rewritten(old, head(root), exact=False)], old) == [(old, head(root))]


def test_ids_that_are_none_or_that_git_has_forgotten_are_passed_over(root: Path) -> None:
    told = [Rewritten("--output=x", "HEAD", exact=True), Rewritten("1" * 40, "2" * 40, exact=True)]

    assert moved(Git(root), told, head(root)) == []


def test_what_a_rewrite_leaves_nowhere_is_gone_and_what_a_branch_has_is_not(root: Path) -> None:
    first = head(root)
    olds = [at(root, number, f"step {number}", {f"{number}.txt": "x\n"}) for number in range(3)]
    git(root, "branch", "kept", olds[0])
    git(root, "reset", "-q", "--hard", first)
    told = [Rewritten(olds[-1], first, exact=False)]

    assert sorted(gone(Git(root), told, first)) == sorted(olds[1:])
    assert sorted(gone(Git(root), (), olds[-1])) == sorted(olds[1:])
    assert gone(Git(root), (), None) == gone(Git(root), [Rewritten("1" * 40, first, exact=True)], first) == []


def test_work_is_found_again_also_where_the_newest_that_is_known_is_of_the_new_history(root: Path) -> None:
    old, new = rebased(root)

    assert sorted(moved(Git(root), [Rewritten(old[-1], new[-1], exact=False)], new[1])) == sorted(
        zip(old, new, strict=True)
    )
