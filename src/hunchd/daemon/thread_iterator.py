"""Iteration over blocking iterators in a thread, one step at a time.

A helper process can serve other calls between two steps.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

_END_OF_ITEMS: Final = object()

Item = TypeVar("Item")


async def iterate_in_thread(create: Callable[[], Iterator[Item]]) -> AsyncIterator[Item]:
    """Yield the items of a blocking iterator that runs in its own thread.

    Other calls are served between two items. If the iterator lowers its priority on Linux, which assigns priorities
    per thread, only its own work is affected.
    """
    items = create()
    loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1, "steps")
    step: asyncio.Future[Any] | None = None
    try:
        while True:
            step = loop.run_in_executor(thread, next, items, _END_OF_ITEMS)
            item = await asyncio.shield(step)
            if item is _END_OF_ITEMS:
                return
            yield item
    finally:
        if step is not None and not step.done():  # cancelled: let the thread finish its current item
            await asyncio.wait([step])
        if step is not None and step.done() and not step.cancelled():
            step.exception()
        close = getattr(items, "close", None)
        if close is not None:
            close()
        thread.shutdown(wait=False)


class UrgentTasks:
    """Set of urgent tasks; other work yields to them."""

    def __init__(self) -> None:
        self._pending: set[object] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def begin(self) -> object:
        """Register an urgent task; return the handle to pass to `end`."""
        task = object()
        self._pending.add(task)
        self._idle.clear()
        return task

    def end(self, task: object) -> None:
        """Mark the task as no longer urgent.

        Further calls for the same task have no effect.
        """
        self._pending.discard(task)
        if not self._pending:
            self._idle.set()

    async def wait_for_turn(self, task: object | None = None) -> None:
        """Wait until no task is urgent.

        Returns at once if `task` itself is urgent.
        """
        if task not in self._pending:
            await self._idle.wait()
