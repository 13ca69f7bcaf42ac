"""SQLite caches that may be deleted at any time. A cache that is damaged or has a different version is recreated."""

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
class CacheSchema:
    """Version of a cache, and the SQL statements that create its tables.

    `schema` must create only missing tables (IF NOT EXISTS), because two processes may open a new cache at once.
    """

    version: int
    schema: str


def open_cache(path: Path, schema: CacheSchema) -> sqlite3.Connection:
    """Open a cache for writing, recreating it if it cannot be used.

    A cache cannot be used if it is damaged or has a different version. Raises StoreError if it cannot be created, or
    if another process locks it for longer than BUSY_SECONDS.
    """
    try:
        return _connect(path, schema)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:  # another process is writing
            raise StoreError(f"{path} is in use: {error}") from error
        logger.warning("the cache %s %s; recreating it", path, _describe_error(error))
        for ending in ("", "-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
    try:
        return _connect(path, schema)
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be created: {error}") from error


class _VersionMismatch(sqlite3.DatabaseError):
    """Raised if an intact cache has a different version.

    An upgrade or downgrade of hunchd leaves such a cache behind.
    """


def _describe_error(error: sqlite3.DatabaseError) -> str:
    return str(error) if isinstance(error, _VersionMismatch) else f"is damaged ({error})"


def read_version(connection: sqlite3.Connection) -> int:
    """Return the version of the cache, which SQLite stores as `user_version`."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def to_json(value: Any) -> str:
    """Encode a value as compact JSON for a text column."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def compress_json(value: Any) -> bytes:
    """Encode a long value as compressed JSON for a blob column."""
    return zlib.compress(to_json(value).encode("utf-8", "surrogatepass"), 1)


def decompress_json(data: bytes) -> Any:
    """Decode the output of `compress_json`."""
    return json.loads(zlib.decompress(data))


def _connect(path: Path, schema: CacheSchema) -> sqlite3.Connection:
    """Connect to the cache and create missing tables.

    Raises sqlite3.DatabaseError if the cache has a different version.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):  # closing it would take the locks away from this process's other connections
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))  # SQLite gives its side files the same mode
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # In WAL mode, the cache is synced only at checkpoints, and what has been synced is never torn.
        connection.execute("PRAGMA synchronous = NORMAL")
        if read_version(connection) == 0:
            with connection:
                connection.executescript(
                    f"BEGIN IMMEDIATE; {schema.schema} PRAGMA user_version = {schema.version}; COMMIT;"
                )
        if (version := read_version(connection)) != schema.version:
            age = "an earlier" if version < schema.version else "a later"
            raise _VersionMismatch(
                f"was written by {age} version of hunchd (format {version}, expected {schema.version})"
            )
        connection.execute("SELECT COUNT(*) FROM files").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
