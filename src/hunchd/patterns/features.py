"""How much a feature of a shape says: about this project, or only about its language."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from typing import Final

FAMILIES: Final = {"typescript": "javascript", "tsx": "javascript"}


def bare(feature: str) -> str:
    """The name in a feature, without the mark that says what it is used as."""
    return feature.removeprefix("in ").removeprefix("->").strip("@<()!^~:#=._") or feature


@cache
def common_names(language: str) -> frozenset[str]:
    """Names that many projects of a language use: alone they make no pattern."""
    table = json.loads(files(__package__).joinpath("common_names.json").read_text(encoding="utf-8"))
    return frozenset(table.get(FAMILIES.get(language, language), "").split())


# How much a name says by what it is used as: a decorator or a base class says what a thing is, a key hardly does.
_SAYS: Final = {
    "@": 1.0,
    "<": 1.0,
    "!": 1.0,
    "()": 0.8,
    "^": 0.7,
    "=": 0.7,
    ".": 0.6,
    "in ": 0.5,
    ":": 0.5,
    "->": 0.8,
    "=_": 0.5,
    "=+": 0.4,
    "~": 0.4,
    "#": 0.4,
}
# A name that the project defines counts whole. Of others so much:
FOREIGN: Final = 0.65  # it is from elsewhere, and few projects use it
COMMON_OWN: Final = 0.6  # the project defines it, like many others
COMMON: Final = 0.25
TELLING: Final = 0.45  # weight of a feature that a pattern can begin with
SHORTEST: Final = 2  # characters of a name that says something
_NUMBERED: Final = re.compile(r"[a-zA-Z]{1,2}\d+")
# Features of one shape in twenty or fewer say all they can; of all shapes, nothing.
RARE: Final = 20.0
# … as if so many more had been seen without it: in a small project everything is frequent.
UNSEEN: Final = 60


def use_of(feature: str) -> str:
    """What the name in a feature is used as: a key of the table above."""
    if feature.endswith("()"):
        return "()"
    if feature.endswith("!"):
        return "!"
    if feature.startswith("in "):
        return "in "
    if feature.startswith("->"):
        return "->"
    if feature.startswith("=_"):
        return "=_"
    if feature.startswith("="):
        return "=+" if feature.endswith("_") else "="
    return feature[:1]


def weight_of(feature: str, language: str, shapes: int, of_all: int, own: Collection[str]) -> float:
    """0..1: how much it says of a shape, among `of_all` of its kind, that it is one of the `shapes` with this feature.
    `own` are the names that the project defines."""
    name, use = bare(feature), use_of(feature)
    if len(name) < SHORTEST or _NUMBERED.fullmatch(name):
        return 0.0
    mine = name in own
    says = _SAYS.get(use, 0.0)
    if use == "~" and mine and language == "python":  # a fixture
        says = 1.0
    elif name in common_names(language):
        says *= COMMON_OWN if mine or use in ("=_", "=+") else COMMON
    elif not mine and use not in _OF_DEFINITIONS:
        says *= FOREIGN
    return says * min(1.0, math.log((of_all + UNSEEN) / shapes) / math.log(RARE))


_OF_DEFINITIONS: Final = frozenset({"!", "=", "=_", "=+", ".", "in "})


def is_telling(feature: str, weight: float) -> bool:
    """Whether a feature of that weight says, alone, something of this project."""
    return weight >= TELLING and use_of(feature) not in ("=+", "=_", ":", "#", "in ")
