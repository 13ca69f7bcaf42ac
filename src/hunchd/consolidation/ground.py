"""Presence of files and symbols in a project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Ground(Protocol):
    """Interface that answers which files and symbols exist in a project."""

    @property
    def known(self) -> bool:
        """Return True if the project was indexed completely.

        Only then is a missing file gone.
        """

    def has_file(self, path: str) -> bool: ...

    def has_folder(self, path: str) -> bool: ...

    def defined_in(self, name: str) -> tuple[str, ...]:
        """Return the files that define `name`, in their order."""


@dataclass(frozen=True, slots=True)
class NoGround:
    """Null implementation for memories without a readable project: nothing counts as gone."""

    known: bool = False

    def has_file(self, path: str) -> bool:
        return False

    def has_folder(self, path: str) -> bool:
        return False

    def defined_in(self, name: str) -> tuple[str, ...]:
        return ()
