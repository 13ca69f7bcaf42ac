"""Tombstones of learned memories that the user forgot.

A tombstone prevents its memory from being learned again. Only ids are stored.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path

from hunchd.config.app_paths import ensure_private_folder
from hunchd.store.files import FileOperations, replace_file

logger = logging.getLogger(__name__)


class Tombstones:
    """Folder with one tombstone file per project."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, project: str) -> frozenset[str]:
        """Return the ids in a project's tombstone file.

        Returns an empty set if the file does not exist or cannot be read.
        """
        try:
            return frozenset(json.loads((self._folder / project).read_bytes()))
        except FileNotFoundError:
            return frozenset()
        except (OSError, ValueError, TypeError):
            logger.warning("could not read the tombstones of project %s", project, exc_info=True)
            return frozenset()

    def add(self, project: str, ids: Iterable[str]) -> None:
        """Add ids to a project's tombstone file, which is replaced atomically.

        Raises OSError if the disk is full.
        """
        file = self._folder / project
        content = sorted({*self.load(project), *ids})
        ensure_private_folder(self._folder)
        replace_file(FileOperations(), file, json.dumps(content).encode())

    def discard(self, project: str, ids: Iterable[str]) -> None:
        """Remove ids from a project's tombstone file.

        Their memories may then be learned or shown again. Raises OSError if the disk is full.
        """
        replace_file(FileOperations(), self._folder / project, json.dumps(sorted(self.load(project) - {*ids})).encode())

    def delete(self, project: str) -> None:
        """Delete the tombstones of a removed project."""
        (self._folder / project).unlink(missing_ok=True)
