"""Snapshots of the tables for repair.

They are hard links, because the database's files never change. A hard link shares the bytes on disk, so the first
snapshot of each week copies them.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hunchd.store.database.durability import HINT, Synced
from hunchd.store.files import Files

FOLDER: Final = "snapshots"
COPY_EVERY: Final = 7 * 24 * 3600.0  # seconds
_COPIED: Final = "-copy"
_UNFINISHED: Final = "unfinished"
_STAMP: Final = "%Y%m%dT%H%M%S"


def take(folder: Path, *, keep: int, now: float | None = None) -> Path:
    """Snapshot every table of `folder`.

    The newest `keep` snapshots and the newest copy stay. Nobody may write meanwhile.
    """
    at = time.time() if now is None else now
    there = newest_first(folder)
    copies = [path for path in there if path.name.endswith(_COPIED)]
    copy = not copies or at - _time_of(copies[0]) >= COPY_EVERY
    draft = folder / FOLDER / _UNFINISHED
    shutil.rmtree(draft, ignore_errors=True)
    for table in sorted(folder.glob("*.lance")):
        _copy_tree(table, draft / table.name, _copied if copy else os.link)
    draft.mkdir(mode=0o700, parents=True, exist_ok=True)
    Synced(draft).sync()
    target = folder / FOLDER / (time.strftime(_STAMP, time.gmtime(at)) + (_COPIED if copy else ""))
    shutil.rmtree(target, ignore_errors=True)
    draft.replace(target)
    Files().sync_folder(folder / FOLDER)
    _drop_old(folder, keep)
    return target


def newest_first(folder: Path) -> list[Path]:
    """Return the snapshots of `folder`, newest first."""
    found = [path for path in (folder / FOLDER).glob("*") if path.name != _UNFINISHED]
    return sorted(found, key=lambda path: path.name, reverse=True)


def forget(folder: Path) -> None:
    """Remove all snapshots: they hold what was to be erased."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


def _copy_tree(source: Path, target: Path, copy: Callable[[str, str], Any]) -> None:
    for found, _, names in os.walk(source):
        into = target / Path(found).relative_to(source)
        into.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in names:
            if name != HINT:  # the only file that is overwritten in place; a table does without it
                copy(str(Path(found) / name), str(into / name))


def _copied(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    Path(target).chmod(0o600)


def _drop_old(folder: Path, keep: int) -> None:
    there = newest_first(folder)
    copies = [path for path in there if path.name.endswith(_COPIED)]
    for path in there[keep:]:
        if path not in copies[:1]:
            shutil.rmtree(path, ignore_errors=True)


def _time_of(snapshot: Path) -> float:
    stamp = time.strptime(snapshot.name.removesuffix(_COPIED), _STAMP)
    return float(time.mktime(stamp) - time.timezone)
