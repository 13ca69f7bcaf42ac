"""Journal: appends, replay, checkpoints, erasure and file safety."""

from __future__ import annotations

import asyncio
import os
import random
import stat
import struct
import threading
import time
import zlib
from pathlib import Path

import pytest

from hunchd.domain.errors import Conflict, InvalidInput, Overloaded, StoreError, TooLarge, Unavailable
from hunchd.store.files import FileOperations
from hunchd.store.journal.journal import Journal, JournalLimits, JournalRecord
from tests.faults.failing import SlowFiles
from tests.faults.records import numbers_in, record, records, segments

SMALL = JournalLimits(segment_bytes=2_000, reserve_bytes=0, remembered_ids=100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"


# Accepting


async def test_replay_after_restart_preserves_order(folder: Path) -> None:
    async with Journal.open(folder) as journal:
        assert await journal.append(records([1, 2])) == [1, 2]
        assert await journal.append(records([3])) == [3]

    async with Journal.open(folder) as journal:
        assert list(journal.iterate_records()) == [(number, record(number)) for number in (1, 2, 3)]


async def test_append_while_write_task_ends_is_written(folder: Path) -> None:
    async with Journal.open(folder) as journal:
        first = asyncio.ensure_future(journal.append(records([1])))
        while not journal.pending_count:
            await asyncio.sleep(0)
        [group] = journal._list_unwritten()
        await group.done_future  # the task has looked for more and found nothing; that it ended is not known yet
        async with asyncio.timeout(10):
            assert await journal.append(records([2])) == [2]
        await first


async def test_record_with_any_json_round_trips(folder: Path) -> None:
    strange = JournalRecord(
        "id", "signal", None, {"text": 'é 漢字 \ud800 \x00 "\\', "deep": [[{"a": None}]], "big": 2**70}, 0.5
    )
    async with Journal.open(folder) as journal:
        await journal.append([strange])
        assert list(journal.iterate_records()) == [(1, strange)]


async def test_append_duplicate_id_returns_first_sequence(folder: Path) -> None:
    async with Journal.open(folder) as journal:
        first = await journal.append(records([1, 2]))
        assert await journal.append(records([2, 3, 1])) == [2, 3, 1]
        assert await journal.append(records([1, 2])) == first
        assert numbers_in(journal) == [1, 2, 3]


async def test_concurrent_appends_deduplicate_ids(folder: Path) -> None:
    async with Journal.open(folder) as journal:
        answers = await asyncio.gather(*(journal.append([record(number % 20)]) for number in range(60)))
        assert answers[:20] == answers[20:40] == answers[40:]
        assert sorted(numbers_in(journal)) == list(range(20))


async def test_restart_remembers_ids_of_dropped_segments(folder: Path) -> None:
    async with Journal.open(folder, limits=SMALL) as journal:
        given = await journal.append(records(range(50)))
        await journal.append(records(range(50, 60)))
        await journal.write_checkpoint(55)
    for _ in range(3):
        async with Journal.open(folder, limits=SMALL) as journal:
            assert await journal.append(records(range(50))) == given
            assert numbers_in(journal) == list(range(55, 60))


async def test_id_log_keeps_configured_number(folder: Path) -> None:
    async with Journal.open(folder, limits=SMALL) as journal:
        for start in range(0, 1_000, 50):
            given = await journal.append(records(range(start, start + 50)))
            await journal.write_checkpoint(given[-1])
    async with Journal.open(folder, limits=SMALL) as journal:
        newest = await journal.append(records(range(900, 1_000)))
        assert newest == list(range(901, 1_001))
        assert await journal.append(records([0])) == [1_001]  # long forgotten: ten times the promised number ago
    assert len(list(folder.glob("ids-*.log"))) <= 4


async def test_concurrent_appends_share_sync(folder: Path) -> None:
    files = SlowFiles(seconds=0.02)
    async with Journal.open(folder, files=files, reserve_bytes=0) as journal:
        await journal.append(records([0]))
        before = files.syncs
        await asyncio.gather(*(journal.append([record(number)]) for number in range(1, 201)))
        assert files.syncs - before <= 2


@pytest.mark.parametrize("at", ["append", "checkpoint"])
async def test_stalled_disk_is_reported_as_standstill(folder: Path, at: str) -> None:
    class Stalled(FileOperations):
        goes_on = threading.Event()

        def sync(self, descriptor: int) -> None:
            assert self.goes_on.wait(timeout=60)
            super().sync(descriptor)

    files = Stalled()
    files.goes_on.set()
    async with Journal.open(folder, files=files, reserve_bytes=0) as journal:
        [first] = await journal.append(records([1]))
        files.goes_on.clear()
        waiting = asyncio.ensure_future(
            journal.append(records([2])) if at == "append" else journal.write_checkpoint(first)
        )
        await asyncio.sleep(0.05)
        assert journal.stalled_seconds >= 0.03
        assert not waiting.done()
        files.goes_on.set()
        await waiting
        assert journal.stalled_seconds == 0.0


async def test_appends_during_open_keep_order(folder: Path) -> None:
    class SlowToRead(FileOperations):
        def read(self, path: Path) -> bytes:
            time.sleep(0.003)
            return super().read(path)

    async with Journal.open(folder, limits=SMALL) as journal:
        for number in range(60):
            await journal.append(records([1_000 + number]))
    for turn in range(3):
        async with Journal.open(folder, limits=SMALL, files=SlowToRead()) as journal:
            before = journal.last_sequence
            appends = []
            for number in range(100):
                appends.append(asyncio.ensure_future(journal.append([record(10_000 * turn + 5_000 + number)])))
                await asyncio.sleep(0.0005)
            assert await asyncio.gather(*appends) == [[before + 1 + number] for number in range(100)]


async def test_cancelled_append_is_still_written(folder: Path) -> None:
    async with Journal.open(folder, files=SlowFiles(seconds=0.05), reserve_bytes=0) as journal:
        given_up = asyncio.ensure_future(journal.append(records([1])))
        waiting = asyncio.ensure_future(journal.append(records([2])))
        await asyncio.sleep(0.02)
        given_up.cancel()
        [sequence] = await waiting
        assert await journal.append(records([1])) == [1]
        assert numbers_in(journal) == [1, 2]
        assert sequence == 2


async def test_append_invalid_json_rejects_whole_batch(folder: Path) -> None:
    async with Journal.open(folder) as journal:
        with pytest.raises(InvalidInput, match="'bad' cannot be encoded"):
            await journal.append([record(1), JournalRecord("bad", "signal", None, {"value": object()}, 0.0)])
        deep: list[object] = []
        for _ in range(100_000):
            deep = [deep]
        with pytest.raises(InvalidInput):
            await journal.append([JournalRecord("deep", "signal", None, {"value": deep}, 0.0)])
        while deep:
            [deep] = deep  # type: ignore[assignment]
        assert numbers_in(journal) == []
        assert await journal.append([record(1)]) == [1]


# Bounds


async def test_append_over_max_pending_raises_overloaded(folder: Path) -> None:
    files = SlowFiles(seconds=0.02)
    limits = JournalLimits(max_pending=10, reserve_bytes=0)
    async with Journal.open(folder, limits=limits, files=files) as journal:
        answers = await asyncio.gather(
            *(journal.append(records([number])) for number in range(30)), return_exceptions=True
        )
        refused = [answer for answer in answers if isinstance(answer, Overloaded)]
        assert len(refused) == 20
        assert all(0 < error.retry_after <= 10 for error in refused)
        assert numbers_in(journal) == list(range(10))
        assert await journal.append(records([99])) == [11]
        with pytest.raises(TooLarge):
            await journal.append(records(range(100, 111)))


async def test_append_over_max_kept_bytes_raises_overloaded(folder: Path) -> None:
    limits = JournalLimits(segment_bytes=2_000, reserve_bytes=0, max_stored_bytes=10_000)
    async with Journal.open(folder, limits=limits) as journal:
        accepted = 0
        while accepted < 1_000:
            try:
                [accepted] = await journal.append([record(accepted)])
            except Overloaded:
                break
        assert journal.bytes <= 10_000 + 32  # the header of a segment begun by the last one
        await journal.write_checkpoint(accepted)
        assert await journal.append([record(5_000)]) == [accepted + 1]


# Checkpoints


async def test_checkpoint_limits_replay_and_frees_disk(folder: Path) -> None:
    async with Journal.open(folder, limits=SMALL) as journal:
        for start in range(0, 200, 10):
            await journal.append(records(range(start, start + 10)))
        before = journal.bytes
        assert journal.pending_count == 200
        await journal.write_checkpoint(150)
        assert journal.pending_count == 50
        assert journal.bytes < before
        await journal.write_checkpoint(100)  # an older one changes nothing
        assert numbers_in(journal) == list(range(150, 200))
        assert numbers_in(journal, after=190) == list(range(190, 200))
    async with Journal.open(folder, limits=SMALL) as journal:
        assert numbers_in(journal) == list(range(150, 200))
        assert journal.pending_count == 50


async def test_checkpoint_of_everything_drops_active_segment(folder: Path) -> None:
    async with Journal.open(folder) as journal:
        given = await journal.append([record(number, text="x" * 400) for number in range(1_000)])
        await journal.write_checkpoint(given[-1])
        assert journal.pending_count == 0
        assert journal.bytes == 0
        assert segments(folder) == []
        assert await journal.append([record(1_000)]) == [1_001]


async def test_checkpoint_beyond_last_raises_value_error(folder: Path) -> None:
    async with Journal.open(folder) as journal:
        await journal.append(records([1]))
        with pytest.raises(ValueError, match="record 2 has not been accepted"):
            await journal.write_checkpoint(2)


async def test_sequence_numbers_are_never_reused(folder: Path) -> None:
    async with Journal.open(folder, limits=SMALL) as journal:
        await journal.append(records(range(100)))
        await journal.write_checkpoint(100)
    for path in segments(folder):
        path.unlink()
    async with Journal.open(folder, limits=SMALL) as journal:
        assert await journal.append(records([500])) == [101]


async def test_replay_overtaken_by_checkpoint_ends(folder: Path) -> None:
    async with Journal.open(folder, limits=SMALL) as journal:
        await journal.append(records(range(100)))
        replay = journal.iterate_records()
        next(replay)
        await journal.write_checkpoint(100)
        assert len(list(replay)) < 100


# Erasing


async def test_erase_project_removes_bytes_from_files(folder: Path) -> None:
    async with Journal.open(folder, limits=SMALL) as journal:
        mixed = [
            record(number, project="gone" if number % 3 else "kept", text=f"canary-{number}-x") for number in range(90)
        ]
        await journal.append(mixed)
        assert await journal.erase_project("gone") == 60
        assert numbers_in(journal) == list(range(0, 90, 3))
        await journal.append(records([100]))
        assert journal.pending_count == 31
    on_disk = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert not [number for number in range(90) if number % 3 and f"canary-{number}-x".encode() in on_disk]
    assert all(f"canary-{number}-x".encode() in on_disk for number in range(0, 90, 3))
    async with Journal.open(folder, limits=SMALL) as journal:
        assert numbers_in(journal) == [*range(0, 90, 3), 100]
        await asyncio.sleep(0)
        await journal.append(records([101]))
        assert journal.damage_count == 0


async def test_erased_id_is_accepted_again(folder: Path) -> None:
    async with Journal.open(folder, limits=SMALL) as journal:
        await journal.append(records(range(60)))
        await journal.write_checkpoint(40)
        await journal.erase_project("p1")
        again = await journal.append(records([0, 59]))
        assert min(again) > 60
    async with Journal.open(folder, limits=SMALL) as journal:
        assert await journal.append(records([0, 59, 30])) == [*again, again[-1] + 1]


async def test_erase_during_appends_loses_none(folder: Path) -> None:
    async with Journal.open(folder, limits=SMALL) as journal:
        await journal.append([record(number, project="gone") for number in range(50)])
        appends = [asyncio.ensure_future(journal.append([record(number)])) for number in range(100, 200)]
        erased, *_ = await asyncio.gather(journal.erase_project("gone"), *appends)
        assert erased == 50
        assert sorted(numbers_in(journal)) == list(range(100, 200))


# Folders, files, processes


@pytest.mark.parametrize("umask", [0o000, 0o022])
async def test_journal_files_are_private_with_any_umask(folder: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        async with Journal.open(folder, limits=SMALL, reserve_bytes=4096) as journal:
            await journal.append(records(range(200)))
            await journal.write_checkpoint(100)
            await journal.erase_records(lambda record: record.data["number"] == 150)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_open_restricts_folder_mode(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    async with Journal.open(folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_open_symlinked_folder_raises_store_error(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder.symlink_to(elsewhere)
    with pytest.raises(StoreError, match="link"):
        Journal.open(folder)
    assert list(elsewhere.iterdir()) == []


async def test_symlinked_segment_is_not_followed(folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder.mkdir()
    (folder / f"{1:020d}.segment").symlink_to(victim)
    (folder / "checkpoint.tmp").symlink_to(victim)
    async with Journal.open(folder) as journal:
        [sequence] = await journal.append(records([1]))
        await journal.write_checkpoint(sequence)
        assert journal.damage_count == 1  # a segment that cannot be read
    assert victim.read_text() == "mine"


async def test_open_twice_raises_conflict_with_pid(folder: Path) -> None:
    async with Journal.open(folder):
        with pytest.raises(Conflict, match=f"process {os.getpid()}"):
            Journal.open(folder)
    async with Journal.open(folder) as journal:
        assert await journal.append(records([1])) == [1]


async def test_closed_journal_raises_unavailable(folder: Path) -> None:
    journal = Journal.open(folder)
    await journal.append(records([1]))
    await journal.close()
    await journal.close()
    with pytest.raises(Unavailable):
        await journal.append(records([2]))
    with pytest.raises(Unavailable):
        await journal.write_checkpoint(1)


async def test_close_waits_for_pending_appends(folder: Path) -> None:
    journal = Journal.open(folder, files=SlowFiles(seconds=0.05), reserve_bytes=0)
    appends = [asyncio.ensure_future(journal.append(records([number]))) for number in range(10)]
    await asyncio.sleep(0.02)
    await journal.close()
    assert [await append for append in appends] == [[number + 1] for number in range(10)]


async def test_newer_format_is_left_untouched(folder: Path) -> None:
    async with Journal.open(folder) as journal:
        await journal.append(records([1]))
    [segment] = segments(folder)
    content = bytearray(segment.read_bytes())
    content[8:12] = struct.pack("<I", 99)
    content[28:32] = struct.pack("<I", zlib.crc32(bytes(content[:28])))
    segment.write_bytes(content)
    with pytest.raises(StoreError, match="format 99"):
        Journal.open(folder)
    assert segment.read_bytes() == content


async def test_open_reads_a_long_backlog(folder: Path) -> None:
    async with Journal.open(folder) as journal:
        for start in range(0, 20_000, 5_000):
            await journal.append([record(number, text="x" * 200) for number in range(start, start + 5_000)])
    journal = Journal.open(folder)
    assert journal.pending_count == 20_000
    await journal.close()


@pytest.mark.parametrize("seed", range(6))
async def test_random_operations_keep_exactly_accepted_records(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    kept: dict[int, int] = {}  # sequence → number
    known: dict[int, int] = {}  # number → sequence
    newest = settled = 0
    journal = Journal.open(folder, limits=SMALL)
    for _ in range(150):
        match chance.choice(["append", "append", "append", "checkpoint", "erase", "reopen"]):
            case "append":
                numbers = [chance.randrange(80) for _ in range(chance.randint(1, 9))]
                sequences = await journal.append(records(numbers))
                for number, sequence in zip(numbers, sequences, strict=True):
                    assert known.setdefault(number, sequence) == sequence
                    assert sequence <= newest or sequence not in kept or kept[sequence] == number
                    if sequence > newest:
                        kept[sequence] = number
                newest = max(newest, *sequences)
            case "checkpoint" if newest:
                settled = max(settled, chance.randint(max(1, newest - 20), newest))
                await journal.write_checkpoint(settled)
                kept = {sequence: number for sequence, number in kept.items() if sequence > settled}
            case "erase" if kept:
                gone = set(chance.sample(sorted(kept.values()), max(1, len(kept) // 4)))
                assert await journal.erase_records(lambda one, gone=gone: one.data["number"] in gone) >= len(gone)
                kept = {sequence: number for sequence, number in kept.items() if number not in gone}
                known = {number: sequence for number, sequence in known.items() if number not in gone}
            case "reopen":
                await journal.close()
                journal = Journal.open(folder, limits=SMALL)
        assert {sequence: one.data["number"] for sequence, one in journal.iterate_records()} == kept
    assert (journal.pending_count, journal.damage_count) == (len(kept), 0)
    await journal.close()
