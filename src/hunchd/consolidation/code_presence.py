"""Presence of files and symbols in a project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class CodePresence(Protocol):
    """Interface that answers which files and symbols exist in a project."""

    @property
    def is_complete(self) -> bool:
        """Return True if the project was indexed completely.

        Only then is a missing file gone.
        """

    def has_file(self, path: str) -> bool: ...

    def has_folder(self, path: str) -> bool: ...

    def find_definitions(self, name: str) -> tuple[str, ...]:
        """Return the files that define `name`, in their order."""


@dataclass(frozen=True, slots=True)
class UnknownCode:
    """Null implementation for memories without a readable project: nothing counts as gone."""

    is_complete: bool = False

    def has_file(self, path: str) -> bool:
        return False

    def has_folder(self, path: str) -> bool:
        return False

    def find_definitions(self, name: str) -> tuple[str, ...]:
        return ()
