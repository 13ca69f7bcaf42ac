"""Failed commands with their errors and tree snapshots, compared with later passes.

No I/O. A run that passes, or reports another error, ends the errors of the runs before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from hunchd.repository.working import Picture

COMMANDS: Final = 8  # failing commands remembered, the newest
SIGHTINGS: Final = 8  # sightings of one command, the newest
# An error open for longer was fixed by more than one change.
OPEN_FOR: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Failed:
    """Error that was seen."""

    root: str  # root of the working tree
    error: str  # id of the error's memory
    command: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Passed:
    """Command that passed, or explicit report that errors are gone."""

    root: str
    errors: tuple[str, ...]  # ids of the errors cleared, as far as known
    command: str | None
    at: datetime
    named: bool = False  # only these errors are gone, not others of the same command


@dataclass(frozen=True, slots=True)
class Committed:
    root: str
    sha: str
    at: datetime


Happened = Failed | Passed | Committed


@dataclass(frozen=True, slots=True)
class Sighting:
    error: str
    at: datetime
    picture: Picture | None  # None: no snapshot was taken at that time


@dataclass(frozen=True, slots=True)
class Mended:
    """Error that is gone, with the snapshots before and after.

    `after` None: the current tree.
    """

    error: str
    before: Picture
    after: Picture | None


@dataclass(slots=True)
class Runs:
    """Failures of one project, by tree and command, oldest first.

    `last_event_at` is the time of the last event of each.
    """

    open: dict[str, list[Sighting]] = field(default_factory=dict)
    until: dict[str, datetime] = field(default_factory=dict)

    def heard(self, happened: Failed | Passed) -> bool:
        """Return True if this or a later event is recorded.

        So a replay changes nothing.
        """
        key = key_of(happened)
        until = self.until.get(key, happened.at - OPEN_FOR)
        if happened.at == until and isinstance(happened, Failed):  # an editor reports several at once
            return any(one.error == happened.error and one.at == until for one in self.open.get(key, ()))
        return happened.at <= until

    def failed(self, failed: Failed, picture: Picture | None) -> Sighting | None:
        """Record a failure.

        Returns the last open sighting of the same error by the same command.
        """
        key = key_of(failed)
        seen = [one for one in self.open.pop(key, []) if failed.at - one.at <= OPEN_FOR]
        before = next((one for one in reversed(seen) if one.error == failed.error), None)
        self.open[key] = [*seen, Sighting(failed.error, failed.at, picture)][-SIGHTINGS:]
        self._note(key, failed.at)
        while len(self.open) > COMMANDS:
            del self.open[next(iter(self.open))]
        return before

    def passed(self, passed: Passed) -> list[Mended]:
        """Record a pass.

        Returns the errors it ended, each with the change that may have fixed it.
        """
        keys = [key_of(passed)] if passed.command is not None else self._keys_of(passed)
        mended: dict[str, Mended] = {}
        for key in keys:
            seen = [one for one in self.open.pop(key, []) if passed.at - one.at <= OPEN_FOR]
            self._note(key, passed.at)
            if passed.named:
                if rest := [one for one in seen if one.error not in passed.errors]:
                    self.open[key] = rest
                seen = [one for one in seen if one.error in passed.errors]
            for number, one in enumerate(seen):
                mended.pop(one.error, None)
                if one.picture is not None:
                    # Errors that are open together do not end each other.
                    after = seen[number + 1].picture if number + 1 < len(seen) and not passed.named else None
                    mended[one.error] = Mended(one.error, one.picture, after)
        return list(mended.values())

    def _keys_of(self, passed: Passed) -> list[str]:
        return [
            key
            for key, seen in self.open.items()
            if key.startswith(f"{passed.root}\n") and any(one.error in passed.errors for one in seen)
        ]

    def _note(self, key: str, at: datetime) -> None:
        self.until.pop(key, None)
        self.until[key] = at
        while len(self.until) > 4 * COMMANDS:
            del self.until[next(iter(self.until))]

    def json(self) -> dict[str, Any]:
        pictures: list[Picture] = []  # shared by many sightings
        told = {
            key: [
                [one.error, one.at.isoformat(), None if one.picture is None else _place(one.picture, pictures)]
                for one in seen
            ]
            for key, seen in self.open.items()
        }
        until = {key: at.isoformat() for key, at in self.until.items()}
        shown = [{"sha": one.sha, "texts": dict(one.texts)} for one in pictures]
        return {"version": 1, "open": told, "until": until, "pictures": shown}

    @classmethod
    def from_json(cls, told: Any) -> Runs:
        """Parse what `to_json` wrote.

        Raises KeyError, TypeError or ValueError for anything else.
        """
        if told["version"] != 1:
            raise ValueError("runs of another version")
        pictures = [Picture(str(one["sha"]), dict(one["texts"])) for one in told["pictures"]]
        seen = {
            str(key): [
                Sighting(str(error), datetime.fromisoformat(at), None if place is None else pictures[place])
                for error, at, place in several
            ]
            for key, several in told["open"].items()
        }
        return cls(seen, {str(key): datetime.fromisoformat(at) for key, at in told["until"].items()})


def key_of(happened: Failed | Passed) -> str:
    """Return the key of a command in a tree.

    An error without a command is its own key.
    """
    command = happened.command
    if command is None:
        told: Sequence[str] = (happened.error,) if isinstance(happened, Failed) else happened.errors
        command = "\n".join(told)
    return f"{happened.root}\n{' '.join(command.split())}"


def _place(picture: Picture, pictures: list[Picture]) -> int:
    for number, one in enumerate(pictures):
        if one is picture:
            return number
    pictures.append(picture)
    return len(pictures) - 1
