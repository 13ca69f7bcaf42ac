"""Git watcher: commits, checkouts, merges, rewrites and multi-step operations."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hunchd.domain.signal import (
    BranchCheckout,
    Commit,
    FilesChanged,
    Merge,
    OperationEnded,
    OperationStarted,
    Rewrite,
    Signal,
)
from hunchd.repository.layout import find_repository
from hunchd.signals.git_watcher import GitWatcher
from hunchd.signals.watcher_thread import WatcherThread
from tests.signals.inbox import Inbox, eventually


def git(where: Path, *args: str, check: bool = True) -> str:
    done = subprocess.run(["git", "-C", str(where), *args], capture_output=True, text=True)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout.strip()


def commit(root: Path, path: str, content: str, message: str) -> str:
    (root / path).write_text(content)
    git(root, "add", path)
    git(root, "commit", "-qm", message)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Create `main` with two commits, and `side` with one commit beside the second."""
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "a.txt", "1\n", "first")
    git(root, "branch", "side")
    commit(root, "a.txt", "2\n", "second")
    git(root, "checkout", "-q", "side")
    commit(root, "b.txt", "b\n", "aside")
    git(root, "checkout", "-q", "main")
    return root


Watch = Callable[..., Inbox]


@pytest.fixture
def watch(thread: WatcherThread) -> Iterator[Watch]:
    watchers: list[GitWatcher] = []

    def begin(root: Path, *, linked: bool = False) -> Inbox:
        layout = find_repository(root)
        assert layout is not None
        inbox = Inbox()
        watcher = GitWatcher(layout, inbox, thread=thread, is_linked=linked)
        watchers.append(watcher)
        inbox.watcher = watcher  # type: ignore[attr-defined]
        watcher.start()
        assert watcher.wait_ready(5)
        return inbox

    yield begin
    for watcher in watchers:
        watcher.stop()


def test_commit_emits_sha_and_project(repository: Path, watch: Watch) -> None:
    inbox = watch(repository)

    sha = commit(repository, "a.txt", "3\n", "third")

    inbox.wait(lambda: inbox.of(Commit))
    assert [one.sha for one in inbox.of(Commit)] == [sha]
    assert inbox.of(Commit)[0].project == str(repository)
    assert inbox.kinds() == ["Commit"]


def test_checkout_emits_branch_and_previous(repository: Path, watch: Watch) -> None:
    inbox = watch(repository)

    git(repository, "checkout", "-q", "side")
    inbox.wait(lambda: inbox.of(BranchCheckout))

    told = inbox.of(BranchCheckout)[0]
    assert (told.branch, told.previous) == ("side", "main")
    assert [type(one) for one in inbox.rest(0.3)] == [BranchCheckout]


def test_branch_with_slashes_is_reported(repository: Path, watch: Watch) -> None:
    inbox = watch(repository)

    git(repository, "checkout", "-qb", "feature/json/provider")
    inbox.wait(lambda: inbox.of(BranchCheckout))
    sha = commit(repository, "c.txt", "c", "on the feature")
    inbox.wait(lambda: inbox.of(Commit))

    assert inbox.of(BranchCheckout)[0].branch == "feature/json/provider"
    assert inbox.of(Commit)[0].sha == sha


def test_detached_head_has_empty_branch(repository: Path, watch: Watch) -> None:
    inbox = watch(repository)

    git(repository, "checkout", "-q", "HEAD~1")
    inbox.wait(lambda: inbox.of(BranchCheckout))
    git(repository, "commit", "-q", "--allow-empty", "-m", "floating")
    inbox.wait(lambda: inbox.of(Commit))

    assert (inbox.of(BranchCheckout)[0].branch, inbox.of(BranchCheckout)[0].previous) == ("", "main")
    assert inbox.kinds() == ["BranchCheckout", "Commit"]


def test_checkout_and_commit_keep_order(repository: Path, watch: Watch) -> None:
    inbox = watch(repository)

    script = "git checkout -qb quick && git commit -q --allow-empty -m one && git checkout -q main"
    subprocess.run(["sh", "-c", script], cwd=repository, check=True)

    told = inbox.rest()
    assert "Commit" in inbox.kinds()
    switches = inbox.of(BranchCheckout)
    if switches:  # seen in between: then there and back
        assert [one.branch for one in switches] == ["quick", "main"]
        assert inbox.kinds() == ["BranchCheckout", "Commit", "BranchCheckout"]
    else:
        assert len(told) == 1


