"""The feed keeps order, merges bursts, refuses what does not fit and loses nothing that it took."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hunchd.domain.errors import Overloaded
from hunchd.domain.signal import FileDeleted, FileOpened, FileSaved
from hunchd.signals.feed import Feed

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def saved(path: str, second: int = 0, *, id: str = "", project: str = "/p") -> FileSaved:
    return FileSaved(project=project, at=NOW + timedelta(seconds=second), path=path, id=id)


def deleted(path: str) -> FileDeleted:
    return FileDeleted(project="/p", at=NOW, path=path)


async def test_a_burst_of_one_file_is_its_latest_signal_at_its_first_place() -> None:
    feed = Feed()
    for second in range(50):
        feed.put(saved("a", second))
        feed.put(saved("b", second))

    assert await feed.batch() == [saved("a", 49), saved("b", 49)]
    assert feed.status()["merged"] == 98


async def test_the_order_of_what_happened_to_one_file_is_kept() -> None:
    feed = Feed()
    for signal in (saved("a", 1), deleted("a"), saved("a", 2), saved("a", 3)):
        feed.put(signal)

    assert await feed.batch() == [saved("a", 1), deleted("a"), saved("a", 3)]


async def test_files_of_two_projects_do_not_merge() -> None:
    feed = Feed()
    feed.put(saved("a", project="/one"))
    feed.put(saved("a", project="/two"))

    assert len(await feed.batch()) == 2


async def test_an_acknowledged_signal_is_never_merged() -> None:
    feed = Feed()
    feed.put(saved("a", 1, id="x"))
    feed.put(saved("a", 2, id="y"))
    feed.put(saved("a", 3))
    feed.put(saved("a", 4))

    assert await feed.batch() == [saved("a", 1, id="x"), saved("a", 2, id="y"), saved("a", 4)]


async def test_what_is_being_read_stays_until_it_is_done_and_does_not_change() -> None:
    feed = Feed()
    feed.put(saved("a", 1))
    first = await feed.batch()
    feed.put(saved("a", 2))

    assert await feed.batch(1) == first == [saved("a", 1)]
    feed.done(1)
    assert await feed.batch() == [saved("a", 2)]
    feed.done(1)
    assert len(feed) == 0


async def test_a_full_feed_refuses_and_keeps_what_it_has() -> None:
    feed = Feed(capacity=2)
    feed.put(saved("a"))
    feed.put(saved("b"))

    with pytest.raises(Overloaded) as refused:
        feed.put(saved("c"))
    feed.put(saved("a", 9))  # needs no place

    assert refused.value.retry_after > 0
    assert await feed.batch() == [saved("a", 9), saved("b")]
    assert feed.status()["refused"] == 1


async def test_several_signals_are_taken_together_or_not_at_all() -> None:
    feed = Feed(capacity=3)
    feed.put(saved("a"))

    with pytest.raises(Overloaded):
        feed.put_all([saved("b"), saved("c"), saved("d")])

    assert len(feed) == 1


async def test_a_waiting_reader_is_woken_by_another_thread() -> None:
    feed = Feed()
    reading = asyncio.create_task(feed.batch())
    await asyncio.sleep(0)

    threading.Thread(target=feed.put, args=(saved("a"),)).start()

    assert await asyncio.wait_for(reading, 5) == [saved("a")]


async def test_eight_threads_lose_nothing() -> None:
    feed = Feed()
    each = 1_000

    def put(thread: int) -> None:
        for number in range(each):
            while True:
                try:
                    feed.put(FileOpened(project="/p", at=NOW, path=f"{thread}/{number}"))
                    break
                except Overloaded:
                    threading.Event().wait(0.001)

    threads = [threading.Thread(target=put, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    found: list[str] = []
    while len(found) < 8 * each:
        batch = await asyncio.wait_for(feed.batch(), 10)
        found += [signal.path for signal in batch if isinstance(signal, FileOpened)]
        feed.done(len(batch))
    for thread in threads:
        thread.join()

    assert len(set(found)) == 8 * each
    for number in range(8):
        own = [path for path in found if path.startswith(f"{number}/")]
        assert own == [f"{number}/{index}" for index in range(each)]


async def test_the_age_of_the_oldest_signal_is_told() -> None:
    feed = Feed()
    assert feed.status()["oldest"] == 0.0
    feed.put(replace(saved("a"), id="x"))
    await asyncio.sleep(0.02)

    assert 0.01 < feed.status()["oldest"] < 5
