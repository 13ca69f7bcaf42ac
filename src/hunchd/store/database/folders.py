"""Where a project's memories lie, how much that is, and whether something in there is still to be erased."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from hunchd.domain.errors import NotFound

ERASING: Final = "erasing.json"  # the note that something was deleted whose bytes may still be there


def erasure_is_due(folder: Path) -> bool:
    """Whether something was deleted from this folder whose bytes may still be there."""
    return (folder / ERASING).exists()


def bytes_in(folder: Path) -> int:
    """Without the snapshots. What goes while it is looked at, as old versions do, counts nothing."""
    size = 0
    for parent, folders, files in os.walk(folder):
        if "snapshots" in folders:
            folders.remove("snapshots")
        for name in files:
            with suppress(FileNotFoundError):
                size += os.stat(os.path.join(parent, name), follow_symlinks=False).st_size  # noqa: PTH116, PTH118
    return size


def of_project(data: Path, project: str | None) -> Path:
    """The folder of a project, or of the user. Raises NotFound for what cannot be a project id."""
    if project is None:
        return data / "user"
    if not project.replace("-", "").replace("_", "").isalnum() or len(project) > 100:
        raise NotFound(f"there is no project {project!r}")
    return data / "projects" / project
