"""Model that learns from the history and the files of one project.

A process that only learns and saves, such as the indexer, imports this module without the predictor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hunchd.domain.code import FileOutline
from hunchd.domain.history import Unit
from hunchd.domain.unit_classification import is_sweeping, is_work, strip_issue_numbers
from hunchd.prediction import array_file
from hunchd.prediction.line_blame import BlameResult
from hunchd.prediction.packed_arrays import Arrays
from hunchd.prediction.state import PredictorState

# Co-changes by releases, bots and dependency updates say little about work: they count a quarter.
CHORE_WEIGHT = 0.25
MAX_SIMILAR_FILES = 6
MIN_NAME_SIMILARITY = 0.6  # share of common characters, as difflib counts them
MIN_PACKED_PAIRS = 50_000  # postings added for saved files, some 4 MB in each of a few indexes


def _count_lacking(parts: Sequence[str], path: str) -> int:
    """Count the components of `path` that `parts` lack."""
    known = path.split("/")
    return len(known) - 2 * len(set(known).intersection(parts))


def _weight_of(unit: Unit) -> float:
    """Return the weight of a unit of work as evidence of co-change."""
    if is_sweeping(unit):
        return 0.0
    return 1.0 if is_work(unit) else CHORE_WEIGHT


class Learner:
    """Model of one project that learns units of work and file contents.

    It is saved to a single file.
    """

    def __init__(self) -> None:
        self._state = PredictorState()

    def __len__(self) -> int:
        """Return the number of units learned."""
        return self._state.unit_count

    def has_unit(self, sha: str) -> bool:
        """Return True if this unit has been learned."""
        return self._state.messages.find_unit(sha) is not None

    def get_newest_id(self) -> str | None:
        """Return the id of the last unit learned, or None."""
        return self._state.messages.get_unit_id(len(self) - 1) if len(self) else None

    def list_unit_ids(self) -> list[str]:
        """Return the current id of each unit learned, oldest first."""
        return [self._state.messages.get_unit_id(unit) for unit in range(len(self))]

    def find_files_by_name(self, name: str) -> list[str]:
        """Return the existing files with this name, in any folder."""
        files, ending = self.state.files, f"/{name}"
        return [path for number, path in enumerate(files.paths) if path.endswith(ending) and files.alive.view[number]]

    def list_similar_files(self, path: str) -> list[str]:
        """Return the existing files with a similar name, nearest first."""
        files, parts = self._state.files, path.split("/")
        paths_by_name: dict[str, list[str]] = {}
        for number, known in enumerate(list(files.paths)):
            if files.alive.view[number]:
                paths_by_name.setdefault(known.rpartition("/")[2], []).append(known)
        names = get_close_matches(parts[-1], paths_by_name, n=MAX_SIMILAR_FILES, cutoff=MIN_NAME_SIMILARITY)
        found = [known for name in names for known in sorted(paths_by_name[name], key=partial(_count_lacking, parts))]
        return found[:MAX_SIMILAR_FILES]

    def has_file(self, path: str) -> bool:
        """Return True if this file is known and has not been removed."""
        number = self._state.files.numbers.get(path)
        return number is not None and bool(self._state.files.alive.view[number])

    def list_hubs(self) -> set[str]:
        """Return the hubs: files that nearly every change touches.

        Examples are lock files and change logs. Hubs are never suggested.
        """
        return {self._state.files.paths[int(number)] for number in np.flatnonzero(self._state.mask_hubs())}

    @property
    def state(self) -> PredictorState:
        """State of the model, for benchmark baselines and training."""
        return self._state

    def learn_unit(self, unit: Unit) -> None:
        """Learn one more unit of work.

        If the unit, or a rewritten form of it, has already been learned, only its subject is updated.
        """
        unit_number = self._state.messages.find_unit(unit.sha)
        if unit_number is None:
            self._state.learn_unit(unit, strip_issue_numbers(unit.subject), weight=_weight_of(unit))
        elif self._state.messages.subjects[unit_number] != unit.subject:
            self._state.messages.subjects[unit_number] = unit.subject

    def update_content(self, outline: FileOutline) -> bool:
        """Update the content of a file; return False if nothing changed."""
        return self._state.update_content(outline)

    def prepare_packing(self) -> Callable[[], Callable[[], None]] | None:
        """Return a compaction task for another thread.

        Returns None if compaction is not worthwhile. The task drops the postings for earlier contents of files and
        packs the current ones. It returns a function that must be called in this thread before `prepare_packing` is
        called again.
        """
        if not (merges := self._state.contents.prepare_merges(MIN_PACKED_PAIRS)):
            return None

        def run_merges() -> Callable[[], None]:
            installers = [one() for one in merges]

            def install_results() -> None:
                for one in installers:
                    one()

            return install_results

        return run_merges

    def remove_file(self, path: str) -> None:
        self._state.remove_file(path)

    def has_authorship(self, path: str) -> bool:
        """Return True if a file's line authorship is known and current.

        It is current if it includes the newest unit that touched the file.
        """
        file = self._state.files.numbers.get(path)
        page = None if file is None else self._state.pages.get_blame(file)
        return page is not None and page.newest_unit == self._newest_unit_of(file)

    def set_authorship(self, path: str, lines: BlameResult) -> None:
        """Record who wrote each line of a known file.

        The words in the lines are recorded as well.
        """
        file = self._state.files.numbers.get(path)
        if file is not None:
            self._state.pages.set_blame(file, lines, self._state.messages.find_unit, self._newest_unit_of(file))

    def _newest_unit_of(self, file: int | None) -> int:
        touching = [] if file is None else self._state.messages.list_units_of_file(file, 1).tolist()
        return touching[0] if touching else -1

    def rewrite_unit_id(self, old_sha: str, new_sha: str) -> None:
        """Replace the id of a unit, if the unit is known.

        After a rebase, an amended commit or a filter, the commit has a new id but is the same unit of work.
        """
        unit = self._state.messages.find_unit(old_sha)
        if unit is not None:
            self._state.messages.rename_unit(unit, new_sha)

    def to_arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {f"state.{name}": array for name, array in self._state.to_arrays().items()}

    def save(self, path: Path) -> None:
        """Save everything in one file, atomically."""
        about: dict[str, Any] = {"units": len(self), "files": len(self._state.files)}
        array_file.write_arrays(path, self.to_arrays(), about)
