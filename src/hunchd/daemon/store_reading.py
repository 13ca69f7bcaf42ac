"""Contradiction model in the store process.

Judges pairs of statements one by one, behind pending requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from hunchd.daemon.patience import patient_threads
from hunchd.embedding.embedder import Late, ModelUnavailable, Reader

LOOK: Final = 0.005  # seconds between two checks for pending requests
LONGEST_WAIT: Final = 0.25  # seconds that a pair waits for requests; in a flood of them it is judged anyway


class Reading:
    """Low-priority user of the model.

    `busy` returns True while a request is being answered.
    """

    def __init__(self, reader: Late[Reader], busy: Callable[[], bool]) -> None:
        self._reader = reader
        self._busy = busy
        self._thread = patient_threads(1, "reading")

    @property
    def failure(self) -> str:
        """Reason why no model can be loaded.

        Empty if one is loaded or was never needed.
        """
        return self._reader.failure

    async def contradict(self, pairs: Sequence[tuple[str, str]]) -> list[float] | None:
        """Return the probability of each pair that both cannot hold.

        Returns None if no model can be loaded.
        """
        found: list[float] = []
        for pair in pairs:
            await self._others_first()
            try:
                found += await asyncio.get_running_loop().run_in_executor(self._thread, self._read, pair)
            except ModelUnavailable:
                return None
        return found

    def release_if_idle(self) -> bool:
        """Release the model's memory if it was not used for a while."""
        return self._reader.release_if_idle()

    def _read(self, pair: tuple[str, str]) -> list[float]:
        return self._reader.model().contradict([pair])

    async def _others_first(self) -> None:
        for _ in range(round(LONGEST_WAIT / LOOK)):
            if not self._busy():
                return
            await asyncio.sleep(LOOK)
