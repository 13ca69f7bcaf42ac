"""What memories of a project stand on: the files that are there and the names that they define."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Ground(Protocol):
    @property
    def known(self) -> bool:
        """Whether the project was read to its end: only then what is not there is gone."""

    def has_file(self, path: str) -> bool: ...

    def has_folder(self, path: str) -> bool: ...

    def defined_in(self, name: str) -> tuple[str, ...]:
        """The files that define `name`, in their order."""


@dataclass(frozen=True, slots=True)
class NoGround:
    """Of memories that belong to no project, or to one that cannot be read now: nothing is known to be gone."""

    known: bool = False

    def has_file(self, path: str) -> bool:
        return False

    def has_folder(self, path: str) -> bool:
        return False

    def defined_in(self, name: str) -> tuple[str, ...]:
        return ()
