"""Cache of parsed files in SQLite: outlines, symbols and views.

The file may be deleted at any time, since it contains only derived data. The indexer process writes to it, and the
front process reads it.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from hunchd.domain.code import FileOutline, FileView, Symbol, ViewLine
from hunchd.domain.errors import StoreError
from hunchd.store.sqlite_cache import CacheSchema, compress_json, decompress_json, open_cache, read_version, to_json

logger = logging.getLogger(__name__)

# A cache of another version is discarded and refilled. Increase it with every change of the parser's output.
VERSION = 9

# Two processes may write at once: one indexes a project, the other parses files that are saved meanwhile.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, blob TEXT NOT NULL, language TEXT NOT NULL, size INTEGER NOT NULL,
  lines INTEGER NOT NULL, doc TEXT NOT NULL, imports TEXT NOT NULL, words BLOB NOT NULL, stamp INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS views (
  path TEXT PRIMARY KEY, blob TEXT NOT NULL, lines TEXT NOT NULL, more INTEGER NOT NULL, doc TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS chunks (
  serial INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, language TEXT NOT NULL, packed BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO about VALUES ('id', hex(randomblob(8)));
CREATE TABLE IF NOT EXISTS symbols (
  file INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, line INTEGER NOT NULL, end_line INTEGER NOT NULL,
  signature TEXT NOT NULL, container TEXT NOT NULL, doc TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS symbols_of_file ON symbols (file);
CREATE INDEX IF NOT EXISTS symbols_by_name ON symbols (name);
"""
_CACHE_SCHEMA = CacheSchema(VERSION, _SCHEMA)


