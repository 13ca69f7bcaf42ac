"""Monitor for deleted or replaced files of the daemon.

Without them no client could find the daemon any more.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

LOOK = 2.0  # seconds between two checks; each costs a few microseconds
SETTLED = 0.5  # seconds: usually the other files are deleted right after the first


async def until_lost(files: Iterable[Path]) -> list[Path]:
    """Wait until any of `files` is deleted or replaced; return those."""
    known = {file: file.lstat() for file in files if os.path.lexists(file)}
    while not _lost(known):
        await asyncio.sleep(LOOK)
    await asyncio.sleep(SETTLED)
    return _lost(known)


def _lost(known: dict[Path, os.stat_result]) -> list[Path]:
    return [file for file, found in known.items() if not _is_there(file, found)]


def _is_there(file: Path, known: os.stat_result) -> bool:
    """Return True if the file is still the same.

    A file that cannot be checked counts as the same: the disk may respond again.
    """
    try:
        return os.path.samestat(file.lstat(), known)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
