"""Layout and checked-out state of a repository.

Both are read from the repository's files, without a git process and without writing. The files may be hostile: every
read is bounded, references are checked before they become paths, and only branch names and object ids are returned.
"""

from __future__ import annotations

import os
import re
import zlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from hunchd.repository.safe_reading import read_bounded

# HEAD, .git files and loose references are one short line.
_LINE_BYTES = 8_192
# 100,000 packed references are about 8 MB.
_PACKED_BYTES = 64 * 1024 * 1024
_CONFIG_BYTES = 256 * 1024
# Git itself gives up after five symbolic references.
_SYMBOLIC_DEPTH = 5
_MAX_WORKTREES = 1_000
# Usual names of the shared branch if no remote determines it.
_SHARED_BRANCHES = ("main", "master", "trunk", "develop", "dev")

_SHA = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_REF = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]+\Z")
_REFTABLE = re.compile(r"^\s*refstorage\s*=\s*\"?reftable", re.IGNORECASE | re.MULTILINE)


class RepositoryLayout(NamedTuple):  # every command creates one; loads faster than a dataclass
    """Paths of one working tree and of its git folders.

    `git_dir` contains HEAD and the state of operations in progress; `common_dir` contains references and objects. The
    two differ only in a linked worktree, and both are None for a plain folder. `problem` says why a repository is not
    usable.
    """

    root: Path
    git_dir: Path | None = None
    common_dir: Path | None = None
    bare: bool = False
    reftable: bool = False
    problem: str = ""


class HeadState(NamedTuple):
    """Checked-out branch and commit.

    An unborn branch has no `sha`; a detached HEAD has no `branch`.
    """

    branch: str | None = None
    sha: str | None = None
    is_detached: bool = False


def make_plain_layout(path: Path) -> RepositoryLayout:
    """Return the layout of a folder without version control."""
    return RepositoryLayout(root=Path(os.path.realpath(path)))


def find_repository(path: Path) -> RepositoryLayout | None:
    """Find the repository that contains `path`.

    `path` is a file or folder, which need not exist. As in git, the search goes upwards and stops at the file system
    boundary. Returns None if there is no repository.
    """
    real_path = Path(os.path.realpath(path))
    device: int | None = None
    for folder in (real_path, *real_path.parents):
        try:
            folder_device = folder.stat().st_dev
        except OSError:
            continue  # the path may not exist yet, but its folders may
        if device is not None and folder_device != device:
            return None
        device = folder_device
        layout = _find_repository_at(folder)
        if layout is not None:
            return layout
    return None


def read_head(layout: RepositoryLayout) -> HeadState:
    """Read the checked-out branch and commit.

    They are read from HEAD and from loose and packed references. Returns an empty state for a plain folder, or if the
    references are stored in an unsupported format.
    """
    if layout.git_dir is None or layout.reftable:
        return HeadState()
    target = _read_symbolic_target(layout.git_dir / "HEAD")
    if target is None:
        content = _read_line(layout.git_dir / "HEAD")
        return HeadState(sha=content.decode(), is_detached=True) if content and _SHA.match(content) else HeadState()
    branch = target.removeprefix("refs/heads/")
    return HeadState(branch=branch, sha=resolve_ref(layout, target))


def resolve_ref(layout: RepositoryLayout, ref: str, *, depth: int = _SYMBOLIC_DEPTH) -> str | None:
    """Resolve a reference such as `refs/heads/main` or `ORIG_HEAD` to its object id.

    Returns None if there is no such reference, or if its name is not safe as a path.
    """
    if layout.git_dir is None or layout.common_dir is None or not _is_safe_name(ref):
        return None
    for base in dict.fromkeys((layout.git_dir, layout.common_dir)):
        content = _read_line(base / ref)
        if content is None:
            continue
        if _SHA.match(content):
            return content.decode()
        target = _read_symbolic_target(base / ref)
        return resolve_ref(layout, target, depth=depth - 1) if target and depth else None
    return _resolve_packed(layout.common_dir / "packed-refs", ref) if ref.startswith("refs/") else None