def test_merge_and_fast_forward_emit_merge(repository: Path, watch: Watch) -> None:
    inbox = watch(repository)

    git(repository, "merge", "-q", "--no-edit", "side")
    inbox.wait(lambda: inbox.of(Merge))
    git(repository, "checkout", "-qb", "behind", "HEAD~1")
    git(repository, "merge", "-q", "main")
    inbox.wait(lambda: len(inbox.of(Merge)) == 2)

    assert [one.branch for one in inbox.of(Merge)] == ["side", "main"]
    assert {one.sha for one in inbox.of(Merge)} == {git(repository, "rev-parse", "main")}
    assert inbox.of(Commit) == []


def test_conflicting_merge_is_operation_until_commit(repository: Path, watch: Watch) -> None:
    git(repository, "checkout", "-qb", "clash", "HEAD~1")
    commit(repository, "a.txt", "other\n", "clashing")
    git(repository, "checkout", "-q", "main")
    old = git(repository, "rev-parse", "HEAD")
    inbox = watch(repository)

    git(repository, "merge", "clash", check=False)
    inbox.wait(lambda: inbox.of(OperationStarted))
    (repository / "a.txt").write_text("resolved\n")
    git(repository, "commit", "-qam", "merged by hand")
    inbox.wait(lambda: inbox.of(Merge))

    assert inbox.kinds() == ["OperationStarted", "OperationEnded", "Merge"]
    ended = inbox.of(OperationEnded)[0]
    assert (ended.operation, ended.branch, ended.old) == ("merge", "main", old)
    assert ended.new == inbox.of(Merge)[0].sha == git(repository, "rev-parse", "HEAD")


def test_aborted_merge_ends_at_old_head(repository: Path, watch: Watch) -> None:
    git(repository, "checkout", "-qb", "clash", "HEAD~1")
    commit(repository, "a.txt", "other\n", "clashing")
    git(repository, "checkout", "-q", "main")
    inbox = watch(repository)

    git(repository, "merge", "clash", check=False)
    inbox.wait(lambda: inbox.of(OperationStarted))
    git(repository, "merge", "--abort")
    inbox.wait(lambda: inbox.of(OperationEnded))

    ended = inbox.of(OperationEnded)[0]
    assert ended.old == ended.new
    assert [type(one) for one in inbox.rest(0.3)] == [OperationStarted, OperationEnded]


def test_amend_and_reset_emit_rewrite(repository: Path, watch: Watch) -> None:
    inbox = watch(repository)
    second = git(repository, "rev-parse", "HEAD")

    git(repository, "commit", "-q", "--amend", "-m", "second, better")
    inbox.wait(lambda: inbox.of(Rewrite))
    amended = git(repository, "rev-parse", "HEAD")
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    inbox.wait(lambda: len(inbox.of(Rewrite)) == 2)

    pairs = [(one.old, one.new) for one in inbox.of(Rewrite)]
    assert pairs == [(second, amended), (amended, git(repository, "rev-parse", "HEAD"))]
    assert inbox.of(Commit) == []


def test_filter_branch_emits_rewrite(repository: Path, watch: Watch) -> None:
    inbox = watch(repository)
    old = git(repository, "rev-parse", "HEAD")
    git(repository, "filter-branch", "-f", "--msg-filter", "cat; echo Filtered")
    new = git(repository, "rev-parse", "HEAD")

    inbox.wait(lambda: inbox.of(Rewrite))
    assert [(one.old, one.new) for one in inbox.of(Rewrite)] == [(old, new)]


