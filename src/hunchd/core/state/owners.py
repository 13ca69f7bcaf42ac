"""Owner of the memories that a run works on: a project, or the user."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryOwner:
    """Owner of memories, with its folders.

    `root` and `cache` are the folders of its files and of data derived from them; the user's own memories have none.
    """

    id: str | None
    name: str = ""
    root: str = ""
    cache: str = ""
    is_fully_indexed: bool = False  # the main line is checked out and fully indexed, so what is missing is deleted
