"""Which vectors are nearest to a question: all are compared by their signs, the best of them by their numbers.

A vector of 384 numbers is kept as 384 bits and as 384 bytes. Comparing the bits of 100,000 takes a millisecond and a
half; the thousand that agree most are then compared as precisely as bytes can tell, which is to three decimals.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

# Compared by their numbers, of those that agree most in their signs: measured, 98 of the 100 truly nearest are among
# them when a hundredth of all is looked at, and nearly all of the first twenty.
FINALISTS: Final = 1_000
_WORD: Final = 64  # bits
_AT_ONCE: Final = 4_096  # slots whose signs stay in the processor's nearest cache
_LARGEST: Final = 127  # of a signed byte

Slots = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


class Nearness:
    """Vectors by slot, a number from 0 up that its owner gives. All of one length, a multiple of 64."""

    def __init__(self, dimensions: int) -> None:
        self._signs: npt.NDArray[np.uint64] = np.zeros((dimensions // _WORD, 0), np.uint64)
        self._bytes: npt.NDArray[np.int8] = np.zeros((0, dimensions), np.int8)
        self._scales: npt.NDArray[np.float32] = np.zeros(0, np.float32)  # 0: no vector there
        self._wanted = 0  # slots for which there is room as soon as one has a vector

    def reserve(self, slots: int) -> None:
        """There will be so many. Without a vector in any, no room is taken."""
        self._wanted = max(self._wanted, slots)
        if len(self._scales):
            self._grow(self._wanted)

    def _grow(self, size: int) -> None:
        if size > len(self._scales):
            self._signs = _grown(self._signs.T, size).T.copy()
            self._bytes = _grown(self._bytes, size)
            self._scales = _grown(self._scales, size)

    def put(self, slots: Slots, vectors: npt.NDArray[np.float32]) -> None:
        """Keep these vectors, a row each."""
        if not len(slots):
            return
        last = int(np.max(slots)) + 1
        if last > self._wanted:  # a quarter more, so that growing one by one copies seldom
            self._wanted = last + last // 4
        self._grow(self._wanted)
        largest = np.abs(vectors).max(axis=1)
        scales = np.where(largest > 0, largest / _LARGEST, 1.0).astype(np.float32)
        self._bytes[slots] = np.rint(vectors / scales[:, None]).astype(np.int8)
        self._scales[slots] = scales
        self._signs[:, slots] = _signs_of(vectors).T

    def clear(self, slots: Slots) -> None:
        """There is no vector in these slots any more."""
        if len(self._scales):
            self._scales[slots] = 0.0

    def nearest(self, vector: bytes, among: Mask, k: int) -> tuple[Slots, npt.NDArray[np.float32]]:
        """The k slots nearest to `vector`, of those that `among` lets through, and their cosine similarities."""
        if not len(self._scales):
            return np.zeros(0, np.intp), np.zeros(0, np.float32)
        asked = np.frombuffer(vector, "<f4")
        count = len(among)
        passing = among & (self._scales[:count] > 0)
        many = np.count_nonzero(passing) > FINALISTS
        slots = self._agreeing(asked, passing) if many else np.flatnonzero(passing)
        similarities = self.similarities(slots, vector)
        best = np.argsort(-similarities, kind="stable")[:k]
        return slots[best], similarities[best]

    def similarities(self, slots: Slots, vector: bytes) -> npt.NDArray[np.float32]:
        """The cosine of each of the slots with `vector`; 0 where there is none."""
        if not len(self._scales):
            return np.zeros(len(slots), np.float32)
        asked = np.frombuffer(vector, "<f4")
        found: npt.NDArray[np.float32] = (self._bytes[slots].astype(np.float32) @ asked) * self._scales[slots]
        return found

    def short(self, slot: int) -> bytes:
        """The vector in this slot in signed bytes: of the right direction, of another length."""
        found: bytes = self._bytes[slot].tobytes()
        return found

    def _agreeing(self, asked: npt.NDArray[np.float32], passing: Mask) -> Slots:
        """The slots whose signs differ least from those of `asked`, about as many as there are finalists."""
        count, dimensions = len(passing), self._bytes.shape[1]
        differing = np.empty(count, np.uint16)
        theirs = _signs_of(asked[None]).T
        words, counts = (np.empty((len(theirs), _AT_ONCE), kind) for kind in (np.uint64, np.uint8))
        for begin in range(0, count, _AT_ONCE):
            some = differing[begin : begin + _AT_ONCE]
            word, counted = words[:, : len(some)], counts[:, : len(some)]
            np.bitwise_xor(self._signs[:, begin : begin + len(some)], theirs, out=word)
            np.bitwise_count(word, out=counted)
            np.add.reduce(counted, axis=0, dtype=np.uint16, out=some)
        differing[~passing] = dimensions + 1
        # Counted, not sorted: a third of the time.
        most = min(int(np.searchsorted(np.bincount(differing).cumsum(), FINALISTS)), dimensions)
        return np.flatnonzero(differing <= most)


def _signs_of(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.uint64]:
    return np.packbits(vectors > 0, axis=1).view(np.uint64)


def _grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
