"""Power cut at any moment: no acknowledged record is missing on the remaining disk."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from hunchd.store.journal.journal import Journal, JournalLimits
from tests.faults.power import ForgetfulFiles
from tests.faults.records import record, records

LIMITS = JournalLimits(segment_bytes=1_500, reserve_bytes=0, remembered_ids=100)


class CuttableFiles(ForgetfulFiles):
    """File operations that copy the state of the disk before the n-th operation."""

    def __init__(self, at: int, picture: Path, chance: random.Random) -> None:
        super().__init__()
        self.left = at
        self._picture = picture
        self._chance = chance

    def write(self, descriptor: int, content: bytes) -> None:
        self._count()
        super().write(descriptor, content)
        self._count()

    def sync(self, descriptor: int) -> None:
        self._count()
        super().sync(descriptor)
        self._count()

    def rename(self, source: Path, target: Path) -> None:
        self._count()
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._count()
        super().remove(path)

    def sync_folder(self, path: Path) -> None:
        self._count()
        super().sync_folder(path)

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.after_power_cut(self._picture, self._chance)


async def life(folder: Path, files: CuttableFiles) -> tuple[dict[int, int], int, set[int]]:
    """Work until the copy is taken; return what was acknowledged, checkpointed and erased."""
    acknowledged: dict[int, int] = {}
    settled, erased = 0, set[int]()
    async with Journal.open(folder, limits=LIMITS, files=files) as journal:
        for start in range(0, 200, 4):
            numbers = range(start, start + 4)
            sequences = await asyncio.gather(*(journal.append([record(number)]) for number in numbers))
            if files.left <= 0:
                break
            acknowledged |= {number: sequence for number, [sequence] in zip(numbers, sequences, strict=True)}
            if start % 40 == 20:
                settled = sequences[0][0] - 12
                await journal.write_checkpoint(settled)
            if start == 100:
                await journal.erase_records(lambda record: record.data["number"] in (90, 99))
                erased = {90, 99} if files.left > 0 else set()
    return acknowledged, settled, erased


@pytest.mark.parametrize("seed", range(5))
async def test_power_cut_loses_no_acknowledged_record(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for turn in range(12):
        picture = tmp_path / f"after-{turn}"
        files = CuttableFiles(chance.randint(1, 330), picture, chance)
        acknowledged, settled, erased = await life(tmp_path / f"before-{turn}", files)
        assert files.left <= 0, "the picture was never taken"
        async with Journal.open(picture, limits=LIMITS) as journal:
            replayed = list(journal.iterate_records())
            found = {record.data["number"]: sequence for sequence, record in replayed}
            due = {n: s for n, s in acknowledged.items() if s > settled and n not in (90, 99)}
            assert due.items() <= found.items()
            assert len(found) == len(replayed)
            assert not erased & found.keys()
            kept = [number for number in acknowledged if number not in (90, 99)][-60:]
            assert await journal.append(records(kept)) == [acknowledged[number] for number in kept]
            [new] = await journal.append([record(10_000)])
            assert new > max(acknowledged.values(), default=0)


def test_forgetful_files_drop_unsynced_bytes(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    files, path = ForgetfulFiles(), tmp_path / "disk" / "a"
    descriptor = files.create(path)
    files.write(descriptor, b"one")
    files.sync(descriptor)
    files.sync_folder(path.parent)
    files.write(descriptor, b"two")
    seen = set()
    for seed in range(40):
        files.after_power_cut(tmp_path / str(seed), random.Random(seed))
        seen.add((tmp_path / str(seed) / "a").read_bytes())
    files.close(descriptor)
    assert {b"one", b"onetwo", b"onet"} <= seen
    assert all(content.startswith(b"one") for content in seen)
