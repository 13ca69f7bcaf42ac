"""Owner of the memories on which a run works: a project or the user."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryOwner:
    """Owner of memories, with its folders.

    `root` is the folder of the owner's files and `cache` that of data derived from them; for the user's own
    memories there is neither.
    """

    id: str | None
    name: str = ""
    root: str = ""
    cache: str = ""
    is_fully_indexed: bool = False  # the main line is checked out and fully indexed, so what is missing is deleted
