"""Ignore rules for a tree: gitignore, `.hunchignore`, and built-in exclusions.

This is the only module that imports pathspec. The rules are a snapshot: a caller that notices a change to an ignore
file must call `reload()`.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec

from hunchd.repository import layout
from hunchd.repository.path_kinds import (
    get_skip_reason,
    is_lock_file,
    is_readable_name,
    is_secret_file,
    is_secret_folder,
    is_vendored,
)
from hunchd.repository.safe_reading import MAX_FILE_BYTES, read_bounded, read_file

__all__ = [
    "IGNORE_FILES",
    "FolderListing",
    "IgnoreRules",
    "WalkLimits",
    "is_lock_file",
    "is_secret_file",
]

logger = logging.getLogger(__name__)

IGNORE_FILES = (".gitignore", ".hunchignore")

_IGNORE_FILE_BYTES = 1_000_000
# Hostile ignore files could make every look-up slow; real ones have tens of wildcard lines.
_MAX_LINES = 20_000
_MAX_WILDCARD_LINES = 1_000
# With more stars in one path component, matching can take an unbounded time.
_MAX_STARS = 4
_MAX_CACHED_FOLDERS = 200_000


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """Limits for walking a tree.

    If a tree exceeds them, only part of it is yielded.
    """

    files: int = 200_000
    folders: int = 100_000
    entries_per_folder: int = 50_000  # a folder with more is data, not source
    depth: int = 100
    file_bytes: int = MAX_FILE_BYTES


@dataclass(frozen=True, slots=True)
class FolderListing:
    """Wanted entries of one folder: those that no rule excludes.

    It contains the files with their `lstat` results, the folders (both sorted by path), and the number of entries that
    were skipped for each reason.
    """

    files: tuple[tuple[str, os.stat_result], ...] = ()
    folders: tuple[str, ...] = ()
    skip_counts: Counter[str] = field(default_factory=Counter)
    is_truncated: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    number: int  # the later line wins
    is_ignored: bool
    folders_only: bool


class _Patterns:
    """Patterns from one ignore file, grouped by how they are looked up.

    Most patterns need no regular expression.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._names: dict[str, list[_Rule]] = {}
        self._suffixes: dict[str, list[_Rule]] = {}
        self._paths: dict[str, list[_Rule]] = {}
        self._everything: list[_Rule] = []
        self._wildcards: list[tuple[_Rule, re.Pattern[str]]] = []
        for number, line in enumerate(lines[:_MAX_LINES]):
            self._add(number, line)
        self._wildcards.reverse()

    def __bool__(self) -> bool:
        return bool(self._names or self._suffixes or self._paths or self._everything or self._wildcards)

    def match(self, path: str, name: str, is_dir: bool) -> bool | None:
        """Return True if `path` is ignored, or None if no line matches it.

        Returns False if a `!` line re-includes the path. `path` is relative to the ignore file's folder.
        """
        best_rule: _Rule | None = None
        candidate_lists = [self._everything, self._names.get(name, _NO_RULES), self._paths.get(path, _NO_RULES)]
        if self._suffixes:
            candidate_lists += [self._suffixes[suffix] for suffix in _iter_suffixes(name) if suffix in self._suffixes]
        for rules in candidate_lists:
            for rule in rules:
                if (best_rule is None or rule.number > best_rule.number) and (is_dir or not rule.folders_only):
                    best_rule = rule
        for rule, regex in self._wildcards:
            if best_rule is not None and rule.number < best_rule.number:
                break
            if (is_dir or not rule.folders_only) and _matches_path_itself(regex, path, rule.folders_only):
                best_rule = rule
                break
        return best_rule.is_ignored if best_rule is not None else None

    def _add(self, number: int, line: str) -> None:
        text = line.rstrip("\r\n")
        if not text.endswith("\\ "):
            text = text.rstrip(" ")
        if not text or text.startswith("#"):
            return
        is_ignored = not text.startswith("!")
        pattern = text if is_ignored else text[1:]
        folders_only = pattern.endswith("/")
        rule = _Rule(number, is_ignored, folders_only)
        stem = pattern.removesuffix("/")
        if stem in ("*", "**", "**/*"):
            self._everything.append(rule)
        elif not _SPECIAL.search(stem):
            is_anchored = "/" in stem
            table = self._paths if is_anchored else self._names
            table.setdefault(stem.removeprefix("/"), []).append(rule)
        elif _STAR_SUFFIX.fullmatch(stem):
            self._suffixes.setdefault(stem[1:], []).append(rule)
        else:
            self._add_wildcard(rule, pattern)

    def _add_wildcard(self, rule: _Rule, pattern: str) -> None:
        if len(self._wildcards) >= _MAX_WILDCARD_LINES:
            return
        if any(len(_STARS.findall(part)) > _MAX_STARS for part in pattern.split("/")) or pattern.count("**/") > 3:
            logger.warning("skipping an ignore pattern with too many stars: %.80r", pattern)
            return
        try:
            compiled_patterns = GitIgnoreSpec.from_lines([pattern]).patterns
            regex = compiled_patterns[0].regex if compiled_patterns else None
        except (ValueError, TypeError, re.error):
            return  # git does not match anything with an invalid line either
        if regex is not None:
            self._wildcards.append((rule, regex))


