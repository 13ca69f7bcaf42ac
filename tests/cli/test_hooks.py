"""Git hooks report events beside any existing hooks; uninstalling restores everything."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli.hook_scripts import EVENTS
from hunchd.cli.main import main
from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths
from hunchd.protocol.signals import parse_signal
from tests.repositories import commit, git

SH = '#!/bin/sh\necho mine "$@" >>"$LOG"\n'


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Repository with one commit, to be copied."""
    folder = tmp_path_factory.mktemp("example")
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("1\n")
    git(folder, "add", "a.txt")
    git(folder, *who, "commit", "-q", "-m", "first")
    return folder


@pytest.fixture
def root(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Repository in a folder with a hostile name; hooks of the tests write to $LOG."""
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    return shutil.copytree(example, tmp_path / 'it\'s a "trap" \\n $HOME\nand so on')


def write_hook(file: Path, text: str = SH, mode: int = 0o755) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)


def hunch(*words: str) -> None:
    assert main(["hooks", *words]) == 0


def read_spool() -> list[dict[str, Any]]:
    """Return the signals in the spool, each accepted by the daemon's parser, and empty it."""
    lines = resolve_app_paths().spool / "lines"
    if not lines.exists():
        return []
    found = [json.loads(line) for line in lines.read_text().splitlines()]
    lines.unlink()
    for raw in found:
        parse_signal(raw, now=datetime.now(UTC))
    return found


def facts(found: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    own = ("sha", "branch", "old", "new")
    return [(one["kind"], *(one[name] for name in own if name in one)) for one in found]


def log(tmp_path: Path) -> list[str]:
    file = tmp_path / "log"
    return file.read_text().splitlines() if file.exists() else []


def list_tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file and symlink below a folder, with its mode and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = os.fsencode(path.readlink()) if path.is_symlink() else b"" if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(folder))] = (stat.S_IFMT(mode) if path.is_symlink() else mode, content)
    return found


def test_hook_reports_event_with_project_and_time(root: Path) -> None:
    hunch("install", str(root))
    first = git(root, "rev-parse", "HEAD")

    second = commit(root, "second", {"b.txt": "1\n"})
    git(root, "checkout", "-q", "-b", 'topic/"one"', first)
    third = commit(root, "third", {"c.txt": "1\n"})
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "-m", "both", 'topic/"one"')

    found = read_spool()
    assert facts(found) == [
        ("commit", second),
        ("branch_checkout", 'topic/"one"'),
        ("commit", third),
        ("branch_checkout", "main"),
        ("merge", git(root, "rev-parse", "HEAD")),
    ]
    assert {one["project"] for one in found} == {os.path.realpath(root)}
    assert {one["source"] for one in found} == {"hook"}
    assert abs((datetime.now(UTC) - datetime.fromisoformat(found[0]["at"])).total_seconds()) < 3600


def test_hook_amend_reports_old_and_new_id(root: Path) -> None:
    hunch("install", str(root))
    old = git(root, "rev-parse", "HEAD")

    git(root, "commit", "-q", "--amend", "-m", "better")

    assert ("rewrite", old, git(root, "rev-parse", "HEAD")) in facts(read_spool())


def test_hook_rebase_reports_rewrites_only(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    old = [commit(root, f"step {number}", {f"{number}.txt": "x\n"}) for number in range(3)]
    git(root, "checkout", "-q", "main")
    commit(root, "meanwhile", {"a.txt": "2\n"})
    hunch("install", str(root))

    git(root, "checkout", "-q", "topic")
    read_spool()
    git(root, "rebase", "-q", "main")

    new = git(root, "rev-list", "--reverse", "main..topic").splitlines()
    assert facts(read_spool()) == [("rewrite", *pair) for pair in zip(old, new, strict=True)]


def test_hook_without_spool_is_silent(root: Path) -> None:
    hunch("install", str(root))
    shutil.rmtree(resolve_app_paths().state)

    done = subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "on"], cwd=root, capture_output=True)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not resolve_app_paths().state.exists()


