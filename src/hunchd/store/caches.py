"""Caches in SQLite, any of which may be deleted at any time: one that is damaged or of another version is made anew."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hunchd.domain.errors import StoreError

logger = logging.getLogger(__name__)

BUSY_SECONDS: Final = 10.0  # the writer's transactions last milliseconds


@dataclass(frozen=True, slots=True)
class Form:
    """What a cache looks like. `schema` makes the tables that are not there: two may begin it at once."""

    version: int
    schema: str
    synced: bool = True  # at checkpoints; a cache that is not may be damaged by a power cut, and is made again then


def opened(path: Path, form: Form) -> sqlite3.Connection:
    """For writing. Raises StoreError where it cannot be made, or somebody holds it for long."""
    try:
        return _ready(path, form)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:  # somebody at work, on a busy disk
            raise StoreError(f"{path} is in use: {error}") from error
        logger.warning("%s %s and is made again", path, _why(error))
        for ending in ("", "-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
    try:
        return _ready(path, form)
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be made: {error}") from error


class _OtherVersion(sqlite3.DatabaseError):
    """Whole, but not of the version that this program reads: there was an upgrade, or one was taken back."""


def _why(error: sqlite3.DatabaseError) -> str:
    return str(error) if isinstance(error, _OtherVersion) else f"is damaged ({error})"


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def written(value: Any) -> str:
    """As JSON, for a column of text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def packed(value: Any) -> bytes:
    """The same, compressed, for what is long."""
    return zlib.compress(written(value).encode("utf-8", "surrogatepass"), 1)


def unpacked(kept: bytes) -> Any:
    return json.loads(zlib.decompress(kept))


def _ready(path: Path, form: Form) -> sqlite3.Connection:
    """Open for writing, with the tables of this version; sqlite3.DatabaseError when the file has others."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):  # closing it would take the locks away from this process's other connections
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))  # SQLite gives its side files the same mode
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # In WAL mode what is synced, at checkpoints only, is never torn.
        connection.execute("PRAGMA synchronous = NORMAL" if form.synced else "PRAGMA synchronous = OFF")
        if version_of(connection) == 0:
            with connection:
                connection.executescript(
                    f"BEGIN IMMEDIATE; {form.schema} PRAGMA user_version = {form.version}; COMMIT;"
                )
        if (found := version_of(connection)) != form.version:
            which = "an earlier" if found < form.version else "a later"
            raise _OtherVersion(f"was made by {which} version of hunchd (form {found}, now {form.version})")
        connection.execute("SELECT COUNT(*) FROM files").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
