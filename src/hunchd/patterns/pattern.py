"""A pattern: what instances have in common, where a new one usually goes, and what changes with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

# Of the core's weight: what has this much of it is one more instance.
MATCHED: Final = 0.75


@dataclass(frozen=True, slots=True)
class Spot:
    """One instance: where it stands and what it is called."""

    path: str
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where instances live: below `folder`, in files whose names begin and end so, or are so where none has another
    end; or in one file."""

    folder: str = ""  # "" is the root
    prefix: str = ""
    suffix: str = ""  # with the file's ending
    file: str = ""  # when most are in one file
    share: float = 0.0  # of the instances

    def holds(self, path: str) -> bool:
        """Whether a new instance could go into the file `path`."""
        if self.file:
            return path == self.file
        folder, _, name = path.rpartition("/")
        below = not self.folder or folder == self.folder or folder.startswith(f"{self.folder}/")
        return below and name.startswith(self.prefix) and name.endswith(self.suffix)

    @property
    def tells(self) -> bool:
        """Whether it says more than the language does."""
        return bool(self.file or self.folder or self.prefix or not self.suffix.startswith("."))

    @property
    def text(self) -> str:
        if self.file:
            return self.file
        name = f"{self.prefix}*{self.suffix}" if self.suffix else f"*/{self.prefix}"
        return f"{self.folder}/{name}" if self.folder else name


@dataclass(frozen=True, slots=True)
class Companion:
    """What changed together with a new instance: a file, the file's own test, or some file of a kind."""

    target: str  # a path, or for kinds a pattern of paths with one `*`
    times: int
    of: int  # units that added instances
    kind: Literal["file", "test", "source", "kind"] = "file"

    @property
    def tells(self) -> bool:
        """Whether it says more than that some file of the language changed."""
        return self.kind != "kind" or not self.target.startswith("*.")

    @property
    def confidence(self) -> float:
        """Laplace's rule: seen once of once is no certainty."""
        return (self.times + 0.5) / (self.of + 1.5)

    @property
    def text(self) -> str:
        named = {"file": self.target, "test": "its test", "source": "what it tests", "kind": f"a file {self.target}"}
        return f"{named[self.kind]} ({self.times} of {self.of})"


@dataclass(frozen=True, slots=True)
class Pattern:
    key: str  # the same for the same core
    language: str
    kind: str  # function, class, block, statement, top
    title: str
    hint: str  # one line: what it is made of
    template: str
    score: float
    core: Mapping[str, float]
    spots: tuple[Spot, ...]  # the most typical first
    count: int  # instances, of which `spots` may be some
    files: int
    place: Place = Place()
    companions: tuple[Companion, ...] = ()
    holes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    commits: tuple[str, ...] = ()  # that added instances, the newest first

    def matches(self, features: Sequence[str]) -> bool:
        """Whether a shape with these features is an instance."""
        have = sum(self.core.get(feature, 0.0) for feature in features)
        return have >= MATCHED * sum(self.core.values()) - 1e-9

    def json(self) -> dict[str, Any]:
        return asdict(self)


def pattern_from(told: Mapping[str, Any]) -> Pattern:
    """The pattern that was told as JSON."""
    return Pattern(
        **{
            **told,
            "spots": tuple(Spot(**spot) for spot in told["spots"]),
            "place": Place(**told["place"]),
            "companions": tuple(Companion(**companion) for companion in told["companions"]),
            "holes": {name: tuple(texts) for name, texts in told["holes"].items()},
            "commits": tuple(told["commits"]),
        }
    )
