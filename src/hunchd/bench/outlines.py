"""Outlines of past versions of files.

Each blob is parsed only once: if a folder is given, its outline is cached on disk.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from hunchd.domain.code import FileOutline, Symbol
from hunchd.ingestion.parsing import parse_outline
from hunchd.repository.git import Git

CACHE_SCHEMA = "create table if not exists outline (blob text, suffix text, packed blob, primary key (blob, suffix))"


class OutlineCache:
    """Cache of outlines that keeps one range of the history in memory."""

    def __init__(self, git: Git, folder: Path | None) -> None:
        self._git = git
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(":memory:" if folder is None else folder / "outlines-1.sqlite", timeout=60.0)
        self._connection.execute(CACHE_SCHEMA)
        self._outlines: dict[tuple[str, str], FileOutline] = {}

    def __enter__(self) -> OutlineCache:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()

    def prepare(self, path_blobs: Iterable[tuple[str, str]]) -> None:
        """Load or parse the outlines of (path, blob) pairs.

        The outlines prepared by an earlier call are dropped from memory.
        """
        keys = {(blob, _get_suffix(path)): path for path, blob in path_blobs if blob}
        self._outlines = {}
        missing: dict[str, list[tuple[str, str]]] = {}
        for (blob, suffix), path in keys.items():
            row = self._connection.execute(
                "select packed from outline where blob = ? and suffix = ?", (blob, suffix)
            ).fetchone()
            if row is None:
                missing.setdefault(blob, []).append((suffix, path))
            else:
                self._outlines[blob, suffix] = _decode_outline(path, blob, row[0])
        new_rows = []
        for blob, content in self._git.read_blobs(missing):
            for suffix, path in missing[blob]:
                outline = parse_outline(path, content, blob)
                self._outlines[blob, suffix] = outline
                new_rows.append((blob, suffix, _encode_outline(outline)))
        with self._connection:  # one short transaction: several replays may share a folder
            self._connection.executemany("insert or ignore into outline values (?, ?, ?)", new_rows)

    def get_outline(self, path: str, blob: str) -> FileOutline | None:
        """Return the outline of a blob that was prepared.

        Returns None if the blob was not prepared, did not exist or was too large.
        """
        outline = self._outlines.get((blob, _get_suffix(path)))
        return None if outline is None else replace(outline, path=path)


def _get_suffix(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return name.rpartition(".")[2] if "." in name else name


def _encode_outline(outline: FileOutline) -> bytes:
    """Encode only those parts of an outline that prediction reads."""
    fields = {
        "names": [symbol.name for symbol in outline.symbols],
        "imports": outline.imports,
        "references": outline.references,
        "words": dict(outline.words),
    }
    return zlib.compress(json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass"), 1)


def _decode_outline(path: str, blob: str, data: bytes) -> FileOutline:
    fields = json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
    return FileOutline(
        path,
        blob,
        "",
        0,
        0,
        tuple(Symbol(name, "", 0, 0, "") for name in fields["names"]),
        tuple(fields["imports"]),
        tuple(fields["references"]),
        fields["words"],
    )
