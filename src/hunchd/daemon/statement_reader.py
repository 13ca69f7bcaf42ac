"""Use of the contradiction model in the store process.

The model judges one pair of statements at a time, and pauses while requests are pending.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from hunchd.daemon.low_priority_pool import create_low_priority_pool
from hunchd.embedding.embedder import ContradictionModel, LazyModel, ModelUnavailable

CHECK_INTERVAL_SECONDS: Final = 0.005  # seconds between two checks for pending requests
MAX_WAIT_SECONDS: Final = (
    0.25  # seconds that a pair waits for requests; after that it is judged even if more are pending
)


class PairReader:
    """Low-priority user of the contradiction model, which judges pairs of statements.

    While `is_busy` returns True, a request is being answered, and the model waits.
    """

    def __init__(self, reader: LazyModel[ContradictionModel], is_busy: Callable[[], bool]) -> None:
        self._reader = reader
        self._is_busy = is_busy
        self._thread = create_low_priority_pool(1, "reading")

    @property
    def failure(self) -> str:
        """Reason why the model cannot be loaded.

        The text is empty if the model is loaded or has not been needed yet.
        """
        return self._reader.failure

    async def rate_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[float] | None:
        """Return, for each pair, the probability that its statements contradict each other.

        Returns None if the model cannot be loaded.
        """
        probabilities: list[float] = []
        for pair in pairs:
            await self._yield_to_requests()
            try:
                probabilities += await asyncio.get_running_loop().run_in_executor(self._thread, self._rate_pair, pair)
            except ModelUnavailable:
                return None
        return probabilities

    def release_if_idle(self) -> bool:
        """Unload the model if it has not been used for a while.

        Returns True if it was unloaded.
        """
        return self._reader.release_if_idle()

    def _rate_pair(self, pair: tuple[str, str]) -> list[float]:
        return self._reader.get_model().rate_pairs([pair])

    async def _yield_to_requests(self) -> None:
        for _ in range(round(MAX_WAIT_SECONDS / CHECK_INTERVAL_SECONDS)):
            if not self._is_busy():
                return
            await asyncio.sleep(CHECK_INTERVAL_SECONDS)
