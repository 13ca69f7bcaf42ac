"""What mining keeps of each file between two runs: a cache in SQLite that may be deleted at any time.

Only the mining process opens it. What the rows mean is not known here.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from hunchd.domain.errors import StoreError

logger = logging.getLogger(__name__)

# A cache of another version is thrown away and filled again. Raise it whenever other shapes are looked at.
VERSION: Final = 1

_SCHEMA: Final = """
CREATE TABLE files (path TEXT PRIMARY KEY, blob TEXT NOT NULL, stamp INTEGER NOT NULL, language TEXT NOT NULL,
                    shapes BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE kept (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""


class Kept(NamedTuple):
    """The shapes of one file, as the caller wrote them."""

    path: str
    blob: str
    language: str
    rows: list[Any]


class ShapeCache:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = _opened(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def blobs(self) -> dict[str, str]:
        """Path to git blob id of everything kept."""
        return dict(self._connection.execute("SELECT path, blob FROM files"))

    def stamps(self) -> dict[str, int]:
        """Path to the stamp given with it: a file that still has it need not be read again."""
        return dict(self._connection.execute("SELECT path, stamp FROM files WHERE stamp != 0"))

    def all(self) -> Iterator[Kept]:
        """Everything kept, in the order of paths."""
        rows = self._connection.execute(
            "SELECT path, blob, language, shapes FROM files WHERE shapes != x'' ORDER BY path"
        )
        for path, blob, language, packed in rows:
            yield Kept(path, blob, language, json.loads(zlib.decompress(packed)))

    def some(self, paths: Iterable[str]) -> Iterator[Kept]:
        """What is kept of these paths."""
        for path in paths:
            row = self._connection.execute(
                "SELECT blob, language, shapes FROM files WHERE path = ?", (path,)
            ).fetchone()
            if row and row[2]:
                yield Kept(path, row[0], row[1], json.loads(zlib.decompress(row[2])))

    def put(self, kept: Iterable[Kept], stamps: Mapping[str, int]) -> None:
        """Keep these, in one transaction, for what was kept of the same paths."""
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)",
                [
                    (one.path, one.blob, stamps.get(one.path, 0), one.language, _packed(one.rows) if one.rows else b"")
                    for one in kept
                ],
            )

    def restamp(self, stamps: Mapping[str, int]) -> None:
        """The same contents have new stamps: touched, checked out again."""
        with self._connection:
            self._connection.executemany(
                "UPDATE files SET stamp = ? WHERE path = ?", [(stamp, path) for path, stamp in stamps.items()]
            )

    def remove(self, paths: Iterable[str]) -> None:
        with self._connection:
            self._connection.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in paths])

    def recall(self, name: str) -> Any:
        """What was kept under a name; None where nothing was."""
        row = self._connection.execute("SELECT value FROM kept WHERE name = ?", (name,)).fetchone()
        return json.loads(zlib.decompress(row[0])) if row else None

    def keep(self, name: str, value: Any) -> None:
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, _packed(value)))


def _packed(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def _opened(path: Path) -> sqlite3.Connection:
    try:
        return _ready(path)
    except sqlite3.DatabaseError:
        logger.warning("%s is damaged or of another version and is made again", path)
        for ending in ("", "-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
    try:
        return _ready(path)
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be made: {error}") from error


def _ready(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite gives its side files the same mode
    connection = sqlite3.connect(path, timeout=10.0, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")  # all of it can be made again
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version == 0:
            with connection:
                connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
        elif version != VERSION:
            raise sqlite3.DatabaseError(f"version {version}, not {VERSION}")
        connection.execute("SELECT COUNT(*) FROM files").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
