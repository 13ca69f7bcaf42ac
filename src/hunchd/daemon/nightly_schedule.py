"""Schedule for the nightly run.

This is the only module that imports APScheduler.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger

logging.getLogger("apscheduler").setLevel(logging.WARNING)  # what is scheduled is shown by the status
# A laptop that slept through the night catches up when it wakes, once, however many nights it missed.
CATCH_UP_SECONDS = 20 * 3600  # seconds


async def run_every_night(work: Callable[[], Awaitable[None]], hour: int) -> None:
    """Run `work` each night at `hour` (local time) until cancelled.

    Two runs never overlap. An exception raised by `work` ends the schedule and is passed on. The schedule adapts to
    changes of the system clock.
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
    """Return the trigger for `hour` in local time.

    If TZ is not the name of a time zone (as in `GMT+3`, which is allowed), the trigger uses the current offset from
    UTC.
    """
    try:
        return CronTrigger(hour=hour, jitter=600)
    except (LookupError, ValueError):
        return CronTrigger(hour=hour, jitter=600, timezone=datetime.now().astimezone().tzinfo)
