"""What mining keeps of each file between two runs: a cache in SQLite that may be deleted at any time.

Only the mining process opens it. What the rows mean is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from hunchd.store.caches import Form, opened, packed, unpacked

# A cache of another version is thrown away and filled again. Raise it whenever other shapes are looked at.
VERSION: Final = 1

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS files (
  path TEXT PRIMARY KEY, blob TEXT NOT NULL, stamp INTEGER NOT NULL, language TEXT NOT NULL, shapes BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""
_FORM: Final = Form(VERSION, _SCHEMA, synced=False)


class Kept(NamedTuple):
    """The shapes of one file, as the caller wrote them."""

    path: str
    blob: str
    language: str
    rows: list[Any]


class ShapeCache:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = opened(path, _FORM)

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
        for path, blob, language, shapes in rows:
            yield Kept(path, blob, language, unpacked(shapes))

    def some(self, paths: Iterable[str]) -> Iterator[Kept]:
        """What is kept of these paths."""
        for path in paths:
            row = self._connection.execute(
                "SELECT blob, language, shapes FROM files WHERE path = ?", (path,)
            ).fetchone()
            if row and row[2]:
                yield Kept(path, row[0], row[1], unpacked(row[2]))

    def put(self, kept: Iterable[Kept], stamps: Mapping[str, int]) -> None:
        """Keep these, in one transaction, for what was kept of the same paths."""
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)",
                [
                    (one.path, one.blob, stamps.get(one.path, 0), one.language, packed(one.rows) if one.rows else b"")
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
        return unpacked(row[0]) if row else None

    def keep(self, name: str, value: Any) -> None:
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, packed(value)))
