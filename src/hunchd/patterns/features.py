"""Weights of features, which are higher the more specific a feature is to the project.

A feature is a name that a function or class uses, with a mark that shows how it is used: `@route` is a decorator,
`<Plugin` a base class, and `open()` a call.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from typing import Final

FAMILIES: Final = {"typescript": "javascript", "tsx": "javascript"}


def strip_usage(feature: str) -> str:
    """Return the name in a feature, without its mark.

    The mark shows how the name is used.
    """
    return feature.removeprefix("in ").removeprefix("->").strip("@<()!^~:#=._") or feature


@cache
def load_common_names(language: str) -> frozenset[str]:
    """Return the names that many projects in a language use.

    Such names do not make a pattern by themselves.
    """
    table = json.loads(files(__package__).joinpath("common_names.json").read_text(encoding="utf-8"))
    return frozenset(table.get(FAMILIES.get(language, language), "").split())


# Weight by usage: a decorator or base class says what a shape is, a key hardly does.
_WEIGHT_BY_USAGE: Final = {
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
FOREIGN_FACTOR: Final = 0.65  # not defined by the project, and used by few projects
COMMON_OWN_FACTOR: Final = 0.6  # defined by the project, and by many others
COMMON_FACTOR: Final = 0.25
MIN_INFORMATIVE_WEIGHT: Final = 0.45  # minimum weight of a seed feature
MIN_NAME: Final = 2  # characters of an informative name
_NUMBERED_NAME: Final = re.compile(r"[a-zA-Z]{1,2}\d+")
# A feature that at most one in twenty shapes has gets the full weight; one that all shapes have gets none.
RARITY_BASE: Final = 20.0
# Virtual shapes without the feature, added because in a small project every feature is frequent.
SMOOTHING: Final = 60


def get_usage(feature: str) -> str:
    """Return the mark in a feature that shows how its name is used."""
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


def weigh_feature(feature: str, language: str, shape_count: int, total: int, own_names: Collection[str]) -> float:
    """Return how much a feature says about its shapes, from 0 to 1.

    A shape is a function, method or class. `shape_count` of the `total` shapes of one kind have the feature.
    `own_names` are the names that the project itself defines.
    """
    name, usage = strip_usage(feature), get_usage(feature)
    if len(name) < MIN_NAME or _NUMBERED_NAME.fullmatch(name):
        return 0.0
    is_own = name in own_names
    weight = _WEIGHT_BY_USAGE.get(usage, 0.0)
    if usage == "~" and is_own and language == "python":  # a fixture
        weight = 1.0
    elif name in load_common_names(language):
        weight *= COMMON_OWN_FACTOR if is_own or usage in ("=_", "=+") else COMMON_FACTOR
    elif not is_own and usage not in _DEFINITION_USAGES:
        weight *= FOREIGN_FACTOR
    return weight * min(1.0, math.log((total + SMOOTHING) / shape_count) / math.log(RARITY_BASE))


_DEFINITION_USAGES: Final = frozenset({"!", "=", "=_", "=+", ".", "in "})


def is_informative(feature: str, weight: float) -> bool:
    """Return True if a feature with this weight is specific to the project by itself."""
    return weight >= MIN_INFORMATIVE_WEIGHT and get_usage(feature) not in ("=+", "=_", ":", "#", "in ")