_NO_RULES: list[_Rule] = []
_SPECIAL = re.compile(r"[*?\[\\]")
_STARS = re.compile(r"\*+")
_STAR_SUFFIX = re.compile(r"\*\.[^*?\[\\/]+")


def _iter_suffixes(name: str) -> Iterator[str]:
    dot = name.find(".")
    while dot >= 0:
        yield name[dot:]
        dot = name.find(".", dot + 1)


def _matches_path_itself(regex: re.Pattern[str], path: str, folders_only: bool) -> bool:
    """Return True if the pattern matches `path` itself.

    A match with a folder above `path` does not count, because those folders have already been checked.
    """
    subject = f"{path}/" if folders_only else path
    match = regex.search(subject)
    if match is None:
        return False
    if "ps_d" not in regex.groupindex or match["ps_d"] is None:
        return True
    return match.end("ps_d") == len(subject)


@dataclass(frozen=True, slots=True)
class _Source:
    """Patterns from one file, with the folder that they are relative to.

    `label` is the reason reported for paths that match.
    """

    base: int  # characters of the folder's path, with its slash
    patterns: _Patterns
    label: str


@dataclass(frozen=True, slots=True)
class _Folder:
    reason: str
    # Innermost first. .hunchignore and settings take precedence over .gitignore.
    hunchignore_sources: tuple[_Source, ...] = ()
    gitignore_sources: tuple[_Source, ...] = ()


