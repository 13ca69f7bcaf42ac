"""Spill file: order, unlinking and full disks."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from hunchd.domain.errors import StorageFull
from hunchd.store.spill_file import SpillFile


def test_spill_file_preserves_order_and_is_unlinked(tmp_path: Path) -> None:
    aside = SpillFile(tmp_path / "runs")
    told = [["use", [{"id": "m1", "said": "half a pair \ud83d, and ü"}]], ["links", []], ["forget", ["x" * 300_000]]]
    for line in told:
        aside.append(line)
    assert list(aside.read_lines()) == told
    assert list((tmp_path / "runs").iterdir()) == []
    aside.close()


def test_append_on_full_disk_raises_storage_full(tmp_path: Path) -> None:
    class Full:
        def write(self, _: bytes) -> int:
            raise OSError(errno.ENOSPC, "no space left on device")

    aside = SpillFile(tmp_path)
    aside.close()
    aside._file = Full()  # type: ignore[assignment]
    with pytest.raises(StorageFull, match="planned"):
        aside.append(["use", []])
