"""Notices that the daemon's own files were deleted or replaced under it: it would work on for nobody."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

LOOK = 2.0  # seconds between two looks; each costs a few microseconds
SETTLED = 0.5  # seconds: who deletes one of them mostly deletes the others in the same breath


async def until_lost(files: Iterable[Path]) -> list[Path]:
    """Those of `files` that are no longer what they are now, once there are any."""
    known = {file: file.lstat() for file in files if os.path.lexists(file)}
    while not _lost(known):
        await asyncio.sleep(LOOK)
    await asyncio.sleep(SETTLED)
    return _lost(known)


def _lost(known: dict[Path, os.stat_result]) -> list[Path]:
    return [file for file, found in known.items() if not _is_there(file, found)]


def _is_there(file: Path, known: os.stat_result) -> bool:
    """Whether it is the same file. One that cannot be looked at is not lost: the disk may answer again."""
    try:
        return os.path.samestat(file.lstat(), known)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
