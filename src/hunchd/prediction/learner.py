"""Learning from the history and the files of one project.

A process that only learns and saves (the indexer) loads this half alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hunchd.domain.code import FileOutline
from hunchd.domain.history import Unit
from hunchd.domain.work import is_sweeping, is_work, plain_title
from hunchd.prediction import snapshot
from hunchd.prediction.packed import Arrays
from hunchd.prediction.pages import Reading
from hunchd.prediction.state import State

# Co-changes by releases, bots and dependency updates say little about work: they count a quarter.
WEIGHT_OF_CHORES = 0.25
PACKED_FROM = 50_000  # pairs added for saved files, some 4 MB in each of a few indexes


def _weight_of(unit: Unit) -> float:
    """How much the unit says about what changes together."""
    if is_sweeping(unit):
        return 0.0
    return 1.0 if is_work(unit) else WEIGHT_OF_CHORES


class Learner:
    """Model of one project that learns units of work and file contents.

    It is saved in one file.
    """

    def __init__(self) -> None:
        self._state = State()

    def __len__(self) -> int:
        """Return the number of units learned."""
        return self._state.now

    def knows(self, sha: str) -> bool:
        """Return True if this unit was learned."""
        return self._state.messages.find(sha) is not None

    def newest(self) -> str | None:
        """Return the id of the unit learned last."""
        return self._state.messages.sha(len(self) - 1) if len(self) else None

    def shas(self) -> list[str]:
        """Return the newest id of each unit learned, oldest first."""
        return [self._state.messages.sha(unit) for unit in range(len(self))]

    def called(self, name: str) -> list[str]:
        """Return the existing files with this name, in any folder."""
        files, ending = self.state.files, f"/{name}"
        return [path for number, path in enumerate(files.paths) if path.endswith(ending) and files.alive.view[number]]

    def has(self, path: str) -> bool:
        """Return True if this file is known and exists."""
        number = self._state.files.numbers.get(path)
        return number is not None and bool(self._state.files.alive.view[number])

    def hubs(self) -> set[str]:
        """Return files that nearly everything touches (change logs, lock files): never suggested."""
        return {self._state.files.paths[int(number)] for number in np.flatnonzero(self._state.hubs())}

    @property
    def state(self) -> State:
        """State of the model, for baselines and training."""
        return self._state

    def learn(self, unit: Unit) -> None:
        """Learn one more unit.

        A unit already learned (or a rewritten form of it) is not learned twice, but gets its newest subject.
        """
        known = self._state.messages.find(unit.sha)
        if known is None:
            self._state.learn(unit, plain_title(unit.subject), weight=_weight_of(unit))
        elif self._state.messages.subjects[known] != unit.subject:
            self._state.messages.subjects[known] = unit.subject

    def place(self, outline: FileOutline) -> bool:
        """Update the content of a file; return False if nothing changed."""
        return self._state.place(outline)

    def packing(self) -> Callable[[], Callable[[], None]] | None:
        """Return compaction work for another thread, or None.

        None means that it is not worth it. The work drops the postings of earlier contents of files and packs the
        current ones. It returns a function that must be called in this thread before `packing` is called again.
        """
        if not (works := self._state.contents.merging(PACKED_FROM)):
            return None

        def work() -> Callable[[], None]:
            done = [one() for one in works]

            def take() -> None:
                for one in done:
                    one()

            return take

        return work

    def remove(self, path: str) -> None:
        self._state.remove(path)

    def has_read(self, path: str) -> bool:
        """Return True if line authorship is known and current.

        It is current as of the newest unit of the file.
        """
        file = self._state.files.numbers.get(path)
        page = None if file is None else self._state.pages.of(file)
        return page is not None and page.newest == self._newest_of(file)

    def read(self, path: str, lines: Reading) -> None:
        """Record the authorship and words of a known file's lines."""
        file = self._state.files.numbers.get(path)
        if file is not None:
            self._state.pages.put(file, lines, self._state.messages.find, self._newest_of(file))

    def _newest_of(self, file: int | None) -> int:
        touching = [] if file is None else self._state.messages.units_of_file(file, 1).tolist()
        return touching[0] if touching else -1

    def rewrite(self, old_sha: str, new_sha: str) -> None:
        """Replace the id of a unit.

        After a rebase, amend or filter it is the same work.
        """
        unit = self._state.messages.find(old_sha)
        if unit is not None:
            self._state.messages.rename(unit, new_sha)

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {f"state.{name}": array for name, array in self._state.arrays().items()}

    def save(self, path: Path) -> None:
        """Save everything in one file, atomically."""
        about: dict[str, Any] = {"units": len(self), "files": len(self._state.files)}
        snapshot.write(path, self.arrays(), about)
