"""What is done once a night (the only module that imports APScheduler)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger

logger = logging.getLogger(__name__)

HOUR = 3  # local time: when machines that run at night are quiet
# A laptop that slept through the night catches up when it wakes, once, however many nights it missed.
CATCH_UP = 20 * 3600  # seconds


async def every_night(work: Callable[[], Awaitable[None]]) -> None:
    """Run `work` each night at HOUR, one at a time, until cancelled. The scheduler's clock jumps with the system's."""
    scheduler = AsyncIOScheduler()
    scheduler.add_job(
        work, CronTrigger(hour=HOUR, jitter=600), misfire_grace_time=CATCH_UP, coalesce=True, max_instances=1
    )
    scheduler.start()
    try:
        await asyncio.Event().wait()
    finally:
        scheduler.shutdown(wait=False)
