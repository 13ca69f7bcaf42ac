"""Supervisor of named background tasks that are restarted when they fail."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)

FIRST_PAUSE = 0.5  # seconds before a failed task is started again; doubled each time
LONGEST_PAUSE = 60.0  # seconds
HEALTHY_AFTER = 120.0  # seconds of running after which a failure counts as the first one again

Work = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Watched:
    """State of one supervised task."""

    name: str
    task: asyncio.Task[None] | None = None
    failures: int = 0
    last_error: str = ""
    resting: bool = False  # failed, waiting for its restart


class Supervisor:
    """Registry of background tasks.

    Starts them, restarts them when they fail, ends them in reverse order.
    """

    def __init__(self) -> None:
        self._watched: dict[str, Watched] = {}

    def start(self, name: str, work: Work) -> None:
        """Run `work` until it returns, restarting it each time it fails.

        Replace a running task of that name.
        """
        self.end(name)
        watched = Watched(name)
        watched.task = asyncio.create_task(self._keep_running(watched, work), name=name)
        self._watched[name] = watched
        watched.task.add_done_callback(lambda _: self._forget(watched))

    def end(self, name: str) -> None:
        """Cancel the task of that name, if there is one."""
        if (watched := self._watched.pop(name, None)) and watched.task is not None:
            watched.task.cancel()

    def status(self) -> list[dict[str, object]]:
        """List the tasks: name, state, failures, last error."""
        return [
            {
                "name": watched.name,
                "state": "restarting" if watched.resting else "running",
                "failures": watched.failures,
                "last_error": watched.last_error,
            }
            for watched in self._watched.values()
        ]

    async def close(self) -> None:
        """End all tasks, newest first, and wait for them."""
        tasks = [watched.task for watched in reversed(self._watched.values()) if watched.task is not None]
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, watched: Watched) -> None:
        if self._watched.get(watched.name) is watched:
            del self._watched[watched.name]

    async def _keep_running(self, watched: Watched, work: Work) -> None:
        pause = FIRST_PAUSE
        while True:
            started = time.monotonic()
            try:
                return await work()
            except Exception as error:  # the one place that keeps a task's bug from stopping the daemon
                watched.failures += 1
                before, watched.last_error = watched.last_error, f"{type(error).__name__}: {error}"
                if time.monotonic() - started > HEALTHY_AFTER:
                    pause = FIRST_PAUSE
                if watched.last_error == before:  # the traceback is in the log already
                    logger.warning("%s failed again: %s; retrying in %.1f s", watched.name, before, pause)
                else:
                    logger.exception("%s failed; retrying in %.1f s", watched.name, pause)
            watched.resting = True
            await asyncio.sleep(pause)
            watched.resting = False
            pause = min(pause * 2, LONGEST_PAUSE)
