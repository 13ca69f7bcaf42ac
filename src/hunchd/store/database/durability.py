"""Syncing of the database's files, which the database itself never syncs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from hunchd.store.files import Files

# Overwritten in place after each commit; the database searches by itself if it is wrong or missing.
HINT: Final = "latest_version_hint.json"


class Synced:
    """Tracker that syncs each file of a folder once.

    Files of the database never change after they were written.
    """

    def __init__(self, folder: Path, files: Files | None = None) -> None:
        self._folder = folder
        self._files = files or Files()
        self._known: set[str] = set()

    def sync(self) -> int:
        """Sync new files and their folders; return the number of files."""
        seen: set[str] = set()
        fresh = 0
        for folder, _, names in os.walk(self._folder):
            paths = [f"{folder}{os.sep}{name}" for name in names if name != HINT]
            seen.update(paths)
            synced = sum(self._sync_file(path) for path in paths if path not in self._known)
            if synced or folder not in self._known:
                self._files.sync_folder(Path(folder))
            fresh += synced
            seen.add(folder)
        self._known = seen
        return fresh

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
