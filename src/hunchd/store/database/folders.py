"""Folders of collections: their location, their size, and pending erasures."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from hunchd.domain.errors import NotFound

ERASURE_MARKER: Final = "erasing.json"  # while it exists, data of deleted rows may still be on disk


def is_erasure_pending(folder: Path) -> bool:
    """Return True if data of deleted rows may still be on disk."""
    return (folder / ERASURE_MARKER).exists()


def measure_folder(folder: Path) -> int:
    """Return the size of a folder in bytes, excluding snapshots.

    Files that disappear in the meantime, such as old versions, count as zero.
    """
    size = 0
    for parent, folders, files in os.walk(folder):
        if "snapshots" in folders:
            folders.remove("snapshots")
        for name in files:
            with suppress(FileNotFoundError):
                size += os.stat(os.path.join(parent, name), follow_symlinks=False).st_size  # noqa: PTH116, PTH118
    return size


def locate_collection(data: Path, project: str | None) -> Path:
    """Return the folder of a project's collection, or the user's for None.

    Raises NotFound if `project` is not a valid project id.
    """
    if project is None:
        return data / "user"
    if not project.replace("-", "").replace("_", "").isalnum() or len(project) > 100:
        raise NotFound(f"there is no project {project!r}")
    return data / "projects" / project
