"""Line authorship and words of recently read files.

The words in a question show which lines will be changed, and thereby which past units of work are relevant. The
data is kept in memory only, for the files read most recently, because git computes it faster than it could be kept
up to date for all files.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hunchd.prediction import words
from hunchd.prediction.packed_arrays import Array, Scores, create_empty_scores, sum_by_number

MAX_FILES = 64  # files
MAX_LINE_CHARACTERS = 400  # characters; longer ones are data


@dataclass(frozen=True, slots=True)
class BlameResult:
    """Result of git blame for one file.

    `commit_ids` are the commits that wrote the file, and `line_shares` are the shares of its lines that each commit
    wrote. `keys` are the words of the lines in ascending order of their keys, and `commit_indexes` contains, for
    each word, the index of the commit that wrote its line.
    """

    commit_ids: tuple[str, ...]
    line_shares: Array
    keys: Array
    commit_indexes: Array


def build_blame_result(lines: Sequence[tuple[str, str]]) -> BlameResult:
    """Build the result from pairs of a commit id and a line's text.

    This takes some 10 ms for a thousand lines.
    """
    counts = Counter(sha for sha, _ in lines)
    commit_index = {sha: number for number, sha in enumerate(counts)}
    keys_with_commit = [
        (key, commit_index[sha])
        for sha, text in lines
        if len(text) <= MAX_LINE_CHARACTERS
        for key in words.hash_text_words(text)
    ]
    keys, by = (
        np.array([key for key, _ in keys_with_commit], "<u4"),
        np.array([number for _, number in keys_with_commit], "<i4"),
    )
    order = keys.argsort(kind="stable")
    share = np.array(list(counts.values()), "<f4") / max(len(lines), 1)
    return BlameResult(tuple(counts), share, keys[order], by[order])


@dataclass(frozen=True, slots=True)
class FileBlame:
    """Blame of a file, with the units of its commits.

    `units` contains the unit of each commit, or -1 if the commit was not learned. `newest_unit` is the newest unit
    that had touched the file when the blame was computed.
    """

    units: Array
    blame: BlameResult
    newest_unit: int

    @property
    def unit_shares(self) -> Scores:
        """Units that wrote lines of the file, with their shares."""
        is_known = self.units >= 0
        return self.units[is_known], self.blame.line_shares[is_known]

    def score_units_by_words(self, query_keys: Array) -> Scores:
        """Score the units that wrote lines with these words.

        A score is the unit's share of these lines. Rare words count more.
        """
        keys = self.blame.keys
        starts, ends = keys.searchsorted(query_keys), keys.searchsorted(query_keys, side="right")
        sizes = (ends - starts)[ends > starts]
        if not len(sizes):
            return create_empty_scores()
        by = np.concatenate([self.blame.commit_indexes[start:end] for start, end in zip(starts, ends, strict=True)])
        units, values = self.units[by], (1.0 / (sizes * len(sizes))).repeat(sizes)
        return sum_by_number(units[units >= 0], values[units >= 0])


class BlameCache:
    """Cache with the blame of several files, keyed by file number.

    It contains at most MAX_FILES files.
    """

    def __init__(self) -> None:
        self._blame_by_file: OrderedDict[int, FileBlame] = OrderedDict()

    def set_blame(self, file: int, blame: BlameResult, find_unit: Callable[[str], int | None], newest: int) -> None:
        """Store the blame of a file.

        `find_unit` maps a commit id to its unit, or to None if the unit is unknown. `newest` is the newest unit
        that touched the file.
        """
        units = [-1 if (unit := find_unit(sha)) is None else unit for sha in blame.commit_ids]
        self._blame_by_file[file] = FileBlame(np.array(units, "<i4"), blame, newest)
        self._blame_by_file.move_to_end(file)
        while len(self._blame_by_file) > MAX_FILES:
            self._blame_by_file.popitem(last=False)

    def get_blame(self, file: int) -> FileBlame | None:
        """Return the blame of a file, or None if it is not cached."""
        return self._blame_by_file.get(file)