def test_rebase_of_200_commits_emits_one_rewrite(repository: Path, watch: Watch) -> None:
    lines = ["reset refs/heads/long", "from refs/heads/side"]
    for number in range(200):
        lines += ["commit refs/heads/long", f"committer Ada <ada@example.org> {1_700_000_000 + number} +0000"]
        message = f"step {number}"
        lines += [f"data {len(message)}", message, f"M 100644 inline f{number}.txt", "data 2", "x\n"]
    stream = "\n".join(lines) + "\n"
    subprocess.run(["git", "-C", str(repository), "fast-import", "--quiet"], input=stream, text=True, check=True)
    git(repository, "checkout", "-q", "long")
    old = git(repository, "rev-parse", "HEAD")
    inbox = watch(repository)

    git(repository, "rebase", "-q", "main")

    inbox.wait(lambda: inbox.of(Rewrite), 15)
    told = inbox.rest()
    new = git(repository, "rev-parse", "HEAD")
    assert len(told) <= 3
    assert [(one.old, one.new) for one in inbox.of(Rewrite)] == [(old, new)]
    ended = inbox.of(OperationEnded)[0]
    assert (ended.operation, ended.branch, ended.old, ended.new) == ("rebase", "long", old, new)
    assert inbox.of(Commit) == []
    assert inbox.of(BranchCheckout) == []


def test_aborted_rebase_ends_at_old_head(repository: Path, watch: Watch) -> None:
    git(repository, "checkout", "-qb", "clash", "HEAD~1")
    commit(repository, "a.txt", "other\n", "clashing")
    old = git(repository, "rev-parse", "HEAD")
    inbox = watch(repository)

    git(repository, "rebase", "main", check=False)
    inbox.wait(lambda: inbox.of(OperationStarted))
    git(repository, "rebase", "--abort")
    inbox.wait(lambda: inbox.of(OperationEnded))

    ended = inbox.of(OperationEnded)[0]
    assert (ended.operation, ended.branch, ended.old, ended.new) == ("rebase", "clash", old, old)
    assert [type(one) for one in inbox.rest(0.3)] == [OperationStarted, OperationEnded]


def test_watcher_started_during_rebase_knows_origin(repository: Path, watch: Watch) -> None:
    git(repository, "checkout", "-qb", "clash", "HEAD~1")
    commit(repository, "a.txt", "other\n", "clashing")
    old = git(repository, "rev-parse", "HEAD")
    git(repository, "rebase", "main", check=False)
    inbox = watch(repository)

    (repository / "a.txt").write_text("resolved\n")
    git(repository, "add", "a.txt")
    git(repository, "-c", "core.editor=true", "rebase", "--continue")
    inbox.wait(lambda: inbox.of(Rewrite))

    assert inbox.of(Rewrite)[0].old == old
    assert inbox.of(OperationEnded)[0].branch == "clash"


def test_cherry_pick_emits_commit(repository: Path, watch: Watch) -> None:
    inbox = watch(repository)

    git(repository, "cherry-pick", "side")
    inbox.wait(lambda: inbox.of(Commit))

    assert inbox.of(Commit)[0].sha == git(repository, "rev-parse", "HEAD")
    assert inbox.of(Rewrite) == []


def test_repository_without_reflog_uses_commit_parents(repository: Path, watch: Watch) -> None:
    git(repository, "config", "core.logAllRefUpdates", "false")
    shutil.rmtree(repository / ".git/logs")
    inbox = watch(repository)

    sha = commit(repository, "a.txt", "3\n", "third")
    inbox.wait(lambda: inbox.of(Commit))
    git(repository, "commit", "-q", "--amend", "-m", "third, better")
    inbox.wait(lambda: inbox.of(Rewrite))
    git(repository, "merge", "-q", "--no-edit", "side")
    inbox.wait(lambda: inbox.of(Merge))

    assert inbox.of(Commit)[0].sha == sha
    assert inbox.of(Rewrite)[0].old == sha
    assert inbox.kinds() == ["Commit", "Rewrite", "Merge"]


def test_many_commits_emit_newest(repository: Path, watch: Watch) -> None:
    inbox = watch(repository)
    script = "for i in $(seq 60); do git commit -q --allow-empty -m $i; done"

    subprocess.run(["sh", "-c", script], cwd=repository, check=True)

    newest = git(repository, "rev-parse", "HEAD")
    inbox.wait(lambda: inbox.of(Commit) and inbox.of(Commit)[-1].sha == newest)
    assert len({one.sha for one in inbox.of(Commit)}) == len(inbox.of(Commit)) <= 60