def find_default_branch(layout: RepositoryLayout) -> str | None:
    """Return the remote's default branch, or a local one with a usual name.

    Returns None if there is neither.
    """
    if layout.common_dir is None or layout.reftable:
        return None
    target = _read_symbolic_target(layout.common_dir / "refs" / "remotes" / "origin" / "HEAD")
    if target is not None:
        return target.removeprefix("refs/remotes/origin/")
    return next((name for name in _SHARED_BRANCHES if resolve_ref(layout, f"refs/heads/{name}")), None)


def find_operation(layout: RepositoryLayout) -> str:
    """Return the git operation in progress, or "" if there is none.

    The operation is rebase, merge, cherry-pick, revert or bisect.
    """
    git_dir = layout.git_dir
    if git_dir is None:
        return ""
    if is_folder(git_dir / "rebase-merge") or is_folder(git_dir / "rebase-apply"):
        return "rebase"
    for marker, name in _MARKERS:
        if os.path.lexists(git_dir / marker):
            return name
    return _find_sequence_operation(git_dir)


_MARKERS = (
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


def shallow_boundary(layout: RepositoryLayout) -> int | None:
    """Return a checksum of the boundary of a shallow clone.

    The checksum changes when the clone is deepened. Returns None if the history is complete.
    """
    shallow_file = layout.common_dir / "shallow" if layout.common_dir is not None else None
    content = read_bounded(shallow_file, limit=_PACKED_BYTES) if shallow_file is not None else None
    return zlib.crc32(content) if content else None


def find_rebased_branch(layout: RepositoryLayout) -> str | None:
    """Return the branch that the rebase in progress will move, or None.

    HEAD does not name this branch, because HEAD is detached during a rebase.
    """
    if layout.git_dir is None:
        return None
    for folder in ("rebase-merge", "rebase-apply"):
        name = _read_text_line(layout.git_dir / folder / "head-name")
        if name is not None and name.startswith("refs/heads/") and _is_safe_name(name):
            return name.removeprefix("refs/heads/")
    return None


def find_rebase_origin(layout: RepositoryLayout) -> str | None:
    """Return the commit of the branch before the rebase in progress began.

    Returns None if there is no rebase in progress.
    """
    if layout.git_dir is None:
        return None
    for folder in ("rebase-merge", "rebase-apply"):
        content = _read_line(layout.git_dir / folder / "orig-head")
        if content is not None and _SHA.match(content):
            return content.decode()
    return None


def list_worktrees(layout: RepositoryLayout) -> tuple[Path, ...]:
    """Return every existing linked worktree, sorted, without the main worktree."""
    if layout.common_dir is None:
        return ()
    candidates = []
    try:
        with os.scandir(layout.common_dir / "worktrees") as entries:
            for _, entry in zip(range(_MAX_WORKTREES), entries, strict=False):
                pointer = _read_text_line(Path(entry.path) / "gitdir")
                if pointer:
                    candidates.append(Path(entry.path, pointer).parent)  # joining keeps an absolute pointer as it is
    except OSError:
        return ()
    real = {Path(os.path.realpath(path)) for path in candidates if is_folder(path)}
    return tuple(sorted(real))


def _find_repository_at(folder: Path) -> RepositoryLayout | None:
    """Return the layout of the repository at `folder` itself.

    Returns None unless the folder is a working tree or a bare repository.
    """
    dot_git = folder / ".git"
    if is_folder(dot_git):
        if _is_git_dir(dot_git):
            return _build_layout(folder, Path(os.path.realpath(dot_git)))
        return None
    if os.path.lexists(dot_git):
        return _read_linked_layout(folder, dot_git)
    # The inside of a `.git` folder looks like a bare repository, but belongs to the surrounding tree.
    if folder.name != ".git" and _is_git_dir(folder) and not (folder / "commondir").exists():
        return _build_layout(folder, folder, is_bare=True)
    return None


def _read_linked_layout(folder: Path, dot_git: Path) -> RepositoryLayout | None:
    """Return the layout of a linked worktree or submodule.

    Such a folder has a `.git` file, which points to the git folder. Returns None for any other `.git` file.
    """
    content = _read_text_line(dot_git)
    if content is None or not content.startswith("gitdir:"):
        return None
    git_dir = Path(os.path.realpath(folder / content.removeprefix("gitdir:").strip()))
    if not _is_git_dir(git_dir):
        return RepositoryLayout(root=folder, problem=f"{dot_git} points to a missing git folder: {git_dir}")
    return _build_layout(folder, git_dir)


def _build_layout(root: Path, git_dir: Path, *, is_bare: bool = False) -> RepositoryLayout:
    common = _find_common_dir(git_dir)
    config = read_bounded(common / "config", limit=_CONFIG_BYTES) or b""
    reftable = bool(_REFTABLE.search(config.decode("utf-8", "replace")))
    return RepositoryLayout(
        root=root,
        git_dir=git_dir,
        common_dir=common,
        bare=is_bare,
        reftable=reftable,
        problem="references are stored as a reftable, which is not supported: branches are unknown" if reftable else "",
    )


def _find_common_dir(git_dir: Path) -> Path:
    pointer = _read_text_line(git_dir / "commondir")
    return Path(os.path.realpath(git_dir / pointer)) if pointer else git_dir


def _is_git_dir(path: Path) -> bool:
    """Return True if `path` is a git folder, by the same test that git uses.

    The folder must contain HEAD, and the folders `objects` and `refs` must be in it or in the common folder.
    """
    if not os.path.lexists(path / "HEAD"):
        return False
    common = _find_common_dir(path)
    return is_folder(common / "objects") and is_folder(common / "refs")


def find_root(path: str) -> str | None:
    """Return the root of the repository that contains `path`.

    Returns None if there is no repository, or git cannot use it.
    """
    layout = find_repository(Path(path))
    return str(layout.root) if layout is not None and not layout.problem else None


def is_folder(path: Path) -> bool:
    """Return True if `path` is an accessible folder."""
    try:
        return path.is_dir()
    except OSError:  # before Python 3.14, is_dir raises "permission denied"
        return False


def is_readable(folder: Path) -> bool:
    """Return True if `folder` exists and we may list and enter it."""
    return is_folder(folder) and os.access(folder, os.R_OK | os.X_OK)


def _find_sequence_operation(git_dir: Path) -> str:
    """Return the multi-commit operation that is paused between two steps.

    It is "cherry-pick" or "revert", or "" if there is none.
    """
    todo = read_bounded(git_dir / "sequencer" / "todo", limit=_CONFIG_BYTES)
    if todo is None:
        return ""
    return "revert" if todo.startswith(b"revert") else "cherry-pick"


def _read_symbolic_target(path: Path) -> str | None:
    """Return the target of a symbolic reference, or None for any other file.

    The reference is written as `ref: …` or, by old versions of git, as a symbolic link.
    """
    content = _read_line(path)
    if content is not None and content.startswith(b"ref:"):
        target = content[4:].strip().decode("utf-8", "replace")
    elif path.is_symlink():
        target = os.fspath(path.readlink())
    else:
        return None
    return target if target.startswith("refs/") and _is_safe_name(target) else None


def _is_safe_name(ref: str) -> bool:
    """Return True if `ref` is safe as a path below the git folder."""
    if ref.isupper() and ref.replace("_", "").isalpha():
        return True  # HEAD, ORIG_HEAD, MERGE_HEAD
    if not _REF.match(ref) or "\ufffd" in ref or "@{" in ref:
        return False
    parts = ref.split("/")
    return not any(part in ("", ".", "..") or part.endswith(".lock") for part in parts)


def _resolve_packed(path: Path, ref: str) -> str | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return _find_packed_sha(path, (status.st_mtime_ns, status.st_size, status.st_ino), ref)


# The whole file is searched; the result is cached until the file changes.
@lru_cache(maxsize=256)
def _find_packed_sha(path: Path, stamp: tuple[int, int, int], ref: str) -> str | None:
    del stamp  # part of the cache's key only
    content = read_bounded(path, limit=_PACKED_BYTES)
    if content is None:
        return None
    match = re.search(rb"^([0-9a-f]{40}(?:[0-9a-f]{24})?) " + re.escape(ref.encode()) + rb"\r?$", content, re.MULTILINE)
    return match[1].decode() if match else None


def _read_text_line(path: Path) -> str | None:
    content = _read_line(path)
    return os.fsdecode(content) if content is not None else None


def _read_line(path: Path) -> bytes | None:
    """Return the only line of a small file.

    Returns None if the file is absent, empty or too large, or has several lines.
    """
    content = read_bounded(path, limit=_LINE_BYTES)
    if content is None:
        return None
    line = content.strip(b" \t\r\n")
    return line if line and b"\n" not in line and b"\0" not in line else None
