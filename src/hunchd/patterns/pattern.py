"""Data model of code patterns.

A pattern has features that its instances share, a location where they usually are, and companions that change with
them. An instance is a function, method or class that has most of the pattern's core features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from msgspec import Struct

# Minimum number and share of the commits adding instances that must also change a companion worth mentioning.
MIN_USUAL_TIMES: Final = 3
MIN_USUAL_SHARE: Final = 0.66


@dataclass(frozen=True, slots=True)
class InstanceLocation:
    """Position and name of one instance of a pattern."""

    path: str
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class UsualLocation:
    """Location of most instances of a pattern.

    It is one file, or a folder with a prefix and suffix for file names.
    """

    folder: str = ""  # "" is the root
    prefix: str = ""
    suffix: str = ""  # with the file's extension
    file: str = ""  # set if most instances are in one file
    share: float = 0.0  # share of the instances that are here

    def contains(self, path: str) -> bool:
        """Return True if new instances of the pattern usually go into the file at `path`."""
        if self.file:
            return path == self.file
        folder, _, name = path.rpartition("/")
        below = not self.folder or folder == self.folder or folder.startswith(f"{self.folder}/")
        return below and name.startswith(self.prefix) and name.endswith(self.suffix)

    @property
    def is_informative(self) -> bool:
        """True if the location says more than the file extension of the language."""
        return bool(self.file or self.folder or self.prefix or not self.suffix.startswith("."))

    @property
    def text(self) -> str:
        if self.file:
            return self.file
        name = f"{self.prefix}*{self.suffix}" if self.suffix else f"*/{self.prefix}"
        return f"{self.folder}/{name}" if self.folder else name


@dataclass(frozen=True, slots=True)
class Companion:
    """Something that usually changes when a new instance of the pattern is added.

    It is a specific file, the test or source file of the instance, or a kind of file.
    """

    target: str  # a path, or for kinds a pattern of paths with one `*`
    times: int
    of: int  # number of units of work that added instances
    kind: Literal["file", "test", "source", "kind"] = "file"

    @property
    def is_usual(self) -> bool:
        """True if most commits that added an instance also changed the companion.

        A minimum number of commits ensures that this is not due to chance.
        """
        return self.times >= MIN_USUAL_TIMES and self.times >= MIN_USUAL_SHARE * self.of

    @property
    def confidence(self) -> float:
        """Estimated probability that the companion changes when an instance is added.

        A prior ensures that a companion does not count as certain after a single commit.
        """
        return (self.times + 0.5) / (self.of + 1.5)

    @property
    def text(self) -> str:
        description_by_kind = {
            "file": self.target,
            "test": "their test",
            "source": "what they test",
            "kind": f"a file in {self.target}",
        }
        return description_by_kind[self.kind]


@dataclass(frozen=True, slots=True)
class CodePattern:
    """Code pattern with its instances.

    `core` maps the features that most instances share to their weights.
    """

    key: str  # equal for patterns with the same core
    language: str
    kind: str  # function or class
    title: str
    score: float
    core: Mapping[str, float]
    spots: tuple[InstanceLocation, ...]  # most typical first
    count: int  # number of instances; `spots` may list only some
    files: int
    place: UsualLocation = UsualLocation()
    companions: tuple[Companion, ...] = ()
    commits: tuple[str, ...] = ()  # commits that added instances, newest first


class MiningStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Progress of mining, reported file by file; the last step contains the patterns."""

    done: int = 0
    total: int = 0
    patterns: list[CodePattern] | None = None
