"""What will be needed next in one project: the door to everything in this folder."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hunchd.domain.code import FileOutline
from hunchd.domain.context import Focus, PredictedFile, Prediction
from hunchd.domain.history import Unit
from hunchd.domain.work import is_work, plain_title
from hunchd.prediction import blame, snapshot, units, weights
from hunchd.prediction.adaptation import Adaptation
from hunchd.prediction.calibration import falling
from hunchd.prediction.candidates import Evidence, gather
from hunchd.prediction.features import measured
from hunchd.prediction.packed import Array
from hunchd.prediction.pages import Reading
from hunchd.prediction.query import Query, query_of
from hunchd.prediction.ranking import roughly
from hunchd.prediction.reasons import Reasons
from hunchd.prediction.session import SessionEvent
from hunchd.prediction.state import State
from hunchd.prediction.weights import Weights

# What releases, bots and dependency bumps touch together says little about work: they count a quarter.
WEIGHT_OF_CHORES = 0.25
CLOSELY = 64  # candidates scored by the trained table: with 48 or 150 the figures are the same
# Before any file was read, contents speak neither for nor against: by so much the log odds are too low. Then as many
# files are used as are expected (four projects of the development set, fresh models of 300 units, before their test
# windows: 3 % were expected where 15 % were used).
UNREAD = 1.6
PACKED_FROM = 50_000  # words of saved files, some 4 MB of each of a few indexes
SERVED = 20  # predictions remembered to learn from what became of them


@dataclass(frozen=True, slots=True)
class Served:
    """A prediction that was given: enough to learn from its outcome."""

    head: str
    files: Array
    matrix: Array
    scores: Array


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates best first, with their features, uncorrected and final scores, and log odds of use."""

    found: Evidence
    order: Array
    matrix: Array
    plain: Array
    scores: Array
    chances: Array


class Predictor:
    """Learns units of work, file contents and session events; predicts files and past units for a focus."""

    def __init__(self, table: Weights | None = None) -> None:
        self._weights = weights.shipped() if table is None else table
        self._state = State()
        self._adaptation = Adaptation()
        self._served: deque[Served] = deque(maxlen=SERVED)

    def __len__(self) -> int:
        """Units learned."""
        return self._state.now

    def stat(self) -> dict[str, int]:
        """Figures for a status page."""
        state = self._state
        return {
            "units": state.now,
            "files": int(state.files.alive.view.sum()),
            "placed": state.contents.words.documents,
            "events": len(state.session.files),
            **{f"lessons_{head}": c.lessons for head, c in self._adaptation.corrections.items()},
        }

    def knows(self, sha: str) -> bool:
        return self._state.messages.find(sha) is not None

    def newest(self) -> str | None:
        """The unit learned last."""
        return self._state.messages.sha(len(self) - 1) if len(self) else None

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
        """One more unit happened; one already learned (or a rewritten form of it) is not learned twice."""
        if not self.knows(unit.sha):
            self._state.learn(unit, plain_title(unit.subject), weight=1.0 if is_work(unit) else WEIGHT_OF_CHORES)

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

    def note(self, event: SessionEvent) -> None:
        """Something was opened, edited, saved, closed, checked out or used."""
        file = self._state.files.numbers.get(event.path) if event.path else None
        self._state.session.note(event, file)

    def outcome(self, path: str, *, used: bool) -> None:
        """What became of a suggested file: the newest predictions that held it are the lesson.

        An ignored suggestion teaches nothing by itself: its place in the list may be the reason.
        """
        file = self._state.files.numbers.get(path)
        if file is None or not used:
            return
        for served in reversed(self._served):
            hits = served.files == file
            if hits.any():
                self._adaptation.learn(served.head, served.matrix, served.scores, hits)
                return

    def predict(self, focus: Focus, *, now: int, k: int = 20, explain: bool = True) -> Prediction:
        """The `k` files most likely needed next, never those already open, and the past units that matter.

        `now` is in seconds since the epoch.
        """
        query = query_of(focus, self._state)
        ranked = self.ranked(query, now)
        best = ranked.order[:k]
        confidences = falling(self._weights.calibrations[query.head](ranked.chances[best]))
        numbers = ranked.found.files[best].tolist()
        why: list[tuple[str, ...]] = [()] * len(numbers)
        if explain:
            reasons = Reasons(self._state, ranked.found, now)
            why = [reasons.of(file, row) for file, row in zip(numbers, ranked.matrix[best].tolist(), strict=True)]
        paths = self._state.files.paths
        files = tuple(
            PredictedFile(paths[number], score, round(confidence, 4), said)
            for number, score, confidence, said in zip(
                numbers, ranked.scores[best].tolist(), confidences.tolist(), why, strict=True
            )
        )
        if len(best):
            shown = ranked.order[: max(k, 40)]
            self._served.append(
                Served(query.head, ranked.found.files[shown], ranked.matrix[shown], ranked.plain[shown])
            )
        return Prediction(
            files,
            units.recalled(self._state, query, ranked.found, now) if explain else (),
            max((file.confidence for file in files), default=0.0),
        )

    def ranked(self, query: Query, now: int) -> Ranked:
        """All candidates with everything that was measured of them."""
        found = gather(self._state, query, now)
        matrix = measured(self._state, found)
        kept = roughly(matrix, CLOSELY)
        found.files, matrix = found.files[kept], matrix[kept]
        plain, chances = self._weights.heads[query.head].scores(matrix)
        scores = self._adaptation.corrected(query.head, matrix, plain)
        if not self._state.contents.words.documents:
            chances = chances + UNREAD
        if query.trace:
            swing = blame.swing(self._state, query.trace, found.files)
            scores, chances = scores + swing, chances + swing
        return Ranked(found, np.argsort(-scores, kind="stable"), matrix, plain, scores, chances)

    def save(self, path: Path) -> None:
        """Everything, in one file, atomically."""
        arrays = {f"state.{name}": array for name, array in self._state.arrays().items()}
        arrays.update({f"adaptation.{name}": array for name, array in self._adaptation.arrays().items()})
        about: dict[str, Any] = {"units": len(self), "files": len(self._state.files)}
        snapshot.write(path, arrays, about)

    @classmethod
    def load(cls, path: Path, table: Weights | None = None) -> Predictor:
        """As it was saved; StoreError when the file is damaged or of another version."""
        arrays, _ = snapshot.read(path)
        predictor = cls(table)
        predictor._state = State.from_arrays(_under("state.", arrays))
        predictor._adaptation = Adaptation.from_arrays(_under("adaptation.", arrays))
        return predictor


def _under(prefix: str, arrays: dict[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
