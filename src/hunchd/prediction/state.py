"""State of the predictor, updated by units, files and events."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from hunchd.domain.code import FileOutline
from hunchd.domain.history import Unit
from hunchd.prediction import words
from hunchd.prediction.cochange import LARGEST_CHANGE, CoChange, weight_of
from hunchd.prediction.contents import Contents
from hunchd.prediction.files import ALWAYS_HUB, CODE, Files, Folders
from hunchd.prediction.messages import Messages
from hunchd.prediction.ownership import Ownership
from hunchd.prediction.packed import Array, Arrays, Column
from hunchd.prediction.pages import Pages
from hunchd.prediction.session import Session

T = TypeVar("T")

MOST_KEPT = 400  # cached answers of sources
HUB_WINDOW = 400  # units
HUB_SHARE = 0.12  # of those units: a non-code file in more of them is a hub
HUB_AT_LEAST = 30  # units before a share is significant


class State:
    """All learned data of one project: files, co-change, messages, contents, session."""

    def __init__(self) -> None:
        self.files = Files()
        self.together = CoChange()
        self.folders = CoChange()
        self.messages = Messages()
        self.ownership = Ownership()
        self.pages = Pages()
        self.contents = Contents()
        self.session = Session()
        self.folder_numbers: dict[int, int] = {}
        self.folder_of = Column.of("<i4")  # by file: number of its folder
        self.folder_paths = Folders()
        self._hubs: tuple[int, Array] = (-1, np.empty(0, "?"))
        self._place = Column.of("<i4")  # scratch: file -> its index in the current array
        self._lessons = 0
        self._kept: dict[tuple[Hashable, ...], Any] = {}
        self._kept_at = 0

    def once(self, key: tuple[Hashable, ...], work: Callable[[], T]) -> T:
        """Return the result of `work`, cached until something is learned."""
        if self._kept_at != self._lessons or len(self._kept) > MOST_KEPT:
            self._kept, self._kept_at = {}, self._lessons
        if key not in self._kept:
            self._kept[key] = work()
        kept: T = self._kept[key]
        return kept

    @property
    def now(self) -> int:
        """Number of units learned, the clock of all decay."""
        return len(self.messages)

    def places_of(self, files: Array, ends: Array) -> Array:
        """Return one index of an equal file, for each file.

        The ranges end at `ends`. Equal files of a range get the same index.
        """
        self._place.reach(len(self.files))
        scratch, start = self._place.view, 0
        every, places = np.arange(len(files), dtype="<i4"), np.empty(len(files), "<i4")
        for end in ends.tolist():
            stretch = files[start:end]
            scratch[stretch] = every[start:end]
            places[start:end] = scratch.take(stretch)
            start = end
        return places

    def learn(self, unit: Unit, title: str, *, weight: float = 1.0) -> None:
        """Learn a unit.

        A unit of weight 0, or of more than LARGEST_CHANGE files, only moves files.
        """
        self._lessons += 1
        now = self.now
        touched = self._moved(unit, now)
        numbers = np.array(touched, "<i4")
        keys = words.keys_of_text(f"{title} {unit.branch.replace('-', ' ')} {unit.body.partition(chr(10))[0][:300]}")
        kept = numbers if weight and len(numbers) <= LARGEST_CHANGE else numbers[:0]
        self.messages.add(
            unit.sha, unit.subject, at=unit.at, author=author_key(unit.email, unit.author), keys=keys, files=kept
        )
        if not len(kept):
            return
        strength = weight * weight_of(len(kept))
        self.together.learn(kept, now, strength)
        self.files.touch(kept, now, strength)
        folders = np.unique(self.folder_of.view[kept])
        self.folders.learn(folders, now, strength)

    def _moved(self, unit: Unit, now: int) -> list[int]:
        """Apply renames, additions and deletions.

        Returns the numbers of files that still exist.
        """
        touched: dict[int, None] = {}
        for change in unit.changes:
            if change.status == "D":
                number = self.files.remove(change.path)
                if number is not None:
                    self.contents.drop(number)
                continue
            if change.status == "R" and change.old_path:
                number = self.files.rename(change.old_path, change.path)
                self._named(number, change.path)
            else:
                number = self.file(change.path)
            self.ownership.learn(number, now, change.added, change.deleted)
            touched[number] = None
        return list(touched)

    def file(self, path: str) -> int:
        """Return the number of a path, adding it if it is new."""
        known = self.files.numbers.get(path)
        if known is not None and self.files.alive.view[known]:
            return known
        self._lessons += 1
        number = self.files.number(path)
        self._named(number, path)
        return number

    def place(self, outline: FileOutline) -> bool:
        self._lessons += 1
        return self.contents.place(self.file(outline.path), outline)

    def remove(self, path: str) -> None:
        self._lessons += 1
        number = self.files.remove(path)
        if number is not None:
            self.contents.drop(number)

    def hubs(self) -> Array:
        """Return a mask of the hub files.

        Nearly everything touches them (change logs, lock files). Suggesting them is not informative.
        """
        at, hubs = self._hubs
        if at == self.now and len(hubs) == len(self.files):
            return hubs
        traits = self.files.traits.view
        hubs = (traits & ALWAYS_HUB) > 0
        window = min(self.now, HUB_WINDOW)
        if window >= HUB_AT_LEAST:
            seen = np.bincount(self.messages.files_since(self.now - window), minlength=len(self.files))
            hubs |= (seen >= HUB_SHARE * window) & ((traits & CODE) == 0)
        self._hubs = (self.now, hubs)
        return hubs

    def _named(self, number: int, path: str) -> None:
        self.contents.name(number, path)
        folder = int(self.files.folder.view[number])
        self.folder_of.reach(number + 1)
        known = self.folder_numbers.setdefault(folder, len(self.folder_numbers))
        self.folder_of.view[number] = known
        self.folder_paths.put(known, path.rpartition("/")[0])

    def arrays(self) -> Arrays:
        arrays: Arrays = {
            "folder_of": self.folder_of.view,
            "folder_numbers": np.array(list(self.folder_numbers), "<u4"),
        }
        for name in _PARTS:
            for part, array in getattr(self, name).arrays().items():
                arrays[f"{name}.{part}"] = array
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> State:
        state = cls()
        for name, kind in _PARTS.items():
            prefix = f"{name}."
            parts = {part.removeprefix(prefix): array for part, array in arrays.items() if part.startswith(prefix)}
            setattr(state, name, kind.from_arrays(parts))
        state.folder_of = Column(arrays["folder_of"])
        state.folder_numbers = {key: number for number, key in enumerate(arrays["folder_numbers"].tolist())}
        named = np.array([bool(path) for path in state.files.paths], "?").nonzero()[0]
        folders, first = np.unique(state.folder_of.view[named], return_index=True)
        for folder, file in zip(folders.tolist(), named[first].tolist(), strict=True):
            state.folder_paths.put(folder, state.files.paths[file].rpartition("/")[0])
        return state


_PARTS: dict[str, type[Files] | type[CoChange] | type[Messages] | type[Ownership] | type[Contents] | type[Session]] = {
    "files": Files,
    "together": CoChange,
    "folders": CoChange,
    "messages": Messages,
    "ownership": Ownership,
    "contents": Contents,
    "session": Session,
}


def author_key(email: str, name: str) -> int:
    """Hash an author to 32 bits.

    The mail address is used, or the name if there is none.
    """
    return words.key((email or name).strip().lower())
