"""What was learnt, and forgotten by its owner: remembered by id alone, so that it is not learnt again."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path

from hunchd.config.places import make_private
from hunchd.store.files import Files, replace_file

logger = logging.getLogger(__name__)


class Forgotten:
    """A file of ids for each project, below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, project: str) -> frozenset[str]:
        try:
            return frozenset(json.loads((self._folder / project).read_bytes()))
        except FileNotFoundError:
            return frozenset()
        except (OSError, ValueError, TypeError):
            logger.warning("what was forgotten of %s cannot be read", project, exc_info=True)
            return frozenset()

    def add(self, project: str, ids: Iterable[str]) -> None:
        """Replace the file in one step. OSError when the disk refuses."""
        file = self._folder / project
        told = sorted({*self.of(project), *ids})
        make_private(self._folder)
        replace_file(Files(), file, json.dumps(told).encode())

    def drop(self, project: str) -> None:
        """Leave nothing of a project that goes."""
        (self._folder / project).unlink(missing_ok=True)
