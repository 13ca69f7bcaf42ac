"""Outlines of past file contents.

Each blob is parsed once, and cached on disk if a folder is given.
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
from hunchd.ingestion.parsing import outline_of
from hunchd.repository.git import Git

SCHEMA = "create table if not exists outline (blob text, suffix text, packed blob, primary key (blob, suffix))"


class Outlines:
    """Cache of outlines, prepared for a range of history at a time."""

    def __init__(self, git: Git, folder: Path | None) -> None:
        self._git = git
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._base = sqlite3.connect(":memory:" if folder is None else folder / "outlines-1.sqlite", timeout=60.0)
        self._base.execute(SCHEMA)
        self._prepared: dict[tuple[str, str], FileOutline] = {}

    def __enter__(self) -> Outlines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._base.close()

    def prepare(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Load or parse the outlines of (path, blob) pairs.

        Earlier ones are dropped.
        """
        keys = {(blob, _suffix(path)): path for path, blob in wanted if blob}
        self._prepared = {}
        missing: dict[str, list[tuple[str, str]]] = {}
        for (blob, suffix), path in keys.items():
            row = self._base.execute(
                "select packed from outline where blob = ? and suffix = ?", (blob, suffix)
            ).fetchone()
            if row is None:
                missing.setdefault(blob, []).append((suffix, path))
            else:
                self._prepared[blob, suffix] = _unpacked(path, blob, row[0])
        parsed = []
        for blob, content in self._git.blobs(missing):
            for suffix, path in missing[blob]:
                outline = outline_of(path, content, blob)
                self._prepared[blob, suffix] = outline
                parsed.append((blob, suffix, _packed(outline)))
        with self._base:  # one short transaction: several replays may share a folder
            self._base.executemany("insert or ignore into outline values (?, ?, ?)", parsed)

    def of(self, path: str, blob: str) -> FileOutline | None:
        """Return the outline of a prepared blob.

        Returns None if it was missing or too large.
        """
        outline = self._prepared.get((blob, _suffix(path)))
        return None if outline is None else replace(outline, path=path)


def _suffix(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return name.rpartition(".")[2] if "." in name else name


def _packed(outline: FileOutline) -> bytes:
    """Encode only the parts that prediction reads."""
    kept = {
        "names": [symbol.name for symbol in outline.symbols],
        "imports": outline.imports,
        "references": outline.references,
        "words": dict(outline.words),
    }
    return zlib.compress(json.dumps(kept, ensure_ascii=False).encode("utf-8", "surrogatepass"), 1)


def _unpacked(path: str, blob: str, packed: bytes) -> FileOutline:
    kept = json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))
    return FileOutline(
        path,
        blob,
        "",
        0,
        0,
        tuple(Symbol(name, "", 0, 0, "") for name in kept["names"]),
        tuple(kept["imports"]),
        tuple(kept["references"]),
        kept["words"],
    )
