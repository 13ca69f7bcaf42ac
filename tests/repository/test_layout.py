"""Checked-out state read from files alone, for every layout and hostile input."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hunchd.repository.layout import (
    HeadState,
    find_operation,
    find_rebased_branch,
    find_repository,
    list_worktrees,
    make_plain_layout,
    read_head,
    resolve_ref,
)


def git(where: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(where), *args], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two commits on `main`."""
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for number in (1, 2):
        (root / "a.txt").write_text(f"{number}\n")
        git(root, "add", ".")
        git(root, "commit", "-qm", f"change {number}")
    return root


def test_find_works_for_missing_file(repository: Path) -> None:
    layout = find_repository(repository / "src" / "new" / "file.py")

    assert layout is not None
    assert layout.root == repository
    assert layout.git_dir == layout.common_dir == repository / ".git"
    assert not layout.bare
    assert layout.problem == ""


def test_find_inside_git_folder_returns_working_tree(repository: Path) -> None:
    layout = find_repository(repository / ".git" / "hooks")

    assert layout is not None
    assert layout.root == repository


def test_folder_without_repository_has_plain_layout(tmp_path: Path) -> None:
    assert find_repository(tmp_path) is None
    assert make_plain_layout(tmp_path).root == tmp_path
    assert make_plain_layout(tmp_path).git_dir is None
    assert read_head(make_plain_layout(tmp_path)) == HeadState()
    assert find_operation(make_plain_layout(tmp_path)) == ""
    assert list_worktrees(make_plain_layout(tmp_path)) == ()


def test_head_has_branch_and_commit(repository: Path) -> None:
    layout = find_repository(repository)
    assert layout is not None

    assert read_head(layout) == HeadState(branch="main", sha=git(repository, "rev-parse", "HEAD"))


def test_branch_name_with_slash(repository: Path) -> None:
    git(repository, "checkout", "-qb", "feature/json/provider-ö")
    layout = find_repository(repository)
    assert layout is not None

    assert read_head(layout).branch == "feature/json/provider-ö"


def test_loose_reference_precedes_packed_one(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD~1")
    git(repository, "branch", "older", first)
    git(repository, "pack-refs", "--all")
    layout = find_repository(repository)
    assert layout is not None
    assert not (repository / ".git/refs/heads/main").exists()
    assert read_head(layout).sha == git(repository, "rev-parse", "HEAD")
    assert resolve_ref(layout, "refs/heads/older") == first

    git(repository, "commit", "-q", "--allow-empty", "-m", "third")

    assert read_head(layout).sha == git(repository, "rev-parse", "HEAD")


def test_changed_packed_references_are_reread(repository: Path) -> None:
    git(repository, "pack-refs", "--all")
    layout = find_repository(repository)
    assert layout is not None
    before = read_head(layout).sha
    git(repository, "commit", "-q", "--allow-empty", "-m", "third")
    git(repository, "pack-refs", "--all")

    assert read_head(layout).sha != before
    assert read_head(layout).sha == git(repository, "rev-parse", "HEAD")


def test_detached_head_has_no_branch(repository: Path) -> None:
    sha = git(repository, "rev-parse", "HEAD~1")
    git(repository, "checkout", "-q", "--detach", sha)
    layout = find_repository(repository)
    assert layout is not None

    assert read_head(layout) == HeadState(sha=sha, is_detached=True)


def test_unborn_branch_has_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    layout = find_repository(tmp_path)
    assert layout is not None

    assert read_head(layout) == HeadState(branch="trunk")


def test_bare_repository_is_detected(repository: Path, tmp_path: Path) -> None:
    bare = tmp_path / "mirror.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    layout = find_repository(bare / "refs")
    assert layout is not None

    assert layout.bare
    assert layout.root == layout.git_dir == bare
    assert read_head(layout).branch == "main"


def test_linked_worktree_has_own_head(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(repository, "worktree", "add", "-q", "-b", "side", str(other))
    layout = find_repository(other / "a.txt")
    main = find_repository(repository)
    assert layout is not None
    assert main is not None

    assert layout.git_dir != layout.common_dir
    assert layout.root == other
    assert layout.common_dir == main.common_dir
    assert layout.git_dir == repository / ".git/worktrees/other"
    assert read_head(layout).branch == "side"
    assert read_head(main).branch == "main"
    assert read_head(layout).sha == read_head(main).sha
    assert list_worktrees(main) == list_worktrees(layout) == (other,)


def test_deleted_worktree_is_not_listed(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(repository, "worktree", "add", "-q", str(other))
    shutil.rmtree(other)
    layout = find_repository(repository)
    assert layout is not None

    assert list_worktrees(layout) == ()


def test_moved_worktree_is_listed_at_new_path(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "old"))
    git(repository, "worktree", "move", str(tmp_path / "old"), str(tmp_path / "new"))
    layout = find_repository(tmp_path / "new")
    assert layout is not None

    assert read_head(layout).branch == "side"
    assert list_worktrees(layout) == (tmp_path / "new",)


def test_worktree_with_moved_repository_reports_problem(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "other"))
    repository.rename(tmp_path / "elsewhere")
    layout = find_repository(tmp_path / "other")
    assert layout is not None

    assert layout.git_dir is None
    assert "missing git folder" in layout.problem
    assert read_head(layout) == HeadState()


def test_submodule_is_separate_repository(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "outer")
    outer = tmp_path / "outer"
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "lib")
    layout = find_repository(outer / "lib" / "a.txt")
    assert layout is not None

    assert layout.root == outer / "lib"
    assert layout.git_dir == layout.common_dir == outer / ".git/modules/lib"
    assert read_head(layout).branch == "main"


