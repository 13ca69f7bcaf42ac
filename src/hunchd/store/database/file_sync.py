"""Syncing of the database's files to disk. The database itself does not do this."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from hunchd.store.files import FileOperations

# Overwritten in place after each commit; if it is wrong or missing, the database finds the latest version itself.
HINT_FILE: Final = "latest_version_hint.json"


class FolderSyncer:
    """Object that syncs a folder's files to disk, each of them once.

    It remembers which files it has synced. The database's files never change after they have been written, so syncing
    them once is enough.
    """

    def __init__(self, folder: Path, files: FileOperations | None = None) -> None:
        self._folder = folder
        self._files = files or FileOperations()
        self._synced_paths: set[str] = set()

    def sync(self) -> list[str]:
        """Sync new files and their folders; return the paths of the files."""
        current_paths: set[str] = set()
        synced_paths: list[str] = []
        for folder, _, names in os.walk(self._folder):
            paths = [f"{folder}{os.sep}{name}" for name in names if name != HINT_FILE]
            current_paths.update(paths)
            new_paths = [path for path in paths if path not in self._synced_paths and self._sync_file(path)]
            if new_paths or folder not in self._synced_paths:
                self._files.sync_folder(Path(folder))
            synced_paths += new_paths
            current_paths.add(folder)
        self._synced_paths = current_paths
        return synced_paths

    def _sync_file(self, path: str) -> bool:
        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:  # a temporary file of the database that was renamed or deleted meanwhile
            return False
        try:
            self._files.sync(handle)
        finally:
            os.close(handle)
        return True
