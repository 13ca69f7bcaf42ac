"""Nightly schedule (the only module that imports APScheduler)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger

# A laptop that slept through the night catches up when it wakes, once, however many nights it missed.
CATCH_UP_SECONDS = 20 * 3600  # seconds


async def run_every_night(work: Callable[[], Awaitable[None]], hour: int) -> None:
    """Run `work` each night at `hour`, local time, one at a time, until cancelled.

    Raises what `work` raises. The scheduler's clock jumps with the system's.
    """
    due = asyncio.Event()

    async def signal_due() -> None:
        due.set()

    trigger = _nightly_trigger(hour)
    scheduler = AsyncIOScheduler(timezone=trigger.timezone)
    scheduler.add_job(signal_due, trigger, misfire_grace_time=CATCH_UP_SECONDS, coalesce=True, max_instances=1)
    scheduler.start()
    try:
        while True:
            await due.wait()
            due.clear()
            await work()
    finally:
        scheduler.shutdown(wait=False)


def _nightly_trigger(hour: int) -> CronTrigger:
    """Return the trigger in local time.

    If TZ is not a named zone (`GMT+3` is allowed and is none), it uses the current offset from UTC.
    """
    try:
        return CronTrigger(hour=hour, jitter=600)
    except (LookupError, ValueError):
        return CronTrigger(hour=hour, jitter=600, timezone=datetime.now().astimezone().tzinfo)
