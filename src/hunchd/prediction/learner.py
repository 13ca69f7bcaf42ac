"""What is learned of one project, of its history and its files: the half of the predictor that asks nothing.

Whoever only learns and saves (the indexer) loads this half alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hunchd.domain.code import FileOutline
from hunchd.domain.history import Unit
from hunchd.domain.work import is_work, plain_title
from hunchd.prediction import snapshot
from hunchd.prediction.packed import Arrays
from hunchd.prediction.pages import Reading
from hunchd.prediction.state import State

# What releases, bots and dependency bumps touch together says little about work: they count a quarter.
WEIGHT_OF_CHORES = 0.25
PACKED_FROM = 50_000  # words of saved files, some 4 MB of each of a few indexes


class Learner:
    """Learns units of work and what files contain; keeps it in one file."""

    def __init__(self) -> None:
        self._state = State()

    def __len__(self) -> int:
        """Units learned."""
        return self._state.now

    def knows(self, sha: str) -> bool:
        return self._state.messages.find(sha) is not None

    def newest(self) -> str | None:
        """The unit learned last."""
        return self._state.messages.sha(len(self) - 1) if len(self) else None

    def shas(self) -> list[str]:
        """The units learned, oldest first, each under its newest id."""
        return [self._state.messages.sha(unit) for unit in range(len(self))]

    def called(self, name: str) -> list[str]:
        """The files of this name that are there, in whatever folders."""
        files, ending = self.state.files, f"/{name}"
        return [path for number, path in enumerate(files.paths) if path.endswith(ending) and files.alive.view[number]]

    def has(self, path: str) -> bool:
        """Whether this file is known and there."""
        number = self._state.files.numbers.get(path)
        return number is not None and bool(self._state.files.alive.view[number])

    def hubs(self) -> set[str]:
        """Files that nearly everything touches (change logs, lock files): never suggested."""
        return {self._state.files.paths[int(number)] for number in np.flatnonzero(self._state.hubs())}

    @property
    def state(self) -> State:
        """For baselines and training: what the predictor knows."""
        return self._state

    def learn(self, unit: Unit) -> None:
        """One more unit happened; one already learned (or a rewritten form of it) is not learned twice, but called by
        its newest subject."""
        known = self._state.messages.find(unit.sha)
        if known is None:
            self._state.learn(unit, plain_title(unit.subject), weight=1.0 if is_work(unit) else WEIGHT_OF_CHORES)
        elif self._state.messages.subjects[known] != unit.subject:
            self._state.messages.subjects[known] = unit.subject

    def place(self, outline: FileOutline) -> bool:
        """The content of a file is now this; False when nothing changed."""
        return self._state.place(outline)

    def packing(self) -> Callable[[], Callable[[], None]] | None:
        """Work for another thread, where it is worth it: what files said when they were saved is dropped, and what they
        say now is packed. What the work returns is to be called in this thread, before it is asked for again."""
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
        """Whether it is known who wrote the lines of this file, as its newest unit left them."""
        file = self._state.files.numbers.get(path)
        page = None if file is None else self._state.pages.of(file)
        return page is not None and page.newest == self._newest_of(file)

    def read(self, path: str, lines: Reading) -> None:
        """Who wrote the lines of a known file, and what they say."""
        file = self._state.files.numbers.get(path)
        if file is not None:
            self._state.pages.put(file, lines, self._state.messages.find, self._newest_of(file))

    def _newest_of(self, file: int | None) -> int:
        touching = [] if file is None else self._state.messages.units_of_file(file, 1).tolist()
        return touching[0] if touching else -1

    def rewrite(self, old_sha: str, new_sha: str) -> None:
        """A unit has a new id (rebase, amend, filter); it is the same work."""
        unit = self._state.messages.find(old_sha)
        if unit is not None:
            self._state.messages.rename(unit, new_sha)

    def arrays(self) -> Arrays:
        """What is to be saved."""
        return {f"state.{name}": array for name, array in self._state.arrays().items()}

    def save(self, path: Path) -> None:
        """Everything, in one file, atomically."""
        about: dict[str, Any] = {"units": len(self), "files": len(self._state.files)}
        snapshot.write(path, self.arrays(), about)