class CodeCache:
    """Cache of file outlines, keyed by path.

    A cache opened for reading never creates the database file; until that file exists, every lookup finds nothing.
    """

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self.path = path
        self._writable = writable
        self._lock = threading.Lock()  # one connection is used from several threads
        self._connection: sqlite3.Connection | None = None
        self._is_closed = False
        if writable:
            self._connection = open_cache(path, _CACHE_SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the cache permanently; later reads find nothing."""
        with self._lock:
            self._is_closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def count_files(self) -> int:
        """Return the number of cached files."""
        return sum(count for (count,) in self._query("SELECT COUNT(*) FROM files"))

    def load_blob_ids(self) -> dict[str, str]:
        """Return the git blob id of every file, keyed by path."""
        return dict(self._query("SELECT path, blob FROM files"))

    def load_stamps(self) -> dict[str, int]:
        """Return the stamps of the files that have one, keyed by path.

        A file whose stamp has not changed need not be parsed again.
        """
        return dict(self._query("SELECT path, stamp FROM files WHERE stamp != 0"))

    def get(self, path: str, *, words: bool = False) -> FileOutline | None:
        """Return the outline of one file, or None if it is not cached.

        With `words`, the outline includes words and references, which make up most of its size.
        """
        row = next(iter(self._query(f"SELECT {_FILE_COLUMNS} FROM files WHERE path = ?", path)), None)
        return self._build_outline(row, words=words) if row else None

    def iterate_outlines(self) -> Iterator[FileOutline]:
        """Yield all outlines with their words, ordered by path, in bounded memory."""
        after = ""
        while rows := self._query(f"SELECT {_FILE_COLUMNS} FROM files WHERE path > ? ORDER BY path LIMIT 200", after):
            yield from (self._build_outline(row, words=True) for row in rows)
            after = rows[-1][1]

    def find_symbol(self, name: str, limit: int = 20) -> list[tuple[str, Symbol]]:
        """Return the definitions of `name`, as (path, symbol) pairs.

        Definitions outside classes and other containers come first.
        """
        rows = self._query(
            f"SELECT files.path, {_SYMBOL_COLUMNS} FROM symbols JOIN files ON files.id = symbols.file "
            "WHERE symbols.name = ? ORDER BY symbols.container != '', files.path, symbols.line LIMIT ?",
            name,
            limit,
        )
        return [(row[0], Symbol(*row[1:])) for row in rows]

    def count_symbols_by_file(self) -> list[tuple[str, str, int]]:
        """Return (path, language, number of symbols) for every file.

        The topics of a project are derived from these numbers.
        """
        return self._query(
            "SELECT path, language, (SELECT COUNT(*) FROM symbols WHERE file = files.id) FROM files ORDER BY path"
        )

    def load_names(self) -> frozenset[str]:
        """Return the names of all symbols, files and folders in the project.

        The names of files are included both with and without their suffixes.
        """
        symbols = {str(name) for (name,) in self._query("SELECT DISTINCT name FROM symbols")}
        parts = {part for (path,) in self._query("SELECT path FROM files") for part in str(path).split("/")}
        return frozenset(symbols | parts | {part.partition(".")[0] for part in parts})

    def chunk_cache_id(self) -> str:
        """Return the id of the cache, which changes when the cache is recreated.

        In a recreated cache, the serial numbers of chunks start again from the beginning.
        """
        return "".join(str(value) for (value,) in self._query("SELECT value FROM about WHERE name = 'id'"))

    def chunk_serials(self) -> dict[str, int]:
        """Return the serial number of each file's chunks, keyed by path.

        Every change to a file gives its chunks a higher serial number.
        """
        return dict(self._query("SELECT path, serial FROM chunks"))

    def chunks_since(self, serial: int) -> Iterator[tuple[str, str, int, bytes]]:
        """Yield the chunks of files that changed after `serial`, oldest first.

        Each item is (path, language, serial, packed chunks).
        """
        while rows := self._query(
            "SELECT path, language, serial, packed FROM chunks WHERE serial > ? ORDER BY serial LIMIT 200", serial
        ):
            yield from rows
            serial = rows[-1][2]

    def load_views(self, paths: Sequence[str]) -> dict[str, FileView]:
        """Return the cached views of `paths`, keyed by path. All of them are loaded by a single query."""
        placeholders = ", ".join("?" * len(paths))
        rows = self._query(f"SELECT path, blob, lines, more, doc FROM views WHERE path IN ({placeholders})", *paths)
        return {
            path: FileView(path, blob, tuple(map(ViewLine._make, json.loads(lines))), more, doc)
            for path, blob, lines, more, doc in rows
        }

    def put(
        self,
        outlines: Iterable[FileOutline],
        stamps: Mapping[str, int] | None = None,
        view: Callable[[FileOutline], FileView] | None = None,
        chunks: Mapping[str, bytes] | None = None,
    ) -> None:
        """Replace the outlines of these files in one transaction.

        `stamps` and `chunks` (in packed form) are keyed by path. `view` is a function that derives from an outline the
        parts of the file that are shown.
        """
        stamp_by_path = stamps or {}
        with self._lock, self._require_writable() as connection:
            for outline in outlines:
                _delete_file(connection, outline.path)
                cursor = connection.execute(
                    "INSERT INTO files (path, blob, language, size, lines, doc, imports, words, stamp) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        outline.path,
                        outline.blob,
                        outline.language,
                        outline.size,
                        outline.lines,
                        outline.doc,
                        to_json(outline.imports),
                        compress_json([outline.references, dict(outline.words)]),
                        stamp_by_path.get(outline.path, 0),
                    ),
                )
                connection.executemany(
                    "INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        (cursor.lastrowid, s.name, s.kind, s.line, s.end_line, s.signature, s.container, s.doc)
                        for s in outline.symbols
                    ],
                )
                if chunks is not None and (packed_chunks := chunks.get(outline.path)) is not None:
                    stored_values = (outline.path, outline.language, packed_chunks)
                    connection.execute("INSERT INTO chunks (path, language, packed) VALUES (?, ?, ?)", stored_values)
                if view is not None:
                    file_view = view(outline)
                    lines = [tuple(line) for line in file_view.lines]
                    row = (file_view.path, file_view.blob, to_json(lines), file_view.more, file_view.doc)
                    connection.execute("INSERT INTO views VALUES (?, ?, ?, ?, ?)", row)

    def update_stamps(self, stamps: Mapping[str, int]) -> None:
        """Set new stamps for files whose content is unchanged.

        This is for files that were only touched or checked out again.
        """
        with self._lock, self._require_writable() as connection:
            connection.executemany("UPDATE files SET stamp = ? WHERE path = ?", [(n, p) for p, n in stamps.items()])

    def remove(self, paths: Iterable[str]) -> None:
        with self._lock, self._require_writable() as connection:
            for path in paths:
                _delete_file(connection, path)

    def _query(self, query: str, *values: Any) -> list[Any]:
        with self._lock:
            try:
                connection = self._open_for_reading()
                return connection.execute(query, values).fetchall() if connection else []
            except sqlite3.DatabaseError:
                if self._writable:
                    raise
                logger.warning("%s cannot be read; it will be recreated", self.path, exc_info=True)
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None
                return []

    def _open_for_reading(self) -> sqlite3.Connection | None:
        """Return the connection, or None if there is no usable file yet.

        The file is usable once the writer has created it in the current version.
        """
        if self._connection is None and not self._is_closed and self.path.exists():
            uri = f"{self.path.absolute().as_uri()}?mode=ro"
            connection = sqlite3.connect(uri, uri=True, timeout=1.0, check_same_thread=False, isolation_level=None)
            try:
                usable = read_version(connection) == VERSION
            except sqlite3.DatabaseError:
                connection.close()
                raise
            if not usable:
                connection.close()
                return None
            self._connection = connection
        return self._connection

    def _require_writable(self) -> sqlite3.Connection:
        if self._connection is None or not self._writable:
            raise StoreError(f"{self.path} is not open for writing")
        return self._connection

    def _build_outline(self, row: tuple[Any, ...], *, words: bool) -> FileOutline:
        number, path, blob, language, size, lines, doc, imports, used_words = row
        symbols = self._query(f"SELECT {_SYMBOL_COLUMNS} FROM symbols WHERE file = ? ORDER BY rowid", number)
        references, counts = decompress_json(used_words) if words else ((), {})
        return FileOutline(
            path=path,
            blob=blob,
            language=language,
            size=size,
            lines=lines,
            symbols=tuple(Symbol(*symbol) for symbol in symbols),
            imports=tuple(json.loads(imports)),
            references=tuple(references),
            words=counts,
            doc=doc,
        )


_FILE_COLUMNS = "id, path, blob, language, size, lines, doc, imports, words"
_SYMBOL_COLUMNS = ", ".join(
    f"symbols.{name}" for name in ("name", "kind", "line", "end_line", "signature", "container", "doc")
)


def _delete_file(connection: sqlite3.Connection, path: str) -> None:
    connection.execute("DELETE FROM symbols WHERE file = (SELECT id FROM files WHERE path = ?)", (path,))
    connection.execute("DELETE FROM files WHERE path = ?", (path,))
    connection.execute("DELETE FROM views WHERE path = ?", (path,))
    connection.execute("DELETE FROM chunks WHERE path = ?", (path,))
