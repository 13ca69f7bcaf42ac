"""State of the predictor, updated with units of work, files and events."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from hunchd.domain.code import FileOutline
from hunchd.domain.history import Unit
from hunchd.prediction import words
from hunchd.prediction.cochange import MAX_CHANGE_FILES, CoChange, compute_change_weight
from hunchd.prediction.file_contents import FileContents
from hunchd.prediction.file_table import ALWAYS_HUB, CODE, FileTable, FolderTable
from hunchd.prediction.line_blame import BlameCache
from hunchd.prediction.messages import Messages
from hunchd.prediction.ownership import LineOwnership
from hunchd.prediction.packed_arrays import Array, Arrays, GrowingColumn
from hunchd.prediction.session import DeveloperSession

T = TypeVar("T")

MAX_CACHED_ANSWERS = 400  # cached results of evidence sources
HUB_WINDOW = 400  # units
HUB_SHARE = 0.12  # of those units: a non-code file in more of them is a hub
HUB_AT_LEAST = 30  # units from which a share is significant


class PredictorState:
    """All learned data about one project: files, co-change, messages, contents, session."""

    def __init__(self) -> None:
        self.files = FileTable()
        self.together = CoChange()
        self.folders = CoChange()
        self.messages = Messages()
        self.ownership = LineOwnership()
        self.pages = BlameCache()
        self.contents = FileContents()
        self.session = DeveloperSession()
        self.folder_numbers: dict[int, int] = {}
        self.folder_of = GrowingColumn.create("<i4")  # by file: number of its folder
        self.folder_paths = FolderTable()
        self._hubs: tuple[int, Array] = (-1, np.empty(0, "?"))
        self._index_scratch = GrowingColumn.create("<i4")  # scratch: file -> its index in the current array
        self._lesson_count = 0
        self._answer_cache: dict[tuple[Hashable, ...], Any] = {}
        self._cache_lesson = 0

    def get_or_compute(self, key: tuple[Hashable, ...], work: Callable[[], T]) -> T:
        """Return the result of `work`, cached until something is learned.

        The result is cached under `key`.
        """
        if self._cache_lesson != self._lesson_count or len(self._answer_cache) > MAX_CACHED_ANSWERS:
            self._answer_cache, self._cache_lesson = {}, self._lesson_count
        if key not in self._answer_cache:
            self._answer_cache[key] = work()
        answer: T = self._answer_cache[key]
        return answer

    @property
    def unit_count(self) -> int:
        """Number of units learned; decay is measured in units."""
        return len(self.messages)

    def group_equal_files(self, files: Array, ends: Array) -> Array:
        """Return, for each file, an index that equal files in its range share.

        `files` is divided into ranges that end at `ends`. The shared index is that of one of the equal files.
        """
        self._index_scratch.grow_to(len(self.files))
        scratch, start = self._index_scratch.view, 0
        all_indexes, places = np.arange(len(files), dtype="<i4"), np.empty(len(files), "<i4")
        for end in ends.tolist():
            stretch = files[start:end]
            scratch[stretch] = all_indexes[start:end]
            places[start:end] = scratch.take(stretch)
            start = end
        return places

    def learn_unit(self, unit: Unit, title: str, *, weight: float = 1.0) -> None:
        """Learn a unit of work.

        `title` is the unit's subject in the form to be learned. If `weight` is 0 or the unit has more than
        MAX_CHANGE_FILES files, only its message and its renames, additions and deletions of files are learned.
        """
        self._lesson_count += 1
        now = self.unit_count
        touched_files = self._apply_changes(unit, now)
        numbers = np.array(touched_files, "<i4")
        keys = words.hash_text_words(f"{title} {unit.branch.replace('-', ' ')} {unit.body.partition(chr(10))[0][:300]}")
        changed_files = numbers if weight and len(numbers) <= MAX_CHANGE_FILES else numbers[:0]
        self.messages.add_unit(
            unit.sha,
            unit.subject,
            at=unit.at,
            author=hash_author(unit.email, unit.author),
            keys=keys,
            files=changed_files,
        )
        if not len(changed_files):
            return
        strength = weight * compute_change_weight(len(changed_files))
        self.together.record_change(changed_files, now, strength)
        self.files.record_change(changed_files, now, strength)
        folders = np.unique(self.folder_of.view[changed_files])
        self.folders.record_change(folders, now, strength)

    def _apply_changes(self, unit: Unit, now: int) -> list[int]:
        """Apply the renames, additions and deletions of files in a unit.

        Returns the numbers of the changed files that still exist.
        """
        touched_files: dict[int, None] = {}
        for change in unit.changes:
            if change.status == "D":
                number = self.files.remove_file(change.path)
                if number is not None:
                    self.contents.remove_file(number)
                continue
            if change.status == "R" and change.old_path:
                number = self.files.rename_file(change.old_path, change.path)
                self._index_name(number, change.path)
            else:
                number = self.get_file_number(change.path)
            self.ownership.record_change(number, now, change.added, change.deleted)
            touched_files[number] = None
        return list(touched_files)

    def get_file_number(self, path: str) -> int:
        """Return the number of the file at `path`.

        A file that is not known yet is added.
        """
        existing = self.files.numbers.get(path)
        if existing is not None and self.files.alive.view[existing]:
            return existing
        self._lesson_count += 1
        number = self.files.assign_number(path)
        self._index_name(number, path)
        return number

    def update_content(self, outline: FileOutline) -> bool:
        self._lesson_count += 1
        return self.contents.index_content(self.get_file_number(outline.path), outline)

    def remove_file(self, path: str) -> None:
        self._lesson_count += 1
        number = self.files.remove_file(path)
        if number is not None:
            self.contents.remove_file(number)

    def mask_hubs(self) -> Array:
        """Return a mask that is True for hubs.

        Hubs, such as change logs and lock files, change with nearly everything, so suggesting them is not informative.
        """
        at, hubs = self._hubs
        if at == self.unit_count and len(hubs) == len(self.files):
            return hubs
        traits = self.files.traits.view
        hubs = (traits & ALWAYS_HUB) > 0
        window = min(self.unit_count, HUB_WINDOW)
        if window >= HUB_AT_LEAST:
            touch_counts = np.bincount(
                self.messages.list_files_since(self.unit_count - window), minlength=len(self.files)
            )
            hubs |= (touch_counts >= HUB_SHARE * window) & ((traits & CODE) == 0)
        self._hubs = (self.unit_count, hubs)
        return hubs

    def _index_name(self, number: int, path: str) -> None:
        self.contents.index_path(number, path)
        folder = int(self.files.folder.view[number])
        self.folder_of.grow_to(number + 1)
        folder_number = self.folder_numbers.setdefault(folder, len(self.folder_numbers))
        self.folder_of.view[number] = folder_number
        self.folder_paths.set_path(folder_number, path.rpartition("/")[0])

    def to_arrays(self) -> Arrays:
        arrays: Arrays = {
            "folder_of": self.folder_of.view,
            "folder_numbers": np.array(list(self.folder_numbers), "<u4"),
        }
        for name in _PARTS:
            for part, array in getattr(self, name).to_arrays().items():
                arrays[f"{name}.{part}"] = array
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PredictorState:
        state = cls()
        for name, kind in _PARTS.items():
            prefix = f"{name}."
            parts = {part.removeprefix(prefix): array for part, array in arrays.items() if part.startswith(prefix)}
            setattr(state, name, kind.from_arrays(parts))
        state.folder_of = GrowingColumn(arrays["folder_of"])
        state.folder_numbers = {key: number for number, key in enumerate(arrays["folder_numbers"].tolist())}
        named_files = np.array([bool(path) for path in state.files.paths], "?").nonzero()[0]
        folders, first = np.unique(state.folder_of.view[named_files], return_index=True)
        for folder, file in zip(folders.tolist(), named_files[first].tolist(), strict=True):
            state.folder_paths.set_path(folder, state.files.paths[file].rpartition("/")[0])
        return state


_PARTS: dict[
    str,
    type[FileTable]
    | type[CoChange]
    | type[Messages]
    | type[LineOwnership]
    | type[FileContents]
    | type[DeveloperSession],
] = {
    "files": FileTable,
    "together": CoChange,
    "folders": CoChange,
    "messages": Messages,
    "ownership": LineOwnership,
    "contents": FileContents,
    "session": DeveloperSession,
}


def hash_author(email: str, name: str) -> int:
    """Hash an author to 32 bits.

    The email address is hashed or, if there is none, the name.
    """
    return words.hash_word((email or name).strip().lower())
