"""Code cache: reads, writes, concurrent readers and damaged files."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from hunchd.domain.code import FileOutline, FileView, Symbol, ViewLine
from hunchd.domain.errors import StoreError
from hunchd.store import code_cache, sqlite_cache
from hunchd.store.code_cache import CodeCache


def outline(path: str, *names: str, blob: str = "b1") -> FileOutline:
    symbols = tuple(
        Symbol(name, "function", at + 1, at + 2, f"def {name}()", doc="Does.") for at, name in enumerate(names)
    )
    return FileOutline(path, blob, "python", 10, 2, symbols, (".x",), ("used",), {"word": 3}, "A file.")


def test_put_outlines_are_returned(tmp_path: Path) -> None:
    with CodeCache(tmp_path / "c", writable=True) as cache:
        cache.put([outline("a.py", "f", "g"), outline("b.py", "f")])
        assert cache.get("a.py", words=True) == outline("a.py", "f", "g")
        assert list(cache.iterate_outlines()) == [outline("a.py", "f", "g"), outline("b.py", "f")]
        assert cache.load_blob_ids() == {"a.py": "b1", "b.py": "b1"}
        assert cache.get("none.py") is None


def test_get_without_words_omits_references(tmp_path: Path) -> None:
    with CodeCache(tmp_path / "c", writable=True) as cache:
        cache.put([outline("a.py", "f")])
        found = cache.get("a.py")
        assert found is not None
        assert (found.symbols, dict(found.words), found.references) == (outline("a.py", "f").symbols, {}, ())


def test_views_are_replaced_and_removed_with_outlines(tmp_path: Path) -> None:
    def shown(outline: FileOutline) -> FileView:
        lines = tuple(ViewLine(symbol.signature, symbol.name, 1.5, kind=symbol.kind) for symbol in outline.symbols)
        return FileView(outline.path, outline.blob, lines, 2, outline.doc)

    with CodeCache(tmp_path / "c", writable=True) as cache:
        cache.put([outline("a.py", "old"), outline("b.py", "f", "g")], view=shown)
        cache.put([outline("a.py", "new", blob="b2")], view=shown)
        assert cache.load_views(["a.py", "b.py", "c.py"]) == {
            "a.py": shown(outline("a.py", "new", blob="b2")),
            "b.py": shown(outline("b.py", "f", "g")),
        }
        cache.remove(["b.py"])
        assert cache.load_views(["b.py"]) == cache.load_views([]) == {}


def test_put_existing_path_replaces_outline(tmp_path: Path) -> None:
    with CodeCache(tmp_path / "c", writable=True) as cache:
        cache.put([outline("a.py", "old", "older")])
        cache.put([outline("a.py", "new", blob="b2")])
        assert cache.find_symbol("old") == []
        assert [path for path, _ in cache.find_symbol("new")] == ["a.py"]
        cache.remove(["a.py", "never.py"])
        assert cache.load_blob_ids() == {}
        assert cache.find_symbol("new") == []


def test_reader_sees_committed_writes(tmp_path: Path) -> None:
    reader = CodeCache(tmp_path / "c")
    assert reader.get("a.py") is None
    assert not (tmp_path / "c").exists()
    with CodeCache(tmp_path / "c", writable=True) as writer:
        writer.put([outline("a.py", "f")])
        assert reader.get("a.py") is not None
        writer.put([outline("b.py", "f")])
        assert [path for path, _ in reader.find_symbol("f")] == ["a.py", "b.py"]
        with pytest.raises(StoreError):
            reader.put([outline("c.py")])
    reader.close()


def test_restamp_updates_stamps(tmp_path: Path) -> None:
    with CodeCache(tmp_path / "c", writable=True) as cache:
        cache.put([outline("a.py"), outline("b.py")], {"a.py": 7})
        assert cache.load_stamps() == {"a.py": 7}
        cache.update_stamps({"b.py": 8})
        assert cache.load_stamps() == {"a.py": 7, "b.py": 8}


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_damaged_cache_is_recreated(tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: bytes) -> None:
    path = tmp_path / "c"
    path.write_bytes(damage)
    with CodeCache(path) as reader:
        assert reader.get("a.py") is None
    with CodeCache(path, writable=True) as cache:
        assert cache.load_blob_ids() == {}
        cache.put([outline("a.py")])
        assert cache.get("a.py") is not None
    said = [message for message in caplog.messages if message.endswith("; recreating it")]
    assert [message.startswith(f"the cache {path} is damaged (") for message in said] == [True] * bool(damage)


def test_locked_cache_raises_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_cache, "BUSY_SECONDS", 0.05)
    path = tmp_path / "code.sqlite"
    other = sqlite3.connect(path)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="in use"):
        CodeCache(path, writable=True)
    other.execute("CREATE TABLE kept (name)")
    other.commit()
    other.close()
    with sqlite3.connect(path) as file:  # and not another one in its place
        assert file.execute("SELECT name FROM sqlite_master").fetchall() == [("kept",)]


def test_concurrent_cache_creation_succeeds(tmp_path: Path) -> None:
    path = tmp_path / "code.sqlite"
    begun = sqlite3.connect(path)  # as one finds it who saw no version, and had to wait for the other
    begun.executescript(code_cache._SCHEMA)
    begun.close()
    (tmp_path / "first").hardlink_to(path)
    with CodeCache(path, writable=True) as cache:
        cache.put([FileOutline("a.py", "1", "python", 1, 1)])
        assert cache.load_blob_ids() == {"a.py": "1"}
    assert path.samefile(tmp_path / "first")


@pytest.mark.parametrize(("version", "which"), [(1, "an earlier"), (999, "a later")])
def test_cache_of_other_version_is_recreated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, version: int, which: str
) -> None:
    path = tmp_path / "c"
    with CodeCache(path, writable=True) as cache:
        cache.put([outline("a.py")])
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with CodeCache(path) as reader:
        assert reader.get("a.py") is None
    with CodeCache(path, writable=True) as cache:
        assert cache.load_blob_ids() == {}
    formats = f"format {version}, expected {code_cache.VERSION}"
    assert caplog.messages == [f"the cache {path} was written by {which} version of hunchd ({formats}); recreating it"]


def test_cache_files_have_mode_0600(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with CodeCache(tmp_path / "c", writable=True) as cache:
            cache.put([outline("a.py")])
            assert {file.name: oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()} == {
                "c": "0o600", "c-wal": "0o600", "c-shm": "0o600",
            }  # fmt: skip
    finally:
        os.umask(before)


def test_reader_survives_replaced_file(tmp_path: Path) -> None:
    path = tmp_path / "c"
    with CodeCache(path, writable=True) as cache:
        cache.put([outline("a.py")])
    with CodeCache(path) as reader:
        assert reader.get("a.py") is not None
        path.write_bytes(b"garbage" * 1000)
        reader.get("a.py")  # whatever it says, it does not raise