def test_head_as_symbolic_link_is_read(repository: Path) -> None:
    (repository / ".git/HEAD").unlink()
    (repository / ".git/HEAD").symlink_to("refs/heads/main")
    layout = find_repository(repository)
    assert layout is not None

    assert read_head(layout).branch == "main"


def test_symbolic_reference_cycle_terminates(repository: Path) -> None:
    heads = repository / ".git/refs/heads"
    (heads / "alias").write_text("ref: refs/heads/main\n")
    (heads / "one").write_text("ref: refs/heads/two\n")
    (heads / "two").write_text("ref: refs/heads/one\n")
    layout = find_repository(repository)
    assert layout is not None

    assert resolve_ref(layout, "refs/heads/alias") == git(repository, "rev-parse", "main")
    assert resolve_ref(layout, "refs/heads/one") is None


def test_reftable_repository_reports_unknown_branches(repository: Path) -> None:
    with (repository / ".git/config").open("a") as config:
        config.write("[extensions]\n\trefStorage = reftable\n")
    layout = find_repository(repository)
    assert layout is not None

    assert layout.reftable
    assert "reftable" in layout.problem
    assert read_head(layout) == HeadState()


@pytest.mark.parametrize(
    ("arrange", "expected"),
    [
        (("rebase", "side"), "rebase"),
        (("merge", "side"), "merge"),
        (("cherry-pick", "side"), "cherry-pick"),
        (("revert", "HEAD~1"), "revert"),
        (("bisect", "start"), "bisect"),
    ],
)
def test_operation_in_progress_is_detected(repository: Path, arrange: tuple[str, ...], expected: str) -> None:
    git(repository, "checkout", "-qb", "side", "HEAD~1")
    (repository / "a.txt").write_text("conflict\n")
    git(repository, "commit", "-qam", "side")
    git(repository, "checkout", "-q", "main")
    layout = find_repository(repository)
    assert layout is not None
    assert find_operation(layout) == ""

    subprocess.run(["git", "-C", str(repository), *arrange], capture_output=True)

    assert find_operation(layout) == expected
    assert find_rebased_branch(layout) == ("main" if expected == "rebase" else None)


@pytest.mark.parametrize(
    "content",
    [
        b"ref: refs/heads/../../../../../../etc/hostname\n",
        b"ref: ../config\n",
        b"ref: /etc/hostname\n",
        b"ref: refs/heads/a\nb\n",
        b"ref: refs/heads/a\x00b\n",
        b"ref: refs/heads/a b\n",
        b"ref: refs/heads/x.lock\n",
        b"0123\n",
        b"\xff\xfe" * 100,
        b"ref: refs/heads/" + b"a" * 100_000,
        b"",
    ],
)
def test_hostile_head_is_ignored(repository: Path, content: bytes) -> None:
    (repository / ".git/HEAD").write_bytes(content)
    layout = find_repository(repository)
    assert layout is not None

    assert read_head(layout) == HeadState()


@pytest.mark.parametrize("name", ["HEAD", "packed-refs", "refs/heads/main", "config", "commondir"])
def test_fifo_in_git_folder_does_not_block(repository: Path, name: str) -> None:
    place = repository / ".git" / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)

    layout = find_repository(repository)
    assert layout is not None
    read_head(layout)
    find_operation(layout)  # opening it as a file would wait for a writer for ever


def test_git_file_to_device_is_not_read(tmp_path: Path) -> None:
    (tmp_path / ".git").symlink_to("/dev/zero")

    assert find_repository(tmp_path) is None
