"""Monitor that notices when files that the daemon needs are deleted or replaced.

Without these files, clients could no longer find the daemon.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

CHECK_INTERVAL_SECONDS = 2.0  # seconds between two checks; each costs a few microseconds
SETTLE_SECONDS = 0.5  # seconds to wait, because the other files are usually deleted right after the first


async def wait_for_lost_files(files: Iterable[Path]) -> list[Path]:
    """Wait until any of `files` is deleted or replaced.

    Returns the files that were deleted or replaced.
    """
    original = {file: file.lstat() for file in files if os.path.lexists(file)}
    while not _find_lost(original):
        await asyncio.sleep(CHECK_INTERVAL_SECONDS)
    await asyncio.sleep(SETTLE_SECONDS)
    return _find_lost(original)


def _find_lost(original: dict[Path, os.stat_result]) -> list[Path]:
    return [file for file, status in original.items() if not _is_same_file(file, status)]


def _is_same_file(file: Path, original: os.stat_result) -> bool:
    """Return True if `file` has not been deleted or replaced.

    A file whose status cannot be read counts as unchanged, because the disk may respond again later.
    """
    try:
        return os.path.samestat(file.lstat(), original)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
