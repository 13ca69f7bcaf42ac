"""How much lies in a folder, also while files of it go."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hunchd.store.database.folders import bytes_in


def test_all_but_the_snapshots_is_counted(tmp_path: Path) -> None:
    for name, size in (("a/one", 10), ("two", 5), ("snapshots/old/three", 1_000)):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * size)
    assert bytes_in(tmp_path) == 15
    assert bytes_in(tmp_path / "nowhere") == 0


def test_what_goes_while_it_is_looked_at_counts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("going", "staying"):
        (tmp_path / name).write_bytes(b"12345")
    stat = os.stat

    def vanishing(path: Any, **how: Any) -> os.stat_result:
        (tmp_path / "going").unlink(missing_ok=True)
        return stat(path, **how)

    monkeypatch.setattr(os, "stat", vanishing)
    assert bytes_in(tmp_path) == 5
