"""Cache of the code shapes of files, in SQLite.

A shape is a piece of code that may be an instance of a pattern. Pattern mining keeps the shapes here between two runs.
The file may be deleted at any time. Only the mining process opens it, and only that process can interpret the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from hunchd.store.sqlite_cache import CacheSchema, compress_json, decompress_json, open_cache

# A cache with a different version is discarded and refilled. Increase the version whenever the shapes change.
VERSION: Final = 2

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS files (
  path TEXT PRIMARY KEY, blob TEXT NOT NULL, stamp INTEGER NOT NULL, language TEXT NOT NULL, shapes BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""
_CACHE_SCHEMA: Final = CacheSchema(VERSION, _SCHEMA, is_synced=False)


class ShapeEntry(NamedTuple):
    """Shapes of one file; `rows` have the form that the caller gave them."""

    path: str
    blob: str
    language: str
    rows: list[Any]


class ShapeCache:
    """Cache of code shapes, keyed by path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = open_cache(path, _CACHE_SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def load_blob_ids(self) -> dict[str, str]:
        """Return the git blob id of every file, keyed by path."""
        return dict(self._connection.execute("SELECT path, blob FROM files"))

    def load_stamps(self) -> dict[str, int]:
        """Return the stamps of the files that have one, keyed by path.

        A file whose stamp has not changed need not be read again.
        """
        return dict(self._connection.execute("SELECT path, stamp FROM files WHERE stamp != 0"))

    def iterate_entries(self) -> Iterator[ShapeEntry]:
        """Yield the entries of all files that have shapes, ordered by path."""
        rows = self._connection.execute(
            "SELECT path, blob, language, shapes FROM files WHERE shapes != x'' ORDER BY path"
        )
        for path, blob, language, shapes in rows:
            yield ShapeEntry(path, blob, language, decompress_json(shapes))

    def load_entries(self, paths: Iterable[str]) -> Iterator[ShapeEntry]:
        """Yield the entries of those of the given files that have shapes."""
        for path in paths:
            row = self._connection.execute(
                "SELECT blob, language, shapes FROM files WHERE path = ?", (path,)
            ).fetchone()
            if row and row[2]:
                yield ShapeEntry(path, row[0], row[1], decompress_json(row[2]))

    def put(self, entries: Iterable[ShapeEntry], stamps: Mapping[str, int]) -> None:
        """Replace the entries of these files in one transaction."""
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)",
                [
                    (
                        entry.path,
                        entry.blob,
                        stamps.get(entry.path, 0),
                        entry.language,
                        compress_json(entry.rows) if entry.rows else b"",
                    )
                    for entry in entries
                ],
            )

    def update_stamps(self, stamps: Mapping[str, int]) -> None:
        """Set new stamps for files whose content is unchanged.

        This is for files that were only touched or checked out again.
        """
        with self._connection:
            self._connection.executemany(
                "UPDATE files SET stamp = ? WHERE path = ?", [(stamp, path) for path, stamp in stamps.items()]
            )

    def remove(self, paths: Iterable[str]) -> None:
        with self._connection:
            self._connection.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in paths])

    def load_value(self, name: str) -> Any:
        """Return the value stored under `name`, or None."""
        row = self._connection.execute("SELECT value FROM kept WHERE name = ?", (name,)).fetchone()
        return decompress_json(row[0]) if row else None

    def store_value(self, name: str, value: Any) -> None:
        """Store a value under `name`, replacing the previous one."""
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, compress_json(value)))
