"""Shape cache of the mining process: persistence and recreation."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from hunchd.domain.errors import StoreError
from hunchd.store import sqlite_cache
from hunchd.store.shape_cache import ShapeCache, ShapeEntry

ONE = ShapeEntry("a.py", "1", "python", [["call", 3], "ünï\ud800"])
EMPTY = ShapeEntry("empty.py", "2", "python", [])


def test_put_shapes_survive_reopening(tmp_path: Path) -> None:
    with ShapeCache(tmp_path / "c") as cache:
        cache.put([ONE, EMPTY], {"a.py": 7})
        cache.store_value("patterns", {"known": [1, 2]})
    with ShapeCache(tmp_path / "c") as cache:
        assert cache.load_blob_ids() == {"a.py": "1", "empty.py": "2"}
        assert cache.load_stamps() == {"a.py": 7}
        assert list(cache.iterate_entries()) == list(cache.load_entries(["a.py", "empty.py", "gone.py"])) == [ONE]
        assert cache.load_value("patterns") == {"known": [1, 2]}
        assert cache.load_value("others") is None


@pytest.mark.parametrize("damage", ["no database at all", "PRAGMA user_version = 999"])
def test_damaged_or_outdated_cache_is_recreated(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "c"
    with ShapeCache(path) as cache:
        cache.put([ONE], {})
    if damage.startswith("PRAGMA"):
        connection = sqlite3.connect(path)
        connection.execute(damage)
        connection.close()
    else:
        path.write_text(damage * 100)
    with ShapeCache(path) as cache:
        assert cache.load_blob_ids() == {}


def test_locked_cache_raises_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_cache, "BUSY_SECONDS", 0.05)
    other = sqlite3.connect(tmp_path / "c")
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="in use"):
        ShapeCache(tmp_path / "c")
    other.close()
