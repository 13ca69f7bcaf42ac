"""What parsing found, kept beside the project: a cache in SQLite that may be deleted at any time.

The indexer process writes, the front reads. Nothing here is the only copy of anything.
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
from hunchd.store.caches import Form, opened, packed, unpacked, version_of, written

logger = logging.getLogger(__name__)

# A cache of another version is thrown away and filled again. Raise it whenever parsing learns to see more.
VERSION = 4
MOST_USES = 4_000  # names kept of one file

# Two may be at it at once: the index of a project, and the parsing of what was saved meanwhile.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, blob TEXT NOT NULL, language TEXT NOT NULL, size INTEGER NOT NULL,
  lines INTEGER NOT NULL, doc TEXT NOT NULL, imports TEXT NOT NULL, words BLOB NOT NULL, stamp INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS views (
  path TEXT PRIMARY KEY, blob TEXT NOT NULL, lines TEXT NOT NULL, more INTEGER NOT NULL, doc TEXT NOT NULL,
  uses TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS symbols (
  file INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, line INTEGER NOT NULL, end_line INTEGER NOT NULL,
  signature TEXT NOT NULL, container TEXT NOT NULL, doc TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS symbols_of_file ON symbols (file);
CREATE INDEX IF NOT EXISTS symbols_by_name ON symbols (name);
"""
_FORM = Form(VERSION, _SCHEMA)


