"""Interface for asking which files and symbols exist in a project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class CodePresence(Protocol):
    """Interface for asking which files and symbols exist in a project."""

    @property
    def is_complete(self) -> bool:
        """True if the project was indexed completely.

        Otherwise, a file that is missing from the index may still exist.
        """

    def has_path(self, path: str) -> bool:
        """Return True if the project contains this file or folder."""

    def find_definitions(self, name: str) -> tuple[str, ...]:
        """Return the paths of the files that define `name`, in index order."""


@dataclass(frozen=True, slots=True)
class UnknownCode:
    """Stand-in for the code of a project that cannot be read.

    It reports that it is incomplete, so no file or symbol counts as missing.
    """

    is_complete: bool = False

    def has_path(self, path: str) -> bool:
        return False

    def find_definitions(self, name: str) -> tuple[str, ...]:
        return ()
