"""Who wrote each line of the files at hand, and which words stand there: where a change will go, its words are.

Kept of the files read last, in memory only: git tells it again sooner than it could be kept true for all files.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hunchd.prediction import words
from hunchd.prediction.packed import Array, Scores, nothing, summed

MOST_PAGES = 64  # files
LONGEST_LINE = 400  # characters; longer ones are data


@dataclass(frozen=True, slots=True)
class Reading:
    """A file as it was read: `ids` of the commits that wrote it, the share of its lines that each wrote, the words of
    its lines, rising, and for each the place of the commit that wrote the line."""

    ids: tuple[str, ...]
    share: Array
    keys: Array
    by: Array


def reading(lines: Sequence[tuple[str, str]]) -> Reading:
    """From the id of the commit that wrote each line, and its text. Takes some 10 ms for a thousand lines."""
    counts = Counter(sha for sha, _ in lines)
    place = {sha: number for number, sha in enumerate(counts)}
    found = [(key, place[sha]) for sha, text in lines if len(text) <= LONGEST_LINE for key in words.keys_of_text(text)]
    keys, by = np.array([key for key, _ in found], "<u4"), np.array([number for _, number in found], "<i4")
    order = keys.argsort(kind="stable")
    share = np.array(list(counts.values()), "<f4") / max(len(lines), 1)
    return Reading(tuple(counts), share, keys[order], by[order])


@dataclass(frozen=True, slots=True)
class Page:
    """`units` that wrote what a file consists of, -1 for those that were not learned, and what was read of it.
    `newest`: the newest unit that had touched it."""

    units: Array
    read: Reading
    newest: int

    @property
    def shares(self) -> Scores:
        """Units that own lines, and their share of all."""
        known = self.units >= 0
        return self.units[known], self.read.share[known]

    def speaking_of(self, wanted: Array) -> Scores:
        """Units that wrote lines with these words, and their share of such lines, rare words counting more."""
        keys = self.read.keys
        starts, ends = keys.searchsorted(wanted), keys.searchsorted(wanted, side="right")
        sizes = (ends - starts)[ends > starts]
        if not len(sizes):
            return nothing()
        by = np.concatenate([self.read.by[start:end] for start, end in zip(starts, ends, strict=True)])
        units, values = self.units[by], (1.0 / (sizes * len(sizes))).repeat(sizes)
        return summed(units[units >= 0], values[units >= 0])


class Pages:
    """Pages by file number."""

    def __init__(self) -> None:
        self._pages: OrderedDict[int, Page] = OrderedDict()

    def put(self, file: int, read: Reading, number: Callable[[str], int | None], newest: int) -> None:
        """`number`: the unit of a commit."""
        units = [-1 if (unit := number(sha)) is None else unit for sha in read.ids]
        self._pages[file] = Page(np.array(units, "<i4"), read, newest)
        self._pages.move_to_end(file)
        while len(self._pages) > MOST_PAGES:
            self._pages.popitem(last=False)

    def of(self, file: int) -> Page | None:
        return self._pages.get(file)
