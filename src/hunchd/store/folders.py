"""Where a project's memories lie, how much that is, and whether something in there is still to be erased."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hunchd.domain.errors import NotFound

ERASING: Final = "erasing.json"  # the note that something was deleted whose bytes may still be there


def erasure_is_due(folder: Path) -> bool:
    """Whether something was deleted from this folder whose bytes may still be there."""
    return (folder / ERASING).exists()


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and "snapshots" not in path.parts)


def of_project(data: Path, project: str | None) -> Path:
    """The folder of a project, or of the user. Raises NotFound for what cannot be a project id."""
    if project is None:
        return data / "user"
    if not project.replace("-", "").replace("_", "").isalnum() or len(project) > 100:
        raise NotFound(f"there is no project {project!r}")
    return data / "projects" / project
