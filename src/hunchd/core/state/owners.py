"""Owner of the memories in a consolidation run: a project or the user."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryOwner:
    """Owner of memories: a project, or the user if `id` is None.

    `root` is the folder with the owner's files, and `cache` is the folder with data derived from them; both are
    empty for the user.
    """

    id: str | None
    name: str = ""
    root: str = ""
    cache: str = ""
    is_fully_indexed: bool = False  # the main line is checked out and fully indexed, so missing files have been deleted
