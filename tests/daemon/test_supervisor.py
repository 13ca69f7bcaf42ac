"""A failed task is reported, restarted with growing delays, and cancelled at the end."""

import asyncio
import logging

import pytest

from hunchd.daemon import supervisor as supervision
from hunchd.daemon.supervisor import Supervisor


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "FIRST_RESTART_DELAY", 0.01)


async def test_failed_task_is_restarted_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    supervisor = Supervisor()
    runs, done = 0, asyncio.Event()

    async def fails_twice() -> None:
        nonlocal runs
        runs += 1
        if runs < 3:
            raise RuntimeError("a bug")
        done.set()
        await asyncio.Event().wait()

    with caplog.at_level(logging.WARNING):
        supervisor.start("counting", fails_twice)
        async with asyncio.timeout(5):
            await done.wait()
    [line] = supervisor.status()
    assert (line.name, line.failures, line.last_error) == ("counting", 2, "RuntimeError: a bug")
    assert "counting failed" in caplog.text
    assert caplog.text.count("Traceback") == 1, "the second time the log knows where it comes from"
    assert "counting failed again: RuntimeError: a bug" in caplog.text
    await supervisor.close()


async def test_finished_task_is_removed() -> None:
    supervisor = Supervisor()

    async def short() -> None:
        return None

    supervisor.start("short", short)
    await asyncio.sleep(0.01)
    assert supervisor.status() == []


async def test_close_cancels_newest_first() -> None:
    supervisor = Supervisor()
    ended: list[str] = []

    def named(name: str) -> supervision.Work:
        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(name)

        return work

    supervisor.start("old", named("old"))
    supervisor.start("young", named("young"))
    await asyncio.sleep(0)
    await supervisor.close()
    assert ended == ["young", "old"]


async def test_start_same_name_replaces_task() -> None:
    supervisor = Supervisor()
    cancelled = asyncio.Event()

    async def first() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def second() -> None:
        await asyncio.Event().wait()

    supervisor.start("same", first)
    await asyncio.sleep(0)
    supervisor.start("same", second)
    await asyncio.wait_for(cancelled.wait(), 5)
    assert len(supervisor.status()) == 1
    await supervisor.close()
