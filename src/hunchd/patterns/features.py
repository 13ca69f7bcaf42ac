"""Weights of features by how project-specific they are."""

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
    """Return the name in a feature without its usage mark."""
    return feature.removeprefix("in ").removeprefix("->").strip("@<()!^~:#=._") or feature


@cache
def common_names(language: str) -> frozenset[str]:
    """Return names that many projects of a language use.

    Alone they make no pattern.
    """
    table = json.loads(files(__package__).joinpath("common_names.json").read_text(encoding="utf-8"))
    return frozenset(table.get(FAMILIES.get(language, language), "").split())


# Weight by usage: a decorator or base class says what a thing is, a key hardly does.
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
# Names that the project defines have the full weight. Factors for others:
FOREIGN: Final = 0.65  # external, and used by few projects
COMMON_OWN: Final = 0.6  # defined by the project, and by many others
COMMON: Final = 0.25
TELLING: Final = 0.45  # minimum weight of a seed feature
SHORTEST: Final = 2  # characters of an informative name
_NUMBERED: Final = re.compile(r"[a-zA-Z]{1,2}\d+")
# A feature of one shape in twenty or fewer has the full weight; one of all shapes has none.
RARE: Final = 20.0
# Virtual shapes without the feature: in a small project everything is frequent.
UNSEEN: Final = 60


def use_of(feature: str) -> str:
    """Return the usage mark of a feature."""
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
    """Return how much a feature says about a shape, 0..1.

    `shapes` of `of_all` shapes of the same kind have the feature; `own` are the names that the project defines.
    """
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
    """Return True if the feature alone is project-specific."""
    return weight >= TELLING and use_of(feature) not in ("=+", "=_", ":", "#", "in ")