def test_hook_unwritable_spool_is_silent(root: Path) -> None:
    hunch("install", str(root))
    (resolve_app_paths().spool / "lines").mkdir()

    done = subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "on"], cwd=root, capture_output=True)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    "script",
    [
        SH,
        SH.replace("/bin/sh", "/usr/bin/env bash").replace("echo", "set -eu\necho"),
        SH.rstrip("\n"),
        '#!/bin/bash -eu\necho mine "$@" >>"$LOG"\n\n',
        f"#!{shutil.which('python3')}\nimport os, sys\n"
        "print('mine', *sys.argv[1:], file=open(os.environ['LOG'], 'a'))\n",
    ],
    ids=["sh", "env bash", "no newline at the end", "options", "python"],
)
def test_existing_hook_runs_and_is_restored(root: Path, tmp_path: Path, script: str) -> None:
    for event in EVENTS:
        write_hook(root / ".git" / "hooks" / event, script)
    before = list_tree(root / ".git" / "hooks")

    hunch("install", str(root))
    hunch("install", str(root))
    old = git(root, "rev-parse", "HEAD")
    git(root, "checkout", "-q", "-b", "topic")
    git(root, "commit", "-q", "--amend", "-m", "better")
    new = git(root, "rev-parse", "HEAD")

    assert log(tmp_path) == [f"mine {old} {old} 1", "mine", "mine amend"]
    assert facts(read_spool()) == [("branch_checkout", "topic"), ("commit", new), ("rewrite", old, new)]
    hunch("uninstall", str(root))
    assert list_tree(root / ".git" / "hooks") == before


def test_existing_hook_still_reads_standard_input(root: Path, tmp_path: Path) -> None:
    write_hook(root / ".git" / "hooks" / "post-rewrite", '#!/bin/sh\ncat >>"$LOG"\n')
    hunch("install", str(root))
    old = git(root, "rev-parse", "HEAD")

    git(root, "commit", "-q", "--amend", "-m", "better")

    assert log(tmp_path) == [f"{old} {git(root, 'rev-parse', 'HEAD')}"]


def test_existing_hook_exit_code_is_kept(root: Path) -> None:
    write_hook(root / ".git" / "hooks" / "post-checkout", "#!/bin/sh\nexit 7\n")
    hunch("install", str(root))

    assert (
        subprocess.run(["git", "checkout", "-q", "-b", "topic"], cwd=root, check=False).returncode == 1
    )  # so git says it


def test_existing_symlinked_hook_keeps_name(root: Path, tmp_path: Path) -> None:
    write_hook(root / "tools" / "any-hook", '#!/bin/sh\necho "${0##*/}" >>"$LOG"\n')
    (root / ".git" / "hooks" / "post-commit").symlink_to("../../tools/any-hook")
    before = list_tree(root)
    hunch("install", str(root))

    git(root, "commit", "-q", "--allow-empty", "-m", "second")

    assert log(tmp_path) == ["post-commit"]
    assert [kind for kind, *_ in facts(read_spool())] == ["commit"]
    assert (root / "tools" / "any-hook").read_bytes() == before["tools/any-hook"][1]
    hunch("uninstall", str(root))
    assert (root / ".git" / "hooks" / "post-commit").readlink() == Path("../../tools/any-hook")


def test_existing_disabled_hook_stays_disabled(root: Path, tmp_path: Path) -> None:
    write_hook(root / ".git" / "hooks" / "post-commit", mode=0o644)
    before = list_tree(root / ".git" / "hooks")
    hunch("install", str(root))

    git(root, "commit", "-q", "--allow-empty", "-m", "second")

    assert log(tmp_path) == []
    assert [kind for kind, *_ in facts(read_spool())] == ["commit"]
    hunch("uninstall", str(root))
    assert list_tree(root / ".git" / "hooks") == before


def test_uninstall_keeps_lines_added_by_others(root: Path) -> None:
    hunch("install", str(root))
    file = root / ".git" / "hooks" / "post-commit"
    file.write_text(file.read_text() + "git lfs post-commit\n")

    hunch("uninstall", str(root))

    assert file.read_text() == "#!/bin/sh\ngit lfs post-commit\n"


