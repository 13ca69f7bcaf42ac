"""Removal of this machine's paths from text that is shared.

This module does no I/O.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hunchd.domain.memory import Memory


def remove_local_paths(memory: Memory, root: Path) -> Memory:
    """Make the paths in a memory independent of this machine.

    Paths below the project's `root` become relative to it; the home folder is abbreviated to ~.
    """

    def shorten(text: str) -> str:
        return text.replace(f"{root}/", "").replace(f"{Path.home()}/", "~/")

    return replace(
        memory,
        title=shorten(memory.title),
        content=shorten(memory.content),
        value=shorten(memory.value) if memory.value is not None else None,
    )
