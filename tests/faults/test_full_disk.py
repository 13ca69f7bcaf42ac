"""Journal on a full disk: whole batches are rejected, and it recovers by itself."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hunchd.domain.errors import StorageFull
from hunchd.store.journal.journal import Journal, JournalLimits
from tests.faults.appender import LIMITS
from tests.faults.records import is_whole, numbers_in, record, segments
from tests.faults.test_kill import ROOT, SOURCE, Seen

MIB = 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 8 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("file systems can be mounted by root only")
    yield place
    subprocess.run(["umount", str(place)], check=True)


async def fill(journal: Journal, number: int) -> int:
    """Append until the disk is full; return the first rejected number."""
    while True:
        try:
            await journal.append([record(number, text="x" * 20_000)])
        except StorageFull:
            return number
        number += 1


async def test_journal_on_full_disk_checkpoints_and_recovers(small_disk: Path) -> None:
    limits = JournalLimits(segment_bytes=MIB, reserve_bytes=2 * MIB)
    async with Journal.open(small_disk / "journal", limits=limits) as journal:
        ballast = small_disk / "other"
        ballast.write_bytes(bytes(2 * MIB))
        refused = await fill(journal, 0)
        assert refused > 50
        assert numbers_in(journal) == list(range(refused))
        assert "disk is full" in str(journal.failure) or "No space" in str(journal.failure)
        assert os.statvfs(small_disk).f_bavail > 0  # the reserve: others can clean up

        await journal.write_checkpoint(refused // 2)
        assert numbers_in(journal) == list(range(refused // 2, refused))

        ballast.unlink()
        began = time.monotonic()
        while await fill_one(journal, refused) is None and time.monotonic() - began < 10:
            await asyncio.sleep(0.05)
        assert journal.failure is None
        assert (small_disk / "journal" / "reserve").stat().st_size == 2 * MIB
    async with Journal.open(small_disk / "journal", limits=limits) as journal:
        assert numbers_in(journal) == list(range(refused // 2, refused + 1))


async def fill_one(journal: Journal, number: int) -> int | None:
    try:
        return (await journal.append([record(number)]))[0]
    except StorageFull:
        return None


async def test_journal_opens_and_replays_on_full_disk(small_disk: Path) -> None:
    limits = JournalLimits(segment_bytes=MIB, reserve_bytes=MIB)
    async with Journal.open(small_disk / "journal", limits=limits) as journal:
        refused = await fill(journal, 0)
    stuff(small_disk / "other")
    async with Journal.open(small_disk / "journal", limits=limits) as journal:
        assert numbers_in(journal) == list(range(refused))
        with pytest.raises(StorageFull):
            await journal.append([record(refused, text="x" * 20_000)])
        await journal.write_checkpoint(refused - 10)  # cleaning up needs no room, it makes some
        await journal.append([record(refused)])
        assert numbers_in(journal) == list(range(refused - 10, refused + 1))


def stuff(path: Path) -> None:
    """Fill the disk to its last byte."""
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return


def test_file_size_limit_counts_as_full_disk(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{ROOT}"}
    # Less than a segment, so that writes are cut in the middle of a record.
    command = [
        sys.executable,
        "-m",
        "tests.faults.appender",
        str(folder),
        "0",
        "400",
        str(LIMITS.segment_bytes - 1_001),
    ]
    output = subprocess.run(command, capture_output=True, check=True, env=environment, cwd=ROOT, text=True).stdout
    seen = Seen()
    seen.take(output)
    assert "full" in output
    assert len(seen.acknowledged) > 40
    assert all(is_whole(segment) for segment in segments(folder))