class IgnoreRules:
    """Rules that decide which paths of a tree are wanted.

    Paths that are not wanted have one of these reasons: `git`, `secret`, `hunchignore`, `configured`, `gitignore`,
    `vendored`, `nested` (a repository of its own), `temporary`, `binary`, `generated`, `name` (cannot be displayed),
    `outside`. A walk adds `too_large`, `link`, `special`, `depth` and `unreadable`.
    """

    def __init__(self, root: Path, extra: Sequence[str] = ()) -> None:
        self.root = root
        self._base = os.fspath(root)
        self._extra = tuple(extra)
        layout_found = layout.find_repository(root)
        self._is_versioned = layout_found is not None and layout_found.git_dir is not None
        self._folders: dict[str, _Folder] = {
            "": self._build_top_folder(layout_found.common_dir if layout_found is not None else None)
        }

    @classmethod
    def load(cls, root: Path, extra: Sequence[str] = ()) -> IgnoreRules:
        """Load the rules of the tree at `root`.

        The gitignore lines in `extra` take precedence.
        """
        return cls(Path(os.path.realpath(root)), extra)

    def reload(self) -> IgnoreRules:
        """Return new rules with the current contents of the ignore files."""
        return IgnoreRules(self.root, self._extra)

    def get_reason(self, relpath: str, is_dir: bool = False) -> str:
        """Return the reason why `relpath` is not wanted, or "" if it is wanted.

        `relpath` is relative to the root and uses "/" as the separator.
        """
        parts = relpath.split("/")
        if "" in parts or "." in parts or ".." in parts:
            return "outside" if relpath else ""
        if is_dir:
            return self._get_folder(relpath).reason
        parent, _, name = relpath.rpartition("/")
        folder = self._get_folder(parent)
        return folder.reason or self._find_reason(folder, relpath, name, is_dir=False)

    def list_folder(self, relpath: str, limits: WalkLimits | None = None) -> FolderListing:
        """List the wanted entries of one folder.

        Symbolic links are not followed, and no file is opened.
        """
        bounds = limits or WalkLimits()
        folder = self._get_folder(relpath)
        if folder.reason:
            return FolderListing(skip_counts=Counter({folder.reason: 1}))
        prefix = f"{relpath}/" if relpath else ""
        files: list[tuple[str, os.stat_result]] = []
        folders: list[str] = []
        skip_counts: Counter[str] = Counter()
        is_truncated = False
        try:
            with os.scandir(f"{self._base}/{relpath}") as entries:
                for count, entry in enumerate(entries):
                    if count >= bounds.entries_per_folder:
                        is_truncated = True
                        break
                    reason = self._sort_entry(folder, prefix, entry, bounds, files, folders)
                    if reason:
                        skip_counts[reason] += 1
        except OSError:
            skip_counts["unreadable"] += 1
        return FolderListing(tuple(sorted(files, key=_get_path)), tuple(sorted(folders)), skip_counts, is_truncated)

    def walk(self, limits: WalkLimits | None = None) -> Iterator[tuple[str, os.stat_result]]:
        """Yield every wanted file with its `lstat` result.

        The walk goes folder by folder, in a stable order, and stops at the limits.
        """
        bounds = limits or WalkLimits()
        pending, folder_count, file_count = [""], 0, 0
        while pending and folder_count < bounds.folders:
            folder = pending.pop()
            folder_count += 1
            listing = self.list_folder(folder, bounds)
            for file in listing.files:
                if file_count >= bounds.files:
                    return
                file_count += 1
                yield file
            if folder.count("/") + 1 < bounds.depth:
                pending.extend(reversed(listing.folders))

    def _sort_entry(
        self,
        folder: _Folder,
        prefix: str,
        entry: os.DirEntry[str],
        limits: WalkLimits,
        files: list[tuple[str, os.stat_result]],
        folders: list[str],
    ) -> str:
        """Add one entry to `files` or `folders`, unless it must be skipped.

        Returns the reason why the entry was skipped, or "" if it was added.
        """
        relpath = prefix + entry.name
        try:
            if entry.is_symlink():
                return "link"
            if entry.is_dir(follow_symlinks=False):
                reason = self._get_folder(relpath).reason
                if not reason:
                    folders.append(relpath)
                return reason
            reason = self._find_reason(folder, relpath, entry.name, is_dir=False)
            if reason:
                return reason
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return "unreadable"
        if not stat.S_ISREG(status.st_mode):
            return "special"
        if status.st_size > limits.file_bytes:
            return "too_large"
        files.append((relpath, status))
        return ""

    def _get_folder(self, relpath: str) -> _Folder:
        cached_folder = self._folders.get(relpath)
        if cached_folder is not None:
            return cached_folder
        parent_path, _, name = relpath.rpartition("/")
        parent = self._get_folder(parent_path)
        reason = parent.reason or self._find_reason(parent, relpath, name, is_dir=True)
        folder = _Folder(reason) if reason else self._open_folder(parent, relpath)
        if len(self._folders) >= _MAX_CACHED_FOLDERS:
            self._folders = {"": self._folders[""]}
        self._folders[relpath] = folder
        return folder

    def _find_reason(self, folder: _Folder, relpath: str, name: str, *, is_dir: bool) -> str:
        """Return the reason why an entry of a wanted folder is not wanted.

        Returns "" if the entry is wanted.
        """
        if not is_readable_name(name):
            return "name"
        if name == ".git":
            return "git"
        if is_secret_folder(name) if is_dir else is_secret_file(relpath):
            return "secret"  # cannot be re-included
        for source in folder.hunchignore_sources:
            verdict = source.patterns.match(relpath[source.base :], name, is_dir)
            if verdict is not None:
                return (
                    source.label if verdict else self._find_builtin_reason(relpath, name, is_dir, is_in_vendored=False)
                )
        for source in folder.gitignore_sources:
            verdict = source.patterns.match(relpath[source.base :], name, is_dir)
            if verdict:
                return source.label
            if verdict is False:
                break
        return self._find_builtin_reason(relpath, name, is_dir, is_in_vendored=True)

    def _find_builtin_reason(self, relpath: str, name: str, is_dir: bool, *, is_in_vendored: bool) -> str:
        if not is_dir:
            return get_skip_reason(name)
        if is_in_vendored and is_vendored(self.root, relpath, is_versioned=self._is_versioned):
            return "vendored"
        return "nested" if os.path.lexists(f"{self._base}/{relpath}/.git") else ""

    def _open_folder(self, parent: _Folder, relpath: str) -> _Folder:
        """Build the rules for a wanted folder, including its own ignore files."""
        base = len(relpath) + 1 if relpath else 0
        gitignore, hunchignore = (self._read_patterns(relpath, name) for name in IGNORE_FILES)
        return _Folder(
            "",
            (_Source(base, hunchignore, "hunchignore"), *parent.hunchignore_sources)
            if hunchignore
            else parent.hunchignore_sources,
            (_Source(base, gitignore, "gitignore"), *parent.gitignore_sources)
            if gitignore
            else parent.gitignore_sources,
        )

    def _read_patterns(self, relpath: str, name: str) -> _Patterns | None:
        path = f"{relpath}/{name}" if relpath else name
        if not os.path.lexists(f"{self._base}/{path}"):  # usual case: one call instead of one per component
            return None
        content = read_file(self.root, path, limit=_IGNORE_FILE_BYTES)
        return _Patterns(_split_lines(content)) if content else None

    def _build_top_folder(self, common: Path | None) -> _Folder:
        configured_sources = (_Source(0, _Patterns(self._extra), "configured"),) if self._extra else ()
        content = read_bounded(common / "info" / "exclude", limit=_IGNORE_FILE_BYTES) if common is not None else None
        gitignore = (_Source(0, _Patterns(_split_lines(content)), "gitignore"),) if content else ()
        top = self._open_folder(_Folder("", (), gitignore), "")
        return _Folder("", configured_sources + top.hunchignore_sources, top.gitignore_sources)


def _get_path(file: tuple[str, os.stat_result]) -> str:
    return file[0]


def _split_lines(content: bytes) -> list[str]:
    return content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").split("\n")