def test_install_into_generated_hooks_folder(root: Path, tmp_path: Path) -> None:
    for event in EVENTS:
        write_hook(root / ".husky" / "_" / event, '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
    (root / ".husky" / "_" / "h").write_text('echo "husky $(basename "$0")" >>"$LOG"\n')
    (root / ".husky" / "_" / ".gitignore").write_text("*")
    git(root, "config", "core.hooksPath", ".husky/_")
    before = list_tree(root)
    hunch("install", str(root))
    (root / "src").mkdir()

    git(root / "src", "commit", "-q", "--allow-empty", "-m", "from a folder below")

    assert log(tmp_path) == ["husky post-commit"]
    assert [kind for kind, *_ in facts(read_spool())] == ["commit"]
    assert git(root, "status", "--porcelain") == ""
    (root / "src").rmdir()
    hunch("uninstall", str(root))
    after = list_tree(root)
    assert {name: after[name] for name in before if not name.startswith(".git/")} == {
        name: before[name] for name in before if not name.startswith(".git/")
    }


def test_install_skips_tracked_hooks_and_excludes_own(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_hook(root / ".githooks" / "post-commit")
    git(root, "config", "core.hooksPath", ".githooks")
    git(root, "add", ".githooks")
    git(root, "commit", "-q", "-m", "hooks for all")
    before = list_tree(root / ".githooks"), list_tree(root / ".git" / "info")

    hunch("install", str(root))
    git(root, "checkout", "-q", "-b", "topic")

    assert "tracked" in capsys.readouterr().out
    assert (root / ".githooks" / "post-commit").read_text() == SH
    assert facts(read_spool()) == [("branch_checkout", "topic")]
    assert git(root, "status", "--porcelain") == ""
    hunch("uninstall", str(root))
    assert (list_tree(root / ".githooks"), list_tree(root / ".git" / "info")) == before


def test_install_into_shared_hooks_path_is_reported(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "config", "core.hooksPath", str(tmp_path / "my hooks"))
    hunch("install", str(root))

    git(root, "commit", "-q", "--allow-empty", "-m", "second")

    assert "is shared with other repositories" in capsys.readouterr().err
    assert [kind for kind, *_ in facts(read_spool())] == ["commit"]
    hunch("uninstall", str(root))
    assert not (tmp_path / "my hooks").exists()


def test_install_with_disabled_hooks_fails(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(root, "config", "core.hooksPath", os.devnull)

    assert main(["hooks", "install", str(root)]) == 1
    assert "hooks are disabled in this repository: core.hooksPath is /dev/null" in capsys.readouterr().err


def test_status_recognises_hook_moved_by_pre_commit(root: Path, tmp_path: Path) -> None:
    """pre-commit moves an existing hook away and calls it."""
    hooks = root / ".git" / "hooks"
    hunch("install", str(root))
    (hooks / "post-commit").rename(hooks / "post-commit.legacy")
    write_hook(hooks / "post-commit", '#!/bin/sh\n"$(dirname "$0")/post-commit.legacy" "$@"\necho tool >>"$LOG"\n')

    git(root, "commit", "-q", "--allow-empty", "-m", "second")

    assert [kind for kind, *_ in facts(read_spool())] == ["commit"]
    assert log(tmp_path) == ["tool"]
    hunch("uninstall", str(root))
    assert not (hooks / "post-commit.legacy").exists()
    assert "tool" in (hooks / "post-commit").read_text()


def test_circular_hooks_terminate(root: Path, tmp_path: Path) -> None:
    hooks = root / ".git" / "hooks"
    caller = "import os, subprocess\nopen(os.environ['LOG'], 'a').write('tool\\n')\n"
    caller += "subprocess.run([os.path.dirname(__file__) + '/../post-commit'])\n"
    write_hook(hooks / "post-commit", f"#!{shutil.which('python3')}\n{caller}")
    hunch("install", str(root))

    git(root, "commit", "-q", "--allow-empty", "-m", "second")

    assert log(tmp_path) == ["tool"] * len(log(tmp_path))
    assert 1 <= len(log(tmp_path)) <= 3


def test_status_reports_overwritten_hook(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hunch("install", str(root))
    write_hook(root / ".git" / "hooks" / "post-commit")
    capsys.readouterr()

    hunch("status", str(root), "--json")

    states = {hook["event"]: hook["state"] for hook in json.loads(capsys.readouterr().out)["hooks"]}
    assert states == {event: "not installed" if event == "post-commit" else "installed" for event in EVENTS}


def test_hook_linked_worktree_reports_own_path(root: Path, tmp_path: Path) -> None:
    hunch("install", str(root))
    tree = tmp_path / "beside it"
    git(root, "worktree", "add", "-q", "-b", "side", str(tree))
    read_spool()

    sha = commit(tree, "aside", {"b.txt": "1\n"})

    found = read_spool()
    assert facts(found) == [("commit", sha)]
    assert found[0]["project"] == str(tree)


def test_install_into_submodule(root: Path, example: Path) -> None:
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(example), "lib")
    hunch("install", str(root / "lib"))

    commit(root, "the outer one", {"b.txt": "1\n"})
    inner = commit(root / "lib", "the inner one", {"b.txt": "1\n"})

    found = read_spool()
    assert facts(found) == [("commit", inner)]
    assert found[0]["project"] == os.path.realpath(root / "lib")


def test_install_bare_repository_needs_worktrees(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(root), str(bare))
    before = list_tree(bare)

    assert main(["hooks", "install", str(bare)]) == 2
    assert "these hooks would never run" in capsys.readouterr().err
    assert list_tree(bare) == before

    git(bare, "worktree", "add", "-q", str(tmp_path / "tree"), "main")
    hunch("install", str(bare))
    sha = commit(tmp_path / "tree", "in a tree of a bare repository", {"b.txt": "1\n"})
    assert facts(read_spool()) == [("commit", sha)]


def test_hook_reads_packed_refs_and_detached_head(root: Path) -> None:
    hunch("install", str(root))
    git(root, "pack-refs", "--all")
    git(root, "checkout", "-q", "-b", "topic")
    git(root, "checkout", "-q", "--detach")

    sha = commit(root, "on no branch", {"b.txt": "1\n"})

    assert facts(read_spool()) == [("branch_checkout", "topic"), ("commit", sha)]


def test_install_renews_hooks_of_other_home(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hunch("install", str(root))
    monkeypatch.setenv("HUNCHD_HOME", os.environ["HUNCHD_HOME"] + "/other")
    hunch("status", str(root))
    assert "outdated" in capsys.readouterr().out

    hunch("install", str(root))
    commit(root, "second", {"b.txt": "1\n"})

    assert [kind for kind, *_ in facts(read_spool())] == ["commit"]
    assert (root / ".git" / "hooks" / "post-commit").read_text().count(">>> hunch") == 1


def test_uninstall_everywhere_finds_all_hooks(root: Path, example: Path, tmp_path: Path) -> None:
    other = shutil.copytree(example, tmp_path / "other")
    before = list_tree(root / ".git" / "hooks"), list_tree(other / ".git" / "hooks")
    hunch("install", str(root))
    hunch("install", str(other))

    hunch("uninstall", "--everywhere")

    assert (list_tree(root / ".git" / "hooks"), list_tree(other / ".git" / "hooks")) == before


def test_erase_everything_uninstalls_hooks(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = list_tree(root / ".git")
    hunch("install", str(root))

    assert main(["erase", "--everything", "--yes"]) == 0

    assert f"git hooks in:\n  {root / '.git' / 'hooks'}" in capsys.readouterr().err
    assert list_tree(root / ".git") == before
    assert not resolve_app_paths().data.exists()


def test_uninstall_everywhere_skips_removed_repository(
    root: Path, example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = shutil.copytree(example, tmp_path / "other")
    before = list_tree(root / ".git" / "hooks")
    hunch("install", str(other))
    hunch("install", str(root))
    shutil.rmtree(other / ".git")
    capsys.readouterr()

    hunch("uninstall", "--everywhere", "--json")

    assert set(json.loads(capsys.readouterr().out)["uninstalled"]) == {str(root), str(other)}
    assert list_tree(root / ".git" / "hooks") == before


def test_hook_omits_time_while_daemon_runs(root: Path) -> None:
    hunch("install", str(root))
    ensure_private_folder(resolve_app_paths().runtime)
    resolve_app_paths().rendezvous_file.touch()

    sha = commit(root, "second", {"b.txt": "1\n"})

    found = read_spool()
    assert facts(found) == [("commit", sha)]
    assert "at" not in found[0]
