"""Snapshot of a tree with just enough data to detect changes."""

from __future__ import annotations

import os
from collections.abc import Iterator


def stamp_of(found: os.stat_result) -> int:
    """Hash modification time, size and inode; smaller than the values themselves."""
    return hash((found.st_mtime_ns, found.st_size, found.st_ino))


class _Folder:
    __slots__ = ("files", "folders")

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self.folders: dict[str, _Folder] | None = None  # most folders have none


class Snapshot:
    """Folders and files with their stamps.

    Paths are relative to the root, which is "".
    """

    def __init__(self) -> None:
        self._top = _Folder()
        self.files = 0
        self.folders = 1

    def stamp(self, path: str) -> int | None:
        """Return the stamp of a file, or None if it is unknown."""
        folder, _, name = path.rpartition("/")
        found = self._find(folder)
        return found.files.get(name) if found is not None else None

    def put(self, path: str, stamp: int) -> None:
        folder, _, name = path.rpartition("/")
        files = self._make(folder).files
        self.files += name not in files
        files[name] = stamp

    def forget(self, path: str) -> bool:
        """Remove a file; return True if it was known."""
        folder, _, name = path.rpartition("/")
        found = self._find(folder)
        known = found is not None and found.files.pop(name, None) is not None
        self.files -= known
        return known

    def add_folder(self, folder: str) -> bool:
        """Add a folder; return True if it is new."""
        before = self.folders
        self._make(folder)
        return self.folders != before

    def knows_folder(self, folder: str) -> bool:
        return self._find(folder) is not None

    def names(self, folder: str) -> dict[str, int]:
        """Return the known files of one folder with their stamps."""
        found = self._find(folder)
        return dict(found.files) if found is not None else {}

    def inner_folders(self, folder: str) -> list[str]:
        """Return the paths of the known folders directly in `folder`."""
        found = self._find(folder)
        prefix = f"{folder}/" if folder else ""
        return [prefix + name for name in found.folders] if found is not None and found.folders else []

    def remove_folder(self, folder: str) -> tuple[list[str], list[str]]:
        """Remove a folder recursively; return the files and folders that were known."""
        found = self._find(folder)
        if found is None:
            return [], []
        parent, _, name = folder.rpartition("/")
        above = self._find(parent)
        if folder and above is not None and above.folders:
            del above.folders[name]
        else:
            self._top = _Folder()
        files: list[str] = []
        folders: list[str] = []
        for path, inner in _below(folder, found):
            folders.append(path)
            files.extend(f"{path}/{file}" if path else file for file in inner.files)
        self.files -= len(files)
        self.folders -= len(folders) if folder else len(folders) - 1
        return files, folders

    def paths(self) -> Iterator[str]:
        """Yield every known file."""
        for path, folder in _below("", self._top):
            for name in tuple(folder.files):
                yield f"{path}/{name}" if path else name

    def _find(self, folder: str) -> _Folder | None:
        found = self._top
        if folder:
            for name in folder.split("/"):
                inner = found.folders.get(name) if found.folders is not None else None
                if inner is None:
                    return None
                found = inner
        return found

    def _make(self, folder: str) -> _Folder:
        found = self._top
        if folder:
            for name in folder.split("/"):
                if found.folders is None:
                    found.folders = {}
                inner = found.folders.get(name)
                if inner is None:
                    inner = found.folders[name] = _Folder()
                    self.folders += 1
                found = inner
        return found


def _below(path: str, folder: _Folder) -> Iterator[tuple[str, _Folder]]:
    waiting = [(path, folder)]
    while waiting:
        path, folder = waiting.pop()
        yield path, folder
        if folder.folders:
            prefix = f"{path}/" if path else ""
            waiting.extend((prefix + name, inner) for name, inner in tuple(folder.folders.items()))
