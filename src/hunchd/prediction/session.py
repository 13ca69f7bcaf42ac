"""Session of a developer: recent steps, degree of interest and transitions between files."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from hunchd.prediction.packed_arrays import Arrays

EventKind = Literal["opened", "edited", "saved", "closed", "checkout", "error", "used"]

MAX_EVENTS = 150  # events: a few hours of work
INTEREST_DECAY = 0.93  # decay of interest with each event (after Mylyn's degree of interest)
TRANSITION_HALF_LIFE = 14 * 86_400.0  # seconds
EVENT_WEIGHTS: dict[str, float] = {
    "opened": 1.0,
    "edited": 2.0,
    "saved": 2.0,
    "used": 2.0,
    "error": 1.0,
    "closed": -0.5,
}
TRANSITION_REACH = 2  # files back: the previous file, and the one before it
PAUSE_SECONDS = 3600  # seconds without an event after which a new piece of work begins
MAX_STEPS = 40  # older ones have almost no weight left
EDIT_EVENTS = frozenset({"edited", "saved", "used"})
MAX_FOLLOWERS = 40


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """Action by the developer.

    `path` is relative to the project root; `at` is in seconds since the epoch.
    """

    kind: EventKind
    at: int
    path: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True)
class FileVisit:
    """Visit to a file, which may comprise several events."""

    file: int  # its number
    was_edited: bool


class DeveloperSession:
    """Session with its recent events and the transitions learned from them.

    Files are given by number.
    """

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.files: list[int] = []
        self.times: list[int] = []
        self.branch = ""
        self.since_checkout = 0  # events; a checkout begins a new piece of work
        self._transitions: dict[int, dict[int, tuple[float, int]]] = {}  # file -> next file -> (weight, time)

    def record_event(self, event: SessionEvent, file: int | None) -> None:
        """Record an event.

        `file` is the number of the event's file, or None if the file is unknown.
        """
        if event.kind == "checkout":
            self.branch, self.since_checkout = event.branch, 0
        if file is None:
            return
        self.since_checkout += 1
        if event.kind in {"opened", "edited", "used"}:
            self._learn_transition(file, event.at)
        self.kinds.append(event.kind)
        self.files.append(file)
        self.times.append(event.at)
        del self.kinds[:-MAX_EVENTS], self.files[:-MAX_EVENTS], self.times[:-MAX_EVENTS]

    def list_steps(self, now: int) -> list[FileVisit]:
        """Return the steps of the current piece of work, newest last.

        A step is a visit to a file. `now` is in seconds since the epoch. Steps before a checkout or a long pause
        are left out, and so are files that have been closed.
        """
        steps: list[FileVisit] = []
        closed_files: set[int] = set()
        events = zip(reversed(self.kinds), reversed(self.files), reversed(self.times), strict=True)
        later = now
        for kind, file, at in islice(events, self.since_checkout):
            if later - at > PAUSE_SECONDS:
                break
            later = at
            if kind == "closed" and all(step.file != file for step in steps):
                closed_files.add(file)
            elif kind == "closed" or file in closed_files:
                continue
            elif steps and steps[-1].file == file:
                steps[-1] = FileVisit(file, steps[-1].was_edited or kind in EDIT_EVENTS)
            elif len(steps) == MAX_STEPS:
                break
            else:
                steps.append(FileVisit(file, kind in EDIT_EVENTS))
        return steps[::-1]

    def compute_interest(self) -> dict[int, float]:
        """Map each file to its degree of interest.

        This is the sum of the weights of the file's events; a weight decays with each later event. Files without
        interest are left out.
        """
        interest: dict[int, float] = {}
        for age, (kind, file) in enumerate(zip(reversed(self.kinds), reversed(self.files), strict=True)):
            interest[file] = interest.get(file, 0.0) + EVENT_WEIGHTS.get(kind, 0.0) * INTEREST_DECAY**age
        return {file: value for file, value in interest.items() if value > 0}

    def compute_followers(self, file: int, now: int) -> dict[int, float]:
        """Map files to the probability that they are opened next.

        Only files that have previously been opened soon after `file` are included.
        """
        row = self._transitions.get(file, {})
        decayed_weights = {other: weight * _compute_decay(now - at) for other, (weight, at) in row.items()}
        total = sum(decayed_weights.values()) + 1.0
        return {other: weight / total for other, weight in decayed_weights.items()}

    def _learn_transition(self, file: int, at: int) -> None:
        recent = [other for other in dict.fromkeys(reversed(self.files)) if other != file][:TRANSITION_REACH]
        for skipped_count, other in enumerate(recent):
            row = self._transitions.setdefault(other, {})
            weight, last = row.get(file, (0.0, at))
            row[file] = (weight * _compute_decay(at - last) + 1.0 / (1 + skipped_count), at)
            if len(row) > MAX_FOLLOWERS:
                del row[min(row, key=lambda follower: row[follower][0] * _compute_decay(at - row[follower][1]))]

    def to_arrays(self) -> Arrays:
        follows = [(a, b, w, t) for a, row in self._transitions.items() for b, (w, t) in row.items()]
        kinds = [list(EVENT_WEIGHTS).index(kind) for kind in self.kinds]
        return {
            "kinds": np.array(kinds, "<i4"),
            "files": np.array(self.files, "<i4"),
            "times": np.array(self.times, "<i8"),
            "since_checkout": np.array([self.since_checkout], "<i4"),
            "branch": np.frombuffer(self.branch.encode("utf-8", "replace"), "u1"),
            "from": np.array([row[0] for row in follows], "<i4"),
            "to": np.array([row[1] for row in follows], "<i4"),
            "weight": np.array([row[2] for row in follows], "<f8"),
            "time": np.array([row[3] for row in follows], "<i8"),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> DeveloperSession:
        session = cls()
        session.kinds = [list(EVENT_WEIGHTS)[kind] for kind in arrays["kinds"].tolist()]
        session.files = arrays["files"].tolist()
        session.times = arrays["times"].tolist()
        session.since_checkout = int(arrays["since_checkout"][0]) if "since_checkout" in arrays else len(session.times)
        session.branch = arrays["branch"].tobytes().decode("utf-8", "replace")
        columns = (arrays[name].tolist() for name in ("from", "to", "weight", "time"))
        for one, other, weight, at in zip(*columns, strict=True):
            session._transitions.setdefault(one, {})[other] = (weight, at)
        return session


def _compute_decay(seconds: float) -> float:
    return float(0.5 ** (max(seconds, 0.0) / TRANSITION_HALF_LIFE))
