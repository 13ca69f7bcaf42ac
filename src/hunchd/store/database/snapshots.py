"""Snapshots of the tables, for the repair of damaged tables.

A snapshot consists of hard links, which suffice because the database's files never change. Since a hard link shares
the data on disk, the first snapshot of each week is a real copy instead.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hunchd.store.database.file_sync import HINT_FILE, FolderSyncer
from hunchd.store.files import FileOperations

FOLDER: Final = "snapshots"
COPY_EVERY: Final = 7 * 24 * 3600.0  # seconds
_COPY_SUFFIX: Final = "-copy"
_DRAFT_NAME: Final = "unfinished"
_TIME_FORMAT: Final = "%Y%m%dT%H%M%S"


def take_snapshot(folder: Path, *, keep: int, now: float | None = None) -> Path:
    """Take a snapshot of every table in `folder`.

    The newest `keep` snapshots and the newest real copy are kept. The caller must ensure that nobody writes in the
    meantime.
    """
    at = time.time() if now is None else now
    snapshots = list_snapshots(folder)
    copies = [path for path in snapshots if path.name.endswith(_COPY_SUFFIX)]
    copy = not copies or at - _parse_time(copies[0]) >= COPY_EVERY
    draft = folder / FOLDER / _DRAFT_NAME
    shutil.rmtree(draft, ignore_errors=True)
    for table in sorted(folder.glob("*.lance")):
        _copy_tree(table, draft / table.name, _copy_file if copy else os.link)
    draft.mkdir(mode=0o700, parents=True, exist_ok=True)
    FolderSyncer(draft).sync()
    target = folder / FOLDER / (time.strftime(_TIME_FORMAT, time.gmtime(at)) + (_COPY_SUFFIX if copy else ""))
    shutil.rmtree(target, ignore_errors=True)
    draft.replace(target)
    FileOperations().sync_folder(folder / FOLDER)
    _delete_old(folder, keep)
    return target


def list_snapshots(folder: Path) -> list[Path]:
    """Return the snapshots of `folder`, newest first."""
    paths = [path for path in (folder / FOLDER).glob("*") if path.name != _DRAFT_NAME]
    return sorted(paths, key=lambda path: path.name, reverse=True)


def delete_snapshots(folder: Path) -> None:
    """Delete all snapshots, because they contain data that was to be erased."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


def _copy_tree(source: Path, target: Path, copy: Callable[[str, str], Any]) -> None:
    for parent, _, names in os.walk(source):
        into = target / Path(parent).relative_to(source)
        into.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in names:
            if name != HINT_FILE:  # the only file that is overwritten in place; a table does without it
                copy(str(Path(parent) / name), str(into / name))


def _copy_file(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    Path(target).chmod(0o600)


def _delete_old(folder: Path, keep: int) -> None:
    snapshots = list_snapshots(folder)
    copies = [path for path in snapshots if path.name.endswith(_COPY_SUFFIX)]
    for path in snapshots[keep:]:
        if path not in copies[:1]:
            shutil.rmtree(path, ignore_errors=True)


def _parse_time(snapshot: Path) -> float:
    stamp = time.strptime(snapshot.name.removesuffix(_COPY_SUFFIX), _TIME_FORMAT)
    return float(time.mktime(stamp) - time.timezone)
