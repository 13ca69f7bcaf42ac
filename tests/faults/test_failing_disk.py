"""Every file operation fails once, in turn: no acknowledged record is lost or duplicated."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from hunchd.domain.errors import HunchError, StorageFull, StoreError
from hunchd.store.files import FileOperations
from hunchd.store.journal.journal import Journal, JournalLimits, JournalRecord
from tests.faults.failing import FailingFiles
from tests.faults.records import numbers_in, record, records

LIMITS = JournalLimits(segment_bytes=1_500, reserve_bytes=64 * 1024, remembered_ids=50)


class Client:
    """Client that retries after errors and tracks what was acknowledged and checkpointed."""

    def __init__(self) -> None:
        self.acknowledged: dict[int, int] = {}  # number → sequence
        self.settled = 0
        self.erased: set[int] = set()
        self.erasing: set[int] = set()

    async def work(self, folder: Path, files: FileOperations) -> None:
        """Run one life of a daemon, which ends with a failed opening."""
        journal = Journal.open(folder, limits=LIMITS, files=files)
        try:
            for start in range(0, 40, 4):
                await self._append(journal, range(start, start + 4))
            half = self.acknowledged.get(19)
            if half is not None:
                self.settled = half  # from now on it may be dropped, whether we are told so or not
                await _done(lambda: journal.write_checkpoint(half))
            await self._erase(journal, {30, 31, 32})
            await asyncio.gather(*(self._append(journal, [number]) for number in range(40, 60)))
        finally:
            await journal.close()

    async def _append(self, journal: Journal, numbers: range | list[int]) -> None:
        for _ in range(3):
            try:
                sequences = await journal.append(records(numbers))
            except HunchError:
                continue
            self.acknowledged |= dict(zip(numbers, sequences, strict=True))
            return

    async def _erase(self, journal: Journal, numbers: set[int]) -> None:
        self.erasing |= numbers
        for _ in range(3):
            if await _done(lambda: journal.erase_records(lambda record: record.data["number"] in numbers)):
                self.erased |= numbers
                return


async def _done(work: Callable[[], Awaitable[object]]) -> bool:
    try:
        await work()
    except HunchError:
        return False
    return True


def check(client: Client, replayed: list[tuple[int, JournalRecord]]) -> None:
    found = {record.data["number"]: sequence for sequence, record in replayed}
    assert len(found) == len(replayed), "a record is there twice"
    assert [sequence for sequence, _ in replayed] == sorted({sequence for sequence, _ in replayed})
    expected = {n: s for n, s in client.acknowledged.items() if s > client.settled and n not in client.erasing}
    assert expected.items() <= found.items(), "an acknowledged record is lost"
    assert not client.erased & found.keys(), "an erased record is back"


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EMFILE], ids=errno.errorcode.get)
async def test_single_failure_loses_no_acknowledged_record(tmp_path: Path, error: int) -> None:
    for at in range(1, 500):
        folder = tmp_path / str(at)
        files = FailingFiles(at=at, error=error)
        client = Client()
        try:
            await client.work(folder, files)
        except StoreError:
            assert not client.acknowledged
        if not files.failed:
            break
        async with Journal.open(folder, limits=LIMITS) as journal:
            check(client, list(journal.iterate_records()))
            again = {
                number: sequence for number, sequence in client.acknowledged.items() if number not in client.erasing
            }
            assert await journal.append(records(again)) == list(again.values())
            await journal.append(records([1_000]))
            assert 1_000 in numbers_in(journal)
    else:
        pytest.fail("the work never came to its end")
    assert at > 50  # the failures went through all of it
    assert len(client.acknowledged) == 60


@pytest.mark.parametrize(
    "kinds", [("sync",), ("write",), ("truncate", "sync"), ("open",), ("sync_folder",)], ids="-".join
)
async def test_permanent_failure_rejects_appends_until_healed(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    files = FailingFiles(at=30, error=errno.EIO, kinds=kinds, lasting=True)
    async with Journal.open(tmp_path / "journal", limits=LIMITS, files=files) as journal:
        accepted, messages = [], set()
        for number in range(100):
            try:
                await journal.append([record(number, text="x" * 300)])
                accepted.append(number)
            except StoreError as refusal:
                messages.add(refusal.message)
        assert messages == {"the journal cannot be written: [Errno 5] Input/output error"}
        assert 0 < len(accepted) < 100
        assert journal.failure is not None
        assert numbers_in(journal) == accepted
        files.heal()
        refused = [number for number in range(100) if number not in accepted]
        await journal.append(records(refused))
        assert journal.failure is None
        assert numbers_in(journal) == accepted + refused
    async with Journal.open(tmp_path / "journal", limits=LIMITS) as journal:
        assert numbers_in(journal) == accepted + refused


async def test_full_disk_rejects_batch_and_releases_reserve(tmp_path: Path) -> None:
    files = FailingFiles(at=1, error=errno.ENOSPC, kinds=("write", "allocate"), lasting=True)
    files.heal()
    async with Journal.open(tmp_path / "journal", limits=LIMITS, files=files) as journal:
        await journal.append(records(range(10)))
        reserve = tmp_path / "journal" / "reserve"
        assert reserve.stat().st_blocks * 512 >= LIMITS.reserve_bytes
        files.rearm()
        with pytest.raises(StorageFull):
            await journal.append(records(range(10, 20)))
        assert journal.is_disk_full
        assert not reserve.exists()
        assert numbers_in(journal) == list(range(10))
        files.heal()
        await journal.append(records(range(10, 20)))
        assert not journal.is_disk_full
        assert reserve.exists()


async def test_unexpected_write_error_reaches_callers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Faulty(FileOperations):
        broken = False

        def write(self, descriptor: int, content: bytes) -> None:
            if self.broken:
                raise ZeroDivisionError("a bug")
            super().write(descriptor, content)

    files = Faulty()
    async with Journal.open(tmp_path / "journal", files=files, reserve_bytes=0) as journal:
        await journal.append(records([1]))
        files.broken = True
        with pytest.raises(StoreError, match="a bug"):
            await journal.append(records([2]))
        assert "ZeroDivisionError" in caplog.text
        assert "a bug" in (journal.failure or "")
        files.broken = False
        await journal.append(records([2]))
        assert journal.failure is None
        assert numbers_in(journal) == [1, 2]


async def test_exhausted_descriptors_reject_append_temporarily(tmp_path: Path) -> None:
    async with Journal.open(tmp_path / "journal", limits=LIMITS) as journal:
        await journal.append(records([1]))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        taken: list[int] = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
        try:
            with suppress(OSError):
                while True:
                    taken.append(os.dup(0))
            with pytest.raises(StoreError, match="Too many open files"):
                await journal.append([record(2, text="x" * 2_000)])  # needs a new segment
        finally:
            for descriptor in taken:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        await journal.append([record(2, text="x" * 2_000)])
        assert numbers_in(journal) == [1, 2]