def test_pack_refs_emits_nothing(repository: Path, watch: Watch) -> None:
    inbox = watch(repository)

    git(repository, "pack-refs", "--all", "--prune")
    git(repository, "gc", "-q")
    git(repository, "status")

    assert inbox.rest() == []


def test_watcher_writes_nothing_to_repository(repository: Path, watch: Watch) -> None:
    def files() -> dict[str, int]:
        return {str(path): path.lstat().st_mtime_ns for path in (repository / ".git").rglob("*")}

    before = files()
    inbox = watch(repository)
    inbox.rest(0.3)

    assert files() == before


def test_linked_worktree_emits_own_project(repository: Path, tmp_path: Path, watch: Watch) -> None:
    other = tmp_path / "other"
    git(repository, "worktree", "add", "-q", "-b", "tree", str(other))
    inbox = watch(repository, linked=True)

    sha = commit(other, "o.txt", "o", "in the other tree")
    inbox.wait(lambda: inbox.of(Commit))
    git(other, "checkout", "-q", "side")
    inbox.wait(lambda: inbox.of(BranchCheckout))

    assert (inbox.of(Commit)[0].project, inbox.of(Commit)[0].sha) == (str(other), sha)
    assert inbox.of(BranchCheckout)[0].project == str(other)
    assert {one.project for one in inbox.signals} == {str(other)}


def test_added_and_removed_worktrees_are_tracked(repository: Path, tmp_path: Path, watch: Watch) -> None:
    inbox = watch(repository, linked=True)
    other = tmp_path / "other"
    status = inbox.watcher.status  # type: ignore[attr-defined]

    git(repository, "worktree", "add", "-q", "-b", "tree", str(other))
    eventually(lambda: str(other) in status().trees)
    commit(other, "o.txt", "o", "in the other tree")
    inbox.wait(lambda: inbox.of(Commit))
    git(repository, "worktree", "remove", "--force", str(other))
    eventually(lambda: status().trees == [str(repository)])

    assert inbox.of(Commit)[0].project == str(other)


def test_moved_repository_is_found_again(
    repository: Path, tmp_path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hunchd.signals.git_watcher.CHECK_INTERVAL", 0.2)
    inbox = watch(repository)
    status = inbox.watcher.status  # type: ignore[attr-defined]
    away = tmp_path / "away"

    repository.rename(away)
    eventually(lambda: status().state == "missing")
    away.rename(repository)
    eventually(lambda: status().state == "watching")
    sha = commit(repository, "a.txt", "4\n", "back again")

    inbox.wait(lambda: inbox.of(Commit))
    assert inbox.of(Commit)[-1].sha == sha


def test_reftable_repository_emits_files_changed(repository: Path, watch: Watch) -> None:
    with (repository / ".git/config").open("a") as config:
        config.write("[extensions]\n\trefStorage = reftable\n")
    tables = repository / ".git/reftable"
    tables.mkdir()
    (tables / "tables.list").write_text("one\n")
    inbox = watch(repository)

    (tables / "new").write_text("two\n")
    (tables / "new").rename(tables / "tables.list")

    inbox.wait(lambda: inbox.of(FilesChanged))
    assert not inbox.of(FilesChanged)[0].complete
    assert "reftable" in inbox.watcher.status().reason  # type: ignore[attr-defined]


def test_overloaded_signal_is_retried(repository: Path, thread: WatcherThread) -> None:
    from hunchd.domain.errors import Overloaded

    inbox = Inbox()
    refused: list[Signal] = []

    def emit(signal: Signal) -> None:
        if len(refused) < 2:
            refused.append(signal)
            raise Overloaded("full", retry_after=0.05)
        inbox(signal)

    layout = find_repository(repository)
    assert layout is not None
    watcher = GitWatcher(layout, emit, thread=thread)
    watcher.start()
    assert watcher.wait_ready(5)
    sha = commit(repository, "a.txt", "3\n", "third")
    inbox.wait(lambda: inbox.of(Commit))
    watcher.stop()

    assert [one.sha for one in inbox.of(Commit)] == [sha]
