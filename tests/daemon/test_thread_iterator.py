"""Iterators in threads: one thread each, and behind urgent work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from hunchd.daemon.thread_iterator import UrgentTasks, iterate_in_thread


async def test_in_thread_uses_one_thread_per_iterator() -> None:
    def threads() -> Iterator[int]:
        for _ in range(5):
            yield threading.get_ident()

    first = {ident async for ident in iterate_in_thread(threads)}
    assert len(first) == 1
    assert threading.get_ident() not in first


async def test_in_thread_propagates_errors() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise OSError("no disk")

    work = iterate_in_thread(failing)
    assert await anext(work) == 1
    with pytest.raises(OSError, match="no disk"):
        await anext(work)


async def test_give_way_waits_unless_urgent_itself() -> None:
    urgent = UrgentTasks()
    await urgent.wait_for_turn()  # nothing is

    first, second = urgent.begin(), urgent.begin()
    await urgent.wait_for_turn(first)
    waiting = asyncio.create_task(urgent.wait_for_turn())
    urgent.end(first)
    urgent.end(first)
    await asyncio.sleep(0)
    assert not waiting.done()

    over = asyncio.create_task(urgent.wait_for_turn(first))  # its own hurry is over: it waits like the rest
    await asyncio.sleep(0)
    assert not over.done()
    urgent.end(second)
    await asyncio.gather(waiting, over)
