"""Table of the files in a project, with numbers that survive renames.

The history of a file is stored under its number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np

from hunchd.prediction import words
from hunchd.prediction.packed_arrays import Array, Arrays, GrowingColumn, PackedStrings

LONG_HALF_LIFE = 2_000.0  # units of change: long-term activity
SHORT_HALF_LIFE = 100.0  # units of change: current work

_TEST = re.compile(
    r"(?i:(^|/)(tests?|specs?|__tests__|testing|playground|e2e|fixtures)(/|$)|(^|[/_.\-])(tests?|spec)[_.\-])"
    r"|[A-Za-z\d]Tests?\.\w+$|[a-z\d]Spec\.(?:scala|groovy)$|\.Tests?/"
)
_GENERATED_PATH = re.compile(
    r"(^|/)(vendor|third_party|node_modules|dist|snapshots?|__snapshots__)(/|$)|\.(min\.\w+|snap|lock|map)$"
)
_DOCUMENT = re.compile(r"\.(md|rst|txt|adoc|mdx)$|(^|/)docs?/", re.IGNORECASE)
_CODE = re.compile(
    r"\.(py|pyi|pyx|rs|go|java|kt|kts|scala|js|jsx|mjs|cjs|ts|tsx|mts|cts|vue|svelte|c|h|cc|cpp|cxx|hpp|hh|cs|rb|php|swift"
    r"|m|mm|sh|bash|zsh|lua|ex|exs|erl|clj|hs|ml|r|jl|dart|sql|css|scss|less|html|proto|el|vim|zig)$",
    re.IGNORECASE,
)
# Each is one entry in a change log, written for one change and deleted with the next release.
_ENTRY = (
    r"(^|/)(newsfragments|topfiles|changelogs/fragments|releasenotes/notes|(changelog|changes|news)\.d|\.change(s|sets?))/[^/]+$"
    r"|(^|/)(changelogs?|changes|news)/\+?\d[^/]*$"
)
_LOCK_FILE = (
    r"(^|/)(uv\.lock|poetry\.lock|cargo\.lock|pdm\.lock|pipfile\.lock|package-lock\.json|yarn\.lock|pnpm-lock\.yaml"
    r"|go\.sum|composer\.lock|gemfile\.lock|npm-shrinkwrap\.json|bun\.lockb?|[^/]*\.lock)$"
)
_ALWAYS_HUB = re.compile(
    r"(^|/)(change(s|log)?|history|news|releases?|changes?[_-]?log)([^/.]*|[^/]*\.(md|mdx|markdown|rst|txt|adoc|org|rdoc|textile))$"
    rf"|{_LOCK_FILE}|{_ENTRY}",
    re.IGNORECASE,
)

_IS_ENTRY = re.compile(_ENTRY, re.IGNORECASE)
_IS_LOCK_FILE = re.compile(_LOCK_FILE, re.IGNORECASE)

# Nobody writes or reads these by hand to make a change.
_ASSET = re.compile(
    r"(^|/)(licen[cs]es?|copying|notice)([.\-][^/]*)?$"
    r"|\.(png|jpe?g|gif|svg|ico|icns|webp|bmp|psd|woff2?|ttf|otf|eot|mp[34]|webm|mov|wav|pdf|zip|t?gz|jar|exe|dll|so|snap)$",
    re.IGNORECASE,
)

TEST, DOCUMENT, GENERATED_FILE, CODE, ALWAYS_HUB = 1, 2, 4, 8, 16


def classify_path(path: str) -> int:
    """Return the traits of a file as bits, derived from its path."""
    return (
        (TEST if _TEST.search(path) else 0)
        | (DOCUMENT if _DOCUMENT.search(path) else 0)
        | (GENERATED_FILE if _GENERATED_PATH.search(path) else 0)
        | (CODE if _CODE.search(path) else 0)
        | (ALWAYS_HUB if _ALWAYS_HUB.search(path) and not _CODE.search(path) else 0)
    )


def is_asset(path: str) -> bool:
    """Return True if a file is not worth reading.

    Examples are licences, images and fonts.
    """
    return _ASSET.search(path) is not None and _CODE.search(path) is None


def is_lock_file(path: str) -> bool:
    """Return True if a package manager writes the file."""
    return _IS_LOCK_FILE.search(path) is not None


def is_log_entry(path: str) -> bool:
    """Return True if `path` is a single entry in a change log.

    Such a change log has one file for each change.
    """
    return _IS_ENTRY.search(path) is not None


def disambiguate_names(paths: Iterable[str]) -> dict[str, str]:
    """Map each path to its shortest unambiguous name.

    The name consists of the file's name and as few of its folders as necessary.
    """
    part_counts = dict.fromkeys(paths, 1)
    while True:
        name_by_path = {path: "/".join(path.split("/")[-many:]) for path, many in part_counts.items()}
        times = Counter(name_by_path.values())
        ambiguous = [path for path, name in name_by_path.items() if times[name] > 1 and name != path]
        if not ambiguous:
            return name_by_path
        for path in ambiguous:
            part_counts[path] += 1


class FileTable:
    """Table of a project's files, with columns indexed by file number.

    A decayed value is stored as of the unit of work in the column `last`; `decayed_weights` converts it to a later
    unit.
    """

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.numbers: dict[str, int] = {}
        self.alive = GrowingColumn.create("?")
        self.traits = GrowingColumn.create("u1")
        self.folder = GrowingColumn.create("<u4")  # key of the folder's path
        self.stem = GrowingColumn.create("<u4")
        self.suffix = GrowingColumn.create("<u4")
        self.depth = GrowingColumn.create("u1")
        self.last = GrowingColumn.create("<i4", -1)  # unit that last changed the file; -1: none has
        self.count = GrowingColumn.create("<i4")
        self.long = GrowingColumn.create("<f4")
        self.short = GrowingColumn.create("<f4")

    def __len__(self) -> int:
        return len(self.paths)

    def assign_number(self, path: str) -> int:
        """Return the number of a path, assigning one if necessary.

        The file counts as existing from then on.
        """
        existing = self.numbers.get(path)
        if existing is not None:
            self.alive.view[existing] = True
            return existing
        number = len(self.paths)
        self.numbers[path] = number
        self.paths.append(path)
        for column in (self.alive, self.traits, self.folder, self.stem, self.suffix, self.depth):
            column.grow_to(number + 1)
        for history in (self.last, self.count, self.long, self.short):
            history.grow_to(number + 1)
        self.alive.view[number] = True
        self._store_path_columns(number, path)
        return number

    def rename_file(self, old: str, new: str) -> int:
        """Rename a file and return its number.

        The file keeps its number and its history.
        """
        number = self.numbers.pop(old, None)
        if number is None:
            return self.assign_number(new)
        replaced_number = self.numbers.pop(new, None)
        if replaced_number is not None and replaced_number != number:
            self.alive.view[replaced_number] = False
            self.paths[replaced_number] = ""
        self.numbers[new] = number
        self.paths[number] = new
        self.alive.view[number] = True
        self._store_path_columns(number, new)
        return number

    def remove_file(self, path: str) -> int | None:
        """Exclude a file from predictions and return its number.

        The history of the file is kept in case the file comes back. Returns None if the file is unknown.
        """
        number = self.numbers.get(path)
        if number is not None:
            self.alive.view[number] = False
        return number

    def record_change(self, numbers: Array, unit: int, weight: float) -> None:
        """Record that these files changed in `unit`."""
        elapsed_units = np.maximum(unit - self.last.view[numbers], 0)
        long, short = self.long.view, self.short.view
        long[numbers] = long[numbers] * np.exp2(-elapsed_units / LONG_HALF_LIFE) + weight
        short[numbers] = short[numbers] * np.exp2(-elapsed_units / SHORT_HALF_LIFE) + weight
        self.count.view[numbers] += 1
        self.last.view[numbers] = unit

    def decayed_weights(self, numbers: Array, unit: int) -> tuple[Array, Array]:
        """Return the long-lived and short-lived weights of these files as of `unit`."""
        since = self._negative_age(numbers, unit)
        return (
            self.long.view[numbers] * np.exp2(since / LONG_HALF_LIFE),
            self.short.view[numbers] * np.exp2(since / SHORT_HALF_LIFE),
        )

    def decayed_long_weights(self, numbers: Array, unit: int) -> Array:
        """Return the long-lived weights of these files as of `unit`."""
        weights: Array = self.long.view[numbers] * np.exp2(self._negative_age(numbers, unit) / LONG_HALF_LIFE)
        return weights

    def _negative_age(self, numbers: Array, unit: int) -> Array:
        """Return the negative number of units since each file was last changed."""
        since: Array = np.minimum(self.last.view[numbers] - unit, 0)
        return since

    def decayed_weights_of_file(self, number: int, unit: int) -> tuple[float, float]:
        """Return the long-lived and short-lived weights of one file as of `unit`."""
        elapsed_units = max(unit - int(self.last.view[number]), 0)
        return (
            float(self.long.view[number]) * 0.5 ** (elapsed_units / LONG_HALF_LIFE),
            float(self.short.view[number]) * 0.5 ** (elapsed_units / SHORT_HALF_LIFE),
        )

    def find_numbers(self, paths: Iterable[str]) -> list[int]:
        """Return the distinct numbers of the known paths, in order."""
        numbers = (self.numbers.get(path) for path in paths)
        return list(dict.fromkeys(number for number in numbers if number is not None))

    def _store_path_columns(self, number: int, path: str) -> None:
        folder, _, name = path.rpartition("/")
        self.traits.view[number] = classify_path(path)
        self.folder.view[number] = words.hash_word(folder)
        self.stem.view[number] = words.hash_word(words.extract_stem(path))
        self.suffix.view[number] = words.hash_word(name.rpartition(".")[2].lower() if "." in name else name)
        self.depth.view[number] = min(path.count("/"), 255)

    def to_arrays(self) -> Arrays:
        strings = PackedStrings()
        for path in self.paths:
            strings.append(path)
        texts, offsets = strings.to_arrays()
        columns = {name: getattr(self, name).view for name in _COLUMNS}
        return {"paths": texts, "path_offsets": offsets, **columns}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> FileTable:
        files = cls()
        strings = PackedStrings(arrays["paths"].tobytes(), arrays["path_offsets"])
        files.paths = [strings[index] for index in range(len(strings))]
        files.numbers = {path: number for number, path in enumerate(files.paths) if path}
        for name in _COLUMNS:
            setattr(files, name, GrowingColumn(arrays[name], -1 if name == "last" else 0))
        return files


class FolderTable:
    """Table of folders, with the path of each as a row of numbered parts.

    The numbers allow prefixes to be compared in vectorised form.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}  # by part of a path
        self._parts = np.full((0, 4), -1, "<i4")  # by folder
        self._depth = GrowingColumn.create("<i4")

    def set_path(self, folder: int, path: str) -> None:
        """Set the path of the folder with this number."""
        parts = path.split("/") if path else []
        self._grow(folder + 1, len(parts))
        self._parts[folder] = -1
        self._parts[folder, : len(parts)] = [self._numbers.setdefault(part, len(self._numbers)) for part in parts]
        self._depth.view[folder] = len(parts)

    def compute_common_prefix(self, folder: int, others: Array) -> Array:
        """Return the proportion of leading path parts that folders have in common.

        `folder` is compared with each of `others`. The root counts as one part.
        """
        depth = self._depth.view
        own = int(depth[folder])
        same = self._parts[others, :own] == self._parts[folder, :own]
        common = 1 + np.logical_and.accumulate(same, axis=1).sum(axis=1)
        shares: Array = (common / (np.maximum(depth[others], own) + 1)).astype("<f4")
        return shares

    def _grow(self, folders: int, parts: int) -> None:
        size, width = self._parts.shape
        if folders > size or parts > width:
            grown_array = np.full(
                (max(folders, size * 3 // 2 if folders > size else size), max(parts, width)), -1, "<i4"
            )
            grown_array[:size, :width] = self._parts
            self._parts = grown_array
        self._depth.grow_to(folders)


_COLUMNS = ("alive", "traits", "folder", "stem", "suffix", "depth", "last", "count", "long", "short")
