"""Signal queue: order, merging, capacity and concurrency."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest

from hunchd.domain.errors import Overloaded
from hunchd.domain.signal import FileDeleted, FileOpened, FileSaved
from hunchd.signals.signal_queue import SignalQueue

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def saved(path: str, second: int = 0, *, id: str = "", project: str = "/p") -> FileSaved:
    return FileSaved(project=project, at=NOW + timedelta(seconds=second), path=path, id=id)


def deleted(path: str) -> FileDeleted:
    return FileDeleted(project="/p", at=NOW, path=path)


async def test_burst_of_one_file_merges_to_latest() -> None:
    feed = SignalQueue()
    for second in range(50):
        feed.put(saved("a", second))
        feed.put(saved("b", second))

    assert await feed.read_batch() == [saved("a", 49), saved("b", 49)]
    assert len(feed) == 2


async def test_order_of_events_of_file_is_preserved() -> None:
    feed = SignalQueue()
    for signal in (saved("a", 1), deleted("a"), saved("a", 2), saved("a", 3)):
        feed.put(signal)

    assert await feed.read_batch() == [saved("a", 1), deleted("a"), saved("a", 3)]


async def test_same_path_in_two_projects_stays_separate() -> None:
    feed = SignalQueue()
    feed.put(saved("a", project="/one"))
    feed.put(saved("a", project="/two"))

    assert len(await feed.read_batch()) == 2


async def test_signal_with_id_is_never_merged() -> None:
    feed = SignalQueue()
    feed.put(saved("a", 1, id="x"))
    feed.put(saved("a", 2, id="y"))
    feed.put(saved("a", 3))
    feed.put(saved("a", 4))

    assert await feed.read_batch() == [saved("a", 1, id="x"), saved("a", 2, id="y"), saved("a", 4)]


async def test_batch_stays_unchanged_until_done() -> None:
    feed = SignalQueue()
    feed.put(saved("a", 1))
    first = await feed.read_batch()
    feed.put(saved("a", 2))

    assert await feed.read_batch(1) == first == [saved("a", 1)]
    feed.mark_done(1)
    assert await feed.read_batch() == [saved("a", 2)]
    feed.mark_done(1)
    assert len(feed) == 0


async def test_full_feed_raises_overloaded() -> None:
    feed = SignalQueue(capacity=2)
    feed.put(saved("a"))
    feed.put(saved("b"))

    with pytest.raises(Overloaded) as refused:
        feed.put(saved("c"))
    feed.put(saved("a", 9))  # needs no place

    assert refused.value.retry_after > 0
    assert await feed.read_batch() == [saved("a", 9), saved("b")]


async def test_put_all_is_all_or_nothing() -> None:
    feed = SignalQueue(capacity=3)
    feed.put(saved("a"))

    with pytest.raises(Overloaded):
        feed.put_all([saved("b"), saved("c"), saved("d")])

    assert len(feed) == 1


async def test_put_from_thread_wakes_reader() -> None:
    feed = SignalQueue()
    reading = asyncio.create_task(feed.read_batch())
    await asyncio.sleep(0)

    threading.Thread(target=feed.put, args=(saved("a"),)).start()

    assert await asyncio.wait_for(reading, 5) == [saved("a")]


async def test_concurrent_puts_lose_no_signal() -> None:
    feed = SignalQueue()
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
        batch = await asyncio.wait_for(feed.read_batch(), 10)
        found += [signal.path for signal in batch if isinstance(signal, FileOpened)]
        feed.mark_done(len(batch))
    for thread in threads:
        thread.join()

    assert len(set(found)) == 8 * each
    for number in range(8):
        own = [path for path in found if path.startswith(f"{number}/")]
        assert own == [f"{number}/{index}" for index in range(each)]
