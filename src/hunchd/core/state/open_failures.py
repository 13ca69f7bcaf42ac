"""Failed commands with their errors and tree snapshots, compared with later successful runs.

If a later run passes or reports a different error, the errors of earlier runs count as fixed. The module does no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from hunchd.repository.tree_snapshots import TreeSnapshot

MAX_COMMANDS: Final = 8  # newest failing commands that are remembered
MAX_SIGHTINGS: Final = 8  # newest sightings that are remembered for one command
# An error that was open for longer was probably fixed by more than one change.
MAX_OPEN_PERIOD: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """Occurrence of an error in a working tree."""

    root: str  # root of the working tree
    error: str  # id of the error's memory
    command: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class PassEvent:
    """Successful run of a command, or explicit report that errors are gone."""

    root: str
    errors: tuple[str, ...]  # ids of the errors cleared, as far as known
    command: str | None
    at: datetime
    only_these_errors: bool = False  # only these errors are gone, not others from the same command


@dataclass(frozen=True, slots=True)
class CommitEvent:
    root: str
    sha: str
    at: datetime


FixEvent = ErrorEvent | PassEvent | CommitEvent


@dataclass(frozen=True, slots=True)
class Sighting:
    error: str
    at: datetime
    picture: TreeSnapshot | None  # None: no snapshot was taken at that time


@dataclass(frozen=True, slots=True)
class FixedError:
    """Error that is gone, with tree snapshots before and after the fix.

    If `after` is None, the current tree is the state after the fix.
    """

    error: str
    before: TreeSnapshot
    after: TreeSnapshot | None


@dataclass(slots=True)
class OpenFailures:
    """Failures in one project, keyed by working tree and command, oldest first.

    `last_event_at` contains the time of the last event for each key.
    """

    sightings: dict[str, list[Sighting]] = field(default_factory=dict)
    last_event_at: dict[str, datetime] = field(default_factory=dict)

    def is_recorded(self, event: ErrorEvent | PassEvent) -> bool:
        """Return True if this event or a later one has already been recorded.

        Replaying the event then changes nothing.
        """
        key = build_command_key(event)
        until = self.last_event_at.get(key, event.at - MAX_OPEN_PERIOD)
        if event.at == until and isinstance(event, ErrorEvent):  # an editor reports several errors at once
            return any(one.error == event.error and one.at == until for one in self.sightings.get(key, ()))
        return event.at <= until

    def record_failure(self, event: ErrorEvent, picture: TreeSnapshot | None) -> Sighting | None:
        """Record a failure.

        Returns the last occurrence of the same error with the same command, or None if no such occurrence is open.
        """
        key = build_command_key(event)
        sightings = [one for one in self.sightings.pop(key, []) if event.at - one.at <= MAX_OPEN_PERIOD]
        before = next((one for one in reversed(sightings) if one.error == event.error), None)
        self.sightings[key] = [*sightings, Sighting(event.error, event.at, picture)][-MAX_SIGHTINGS:]
        self._record_time(key, event.at)
        while len(self.sightings) > MAX_COMMANDS:
            del self.sightings[next(iter(self.sightings))]
        return before

    def record_pass(self, event: PassEvent) -> list[FixedError]:
        """Record a successful run.

        Returns the errors that are now gone, each with the snapshots before and after the change that may have
        fixed it.
        """
        keys = [build_command_key(event)] if event.command is not None else self._find_keys(event)
        fixed_errors: dict[str, FixedError] = {}
        for key in keys:
            sightings = [one for one in self.sightings.pop(key, []) if event.at - one.at <= MAX_OPEN_PERIOD]
            self._record_time(key, event.at)
            if event.only_these_errors:
                if rest := [one for one in sightings if one.error not in event.errors]:
                    self.sightings[key] = rest
                sightings = [one for one in sightings if one.error in event.errors]
            for number, one in enumerate(sightings):
                fixed_errors.pop(one.error, None)
                if one.picture is not None:
                    # Errors that are open at the same time are not fixed by one another.
                    after = (
                        sightings[number + 1].picture
                        if number + 1 < len(sightings) and not event.only_these_errors
                        else None
                    )
                    fixed_errors[one.error] = FixedError(one.error, one.picture, after)
        return list(fixed_errors.values())

    def _find_keys(self, event: PassEvent) -> list[str]:
        return [
            key
            for key, sightings in self.sightings.items()
            if key.startswith(f"{event.root}\n") and any(one.error in event.errors for one in sightings)
        ]

    def _record_time(self, key: str, at: datetime) -> None:
        self.last_event_at.pop(key, None)
        self.last_event_at[key] = at
        while len(self.last_event_at) > 4 * MAX_COMMANDS:
            del self.last_event_at[next(iter(self.last_event_at))]

    def to_json(self) -> dict[str, Any]:
        pictures: list[TreeSnapshot] = []  # shared by many sightings
        serialized_sightings = {
            key: [
                [
                    one.error,
                    one.at.isoformat(),
                    None if one.picture is None else _index_of_picture(one.picture, pictures),
                ]
                for one in sightings
            ]
            for key, sightings in self.sightings.items()
        }
        until = {key: at.isoformat() for key, at in self.last_event_at.items()}
        serialized_pictures = [{"sha": one.sha, "texts": dict(one.texts)} for one in pictures]
        return {"version": 1, "open": serialized_sightings, "until": until, "pictures": serialized_pictures}

    @classmethod
    def from_json(cls, raw: Any) -> OpenFailures:
        """Parse the output of `to_json`.

        Raises KeyError, TypeError or ValueError if `raw` has any other form.
        """
        if raw["version"] != 1:
            raise ValueError(f"unsupported version {raw['version']!r}")
        pictures = [TreeSnapshot(str(one["sha"]), dict(one["texts"])) for one in raw["pictures"]]
        sightings = {
            str(key): [
                Sighting(str(error), datetime.fromisoformat(at), None if place is None else pictures[place])
                for error, at, place in several
            ]
            for key, several in raw["open"].items()
        }
        return cls(sightings, {str(key): datetime.fromisoformat(at) for key, at in raw["until"].items()})


def build_command_key(event: ErrorEvent | PassEvent) -> str:
    """Return the key for an event's command and working tree.

    For an event without a command, the key is built from the error ids.
    """
    command = event.command
    if command is None:
        error_ids: Sequence[str] = (event.error,) if isinstance(event, ErrorEvent) else event.errors
        command = "\n".join(error_ids)
    return f"{event.root}\n{' '.join(command.split())}"


def _index_of_picture(picture: TreeSnapshot, pictures: list[TreeSnapshot]) -> int:
    for number, one in enumerate(pictures):
        if one is picture:
            return number
    pictures.append(picture)
    return len(pictures) - 1
