"""Size of a folder, also while files vanish."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hunchd.store.database.folders import measure_folder


def test_folder_size_excludes_snapshots(tmp_path: Path) -> None:
    for name, size in (("a/one", 10), ("two", 5), ("snapshots/old/three", 1_000)):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * size)
    assert measure_folder(tmp_path) == 15
    assert measure_folder(tmp_path / "nowhere") == 0


def test_folder_size_ignores_vanishing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("going", "staying"):
        (tmp_path / name).write_bytes(b"12345")
    stat = os.stat

    def vanishing(path: Any, **how: Any) -> os.stat_result:
        (tmp_path / "going").unlink(missing_ok=True)
        return stat(path, **how)

    monkeypatch.setattr(os, "stat", vanishing)
    assert measure_folder(tmp_path) == 5