class CodeCache:
    """Outlines by path. A reader never creates the file and answers as if it were empty until there is one."""

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self.path = path
        self._writable = writable
        self._lock = threading.Lock()  # one connection, used from whichever thread has the work
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        if writable:
            self._connection = opened(path, _FORM)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """For good: whoever asks afterwards finds nothing."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def count(self) -> int:
        """How many files are kept."""
        return sum(count for (count,) in self._rows("SELECT COUNT(*) FROM files"))

    def blobs(self) -> dict[str, str]:
        """Path to git blob id of everything kept."""
        return dict(self._rows("SELECT path, blob FROM files"))

    def stamps(self) -> dict[str, int]:
        """Path to the stamp given with the outline: a file that still has it need not be read again."""
        return dict(self._rows("SELECT path, stamp FROM files WHERE stamp != 0"))

    def get(self, path: str, *, words: bool = False) -> FileOutline | None:
        """The outline of one file; `words` and `references` only when asked for, they are most of its weight."""
        row = next(iter(self._rows(f"SELECT {_FILE} FROM files WHERE path = ?", path)), None)
        return self._outline(row, words=words) if row else None

    def outlines(self) -> Iterator[FileOutline]:
        """Everything kept, whole, in the order of paths; bounded memory however many there are."""
        after = ""
        while rows := self._rows(f"SELECT {_FILE} FROM files WHERE path > ? ORDER BY path LIMIT 200", after):
            yield from (self._outline(row, words=True) for row in rows)
            after = rows[-1][1]

    def find_symbol(self, name: str, limit: int = 20) -> list[tuple[str, Symbol]]:
        """Where `name` is defined: path and symbol, definitions outside of containers first."""
        rows = self._rows(
            f"SELECT files.path, {_SYMBOL} FROM symbols JOIN files ON files.id = symbols.file WHERE symbols.name = ? "
            "ORDER BY symbols.container != '', files.path, symbols.line LIMIT ?",
            name,
            limit,
        )
        return [(row[0], Symbol(*row[1:])) for row in rows]

    def defined(self) -> list[tuple[str, str, int]]:
        """Path, language and number of symbols of every file: what the topics of a project are made of."""
        return self._rows(
            "SELECT path, language, (SELECT COUNT(*) FROM symbols WHERE file = files.id) FROM files ORDER BY path"
        )

    def names(self) -> frozenset[str]:
        """What anything here is called: symbols, files without their suffix, folders."""
        symbols = {str(name) for (name,) in self._rows("SELECT DISTINCT name FROM symbols")}
        parts = {part for (path,) in self._rows("SELECT path FROM files") for part in str(path).split("/")}
        return frozenset(symbols | parts | {part.partition(".")[0] for part in parts})

    def views(self, paths: Sequence[str]) -> dict[str, FileView]:
        """What is shown of those of `paths` that are kept, in one small read."""
        holes = ", ".join("?" * len(paths))
        rows = self._rows(f"SELECT path, blob, lines, more, doc FROM views WHERE path IN ({holes})", *paths)
        return {
            path: FileView(path, blob, tuple(map(ViewLine._make, json.loads(lines))), more, doc)
            for path, blob, lines, more, doc in rows
        }

    def uses(self, path: str) -> frozenset[str]:
        """The names that a file uses and does not define."""
        rows = self._rows("SELECT uses FROM views WHERE path = ?", path)
        return frozenset(rows[0][0].split()) if rows else frozenset()

    def put(
        self,
        outlines: Iterable[FileOutline],
        stamps: Mapping[str, int] | None = None,
        view: Callable[[FileOutline], FileView] | None = None,
    ) -> None:
        """Keep these, in one transaction, for what was kept of the same paths; `view` says what is shown of each."""
        given = stamps or {}
        with self._lock, self._writing() as connection:
            for outline in outlines:
                _forget(connection, outline.path)
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
                        written(outline.imports),
                        packed([outline.references, dict(outline.words)]),
                        given.get(outline.path, 0),
                    ),
                )
                connection.executemany(
                    "INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        (cursor.lastrowid, s.name, s.kind, s.line, s.end_line, s.signature, s.container, s.doc)
                        for s in outline.symbols
                    ],
                )
                if view is not None:
                    shown = view(outline)
                    lines = [(line.text, line.name, line.weight, line.outer) for line in shown.lines]
                    uses = " ".join(outline.references[:MOST_USES])
                    row = (shown.path, shown.blob, written(lines), shown.more, shown.doc, uses)
                    connection.execute("INSERT INTO views VALUES (?, ?, ?, ?, ?, ?)", row)

    def restamp(self, stamps: Mapping[str, int]) -> None:
        """The same contents have new stamps: touched, checked out again."""
        with self._lock, self._writing() as connection:
            connection.executemany("UPDATE files SET stamp = ? WHERE path = ?", [(n, p) for p, n in stamps.items()])

    def remove(self, paths: Iterable[str]) -> None:
        with self._lock, self._writing() as connection:
            for path in paths:
                _forget(connection, path)

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._lock:
            try:
                connection = self._reading()
                return connection.execute(query, values).fetchall() if connection else []
            except sqlite3.DatabaseError:
                if self._writable:
                    raise
                logger.warning("%s cannot be read; it will be made again", self.path, exc_info=True)
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None
                return []

    def _reading(self) -> sqlite3.Connection | None:
        """The connection; a reader looks each time whether the writer has replaced the file."""
        if self._connection is None and not self._closed and self.path.exists():
            uri = f"{self.path.absolute().as_uri()}?mode=ro"
            connection = sqlite3.connect(uri, uri=True, timeout=1.0, check_same_thread=False, isolation_level=None)
            try:
                usable = version_of(connection) == VERSION
            except sqlite3.DatabaseError:
                connection.close()
                raise
            if not usable:
                connection.close()
                return None
            self._connection = connection
        return self._connection

    def _writing(self) -> sqlite3.Connection:
        if self._connection is None or not self._writable:
            raise StoreError(f"{self.path} is not open for writing")
        return self._connection

    def _outline(self, row: tuple[Any, ...], *, words: bool) -> FileOutline:
        number, path, blob, language, size, lines, doc, imports, used_words = row
        symbols = self._rows(f"SELECT {_SYMBOL} FROM symbols WHERE file = ? ORDER BY rowid", number)
        used, counts = unpacked(used_words) if words else ((), {})
        return FileOutline(
            path=path,
            blob=blob,
            language=language,
            size=size,
            lines=lines,
            symbols=tuple(Symbol(*symbol) for symbol in symbols),
            imports=tuple(json.loads(imports)),
            references=tuple(used),
            words=counts,
            doc=doc,
        )


_FILE = "id, path, blob, language, size, lines, doc, imports, words"
_SYMBOL = ", ".join(f"symbols.{name}" for name in ("name", "kind", "line", "end_line", "signature", "container", "doc"))


def _forget(connection: sqlite3.Connection, path: str) -> None:
    connection.execute("DELETE FROM symbols WHERE file = (SELECT id FROM files WHERE path = ?)", (path,))
    connection.execute("DELETE FROM files WHERE path = ?", (path,))
    connection.execute("DELETE FROM views WHERE path = ?", (path,))
