"""Snapshots of a working tree, and comparison of two snapshots."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hunchd.repository.git import Git
from hunchd.repository.ignore import IgnoreRules
from hunchd.repository.safe_reading import read_file

# A person or agent changes at most this many files; more indicate a checkout or a generator.
MAX_FILES: Final = 60
MAX_BYTES: Final = 200_000  # bytes; larger files are not compared


@dataclass(frozen=True, slots=True)
class TreeSnapshot:
    """State of a working tree at one point in time.

    `texts` contains the texts of the files that differ from commit `sha`, keyed by path; None marks a missing file.
    """

    sha: str
    texts: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileChange:
    """Text of a file before and after a change.

    `before` or `after` is None if the file did not exist then.
    """

    path: str
    before: str | None
    after: str | None


def take_snapshot(root: Path, clean: Callable[[str], str], ignore_lines: tuple[str, ...] = ()) -> TreeSnapshot | None:
    """Take a snapshot of the tree at `root`.

    `clean` is applied to each text before it is stored. Returns None if there is no commit, or if more than MAX_FILES
    files differ from it. Raises RepositoryError if git fails.
    """
    git = Git(root)
    if not git.exists():
        return None
    sha = git.resolve()
    rules = IgnoreRules.load(root, ignore_lines)
    texts: dict[str, str | None] = {}
    for path in _iter_dirty_paths(git):
        if rules.get_reason(path):
            continue
        if len(texts) == MAX_FILES:
            return None
        is_comparable, text = _read_text(root, path)
        if is_comparable:
            texts[path] = None if text is None else clean(text)
    return TreeSnapshot(sha, texts)


def compare_snapshots(
    root: Path,
    before: TreeSnapshot,
    after: TreeSnapshot,
    clean: Callable[[str], str],
    ignore_lines: tuple[str, ...] = (),
) -> list[FileChange]:
    """Return the files that changed between two snapshots, sorted by path.

    Returns an empty list if more than MAX_FILES files would have to be compared. Raises RepositoryError if git fails.
    """
    git, rules = Git(root), IgnoreRules.load(root, ignore_lines)
    committed_paths = {path for path in _list_changed_paths(git, before.sha, after.sha) if not rules.get_reason(path)}
    paths = {*before.texts, *after.texts, *committed_paths}
    if len(paths) > MAX_FILES:
        return []
    before_texts = _collect_texts(git, before, paths, clean)
    after_texts = _collect_texts(git, after, paths, clean)
    file_changes = (FileChange(path, before_texts.get(path), after_texts.get(path)) for path in sorted(paths))
    return [change for change in file_changes if change.before != change.after]


def changed_paths(root: Path, base: str = "", ignore_patterns: tuple[str, ...] = ()) -> list[str]:
    """Return the paths that differ from HEAD, including untracked ones.

    With `base`, the paths that changed in base..HEAD are included. The path that was modified last comes last. Returns
    an empty list if there is no commit, or if there are more than MAX_FILES paths, since so many changes are not the
    work of a person. Raises RepositoryError if git fails.
    """
    git = Git(root)
    if not git.exists():
        return []
    rules = IgnoreRules.load(root, ignore_patterns)
    paths = set(_iter_dirty_paths(git))
    if base:
        paths.update(
            _list_changed_paths(git, git.run("merge-base", "--", base, "HEAD").decode().strip(), git.resolve())
        )
    visible_paths = [path for path in paths if not rules.get_reason(path)]
    return (
        sorted(visible_paths, key=lambda path: (_get_modification_time(root / path), path))
        if len(visible_paths) <= MAX_FILES
        else []
    )


def _get_modification_time(path: Path) -> int:
    """Return the modification time in nanoseconds, or 0 if the file is gone."""
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0


def find_commit(root: Path, before: str, after: str, paths: tuple[str, ...]) -> tuple[str, str] | None:
    """Return (id, subject) of the newest commit that touches `paths`, or None.

    Only commits reachable from `after` but not from `before` are searched.
    """
    output = Git(root).run("log", "-1", "--format=%H%x09%s", f"{before}..{after}", "--", *paths)
    sha, _, subject = output.decode("utf-8", "replace").strip().partition("\t")
    return (sha, subject) if sha else None


def get_commit_paths(root: Path, sha: str) -> tuple[frozenset[str], str]:
    """Return the paths that a commit touches, and its subject."""
    names = Git(root).run("diff-tree", "--root", "--no-commit-id", "--name-only", "--no-renames", "-r", "-z", sha)
    subject = Git(root).run("log", "-1", "--format=%s", sha).decode("utf-8", "replace").strip()
    return frozenset(names.decode("utf-8", "replace").split("\0")) - {""}, subject


def _iter_dirty_paths(git: Git) -> Iterator[str]:
    """Yield the paths that differ from HEAD, including untracked ones."""
    for record in git.stream("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"):
        if len(record) > 3:
            yield record[3:].decode("utf-8", "replace")


def _list_changed_paths(git: Git, before: str, after: str) -> list[str]:
    if before == after:
        return []
    names = git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after)
    return [name for name in names.decode("utf-8", "replace").split("\0") if name]


def _read_text(root: Path, path: str) -> tuple[bool, str | None]:
    """Return (is_comparable, text) for a file.

    Binary and large files cannot be compared. The text is None if the file does not exist.
    """
    if not os.path.lexists(root / path):
        return True, None
    return _decode(read_file(root, path, limit=MAX_BYTES))


def _decode(content: bytes | None) -> tuple[bool, str | None]:
    if content is None or b"\0" in content:
        return False, None
    try:
        return True, content.decode()
    except UnicodeDecodeError:
        return False, None


def _collect_texts(
    git: Git, snapshot: TreeSnapshot, paths: set[str], clean: Callable[[str], str]
) -> dict[str, str | None]:
    """Return the texts that `paths` had when the snapshot was taken.

    A text that the snapshot does not store is read from its commit.
    """
    texts = {path: snapshot.texts[path] for path in paths if path in snapshot.texts}
    missing_paths = sorted(paths - texts.keys())
    if not missing_paths:
        return texts
    tree_listing = git.run("ls-tree", "-z", snapshot.sha, "--", *missing_paths)
    blobs: dict[str, str] = {}
    for record in tree_listing.decode("utf-8", "replace").split("\0"):
        meta, _, path = record.partition("\t")
        if path and meta.startswith("100"):
            blobs[path] = meta.split()[2]
    contents = dict(git.read_blobs(blobs.values(), max_bytes=MAX_BYTES))
    for path, blob in blobs.items():
        is_comparable, text = _decode(contents.get(blob))
        if is_comparable and text is not None:
            texts[path] = clean(text)
    return texts
