"""Repositories that run a program as soon as git is used on them carelessly.

Each trap names the git command that triggers it, so that a test can show that the trap works.
"""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.repositories import commit, git

ATTRIBUTES = "*.py diff=evil filter=evil\n"


@dataclass(frozen=True, slots=True)
class Trap:
    """Trap: `settings` go into the repository's own configuration; {program} must never be run."""

    name: str
    settings: Sequence[tuple[str, str]]
    springs: Sequence[str]  # the words of a git command
    more: Callable[[Path, Path], None] = lambda repository, program: None
    attributes: str = ""
    stdin: str = ""
    below: str = ""  # the folder in which the command is given
    terminal: bool = False


def _hooks(repository: Path, program: Path) -> None:
    for folder in (repository / ".git/hooks", repository / "evil-hooks"):
        folder.mkdir(exist_ok=True)
        for name in (
            "post-checkout",
            "post-commit",
            "post-index-change",
            "reference-transaction",
            "fsmonitor-watchman",
        ):
            shutil.copy(program, folder / name)


def _signed(repository: Path, program: Path) -> None:
    """Create a commit with a signature that only a program can check."""
    del program
    plain = git(repository, "cat-file", "commit", "HEAD")
    head, _, message = plain.partition("\n\n")
    mark = "-----BEGIN PGP " + "SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----"
    raw = f"{head}\ngpgsig {mark}\n\n{message}\n"
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=repository,
        input=raw.encode(),
        check=True,
        capture_output=True,
    ).stdout
    for branch in ("main", "signed"):
        (repository / ".git/refs/heads" / branch).write_bytes(made)


def _included(repository: Path, program: Path) -> None:
    (repository / "evil.config").write_text(f"[core]\n\tfsmonitor = {program}\n[alias]\n\tlog = !{program}\n")


def _nested(repository: Path, program: Path) -> None:
    """Create a folder that git takes for a repository, as an archive or a clone can contain."""
    inner = repository / "inner"
    (inner / "objects").mkdir(parents=True)
    (inner / "refs/heads").mkdir(parents=True)
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "config").write_text(f"[core]\n\tbare = false\n\tworktree = ..\n[alias]\n\tl = !{program}\n")
    (inner / "code.py").write_text("def inner() -> None:\n    pass\n")


def _partial(repository: Path, program: Path) -> None:
    """Create a repository with a missing blob whose promisor remote is a program."""
    del program
    blob = git(repository, "rev-parse", "HEAD~4:shop/basket.py")
    for each in (repository, repository.with_name("twin")):
        (each / ".git/objects" / blob[:2] / blob[2:]).unlink()


TRAPS: tuple[Trap, ...] = (
    Trap("fsmonitor", [("core.fsmonitor", "{program}")], ["status"]),
    Trap("hooks", [("core.hooksPath", "{repository}/evil-hooks")], ["checkout", "-q", "-b", "x"], _hooks),
    Trap("external diff", [("diff.external", "{program}")], ["diff", "HEAD~1"]),
    Trap("diff driver", [("diff.evil.command", "{program}")], ["diff", "HEAD~1"], attributes=ATTRIBUTES),
    Trap("textconv", [("diff.evil.textconv", "{program}")], ["log", "-p"], attributes=ATTRIBUTES),
    Trap(
        "clean and smudge filter",
        [("filter.evil.clean", "{program}"), ("filter.evil.smudge", "{program}"), ("filter.evil.required", "true")],
        ["hash-object", "--path", "shop/basket.py", "shop/basket.py"],
        attributes=ATTRIBUTES,
    ),
    Trap(
        "filter process",
        [("filter.evil.process", "{program}"), ("filter.evil.required", "true")],
        ["hash-object", "--path", "shop/basket.py", "shop/basket.py"],
        attributes=ATTRIBUTES,
    ),
    Trap("pager", [("core.pager", "{program}"), ("pager.log", "{program}")], ["log"], terminal=True),
    Trap(
        "ssh command",
        [("core.sshCommand", "{program}"), ("remote.origin.url", "ssh://nowhere.invalid/x")],
        ["ls-remote", "origin"],
    ),
    Trap("signature", [("gpg.program", "{program}"), ("log.showSignature", "true")], ["log", "-1", "signed"], _signed),
    Trap(
        "alias",
        [(f"alias.{name}", "!{program}") for name in ("log", "cat-file", "rev-list", "rev-parse", "ls-tree", "l")],
        ["l"],
    ),
    Trap(
        "credential helper",
        [("credential.helper", "!{program}"), ("core.askPass", "{program}")],
        ["credential", "fill"],
        stdin="protocol=https\nhost=nowhere.invalid\n\n",
    ),
    Trap("include", [("include.path", "{repository}/evil.config")], ["status"], _included),
    Trap("nested bare repository", [], ["l"], _nested, below="inner"),
    Trap(
        "promisor remote",
        [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.url", "ext::{program}"),
            ("remote.origin.partialCloneFilter", "blob:none"),
            ("protocol.ext.allow", "always"),
        ],
        ["log", "-p"],
        _partial,
    ),
)


@dataclass(frozen=True, slots=True)
class Armed:
    """Repository with a trap in it, and a clean copy in which its later commits are made."""

    trap: Trap
    repository: Path
    twin: Path
    canary: Path
    program: Path

    def commit_by_hand(self, message: str, files: dict[str, str]) -> None:
        """Create a commit as git would, without running git in the trapped repository."""
        sha = commit(self.twin, message, files)
        shutil.copytree(self.twin / ".git/objects", self.repository / ".git/objects", dirs_exist_ok=True)
        for name, text in files.items():
            (self.repository / name).write_text(text)
        (self.repository / ".git/refs/heads/main").write_text(f"{sha}\n")

    def checkout_by_hand(self, branch: str) -> None:
        shutil.copy(self.repository / ".git/refs/heads/main", self.repository / ".git/refs/heads" / branch)
        (self.repository / ".git/HEAD").write_text(f"ref: refs/heads/{branch}\n")

    def spring(self) -> None:
        """Do what triggers the trap."""
        words = ["git", *self.trap.springs]
        where = self.repository / self.trap.below
        for file in self.repository.rglob("*.py"):
            file.write_text(file.read_text() + "# looked at\n")
        if not self.trap.terminal:
            subprocess.run(words, cwd=where, input=self.trap.stdin.encode(), capture_output=True, timeout=20)
            return
        ours, theirs = pty.openpty()
        process = subprocess.Popen(words, cwd=where, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
        process.wait(20)
        os.close(ours)
        os.close(theirs)


def arm(trap: Trap, folder: Path, shop: Path) -> Armed:
    """Return a copy of `shop` with the trap in it."""
    repository, twin, canary = folder / "repository", folder / "twin", folder / "canary"
    program = folder / "evil.sh"
    program.write_text(f"#!/bin/sh\n: > '{canary}'\nexit 1\n")
    program.chmod(0o755)
    shutil.copytree(shop, repository)
    shutil.copytree(shop, twin)
    if trap.attributes:
        (repository / ".gitattributes").write_text(trap.attributes)
        (repository / ".git/info/attributes").write_text(trap.attributes)
    trap.more(repository, program)
    for name, value in trap.settings:
        git(repository, "config", "--add", name, value.format(program=program, repository=repository))
    assert not canary.exists(), "the trap went off while it was set"
    return Armed(trap, repository, twin, canary, program)
