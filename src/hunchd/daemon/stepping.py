"""Blocking iterators taken a step at a time in a thread, for helper processes that answer other calls in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final, TypeVar

_END: Final = object()

Item = TypeVar("Item")


async def in_thread(make: Callable[[], Iterator[Item]]) -> AsyncIterator[Item]:
    """The items of a blocking iterator, each taken in a thread, so that other calls are answered in between."""
    items = make()
    step: asyncio.Future[Any] | None = None
    try:
        while True:
            step = asyncio.ensure_future(asyncio.to_thread(next, items, _END))
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
