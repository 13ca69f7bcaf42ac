"""Blocking iterators run step by step in a thread.

Helper processes use them to serve other calls in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

_END: Final = object()

Item = TypeVar("Item")


async def in_thread(make: Callable[[], Iterator[Item]]) -> AsyncIterator[Item]:
    """Yield the items of a blocking iterator from its own thread.

    Other calls are served in between, and a lower priority, which Linux assigns per thread, applies to this work
    alone.
    """
    items = make()
    loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1, "steps")
    step: asyncio.Future[Any] | None = None
    try:
        while True:
            step = loop.run_in_executor(thread, next, items, _END)
            item = await asyncio.shield(step)
            if item is _END:
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


class Urgent:
    """Set of urgent tasks.

    Other work yields to them between two of its steps.
    """

    def __init__(self) -> None:
        self._under_way: set[object] = set()
        self._none = asyncio.Event()
        self._none.set()

    def begin(self) -> object:
        """Register an urgent task; return the handle for `end`."""
        work = object()
        self._under_way.add(work)
        self._none.clear()
        return work

    def end(self, work: object) -> None:
        """Mark the task as no longer urgent; may be called twice."""
        self._under_way.discard(work)
        if not self._under_way:
            self._none.set()

    async def give_way(self, own: object | None = None) -> None:
        """Wait until nothing is urgent, unless `own` is urgent itself."""
        if own not in self._under_way:
            await self._none.wait()
