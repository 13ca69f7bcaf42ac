"""Line authorship and words of recently read files.

A change goes where its words are. Kept in memory only, for the files read last: git computes it again faster than
it could be kept up to date for all files.
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
    """Result of blame for a file.

    `ids` are the commits that wrote it, `share` the share of lines of each, `keys` the words of the lines in
    ascending order, and `by` the index of the commit that wrote each word's line.
    """

    ids: tuple[str, ...]
    share: Array
    keys: Array
    by: Array


def reading(lines: Sequence[tuple[str, str]]) -> Reading:
    """Build a reading from commit ids and line texts.

    Takes some 10 ms for a thousand lines.
    """
    counts = Counter(sha for sha, _ in lines)
    place = {sha: number for number, sha in enumerate(counts)}
    found = [(key, place[sha]) for sha, text in lines if len(text) <= LONGEST_LINE for key in words.keys_of_text(text)]
    keys, by = np.array([key for key, _ in found], "<u4"), np.array([number for _, number in found], "<i4")
    order = keys.argsort(kind="stable")
    share = np.array(list(counts.values()), "<f4") / max(len(lines), 1)
    return Reading(tuple(counts), share, keys[order], by[order])


@dataclass(frozen=True, slots=True)
class Page:
    """Reading of a file, with the units of its commits.

    `units` is -1 for commits that were not learned. `newest` is the newest unit that had touched the file.
    """

    units: Array
    read: Reading
    newest: int

    @property
    def shares(self) -> Scores:
        """Units that own lines, and their share of all lines."""
        known = self.units >= 0
        return self.units[known], self.read.share[known]

    def speaking_of(self, wanted: Array) -> Scores:
        """Return units that wrote lines with these words.

        The values are their shares of such lines. Rare words count more.
        """
        keys = self.read.keys
        starts, ends = keys.searchsorted(wanted), keys.searchsorted(wanted, side="right")
        sizes = (ends - starts)[ends > starts]
        if not len(sizes):
            return nothing()
        by = np.concatenate([self.read.by[start:end] for start, end in zip(starts, ends, strict=True)])
        units, values = self.units[by], (1.0 / (sizes * len(sizes))).repeat(sizes)
        return summed(units[units >= 0], values[units >= 0])


class Pages:
    """Pages by file number, at most MOST_PAGES of them."""

    def __init__(self) -> None:
        self._pages: OrderedDict[int, Page] = OrderedDict()

    def put(self, file: int, read: Reading, number: Callable[[str], int | None], newest: int) -> None:
        """Store the reading of a file.

        `number` maps a commit id to its unit.
        """
        units = [-1 if (unit := number(sha)) is None else unit for sha in read.ids]
        self._pages[file] = Page(np.array(units, "<i4"), read, newest)
        self._pages.move_to_end(file)
        while len(self._pages) > MOST_PAGES:
            self._pages.popitem(last=False)

    def of(self, file: int) -> Page | None:
        """Return the page of a file, or None."""
        return self._pages.get(file)
