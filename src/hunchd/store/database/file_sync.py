"""Syncing of the database's files to disk.

The database itself does not do this.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from hunchd.store.files import FileOperations

# Overwritten in place after each commit; if it is wrong or missing, the database finds the latest version itself.
HINT_FILE: Final = "latest_version_hint.json"


class FolderSyncer:
    """Syncer that remembers which files in a folder it has already synced.

    Each file is synced once, because the database's files never change after they are written.
    """

    def __init__(self, folder: Path, files: FileOperations | None = None) -> None:
        self._folder = folder
        self._files = files or FileOperations()
        self._synced_paths: set[str] = set()

    def sync(self) -> int:
        """Sync new files and their folders; return the number of files."""
        current_paths: set[str] = set()
        count = 0
        for folder, _, names in os.walk(self._folder):
            paths = [f"{folder}{os.sep}{name}" for name in names if name != HINT_FILE]
            current_paths.update(paths)
            synced_count = sum(self._sync_file(path) for path in paths if path not in self._synced_paths)
            if synced_count or folder not in self._synced_paths:
                self._files.sync_folder(Path(folder))
            count += synced_count
            current_paths.add(folder)
        self._synced_paths = current_paths
        return count

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
