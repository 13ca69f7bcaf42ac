"""Pairs of statements that a model reads in the store process: one after the other, behind whoever asks something."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from hunchd.daemon.patience import patient_threads
from hunchd.embedding.embedder import Late, ModelUnavailable, Reader

LOOK: Final = 0.005  # seconds between two looks whether somebody still waits for an answer
LONGEST_WAIT: Final = 0.25  # seconds that a pair waits for them: in a flood of questions it is read all the same


class Reading:
    """`busy` says whether somebody waits for an answer of this process."""

    def __init__(self, reader: Late[Reader], busy: Callable[[], bool]) -> None:
        self._reader = reader
        self._busy = busy
        self._thread = patient_threads(1, "reading")

    @property
    def failure(self) -> str:
        """Why no model reads, in words; empty if one does, or nobody has asked yet."""
        return self._reader.failure

    async def contradict(self, pairs: Sequence[tuple[str, str]]) -> list[float] | None:
        """How probable it is of each pair that both cannot hold; None: no model can be loaded."""
        found: list[float] = []
        for pair in pairs:
            await self._others_first()
            try:
                found += await asyncio.get_running_loop().run_in_executor(self._thread, self._read, pair)
            except ModelUnavailable:
                return None
        return found

    def release_if_idle(self) -> bool:
        """Give the model's memory back if nothing was read for a while."""
        return self._reader.release_if_idle()

    def _read(self, pair: tuple[str, str]) -> list[float]:
        return self._reader.model().contradict([pair])

    async def _others_first(self) -> None:
        for _ in range(round(LONGEST_WAIT / LOOK)):
            if not self._busy():
                return
            await asyncio.sleep(LOOK)
