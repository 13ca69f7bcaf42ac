"""Supervisor that restarts named background tasks when they fail."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from hunchd.protocol.status_answers import TaskAnswer

logger = logging.getLogger(__name__)

FIRST_RESTART_DELAY = 0.5  # seconds before a failed task is started again; doubled each time
MAX_RESTART_DELAY = 60.0  # seconds
HEALTHY_SECONDS = 120.0  # seconds of running after which a failure counts as the first one again

Work = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class SupervisedTask:
    """State of one supervised background task."""

    name: str
    task: asyncio.Task[None] | None = None
    failures: int = 0
    last_error: str = ""
    is_restarting: bool = False  # failed, waiting for its restart


class Supervisor:
    """Registry that starts background tasks and restarts them when they fail.

    `close` ends the tasks in the reverse of the order in which they were started.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, SupervisedTask] = {}

    def start(self, name: str, work: Work) -> None:
        """Run `work` until it returns, restarting it after failures.

        A running task with the same name is cancelled and replaced.
        """
        self.end(name)
        supervised_task = SupervisedTask(name)
        supervised_task.task = asyncio.create_task(self._keep_running(supervised_task, work), name=name)
        self._tasks[name] = supervised_task
        supervised_task.task.add_done_callback(lambda _: self._forget(supervised_task))

    def end(self, name: str) -> None:
        """Cancel the task called `name`, if there is one."""
        if (supervised_task := self._tasks.pop(name, None)) and supervised_task.task is not None:
            supervised_task.task.cancel()

    def status(self) -> list[TaskAnswer]:
        """Return the name, state, number of failures and last error of each task."""
        return [
            TaskAnswer(
                name=supervised_task.name,
                state="restarting" if supervised_task.is_restarting else "running",
                failures=supervised_task.failures,
                last_error=supervised_task.last_error,
            )
            for supervised_task in self._tasks.values()
        ]

    async def close(self) -> None:
        """End all tasks, newest first, and wait for them."""
        tasks = [
            supervised_task.task
            for supervised_task in reversed(self._tasks.values())
            if supervised_task.task is not None
        ]
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, supervised_task: SupervisedTask) -> None:
        if self._tasks.get(supervised_task.name) is supervised_task:
            del self._tasks[supervised_task.name]

    async def _keep_running(self, supervised_task: SupervisedTask, work: Work) -> None:
        delay = FIRST_RESTART_DELAY
        while True:
            started_at = time.monotonic()
            try:
                return await work()
            except Exception as error:  # the one place that keeps a task's bug from stopping the daemon
                supervised_task.failures += 1
                previous_error, supervised_task.last_error = (
                    supervised_task.last_error,
                    f"{type(error).__name__}: {error}",
                )
                if time.monotonic() - started_at > HEALTHY_SECONDS:
                    delay = FIRST_RESTART_DELAY
                if supervised_task.last_error == previous_error:  # the traceback is in the log already
                    logger.warning(
                        "%s failed again: %s; retrying in %.1f s", supervised_task.name, previous_error, delay
                    )
                else:
                    logger.exception("%s failed; retrying in %.1f s", supervised_task.name, delay)
            supervised_task.is_restarting = True
            await asyncio.sleep(delay)
            supervised_task.is_restarting = False
            delay = min(delay * 2, MAX_RESTART_DELAY)
