"""Snapshot of a folder tree, with just enough data to detect changes."""

from __future__ import annotations

import os
from collections.abc import Iterator


def compute_stamp(status: os.stat_result) -> int:
    """Return a hash of a file's modification time, size and inode.

    The hash takes less memory than the values themselves.
    """
    return hash((status.st_mtime_ns, status.st_size, status.st_ino))


class _Folder:
    __slots__ = ("files", "folders")

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self.folders: dict[str, _Folder] | None = None  # most folders have none


class TreeSnapshot:
    """Folders of a tree, and its files with their stamps.

    Paths are relative to the root, whose path is "".
    """

    def __init__(self) -> None:
        self._top = _Folder()
        self.file_count = 0
        self.folder_count = 1

    def get_stamp(self, path: str) -> int | None:
        """Return the stamp of a file, or None if it is unknown."""
        folder, _, name = path.rpartition("/")
        node = self._find_folder(folder)
        return node.files.get(name) if node is not None else None

    def set_stamp(self, path: str, stamp: int) -> None:
        folder, _, name = path.rpartition("/")
        files = self._make_folder(folder).files
        self.file_count += name not in files
        files[name] = stamp

    def remove_file(self, path: str) -> bool:
        """Remove a file; return True if it was known."""
        folder, _, name = path.rpartition("/")
        node = self._find_folder(folder)
        was_known = node is not None and node.files.pop(name, None) is not None
        self.file_count -= was_known
        return was_known

    def add_folder(self, folder: str) -> bool:
        """Add a folder; return True if it is new."""
        before = self.folder_count
        self._make_folder(folder)
        return self.folder_count != before

    def has_folder(self, folder: str) -> bool:
        return self._find_folder(folder) is not None

    def list_files(self, folder: str) -> dict[str, int]:
        """Return the known files of one folder with their stamps."""
        node = self._find_folder(folder)
        return dict(node.files) if node is not None else {}

    def list_subfolders(self, folder: str) -> list[str]:
        """Return the paths of the known subfolders of `folder`, not recursively."""
        node = self._find_folder(folder)
        prefix = f"{folder}/" if folder else ""
        return [prefix + name for name in node.folders] if node is not None and node.folders else []

    def remove_folder(self, folder: str) -> tuple[list[str], list[str]]:
        """Remove a folder recursively.

        Returns the files and the folders that were removed.
        """
        node = self._find_folder(folder)
        if node is None:
            return [], []
        parent, _, name = folder.rpartition("/")
        parent_node = self._find_folder(parent)
        if folder and parent_node is not None and parent_node.folders:
            del parent_node.folders[name]
        else:
            self._top = _Folder()
        files: list[str] = []
        folders: list[str] = []
        for path, inner in _iterate_folders(folder, node):
            folders.append(path)
            files.extend(f"{path}/{file}" if path else file for file in inner.files)
        self.file_count -= len(files)
        self.folder_count -= len(folders) if folder else len(folders) - 1
        return files, folders

    def iterate_paths(self) -> Iterator[str]:
        """Yield the path of every known file."""
        for path, folder in _iterate_folders("", self._top):
            for name in tuple(folder.files):
                yield f"{path}/{name}" if path else name

    def _find_folder(self, folder: str) -> _Folder | None:
        node = self._top
        if folder:
            for name in folder.split("/"):
                inner = node.folders.get(name) if node.folders is not None else None
                if inner is None:
                    return None
                node = inner
        return node

    def _make_folder(self, folder: str) -> _Folder:
        node = self._top
        if folder:
            for name in folder.split("/"):
                if node.folders is None:
                    node.folders = {}
                inner = node.folders.get(name)
                if inner is None:
                    inner = node.folders[name] = _Folder()
                    self.folder_count += 1
                node = inner
        return node


def _iterate_folders(path: str, folder: _Folder) -> Iterator[tuple[str, _Folder]]:
    stack = [(path, folder)]
    while stack:
        path, folder = stack.pop()
        yield path, folder
        if folder.folders:
            prefix = f"{path}/" if path else ""
            stack.extend((prefix + name, inner) for name, inner in tuple(folder.folders.items()))
