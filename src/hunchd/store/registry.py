"""Registry of projects in `projects.json`, a small and readable file.

The file is replaced as a whole with every change.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hunchd.domain.errors import NotFound, StorageFull, StoreError
from hunchd.store.files import DISK_FULL_ERRORS, FileOperations, create_private_folder, replace_file

logger = logging.getLogger(__name__)

FORMAT_VERSION = 1
_ID = re.compile(r"p[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class RegisteredProject:
    """Project in the registry: a git working tree or a plain folder.

    Linked worktrees of one repository share a project. `common_dir` is the git folder of the repository.
    """

    id: str
    path: str  # real and absolute
    name: str
    created: str  # ISO 8601, UTC
    common_dir: str | None = None  # None: a plain folder
    born: str | None = None  # fingerprint that identifies a moved repository, see `_fingerprint_git_folder`
    is_paused: bool = False  # True: neither watched nor indexed until it is resumed

    @property
    def is_missing(self) -> bool:
        """True if the folder does not exist at the moment.

        It may have been deleted or moved, or its disk may not be mounted.
        """
        return not os.path.isdir(self.path)  # noqa: PTH112 - Path.is_dir raises where we may not look


class ProjectRegistry:
    """Registry of projects, stored in one file.

    The file is read once; every change is on disk when the call returns. `warning` describes a problem found while
    reading, or is None.
    """

    def __init__(self, path: Path, *, files: FileOperations | None = None) -> None:
        """Read the file that contains the registry.

        A damaged file is renamed and never overwritten. Raises StoreError if the file cannot be read at all.
        """
        self._path = path
        self._files = files or FileOperations()
        self._newer_version: int | None = None
        self.warning: str | None = None
        self._projects: dict[str, RegisteredProject] = {project.id: project for project in self._load()}

    def list_projects(self) -> tuple[RegisteredProject, ...]:
        """Return the projects in the order they were added."""
        return tuple(self._projects.values())

    def get(self, identifier: str) -> RegisteredProject:
        """Return a project. Raises NotFound, with a list of the known ids, if there is no such project."""
        project = self._projects.get(identifier)
        if project is None:
            known_ids = ", ".join(self._projects) or "none"
            raise NotFound(f"there is no project {identifier!r}; known: {known_ids}", field="project")
        return project

    def find(self, path: Path, *, common_dir: Path | None = None) -> RegisteredProject | None:
        """Return the project that contains a folder, or None.

        A project matches if it has the same real path, if the folder is another worktree of the project's repository,
        or if the project's repository was moved to this folder from a folder that no longer exists.
        """
        real_path, git_folder, fingerprint = (
            _resolve_path(path),
            _resolve_path(common_dir),
            _fingerprint_git_folder(common_dir),
        )
        same_path = (project for project in self._projects.values() if project.path == real_path)
        same_repository = (
            project for project in self._projects.values() if git_folder and project.common_dir == git_folder
        )
        moved_projects = (
            project
            for project in self._projects.values()
            if fingerprint and project.born == fingerprint and project.is_missing
        )
        return next(same_path, None) or next(same_repository, None) or next(moved_projects, None)

    def add(
        self,
        path: Path,
        *,
        common_dir: Path | None = None,
        creation_time: datetime | None = None,
        identifier: str | None = None,
    ) -> RegisteredProject:
        """Return the project of `path`, adding it if it is new.

        If a project's own folder no longer exists, the project follows its repository: to the worktree being added, or
        to the place to which the repository was moved. A new project gets the id `identifier` if that id is valid and
        unused.
        """
        existing = self.find(path, common_dir=common_dir)
        if existing is not None:
            real_path, git_folder = (
                _resolve_path(path) if existing.is_missing else existing.path,
                _resolve_path(common_dir) or existing.common_dir,
            )
            was_moved = existing.is_missing and git_folder != existing.common_dir
            current = replace(
                existing,
                path=real_path,
                name=Path(real_path).name or real_path if was_moved else existing.name,
                common_dir=git_folder,
                born=_fingerprint_git_folder(common_dir) or existing.born,
            )
        else:
            when = (creation_time or datetime.now(UTC)).astimezone(UTC)
            real_path = _resolve_path(path) or str(path)
            if identifier is None or not _ID.fullmatch(identifier) or identifier in self._projects:
                identifier = _create_id()
            current = RegisteredProject(
                identifier,
                real_path,
                Path(real_path).name or real_path,
                when.isoformat(),
                _resolve_path(common_dir),
                _fingerprint_git_folder(common_dir),
            )
        if current != existing:
            self._save({**self._projects, current.id: current})
        return current

    def remove(self, identifier: str) -> RegisteredProject:
        """Remove a project from the registry, and return it.

        Renamed copies of damaged files that mention the project are deleted.
        """
        removed_project = self.get(identifier)
        self._save({key: project for key, project in self._projects.items() if key != identifier})
        for copy in self._list_damaged_copies():
            if (
                json.dumps(removed_project.path)[1:-1].encode() in copy.read_bytes()
                or removed_project.id.encode() in copy.read_bytes()
            ):
                self._files.remove(copy)
        return removed_project

    def set_paused(self, identifier: str, *, is_paused: bool) -> None:
        """Store whether a project is paused. Raises NotFound if there is no such project."""
        self._save({**self._projects, identifier: replace(self.get(identifier), is_paused=is_paused)})

    def _load(self) -> list[RegisteredProject]:
        try:
            content = self._files.read(self._path)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"{self._path} cannot be read: {error}") from error
        try:
            document = json.loads(content)
            version = int(document["version"])
            projects = [_parse_project(entry) for entry in document["projects"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self._move_aside(error)
            return []
        if version > FORMAT_VERSION:
            self._newer_version = version
            self.warning = (
                f"{self._path} has format {version}, written by a newer hunchd; it is read-only until hunchd is updated"
            )
            logger.warning("%s", self.warning)
        return projects

    def _move_aside(self, error: Exception) -> None:
        backup = self._path.with_name(f"{self._path.name}.damaged-{secrets.token_hex(4)}")
        try:
            self._files.rename(self._path, backup)
        except OSError as failure:
            raise StoreError(f"{self._path} is damaged ({error}) and cannot be renamed: {failure}") from failure
        self.warning = (
            f"{self._path} was damaged ({error}) and has been renamed to {backup.name}; add your projects again"
        )
        logger.warning("%s", self.warning)

    def _list_damaged_copies(self) -> list[Path]:
        return sorted(self._path.parent.glob(f"{self._path.name}.damaged-*"))

    def _save(self, projects: dict[str, RegisteredProject]) -> None:
        if self._newer_version is not None:
            raise StoreError(
                f"{self._path} has format {self._newer_version}; this hunchd writes format {FORMAT_VERSION}",
                hint="install the newer hunchd again",
            )
        entries = [asdict(project) for project in projects.values()]
        content = json.dumps({"version": FORMAT_VERSION, "projects": entries}, indent=2) + "\n"
        try:
            create_private_folder(self._path.parent)
            replace_file(self._files, self._path, content.encode("ascii"))
        except OSError as error:
            if error.errno in DISK_FULL_ERRORS:
                raise StorageFull(f"{self._path} cannot be written: the disk is full") from error
            raise StoreError(f"{self._path} cannot be written: {error}") from error
        self._projects = projects


def _parse_project(entry: Mapping[str, Any]) -> RegisteredProject:
    common_dir, birth_fingerprint = entry.get("common_dir"), entry.get("born")
    project = RegisteredProject(
        entry["id"],
        entry["path"],
        entry["name"],
        entry["created"],
        common_dir,
        birth_fingerprint,
        is_paused=entry.get("is_paused") is True,
    )
    texts = (project.id, project.path, project.name, project.created, common_dir or "", birth_fingerprint or "")
    if not all(isinstance(value, str) for value in texts):
        raise TypeError("every field of a project must be a string")
    return project


def _fingerprint_git_folder(common_dir: Path | None) -> str | None:
    """Return a fingerprint of a git folder that does not change when the folder is moved.

    Returns None if there is no `description` file. The fingerprint combines the inode numbers of the folder and of
    that file, which git writes only once, with the file's modification time. These stay the same if the folder is
    moved within a file system; a new clone in the same place has different ones.
    """
    if common_dir is None:
        return None
    try:
        folder, first = common_dir.stat(), (common_dir / "description").stat()
    except OSError:
        return None
    return f"{folder.st_ino}-{first.st_ino}-{first.st_mtime_ns}"


def _create_id() -> str:
    # Random, not derived from the path: a project that is erased and added again must not match old traces.
    return f"p{secrets.token_hex(6)}"


def _resolve_path(path: Path | None) -> Any:
    return None if path is None else str(path.resolve())
