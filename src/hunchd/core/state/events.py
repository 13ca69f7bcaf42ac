"""Event bus that drops the oldest events for a subscriber that falls behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from hunchd.domain.json_values import JsonObject

MAX_LAG = 256  # events that a subscriber may lag behind


class EventBus:
    """Publisher of events to any number of subscribers."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[JsonObject]] = set()

    def publish(self, kind: str, **content: Any) -> None:
        """Publish an event to every subscriber without waiting."""
        for queue in self._queues:
            if queue.full():  # the new event and a warning replace the two oldest events
                queue.get_nowait()
                queue.get_nowait()
                queue.put_nowait({"type": "lagged", "warning": "events were dropped: they were not read in time"})
            queue.put_nowait({"type": kind, **content})

    async def subscribe(self) -> AsyncIterator[JsonObject]:
        """Yield new events until the subscriber leaves."""
        queue: asyncio.Queue[JsonObject] = asyncio.Queue(MAX_LAG)
        self._queues.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._queues.discard(queue)
