"""Blocking iterators taken a step at a time in a thread, for helper processes that answer other calls in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

_END: Final = object()

Item = TypeVar("Item")


async def in_thread(make: Callable[[], Iterator[Item]]) -> AsyncIterator[Item]:
    """The items of a blocking iterator, taken in a thread of its own, so that other calls are answered in between and
    that a lower priority, which Linux gives to a thread, is that of this work alone."""
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
        if step is not None and not step.done():  # cancelled: the thread is let finish the item it is at
            await asyncio.wait([step])
        if step is not None and step.done() and not step.cancelled():
            step.exception()
        close = getattr(items, "close", None)
        if close is not None:
            close()
        thread.shutdown(wait=False)


class Urgent:
    """Work that somebody waits for, of which others let go ahead between two of their steps."""

    def __init__(self) -> None:
        self._under_way: set[object] = set()
        self._none = asyncio.Event()
        self._none.set()

    def begin(self) -> object:
        """What to give to `end`."""
        work = object()
        self._under_way.add(work)
        self._none.clear()
        return work

    def end(self, work: object) -> None:
        """It is no longer urgent; may be said twice."""
        self._under_way.discard(work)
        if not self._under_way:
            self._none.set()

    async def give_way(self, own: object | None = None) -> None:
        """Wait until nothing is urgent, unless this is urgent itself."""
        if own not in self._under_way:
            await self._none.wait()
